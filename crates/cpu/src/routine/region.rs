//! Runs regions that have code of their own as one step: products with quantised weights or with matrices of experts, and
//! attention over a cache. A claim accepts the calls for which there is code; other calls run the body of the region.

use super::Call;
use crate::cached::{self, Attention, Cache, Stored, Texts};
use crate::grouped::{self, Matrices, Values};
use crate::quantized::int8::Product;
use crate::quantized::{self, Rows, Weights};
use gradus_compile::{Claim, Profile, Routine};
use gradus_ir::attr::Attr;
use gradus_ir::format::{Compute, Format};
use gradus_ir::ops::call::Call as Region;
use gradus_ir::{Aval, DType, Error, Op, Result};

const DEQUANTIZE: &str = "dequantize";
const DOT: &str = "quantized_dot";
const WRITE: &str = "cache_write";
const ATTENTION: &str = "cached_attention";
const GROUPED: &str = "grouped_dot";
const QUANTIZED_GROUPED: &str = "quantized_grouped_dot";

/// The regions that are run as one step. None of them can fail.
pub(crate) const CLAIMS: &[Claim] = &[
    claim(DEQUANTIZE, |_, call, types| dequantizes(call, types).is_some(), None),
    claim(DOT, |_, call, types| multiplies(call, types).is_some(), None),
    claim(WRITE, |_, call, types| writes(call, types).is_some(), Some(0)),
    claim(ATTENTION, |_, call, types| attends(call, types).is_some(), None),
    claim(GROUPED, |_, call, types| groups(call, types).is_some(), None),
    claim(QUANTIZED_GROUPED, |_, call, types| groups(call, types).is_some(), None),
];

const fn claim(
    name: &'static str,
    fits: fn(&Profile, &Region, &[Aval]) -> bool,
    overwrites: Option<usize>,
) -> Claim {
    Claim { name, fits, overwrites, can_fail: false }
}

fn arg<'c>(call: &'c Region, name: &str) -> Option<&'c Attr> {
    call.args.iter().find(|(n, _)| n == name).map(|(_, a)| a)
}

/// Returns true if a region has one result, with this dtype and shape.
fn gives(call: &Region, dtype: DType, shape: &[usize]) -> bool {
    matches!(&call.body.output_avals()[..], [only] if only.dtype == dtype && only.shape[..] == *shape)
}

/// Returns the format, rows and width of an operand of bytes, if its rows consist of complete blocks.
fn blocks(call: &Region, bytes: &Aval) -> Option<(Format, usize, usize)> {
    let Some(Attr::Str(name)) = arg(call, "format") else { return None };
    let format = Format::of_name(name).filter(|f| f.has_integers())?;
    let row = *bytes.shape.last()?;
    let whole = bytes.dtype == DType::U8 && row.is_multiple_of(format.block_bytes());
    let rows = bytes.shape[..bytes.rank() - 1].iter().product();
    whole.then_some((format, rows, row / format.block_bytes() * format.block_elements()))
}

fn dequantizes(call: &Region, types: &[Aval]) -> Option<(Format, usize, usize)> {
    let [bytes] = types else { return None };
    let found = blocks(call, bytes)?;
    let mut shape = bytes.shape.to_vec();
    *shape.last_mut()? = found.2;
    gives(call, DType::F32, &shape).then_some(found)
}

fn multiplies(call: &Region, types: &[Aval]) -> Option<((Format, usize, usize), Compute)> {
    let [x, bytes] = types else { return None };
    let found = blocks(call, bytes)?;
    let compute = match arg(call, "compute") {
        Some(Attr::Str(name)) => Compute::of_name(name)?,
        _ => Compute::F32,
    };
    let (width, lead) = x.shape.split_last()?;
    let shape: Vec<usize> = lead.iter().copied().chain([found.1]).collect();
    let fits = x.dtype == DType::F32 && bytes.rank() == 2 && *width == found.2 && *width > 0;
    (fits && gives(call, DType::F32, &shape)).then_some((found, compute))
}

