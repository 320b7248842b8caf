//! Quantised tensors: weights stored as bytes of a block format, and the products that use them.
//!
//! A quantised tensor is a `u8` tensor whose last axis counts bytes, with a format; it is not a dtype.
//! [`dequantize`] computes its values by operations on bytes. [`quantized_dot`] is a product with these
//! values. Devices that have code for a format claim either region and never hold the values in memory. Bytes
//! carry no gradient.

use crate::region::{Args, arg, region1, region1_with_grad};
use crate::tensor::Tensor;
use gradus_ir::format::{Compute, Format};
use gradus_ir::{Class, DType, Error, Result, Shape, message};

/// Returns the shape of the values, or an error if the bytes are not whole blocks.
pub(crate) fn shape_of(bytes: &Tensor, format: Format) -> Result<Shape> {
    bytes.check()?;
    if bytes.dtype() != DType::U8 {
        return Err(Error::dtype(bytes.dtype(), message!("quantised weights are bytes: ", DType::U8)));
    }
    if !format.is_quantized() {
        return Err(Error::value(format!("format {}", format.name()), "has no blocks; read it as its dtype"));
    }
    let (own, block) = (bytes.shape(), format.block_bytes());
    match own.split_last() {
        Some((row, lead)) if row.is_multiple_of(block) => {
            Ok(lead.iter().copied().chain([row / block * format.block_elements()]).collect())
        }
        _ => {
            let why = format!("needs rows of a multiple of {block} bytes, the blocks of {}", format.name());
            Err(Error::shape(format!("bytes of shape {own}"), why))
        }
    }
}

fn args(format: Format) -> Args {
    vec![arg("format", format.name().to_string())]
}

/// Computes the values of quantised weights, `f32`. The last axis of `bytes` holds whole blocks; that of the
/// result holds their elements.
#[track_caller]
pub fn dequantize(bytes: &Tensor, format: Format) -> Tensor {
    if bytes.error().is_some() {
        return bytes.clone();
    }
    match shape_of(bytes, format) {
        Ok(shape) => region1("dequantize", args(format), &[bytes], |x| {
            let rows = bytes.shape();
            let lead = &rows[..rows.rank() - 1];
            let count = shape.last().map_or(0, |n| n / format.block_elements());
            let blocks: Vec<usize> = lead.iter().copied().chain([count, format.block_bytes()]).collect();
            values(&Blocks(x[0].reshape(blocks)), format).reshape(shape.to_vec())
        }),
        Err(e) => Tensor::refuse("dequantize", &[bytes], e),
    }
}

/// Quantises floats `[..., width]` to Q8_0: the nearest integers from -127 to 127, in blocks of 32. The width
/// must be a multiple of 32.
#[track_caller]
pub(super) fn quantize_rows(x: &Tensor) -> Tensor {
    let blocks = x.to_dtype(DType::F32).unflatten(-1, [x.dim(-1) / BLOCK, BLOCK]);
    let scale = blocks.abs().max_keepdim(-1) / 127.0;
    let q = (&blocks / &scale).clamp(-127.0, 127.0).round();
    // A block of zeros has no scale to divide by.
    let q = scale.eq(0.0).select(&blocks.zeros_like(), &q).to_dtype(DType::I8).bitcast(DType::U8);
    let scale = scale.squeeze(-1).to_dtype(DType::F16).bitcast(DType::U8);
    Tensor::cat(&[&scale, &q], -1).flatten(-2, -1)
}

/// Number of elements that share a scale when they are rounded.
const BLOCK: usize = 32;

/// Rounds activations to the nearest of 255 multiples of a scale, one scale for each block of 32.
fn round_activations(x: &Tensor) -> Tensor {
    // Half precision would be too coarse for the scales.
    let wide = if x.dtype() == DType::F64 { x.clone() } else { x.to_dtype(DType::F32) };
    let blocks = wide.unflatten(-1, [x.dim(-1) / BLOCK, BLOCK]);
    let scale = blocks.abs().max_keepdim(-1) / 127.0;
    // Quotients are larger than 127 only if the scale is subnormal.
    let q = (&blocks / &scale).clamp(-127.0, 127.0).round();
    // A block of zeros has no scale to divide by. Infinities and NaN give NaN.
    let rounded = scale.eq(0.0).select(&blocks.zeros_like(), &(q * scale));
    rounded.flatten(-2, -1).to_dtype(x.dtype())
}

