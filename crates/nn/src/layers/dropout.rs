//! Dropout.

use crate::module;
use crate::module::{Forward, Mode};
use gradus_tensor::{Generator, Tensor};

/// In training, zero with a probability and larger otherwise, so that the expectation stays.
#[derive(Clone, Debug)]
pub struct Dropout {
    /// The probability.
    pub p: f64,
    /// Whether it is training.
    pub mode: Mode,
    /// Where it draws from. Its state is a cell: compiled steps move it on, checkpoints keep it.
    pub generator: Generator,
}
module!(Dropout { mode, generator; p });

impl Dropout {
    /// Drops with this probability, drawing from the generator.
    pub fn new(p: f64, g: &Generator) -> Dropout {
        Dropout { p, mode: Mode::default(), generator: g.clone() }
    }
}

impl Forward for Dropout {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.dropout(self.p, self.mode.is_training(), &self.generator)
    }
}