/// Returns the extents of the cache and the number of tokens per text. Returns `None` if the operands do not have the
/// types that reads and writes of a cache need. The caller checks that the width of rows matches.
fn cache(cache: &Aval, texts: &Aval, integers: &[Aval]) -> Option<(Cache, usize)> {
    let ([slots, heads, capacity, row], [count, time, own, _]) = (&cache.shape[..], &texts.shape[..]) else {
        return None;
    };
    let q8 = Format::Q8_0;
    let (stored, width) = match cache.dtype {
        DType::F32 => (Stored::F32, *row),
        DType::BF16 => (Stored::Bf16, *row),
        DType::U8 if row.is_multiple_of(q8.block_bytes()) => {
            (Stored::Q8, row / q8.block_bytes() * q8.block_elements())
        }
        _ => return None,
    };
    let numbered = integers.iter().all(|i| i.dtype == DType::I64 && i.shape[..] == [*count]);
    let fits = numbered && *heads > 0 && *slots > 0 && own % heads == 0;
    let found = Cache { slots: *slots, heads: *heads, capacity: *capacity, width, stored };
    fits.then_some((found, *time))
}

fn writes(call: &Region, types: &[Aval]) -> Option<(Cache, usize)> {
    let [to, texts, integers @ ..] = types else { return None };
    let found = cache(to, texts, integers)?;
    let same_rows = texts.dtype == to.dtype && texts.shape[3] == to.shape[3];
    let fits = integers.len() == 3 && texts.shape[2] == found.0.heads && same_rows;
    (fits && gives(call, to.dtype, &to.shape)).then_some(found)
}

fn attends(call: &Region, types: &[Aval]) -> Option<(Cache, usize, Attention)> {
    let [q, keys, values, integers @ ..] = types else { return None };
    let (cache, time) = cache(keys, q, integers)?;
    let scale = match arg(call, "scale") {
        Some(Attr::Float(bits)) => f64::from_bits(*bits) as f32,
        _ => return None,
    };
    let window = match arg(call, "window") {
        Some(Attr::Int(w)) => Some(usize::try_from(*w).ok()?),
        _ => None,
    };
    let softcap = match arg(call, "softcap") {
        Some(Attr::Float(bits)) => Some(f64::from_bits(*bits) as f32).filter(|c| *c > 0.0 && c.is_finite()),
        _ => None,
    };
    let fits = softcap.is_some() == arg(call, "softcap").is_some();
    let fits = fits && q.dtype == DType::F32 && q.shape[3] == cache.width;
    let fits = fits && integers.len() == 2 && keys == values && scale > 0.0 && scale.is_finite();
    let attention = Attention { heads: q.shape[2], scale, window, softcap };
    (fits && gives(call, DType::F32, &q.shape)).then_some((cache, time, attention))
}

/// Returns the matrices of a `grouped_dot`, without their memory.
fn groups(call: &Region, types: &[Aval]) -> Option<Matrices> {
    let [x, w, groups] = types else { return None };
    let ([count, inputs], [number, outputs, _]) = (&x.shape[..], &w.shape[..]) else { return None };
    let (width, values) = match &*call.name {
        GROUPED => (w.shape[2], Values::Floats(std::ptr::null())),
        _ => {
            let (format, _, width) = blocks(call, w)?;
            (width, Values::Quantized(format, std::ptr::null()))
        }
    };
    let weights = if matches!(values, Values::Floats(_)) { DType::F32 } else { DType::U8 };
    let typed = x.dtype == DType::F32 && w.dtype == weights && groups.dtype == DType::I64;
    let fits = typed && width == *inputs && width > 0 && groups.shape[..] == [*count];
    let found = Matrices { groups: *number, outputs: *outputs, inputs: *inputs, values };
    (fits && gives(call, DType::F32, &[*count, *outputs])).then_some(found)
}

