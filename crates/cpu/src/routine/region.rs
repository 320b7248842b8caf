//! Runs regions that have code of their own as one step: products with quantised weights or with matrices of experts, and
//! attention over a cache. A claim accepts the calls for which there is code; other calls run the body of the region. A call is
//! prepared once, when its plan is.

use super::Call;
use crate::Pool;
use crate::cached::{self, Attention, Cache, Stored, Texts};
use crate::grouped::{self, Matrices, Values};
use crate::quantized::int8::{self, Product};
use crate::quantized::{self, Rows, Weights};
use crate::tile::Memory;
use gradus_compile::{Claim, Profile, Routine};
use gradus_ir::attr::Attr;
use gradus_ir::format::{Compute, Format};
use gradus_ir::ops::call::Call as Region;
use gradus_ir::{Aval, DType, Op};

const DEQUANTIZE: &str = "dequantize";
const DOT: &str = "quantized_dot";
const WRITE: &str = "cache_write";
const ATTENTION: &str = "cached_attention";
const GROUPED: &str = "grouped_dot";
const QUANTIZED_GROUPED: &str = "quantized_grouped_dot";

/// The regions that are run as one step. None of them can fail.
pub(crate) const CLAIMS: &[Claim] = &[
    claim(DEQUANTIZE, None),
    claim(DOT, None),
    claim(WRITE, Some(0)),
    claim(ATTENTION, None),
    claim(GROUPED, None),
    claim(QUANTIZED_GROUPED, None),
];

const fn claim(name: &'static str, overwrites: Option<usize>) -> Claim {
    Claim { name, fits: is_prepared, overwrites, can_fail: false }
}

fn is_prepared(_: &Profile, call: &Region, types: &[Aval]) -> bool {
    PreparedRegion::of(call, types).is_some()
}

/// The format, the number of rows and the number of elements in a row of quantised weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) format: Format,
    pub(crate) rows: usize,
    pub(crate) width: usize,
}

/// A claimed call: everything that its code needs, except memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PreparedRegion {
    Dequantize(Matrix),
    /// A product with the number of rows of activations.
    Product(Matrix, usize, Compute),
    /// A write of texts with the number of tokens of each.
    Write(Cache, usize),
    /// Attention of texts with the number of tokens of each.
    Attend(Cache, usize, Attention),
    /// Products with matrices `[groups, outputs, inputs]`, quantised if there is a format.
    Grouped([usize; 3], Option<Format>),
}

impl PreparedRegion {
    /// Prepares a call. Returns `None` if there is no code for it.
    fn of(call: &Region, types: &[Aval]) -> Option<PreparedRegion> {
        match &*call.name {
            DEQUANTIZE => prepare_dequantize(call, types),
            DOT => prepare_product(call, types),
            WRITE => prepare_write(call, types),
            ATTENTION => prepare_attention(call, types),
            GROUPED | QUANTIZED_GROUPED => prepare_grouped(call, types),
            _ => None,
        }
    }

    /// Prepares the call of a routine. Returns `None` if the routine is not a claimed call.
    pub(crate) fn of_routine(routine: &Routine) -> Option<PreparedRegion> {
        let Op::Call(region) = &routine.op else { return None };
        PreparedRegion::of(region, &routine.types)
    }

    /// Returns the weights if this is a product with activations rounded to integers.
    pub(super) fn integer_product(&self) -> Option<Matrix> {
        match self {
            PreparedRegion::Product(matrix, _, Compute::Int8) => Some(*matrix),
            _ => None,
        }
    }
}

fn arg<'c>(call: &'c Region, name: &str) -> Option<&'c Attr> {
    call.args.iter().find(|(n, _)| n == name).map(|(_, a)| a)
}

/// Returns true if a region has one result, with this dtype and shape.
fn has_result(call: &Region, dtype: DType, shape: &[usize]) -> bool {
    matches!(&call.body.output_avals()[..], [only] if only.dtype == dtype && only.shape[..] == *shape)
}