/// `x · wᵀ` along the last axis, where `w` is the values of `bytes`, `[outputs, inputs]`. The result has the
/// dtype of `x`. With [`Compute::Bf16`] or [`Compute::Int8`] the activations are rounded first; the gradient
/// is that of the product without rounding.
#[track_caller]
pub fn quantized_dot(x: &Tensor, bytes: &Tensor, format: Format, compute: Compute) -> Tensor {
    let ins = [x, bytes];
    let check = || {
        let (own, w) = (x.check()?.shape(), shape_of(bytes, format)?);
        if x.dtype().class() != Class::Float {
            return Err(Error::dtype(x.dtype(), "activations are floats"));
        }
        match (own.last(), &w[..]) {
            (Some(width), [_, inputs]) if width == inputs => Ok(()),
            _ => Err(Error::shape(format!("an input {own} and weights {w}"), "must be [..,I] and [O,I]")),
        }
    };
    if let Err(e) = check() {
        return Tensor::refuse("quantized_dot", &ins, e);
    }
    let weights = |x: &[Tensor]| dequantize(&x[1], format).to_dtype(x[0].dtype());
    let mut args = args(format);
    if compute != Compute::F32 {
        args.push(arg("compute", compute.name().to_string()));
    }
    region1_with_grad(
        "quantized_dot",
        args,
        &ins,
        |x| {
            let activations = match compute {
                Compute::F32 => x[0].clone(),
                Compute::Bf16 => x[0].to_dtype(DType::BF16).to_dtype(x[0].dtype()),
                Compute::Int8 => round_activations(&x[0]),
            };
            super::linear(&activations, &weights(x), None)
        },
        |x, _, g| vec![g.matmul(&weights(x)), x[1].zeros_like()],
    )
}

/// Blocks of bytes, `[..., blocks, bytes]`.
struct Blocks(Tensor);

impl Blocks {
    fn part(&self, from: usize, count: usize) -> Tensor {
        self.0.narrow(-1, from, count)
    }

    /// Bytes as integers that can be shifted.
    fn ints(&self, from: usize, count: usize) -> Tensor {
        self.part(from, count).to_dtype(DType::I32)
    }

    /// Bytes as signed integers.
    fn signed(&self, from: usize, count: usize) -> Tensor {
        self.part(from, count).bitcast(DType::I8).to_dtype(DType::F32)
    }

    /// The `f32` at the first byte, with an axis of extent 1 for the elements of the block.
    fn single(&self) -> Tensor {
        self.part(0, 4).bitcast(DType::F32).unsqueeze(-1)
    }

    /// The `f16` at a byte, with an axis of extent 1 for the elements of the block.
    fn half(&self, at: usize) -> Tensor {
        self.part(at, 2).bitcast(DType::F16).to_dtype(DType::F32).unsqueeze(-1)
    }
}

/// Shifts `n` bytes right by each of `shifts` and applies the mask: `[..., shifts · n]`, the results of the
/// first shift first.
fn shifted(bytes: &Tensor, shifts: &[i32], mask: i32) -> Tensor {
    let each = Tensor::from(shifts.to_vec()).unsqueeze(-1);
    bytes.unsqueeze(-2).shr(&each).and(mask).flatten(-2, -1)
}

/// The low halves of `n` bytes, then their high halves: `[..., 2 n]`.
fn nibbles(bytes: &Tensor) -> Tensor {
    shifted(bytes, &[0, 4], 15)
}

/// Two bits of each of 256 elements: each 128 elements have 32 bytes, whose bit pairs are four rows of 32
/// elements.
fn pairs(bytes: &Tensor) -> Tensor {
    shifted(&bytes.unflatten(-1, [2, 32]), &[0, 2, 4, 6], 3).flatten(-2, -1)
}

fn float(t: Tensor) -> Tensor {
    t.to_dtype(DType::F32)
}

/// `scale · q`, then `+ offset`, where scales and offsets are of groups of consecutive elements.
fn scaled(scale: &Tensor, q: &Tensor, offset: Option<Tensor>) -> Tensor {
    let groups = scale.dim(-1).max(1);
    let q = float(q.clone()).unflatten(-1, [groups, q.dim(-1) / groups]);
    let product = scale.unsqueeze(-1) * q;
    offset.map_or(product.clone(), |o| product + o.unsqueeze(-1)).flatten(-2, -1)
}

