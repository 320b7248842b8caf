//! A quantised tensor: bytes with a format. Computations with it are in `func/quantized.rs`.

use crate::device::Device;
use crate::func::quantized::{dequantize, quantized_dot, shape_of};
use crate::tensor::Tensor;
use gradus_ir::format::{Compute, Format};
use gradus_ir::{Class, DType, Error, Result, Shape};

/// The bytes of weights, and their format.
#[derive(Clone, Debug)]
pub struct Quantized {
    bytes: Tensor,
    format: Format,
}

/// Differences between values and their quantised form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Root of the mean square of the differences.
    pub rms: f64,
    /// `rms` divided by the root of the mean square of the values; 0 if all values are 0.
    pub relative: f64,
    /// The largest difference.
    pub largest: f64,
}

impl Quantized {
    /// Quantises floats along the last axis, to nearest values of the format, and reports the differences.
    pub fn quantize(values: &Tensor, format: Format) -> Result<(Quantized, Rounding)> {
        let shape = values.check()?.shape();
        let (block, name) = (format.block_elements(), format.name());
        let Some((&row, lead)) = shape.split_last().filter(|(row, _)| row.is_multiple_of(block)) else {
            let why = format!("needs rows of a multiple of {block} elements, the blocks of {name}");
            return Err(Error::shape(format!("shape {shape}"), why));
        };
        if !format.is_quantized() {
            return Err(Error::value(format!("format {name}"), "has no blocks; convert to its dtype"));
        }
        if values.dtype().class() != Class::Float {
            return Err(Error::dtype(values.dtype(), "only floats are quantised"));
        }
        let x: Vec<f32> = values.detach().to(Device::CPU).to_dtype(DType::F32).to_vec()?;
        let mut bytes = Vec::with_capacity(format.bytes_of(x.len()).unwrap_or(0));
        format.quantize(&x, &mut bytes)?;
        let mut back = vec![0f32; x.len()];
        format.dequantize(&bytes, &mut back);
        let squares = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>();
        let differences = || x.iter().zip(&back).map(|(a, b)| f64::from(*a) - f64::from(*b));
        let (wrong, all) = (squares(&mut differences()), squares(&mut x.iter().map(|x| f64::from(*x))));
        let rounding = Rounding {
            rms: (wrong / x.len().max(1) as f64).sqrt(),
            relative: if all > 0.0 { (wrong / all).sqrt() } else { 0.0 },
            largest: differences().fold(0.0, |most, d| most.max(d.abs())),
        };
        let row = row / block * format.block_bytes();
        let shape: Vec<usize> = lead.iter().copied().chain([row]).collect();
        let bytes = Tensor::from_slice(&bytes, shape).to(values.device());
        Ok((Quantized { bytes, format }, rounding))
    }

    /// Makes a quantised tensor from bytes whose last axis holds whole blocks of the format.
    pub fn new(bytes: &Tensor, format: Format) -> Result<Quantized> {
        shape_of(bytes, format)?;
        Ok(Quantized { bytes: bytes.clone(), format })
    }

    /// The bytes.
    pub fn bytes(&self) -> &Tensor {
        &self.bytes
    }

    /// The format in which they are packed.
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

    /// Dequantises the rows at `ids`, integers of any shape. Their axes come first in the result. Only these
    /// rows are read.
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