/// Returns true if a routine is a product with quantised weights.
pub(super) fn is_product(routine: &Routine) -> bool {
    matches!(&routine.op, Op::Call(region) if &*region.name == DOT)
}

/// Returns the format and width of the weights if a routine is a product whose activations are rounded to integers.
pub(super) fn integer_product(routine: &Routine) -> Option<(Format, usize)> {
    let Op::Call(region) = &routine.op else { return None };
    let found = if &*region.name == DOT { multiplies(region, &routine.types) } else { None };
    found.filter(|(_, compute)| *compute == Compute::Int8).map(|((format, _, width), _)| (format, width))
}

/// Returns the operands and results of a product with quantised weights.
pub(super) fn product(call: &Call<'_>) -> Option<Product> {
    let Op::Call(region) = &call.routine.op else { return None };
    let types = &call.routine.types[..];
    let ((format, rows, width), _) = multiplies(region, types)?;
    let at = |buffer: usize| call.memory.0[buffer];
    let data = at(call.routine.ins[1]).cast_const();
    let (x, y) = (at(call.routine.ins[0]).cast::<f32>().cast_const(), at(call.routine.outs[0]).cast::<f32>());
    let count = types[0].shape.numel() / width;
    Some(Product { weights: Weights { format, data, rows, width }, rows: Rows { x, y, count } })
}

/// Runs a claimed region.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(call: &Call<'_>, region: &Region) -> Result<()> {
    let types = &call.routine.types[..];
    let unfit =
        || Error::verify(format!("the cpu claims the region {} but has no code for this call", region.name));
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; the claims
    // have checked these types.
    unsafe {
        let weights = |(format, rows, width), operand| {
            let data = call.operand::<u8>(operand).as_ptr();
            Weights { format, data, rows, width }
        };
        let texts =
            |operand, time| Texts { slots: call.operand(operand), first: call.operand(operand + 1), time };
        // A pointer and not a slice, because a result may be the same memory.
        let floats = |operand: usize| call.memory.0[call.routine.ins[operand]].cast::<f32>().cast_const();
        let bytes = |operand: usize| floats(operand).cast::<u8>();
        let out = call.result::<f32>(0).at(0);
        match &*region.name {
            DEQUANTIZE => {
                let found = dequantizes(region, types).ok_or_else(unfit)?;
                quantized::dequantize(call.pool, &weights(found, 0), out);
            }
            DOT => {
                let Product { weights, rows } = product(call).ok_or_else(unfit)?;
                match multiplies(region, types) {
                    Some((_, Compute::Bf16)) => quantized::dot_bf16(call.pool, &weights, rows),
                    Some((_, Compute::Int8)) => quantized::int8::dot(call.pool, &[Product { weights, rows }]),
                    _ => quantized::dot(call.pool, &weights, rows),
                }
            }
            WRITE => {
                let (cache, time) = writes(region, types).ok_or_else(unfit)?;
                let count = call.operand::<i64>(4);
                cached::write(call.pool, cache, (bytes(0), out.cast()), bytes(1), texts(2, time), count);
            }
            GROUPED | QUANTIZED_GROUPED => {
                let found = groups(region, types).ok_or_else(unfit)?;
                let values = match found.values {
                    Values::Floats(_) => Values::Floats(floats(1)),
                    Values::Quantized(format, _) => Values::Quantized(format, call.operand::<u8>(1).as_ptr()),
                };
                grouped::dot(call.pool, &Matrices { values, ..found }, floats(0), out, call.operand(2));
            }
            ATTENTION => {
                let (cache, time, attention) = attends(region, types).ok_or_else(unfit)?;
                let operands = [bytes(1), bytes(2)];
                cached::attend(call.pool, (cache, attention), floats(0), operands, texts(3, time), out);
            }
            _ => return Err(unfit()),
        }
    }
    Ok(())
}
