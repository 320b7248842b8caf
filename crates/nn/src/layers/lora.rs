//! Low-rank additions to linear maps (LoRA): `y + scale · (x · Aᵀ) · Bᵀ`.
//!
//! A layer holds a [`LoraSlot`], which is empty at first and shared by clones of the layer. Its content takes
//! part in the layer's forward pass and is among its parameters. Which layers are adapted, and how, is
//! decided by the caller.

use crate::init;
use crate::module::Param;
use gradus_ir::{Error, Result};
use gradus_tensor::func::linear;
use gradus_tensor::{Generator, Tensor};
use std::sync::{Arc, PoisonError, RwLock};

/// A low-rank matrix, `scale · B · A`.
#[derive(Clone, Debug)]
pub struct LowRank {
    /// `A`, `[rank, inputs]`.
    pub a: Param,
    /// `B`, `[outputs, rank]`.
    pub b: Param,
    /// Factor of the product.
    pub scale: f64,
}

impl LowRank {
    /// Makes a low-rank matrix that is zero at first: `A` is drawn like the weight of a linear layer, and `B`
    /// is zero.
    pub fn new(inputs: usize, outputs: usize, rank: usize, scale: f64, g: &Generator) -> LowRank {
        let a = init::within_fan([rank, inputs], inputs, g);
        LowRank { a: Param::new(&a), b: Param::new(&Tensor::zeros([outputs, rank])), scale }
    }

    /// Computes `scale · (x · Aᵀ) · Bᵀ` along the last axis.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Tensor {
        linear(&linear(x, &self.a, None), &self.b, None) * self.scale
    }

    /// Computes the matrix `scale · B · A`, `[outputs, inputs]`.
    #[track_caller]
    pub fn matrix(&self) -> Tensor {
        self.b.matmul(&self.a) * self.scale
    }

    /// Returns the largest rank that the matrix can have.
    pub fn rank(&self) -> usize {
        self.a.shape().first().copied().unwrap_or(0)
    }
}

/// A slot of a linear map for a low-rank addition. Compiled functions keep the contents that the slot had
/// when they were compiled.
#[derive(Clone, Debug)]
pub struct LoraSlot(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    inputs: usize,
    outputs: usize,
    lora: RwLock<Option<LowRank>>,
}

impl LoraSlot {
    /// Makes an empty slot of a map from `inputs` to `outputs` features.
    pub fn new(inputs: usize, outputs: usize) -> LoraSlot {
        LoraSlot(Arc::new(Contents { inputs, outputs, lora: RwLock::new(None) }))
    }

    /// Returns the number of input features of the map.
    pub fn inputs(&self) -> usize {
        self.0.inputs
    }

    /// Returns the number of output features of the map.
    pub fn outputs(&self) -> usize {
        self.0.outputs
    }

    /// Returns the contents.
    pub fn get(&self) -> Option<LowRank> {
        self.0.lora.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the contents. An addition whose shapes do not fit the map is refused.
    pub fn set(&self, lora: Option<LowRank>) -> Result<()> {
        if let Some(lora) = &lora {
            let (a, b, rank) = (lora.a.shape(), lora.b.shape(), lora.rank());
            if a[..] != [rank, self.inputs()] || b[..] != [self.outputs(), rank] {
                let why = format!(
                    "do not fit a map from {} to {} features; they must be `[rank, {}]` and `[{}, rank]`",
                    self.inputs(),
                    self.outputs(),
                    self.inputs(),
                    self.outputs()
                );
                return Err(Error::shape(format!("A {a} and B {b}"), why));
            }
        }
        *self.0.lora.write().unwrap_or_else(PoisonError::into_inner) = lora;
        Ok(())
    }

    /// Returns the outputs `y` of the map plus the low-rank product of its inputs `x`. Returns `y` if the
    /// slot is empty.
    #[track_caller]
    pub fn add(&self, x: &Tensor, y: Tensor) -> Tensor {
        match self.get() {
            Some(lora) => y + lora.forward(x),
            None => y,
        }
    }
}
