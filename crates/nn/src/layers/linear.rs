//! Matrix products, and rows chosen from a matrix.

use crate::module::{Forward, Param};
use crate::{init, module};
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
    /// A layer of this many inputs and outputs, with a bias.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, g: &Generator) -> Linear {
        let bias = Some(Param::new(&init::within_fan([outputs], inputs, g)));
        Linear { bias, ..Linear::without_bias(inputs, outputs, g) }
    }

    /// A layer without a bias.
    #[track_caller]
    pub fn without_bias(inputs: usize, outputs: usize, g: &Generator) -> Linear {
        Linear { weight: Param::new(&init::within_fan([outputs, inputs], inputs, g)), bias: None }
    }
}

impl Forward for Linear {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.matmul(&self.weight.t());
        match &self.bias {
            Some(bias) => y + &**bias,
            None => y,
        }
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
    /// This many rows, standard normal at first.
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
