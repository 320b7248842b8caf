//! A quantised tensor: bytes with a format. What is computed with it is in `func/quantized.rs`.

use crate::func::quantized::{dequantize, quantized_dot, shape_of};
use crate::tensor::Tensor;
use gradus_ir::format::{Compute, Format};
use gradus_ir::{Result, Shape};

/// The bytes of weights, and how they are packed.
#[derive(Clone, Debug)]
pub struct Quantized {
    bytes: Tensor,
    format: Format,
}

impl Quantized {
    /// Takes bytes whose rows, along the last axis, are whole blocks of a quantised format.
    pub fn new(bytes: &Tensor, format: Format) -> Result<Quantized> {
        shape_of(bytes, format)?;
        Ok(Quantized { bytes: bytes.clone(), format })
    }

    /// The bytes.
    pub fn bytes(&self) -> &Tensor {
        &self.bytes
    }

    /// How they are packed.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The shape of the values.
    pub fn shape(&self) -> Shape {
        shape_of(&self.bytes, self.format).unwrap_or_else(|_| Shape::from([0]))
    }

    /// The values, `f32`.
    #[track_caller]
    pub fn dequantize(&self) -> Tensor {
        dequantize(&self.bytes, self.format)
    }

    /// The values of rows at integers of any shape, whose axes come first in the result. Only these rows are read.
    #[track_caller]
    pub fn rows(&self, ids: &Tensor) -> Tensor {
        dequantize(&crate::func::embedding(ids, &self.bytes, None), self.format)
    }

    /// `x · valuesᵀ` along the last axis.
    #[track_caller]
    pub fn dot(&self, x: &Tensor, compute: Compute) -> Tensor {
        quantized_dot(x, &self.bytes, self.format, compute)
    }
}
