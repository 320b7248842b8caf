//! Weight matrices that are floats or stay quantised, and layers of them.
//!
//! Fields have the names of Hugging Face's weights, whichever form they have. Quantised weights are buffers: they are saved and
//! moved with a model, but are not parameters.

use gradus_ir::{DType, Shape};
use gradus_nn::file::gguf::Format;
use gradus_nn::{Buffer, Forward, Module, Param, Visitor, module};
use gradus_tensor::{Tensor, dequantize, embedding, func, quantized_dot};

/// A matrix of weights, `[outputs, inputs]`.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// Numbers that can be trained.
    Float(Param),
    /// The bytes of a quantised format, row by row.
    Quantized(Buffer, Format),
}

impl Module for Matrix {
    fn visit(&self, v: &mut Visitor) {
        match self {
            Matrix::Float(p) => p.visit(v),
            Matrix::Quantized(bytes, _) => bytes.visit(v),
        }
    }
}

impl Matrix {
    /// `x · weightsᵀ` along the last axis.
    #[track_caller]
    pub fn dot(&self, x: &Tensor) -> Tensor {
        match self {
            Matrix::Float(w) => func::linear(x, w, None),
            Matrix::Quantized(bytes, format) => quantized_dot(x, bytes, *format),
        }
    }

    /// The rows at integers of any shape, whose axes come first in the result.
    #[track_caller]
    pub fn rows(&self, ids: &Tensor) -> Tensor {
        match self {
            Matrix::Float(w) => embedding(ids, w, None),
            Matrix::Quantized(bytes, format) => dequantize(&embedding(ids, bytes, None), *format),
        }
    }

    /// The values, `f32` if they are quantised.
    #[track_caller]
    pub fn values(&self) -> Tensor {
        match self {
            Matrix::Float(w) => Tensor::clone(w),
            Matrix::Quantized(bytes, format) => dequantize(bytes, *format),
        }
    }

    /// The shape of the values.
    pub fn shape(&self) -> Shape {
        match self {
            Matrix::Float(w) => w.shape(),
            Matrix::Quantized(bytes, format) => {
                let mut shape = bytes.shape().to_vec();
                if let Some(last) = shape.last_mut() {
                    *last = *last / format.block_bytes() * format.block_elements();
                }
                Shape::from(shape)
            }
        }
    }

    /// Rows from `from` on, as a matrix of its own.
    #[track_caller]
    pub fn rows_at(&self, from: usize, count: usize) -> Matrix {
        let part = |t: &Tensor| t.detach().narrow(0, from, count).contiguous();
        match self {
            Matrix::Float(w) => Matrix::Float(Param::new(&part(w))),
            Matrix::Quantized(bytes, format) => Matrix::Quantized(Buffer::new(&part(bytes)), *format),
        }
    }

    /// Whether the weights are quantised.
    pub fn is_quantized(&self) -> bool {
        matches!(self, Matrix::Quantized(bytes, _) if bytes.dtype() == DType::U8)
    }
}

/// `x · weightᵀ + bias` along the last axis.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `[outputs, inputs]`.
    pub weight: Matrix,
    /// `[outputs]`.
    pub bias: Option<Param>,
}
module!(Projection { weight, bias });

impl Projection {
    /// Makes a projection.
    pub fn new(weight: Matrix, bias: Option<Param>) -> Projection {
        Projection { weight, bias }
    }
}

impl Forward for Projection {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.weight.dot(x);
        self.bias.as_deref().map_or(y.clone(), |b| y + b)
    }
}

/// A row of `weight` for each index.
#[derive(Clone, Debug)]
pub struct Table {
    /// `[rows, width]`.
    pub weight: Matrix,
}
module!(Table { weight });

impl Forward for Table {
    #[track_caller]
    fn forward(&self, ids: &Tensor) -> Tensor {
        self.weight.rows(ids)
    }
}
