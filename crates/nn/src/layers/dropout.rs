//! The dropout layer.

use crate::module;
use crate::module::{Forward, Mode};
use gradus_tensor::{Generator, Tensor};

/// In training, sets each element to 0 with probability `p` and divides the others by `1 - p`, which keeps
/// the expected value.
#[derive(Clone, Debug)]
pub struct Dropout {
    /// The probability that an element is set to 0.
    pub p: f64,
    /// The mode: training or evaluation.
    pub mode: Mode,
    /// The generator of its masks. Its state is a cell: compiled steps advance it, checkpoints save it.
    pub generator: Generator,
}
module!(Dropout { mode, generator; p });

impl Dropout {
    /// Makes a layer that drops with this probability.
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