/// Returns the weights in an operand of bytes, if its rows consist of complete blocks.
fn quantized_matrix(call: &Region, bytes: &Aval) -> Option<Matrix> {
    let Some(Attr::Str(name)) = arg(call, "format") else { return None };
    let format = Format::of_name(name).filter(|f| f.has_integers())?;
    let row = *bytes.shape.last()?;
    let whole = bytes.dtype == DType::U8 && row.is_multiple_of(format.block_bytes());
    let rows = bytes.shape[..bytes.rank() - 1].iter().product();
    let width = row / format.block_bytes() * format.block_elements();
    whole.then_some(Matrix { format, rows, width })
}

fn prepare_dequantize(call: &Region, types: &[Aval]) -> Option<PreparedRegion> {
    let [bytes] = types else { return None };
    let found = quantized_matrix(call, bytes)?;
    let mut shape = bytes.shape.to_vec();
    *shape.last_mut()? = found.width;
    has_result(call, DType::F32, &shape).then_some(PreparedRegion::Dequantize(found))
}

fn prepare_product(call: &Region, types: &[Aval]) -> Option<PreparedRegion> {
    let [x, bytes] = types else { return None };
    let found = quantized_matrix(call, bytes)?;
    let compute = match arg(call, "compute") {
        Some(Attr::Str(name)) => Compute::of_name(name)?,
        _ => Compute::F32,
    };
    let (width, lead) = x.shape.split_last()?;
    let shape: Vec<usize> = lead.iter().copied().chain([found.rows]).collect();
    let fits = x.dtype == DType::F32 && bytes.rank() == 2 && *width == found.width && *width > 0;
    let count = lead.iter().product();
    (fits && has_result(call, DType::F32, &shape)).then_some(PreparedRegion::Product(found, count, compute))
}

