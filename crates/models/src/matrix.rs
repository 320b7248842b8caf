//! Weight matrices, as floats or quantised, and the layers that use them.
//!
//! Fields have the names of Hugging Face's weights in both forms. Quantised weights are buffers: they are
//! saved and moved with a model, but are not parameters.

use gradus_ir::format::{Compute, Format};
use gradus_ir::{DType, Shape};
use gradus_nn::{Buffer, Forward, LoraSlot, Module, Param, Visitor, module};
use gradus_tensor::{Tensor, dequantize, embedding, func, quantized_dot};

/// A matrix of weights, `[outputs, inputs]`.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// Trainable floats.
    Float(Param),
    /// The bytes of a quantised format, row by row, and the representation of activations in products.
    Quantized(Buffer, Format, Compute),
}

impl Module for Matrix {
    fn visit(&self, v: &mut Visitor) {
        match self {
            Matrix::Float(p) => p.visit(v),
            Matrix::Quantized(bytes, ..) => bytes.visit(v),
        }
    }
}

impl Matrix {
    /// `x · weightsᵀ` along the last axis.
    #[track_caller]
    pub fn dot(&self, x: &Tensor) -> Tensor {
        match self {
            Matrix::Float(w) => func::linear(x, w, None),
            Matrix::Quantized(bytes, format, compute) => quantized_dot(x, bytes, *format, *compute),
        }
    }

    /// Returns the rows at indices `ids` of any shape; the result has the axes of `ids`, then the axis of a
    /// row.
    #[track_caller]
    pub fn rows(&self, ids: &Tensor) -> Tensor {
        match self {
            Matrix::Float(w) => embedding(ids, w, None),
            Matrix::Quantized(bytes, format, _) => dequantize(&embedding(ids, bytes, None), *format),
        }
    }

    /// Returns the values as floats; quantised values are dequantised to `f32`.
    #[track_caller]
    pub fn values(&self) -> Tensor {
        match self {
            Matrix::Float(w) => Tensor::clone(w),
            Matrix::Quantized(bytes, format, _) => dequantize(bytes, *format),
        }
    }

    /// Returns the shape of the values, `[outputs, inputs]`, also if they are quantised.
    pub fn shape(&self) -> Shape {
        match self {
            Matrix::Float(w) => w.shape(),
            Matrix::Quantized(bytes, format, _) => {
                let mut shape = bytes.shape().to_vec();
                if let Some(last) = shape.last_mut() {
                    *last = *last / format.block_bytes() * format.block_elements();
                }
                Shape::from(shape)
            }
        }
    }

    /// Copies `count` rows from row `from` on into a new matrix.
    #[track_caller]
    pub fn rows_at(&self, from: usize, count: usize) -> Matrix {
        let part = |t: &Tensor| t.detach().narrow(0, from, count).contiguous();
        match self {
            Matrix::Float(w) => Matrix::Float(Param::new(&part(w))),
            Matrix::Quantized(bytes, format, compute) => {
                Matrix::Quantized(Buffer::new(&part(bytes)), *format, *compute)
            }
        }
    }

    /// Returns true if the weights are quantised.
    pub fn is_quantized(&self) -> bool {
        matches!(self, Matrix::Quantized(bytes, ..) if bytes.dtype() == DType::U8)
    }
}

/// `x · weightᵀ + bias` along the last axis.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `[outputs, inputs]`.
    pub weight: Matrix,
    /// `[outputs]`.
    pub bias: Option<Param>,
    /// Slot for a low-rank adapter.
    pub lora: LoraSlot,
}

impl Projection {
    /// Makes a projection without a low-rank adapter.
    pub fn new(weight: Matrix, bias: Option<Param>) -> Projection {
        let shape = weight.shape();
        let extent = |axis: usize| shape.get(axis).copied().unwrap_or(0);
        let lora = LoraSlot::new(extent(1), extent(0));
        Projection { weight, bias, lora }
    }
}

impl Module for Projection {
    fn visit(&self, v: &mut Visitor) {
        v.field("weight", &self.weight);
        v.field("bias", &self.bias);
        self.lora.visit(v);
    }
}

impl Forward for Projection {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.lora.add(x, self.weight.dot(x));
        self.bias.as_deref().map_or(y.clone(), |b| y + b)
    }
}

/// An embedding: returns a row of `weight` for each index.
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