/// Decodes floats of a sign, four bits of exponent and three of fraction, without infinities.
fn eight_bit_floats(bytes: &Tensor) -> Tensor {
    let (exponent, fraction) = (bytes.shr(3).and(15), bytes.and(7));
    let normal = (&exponent + 120).shl(23).or(&fraction.shl(20)).bitcast(DType::F32);
    let small = float(fraction) / 512.0;
    let size = exponent.eq(0).select(&small, &normal);
    let size = bytes.and(127).eq(127).select(f64::NAN, &size);
    bytes.and(128).eq(0).select(&size, &-&size)
}

/// Decodes blocks to values, `[..., blocks, elements]`.
fn values(b: &Blocks, format: Format) -> Tensor {
    // The fifth bits of 32 elements, in four bytes.
    let fifth = |from| {
        let bits = Tensor::from((0..8).collect::<Vec<i32>>());
        b.ints(from, 4).unsqueeze(-1).shr(&bits).and(1).flatten(-2, -1).shl(4)
    };
    match format {
        Format::Q4_0 => scaled(&b.half(0), &(nibbles(&b.ints(2, 16)) - 8), None),
        Format::Q4_1 => scaled(&b.half(0), &nibbles(&b.ints(4, 16)), Some(b.half(2))),
        Format::Q5_0 => scaled(&b.half(0), &(nibbles(&b.ints(6, 16)).or(&fifth(2)) - 16), None),
        Format::Q5_1 => scaled(&b.half(0), &nibbles(&b.ints(8, 16)).or(&fifth(4)), Some(b.half(2))),
        Format::Q2K => {
            let (scales, least) = (b.ints(0, 16), b.half(82));
            let offset = -(least * float(scales.shr(4)));
            scaled(&(b.half(80) * float(scales.and(15))), &pairs(&b.ints(16, 64)), Some(offset))
        }
        Format::Q3K => {
            let third = shifted(&b.ints(0, 32), &[0, 1, 2, 3, 4, 5, 6, 7], 1);
            let high = shifted(&b.ints(104, 4), &[0, 2, 4, 6], 3);
            let scales = nibbles(&b.ints(96, 8)).or(&high.shl(4)) - 32;
            let q = pairs(&b.ints(32, 64)) - (third.eq(0).to_dtype(DType::I32) * 4);
            scaled(&(b.half(108) * float(scales)), &q, None)
        }
        Format::Q4K | Format::Q5K => {
            let [first, second, last] = [4, 8, 12].map(|at| b.ints(at, 4));
            let top = |t: &Tensor| t.shr(6).shl(4);
            let scales = Tensor::cat(&[&first.and(63), &last.and(15).or(&top(&first))], -1);
            let offsets = Tensor::cat(&[&second.and(63), &last.shr(4).or(&top(&second))], -1);
            let packed = b.ints(if format == Format::Q5K { 48 } else { 16 }, 128);
            let mut q = nibbles(&packed.unflatten(-1, [4, 32])).flatten(-2, -1);
            if format == Format::Q5K {
                q = q.or(&shifted(&b.ints(16, 32), &[0, 1, 2, 3, 4, 5, 6, 7], 1).shl(4));
            }
            let offset = -(b.half(2) * float(offsets));
            scaled(&(b.half(0) * float(scales)), &q, Some(offset))
        }
        Format::Q6K => {
            let low = nibbles(&b.ints(0, 128).unflatten(-1, [2, 64])).flatten(-2, -1);
            let q = low.or(&pairs(&b.ints(128, 64)).shl(4)) - 32;
            scaled(&(b.half(208) * b.signed(192, 16)), &q, None)
        }
        Format::Int8 => scaled(&b.single(), &b.signed(4, 64), None),
        Format::Int4 => scaled(&b.single(), &(nibbles(&b.ints(4, 32)) - 8), None),
        Format::Fp8 => scaled(&b.single(), &eight_bit_floats(&b.ints(4, 64)), None),
        // Only Q8_0 is left: `shape_of` has refused formats without blocks.
        _ => scaled(&b.half(0), &b.signed(2, 32), None),
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    let formats = Format::all().filter(|f| f.is_quantized());
    for format in formats {
        // Small bytes, so that the halves are finite.
        let bytes = s.draw.ints_of(DType::U8, (0, 60), [2, format.block_bytes()]);
        s.case("dequantize", [bytes.clone()], move |x| dequantize(&x[0], format));
        let x = s.draw.normal([3, format.block_elements()]);
        s.case("quantized_dot", [x, bytes], move |x| quantized_dot(&x[0], &x[1], format, Compute::F32));
    }
}