/// Returns the extents of the cache and the number of tokens per text. Returns `None` if the operands do not have the
/// types that reads and writes of a cache need. The caller checks that the width of rows matches.
fn cache_extents(cache: &Aval, texts: &Aval, table: &Aval, numbers: &[Aval]) -> Option<(Cache, usize)> {
    let ([blocks, heads, positions, row], [count, time, own, _]) = (&cache.shape[..], &texts.shape[..])
    else {
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
    let numbered = numbers.iter().all(|i| i.dtype == DType::I64 && i.shape[..] == [*count]);
    let listed = table.dtype == DType::I64 && table.rank() == 2 && table.shape[0] == *count;
    let fits = numbered && listed && *heads > 0 && *blocks > 0 && own % heads == 0;
    let found = Cache { blocks: *blocks, heads: *heads, positions: *positions, width, stored };
    fits.then_some((found, *time))
}

fn prepare_write(call: &Region, types: &[Aval]) -> Option<PreparedRegion> {
    let [to, texts, table, numbers @ ..] = types else { return None };
    let (found, time) = cache_extents(to, texts, table, numbers)?;
    let same_rows = texts.dtype == to.dtype && texts.shape[3] == to.shape[3];
    let fits = numbers.len() == 2 && texts.shape[2] == found.heads && same_rows;
    (fits && has_result(call, to.dtype, &to.shape)).then_some(PreparedRegion::Write(found, time))
}

fn prepare_attention(call: &Region, types: &[Aval]) -> Option<PreparedRegion> {
    let [q, keys, values, table, numbers @ ..] = types else { return None };
    let (cache, time) = cache_extents(keys, q, table, numbers)?;
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
    let fits = fits && numbers.len() == 1 && keys == values && scale > 0.0 && scale.is_finite();
    let attention = Attention { heads: q.shape[2], scale, window, softcap };
    (fits && has_result(call, DType::F32, &q.shape)).then_some(PreparedRegion::Attend(cache, time, attention))
}

fn prepare_grouped(call: &Region, types: &[Aval]) -> Option<PreparedRegion> {
    let [x, w, groups] = types else { return None };
    let ([count, inputs], [number, outputs, last]) = (&x.shape[..], &w.shape[..]) else { return None };
    let (width, format) = match &*call.name {
        GROUPED => (*last, None),
        _ => quantized_matrix(call, w).map(|found| (found.width, Some(found.format)))?,
    };
    let weights = if format.is_none() { DType::F32 } else { DType::U8 };
    let typed = x.dtype == DType::F32 && w.dtype == weights && groups.dtype == DType::I64;
    let fits = typed && width == *inputs && width > 0 && groups.shape[..] == [*count];
    let found = PreparedRegion::Grouped([*number, *outputs, *inputs], format);
    (fits && has_result(call, DType::F32, &[*count, *outputs])).then_some(found)
}

/// Returns true if a routine is a product with quantised weights.
pub(super) fn is_product(routine: &Routine) -> bool {
    matches!(&routine.op, Op::Call(region) if &*region.name == DOT)
}

/// Returns the operands and results of a product with quantised weights; `None` for other calls.
pub(super) fn product(routine: &Routine, prepared: &PreparedRegion, memory: Memory<'_>) -> Option<Product> {
    let PreparedRegion::Product(Matrix { format, rows, width }, count, _) = *prepared else { return None };
    let data = memory.at(routine.ins[1]).cast_const();
    let x = memory.at(routine.ins[0]).cast::<f32>().cast_const();
    let y = memory.at(routine.outs[0]).cast::<f32>();
    Some(Product { weights: Weights { format, data, rows, width }, rows: Rows { x, y, count } })
}

/// Runs a claimed call.
///
/// # Safety
/// As for [`super::run`]. `prepared` was made for `routine`.
pub(crate) unsafe fn run(routine: &Routine, prepared: &PreparedRegion, pool: &Pool, memory: Memory<'_>) {
    let call = Call { routine, pool, memory };
    // SAFETY: the caller guarantees buffers of the types of the routine, which no other thread accesses; these types have been
    // checked when the call was prepared.
    unsafe {
        let texts =
            |operand, time| Texts { table: call.operand(operand), first: call.operand(operand + 1), time };
        // A pointer and not a slice, because a result may be the same memory.
        let floats = |operand: usize| memory.at(routine.ins[operand]).cast::<f32>().cast_const();
        let bytes = |operand: usize| floats(operand).cast::<u8>();
        let out = call.result::<f32>(0).at(0);
        match *prepared {
            PreparedRegion::Dequantize(Matrix { format, rows, width }) => {
                let weights = Weights { format, data: bytes(0), rows, width };
                quantized::dequantize(pool, &weights, out);
            }
            PreparedRegion::Product(_, _, compute) => {
                if let Some(Product { weights, rows }) = product(routine, prepared, memory) {
                    match compute {
                        Compute::F32 => quantized::dot(pool, &weights, rows),
                        Compute::Bf16 => quantized::dot_bf16(pool, &weights, rows),
                        Compute::Int8 => int8::dot(pool, &[Product { weights, rows }]),
                    }
                }
            }
            PreparedRegion::Write(cache, time) => {
                let count = call.operand::<i64>(4);
                cached::write(pool, cache, (bytes(0), out.cast()), bytes(1), texts(2, time), count);
            }
            PreparedRegion::Grouped([groups, outputs, inputs], format) => {
                let values = match format {
                    None => Values::Floats(floats(1)),
                    Some(format) => Values::Quantized(format, bytes(1)),
                };
                let matrices = Matrices { groups, outputs, inputs, values };
                grouped::dot(pool, &matrices, floats(0), out, call.operand(2));
            }
            PreparedRegion::Attend(cache, time, attention) => {
                let operands = [bytes(1), bytes(2)];
                cached::attend(pool, (cache, attention), floats(0), operands, texts(3, time), out);
            }
        }
    }
}
