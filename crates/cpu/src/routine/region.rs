//! Regions that the CPU runs as one step: products with quantised weights or those of experts, and attention over a cache.
//! A claim accepts the calls that have code here; all other calls run the body of the region.

use super::Call;
use crate::cached::{self, Attention, Cache, Texts};
use crate::grouped::{self, Matrices, Values};
use crate::quantized::{self, Rows, Weights};
use gradus_compile::Claim;
use gradus_ir::attr::Attr;
use gradus_ir::format::{Compute, Format};
use gradus_ir::ops::call::Call as Region;
use gradus_ir::{Aval, DType, Error, Result};

const DEQUANTIZE: &str = "dequantize";
const DOT: &str = "quantized_dot";
const WRITE: &str = "cache_write";
const ATTENTION: &str = "cached_attention";
const GROUPED: &str = "grouped_dot";
const QUANTIZED_GROUPED: &str = "quantized_grouped_dot";

/// Regions that are run as one step. None of them can fail.
pub(crate) const CLAIMS: &[Claim] = &[
    claim(DEQUANTIZE, |call, types| dequantizes(call, types).is_some(), None),
    claim(DOT, |call, types| multiplies(call, types).is_some(), None),
    claim(WRITE, |call, types| writes(call, types).is_some(), Some(0)),
    claim(ATTENTION, |call, types| attends(call, types).is_some(), None),
    claim(GROUPED, |call, types| groups(call, types).is_some(), None),
    claim(QUANTIZED_GROUPED, |call, types| groups(call, types).is_some(), None),
];

const fn claim(name: &'static str, fits: fn(&Region, &[Aval]) -> bool, overwrites: Option<usize>) -> Claim {
    Claim { name, fits, overwrites, can_fail: false }
}

fn arg<'c>(call: &'c Region, name: &str) -> Option<&'c Attr> {
    call.args.iter().find(|(n, _)| n == name).map(|(_, a)| a)
}

/// Whether a region has one result, of this type.
fn gives(call: &Region, dtype: DType, shape: &[usize]) -> bool {
    matches!(&call.body.output_avals()[..], [only] if only.dtype == dtype && only.shape[..] == *shape)
}

/// The format, rows and width of an operand of bytes, if its rows are whole blocks.
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

/// Returns the extents of the cache and the number of tokens per text, if the operands have the types that reads and
/// writes of a cache need.
fn cache(cache: &Aval, texts: &Aval, integers: &[Aval]) -> Option<(Cache, usize)> {
    let ([slots, heads, capacity, width], [count, time, own, features]) =
        (&cache.shape[..], &texts.shape[..])
    else {
        return None;
    };
    let floats = [cache, texts].iter().all(|t| t.dtype == DType::F32);
    let numbered = integers.iter().all(|i| i.dtype == DType::I64 && i.shape[..] == [*count]);
    let fits = floats && numbered && width == features && *heads > 0 && *slots > 0 && own % heads == 0;
    let found = Cache { slots: *slots, heads: *heads, capacity: *capacity, width: *width };
    fits.then_some((found, *time))
}

fn writes(call: &Region, types: &[Aval]) -> Option<(Cache, usize)> {
    let [to, texts, integers @ ..] = types else { return None };
    let found = cache(to, texts, integers)?;
    let fits = integers.len() == 3 && texts.shape[2] == found.0.heads;
    (fits && gives(call, DType::F32, &to.shape)).then_some(found)
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
    let fits = fits && integers.len() == 2 && keys == values && scale > 0.0 && scale.is_finite();
    let attention = Attention { heads: q.shape[2], scale, window, softcap };
    (fits && gives(call, DType::F32, &q.shape)).then_some((cache, time, attention))
}

/// The matrices of a product by groups, without their memory.
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

/// Runs a claimed region.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(call: &Call<'_>, region: &Region) -> Result<()> {
    let types = &call.routine.types[..];
    let unfit = || Error::verify(format!("the CPU has no code for {}", region.name));
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; the claims
    // have checked these types.
    unsafe {
        let weights = |(format, rows, width), operand| {
            let data = call.operand::<u8>(operand).as_ptr();
            Weights { format, data, rows, width }
        };
        let texts =
            |operand, time| Texts { slots: call.operand(operand), first: call.operand(operand + 1), time };
        // Not as a slice: a result may be the same memory.
        let floats = |operand: usize| call.memory.0[call.routine.ins[operand]].cast::<f32>().cast_const();
        let out = call.result::<f32>(0).at(0);
        match &*region.name {
            DEQUANTIZE => {
                let found = dequantizes(region, types).ok_or_else(unfit)?;
                quantized::dequantize(call.pool, &weights(found, 0), out);
            }
            DOT => {
                let (found, compute) = multiplies(region, types).ok_or_else(unfit)?;
                let rows = Rows { x: floats(0), y: out, count: types[0].shape.numel() / found.2 };
                let dot = match compute {
                    Compute::F32 => quantized::dot,
                    Compute::Int8 => quantized::int8::dot,
                };
                dot(call.pool, &weights(found, 1), rows);
            }
            WRITE => {
                let (cache, time) = writes(region, types).ok_or_else(unfit)?;
                let count = call.operand::<i64>(4);
                cached::write(call.pool, cache, (floats(0), out), floats(1), texts(2, time), count);
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
                let operands = (floats(0), floats(1), floats(2));
                cached::attend(call.pool, (cache, attention), operands, texts(3, time), out);
            }
            _ => return Err(unfit()),
        }
    }
    Ok(())
}
