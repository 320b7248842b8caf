//! Linear and embedding layers.

use crate::module::{Forward, Param};
use crate::{init, module};
use gradus_tensor::func::linear;
use gradus_tensor::{Generator, Tensor, embedding};

/// `x · weightᵀ + bias` along the last axis.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[outputs, inputs]`.
    pub weight: Param,
    /// `[outputs]`.
    pub bias: Option<Param>,
}
module!(Linear { weight, bias });

impl Linear {
    /// Makes a layer of this many inputs and outputs.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, g: &Generator) -> Linear {
        let weight = Param::new(&init::within_fan([outputs, inputs], inputs, g));
        Linear { weight, bias: Some(Param::new(&init::within_fan([outputs], inputs, g))) }
    }

    /// Removes the bias.
    pub fn without_bias(self) -> Linear {
        Linear { bias: None, ..self }
    }
}

impl Forward for Linear {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        linear(x, &self.weight, self.bias.as_deref())
    }
}

/// A row of `weight` for each index.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[rows, width]`.
    pub weight: Param,
}
module!(Embedding { weight });

impl Embedding {
    /// Makes this many rows, initially standard normal.
    #[track_caller]
    pub fn new(rows: usize, width: usize, g: &Generator) -> Embedding {
        Embedding { weight: Param::new(&g.randn([rows, width])) }
    }
}

impl Forward for Embedding {
    #[track_caller]
    fn forward(&self, ids: &Tensor) -> Tensor {
        embedding(ids, &self.weight, None)
    }
}
