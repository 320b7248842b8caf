//! Evaluates small structural ops (concat, take, gather, scatter, iota, random bits) without compiling them.
//! Takes operands; returns results, or `None` if a result exceeds `LIMIT`, an index is out of range, or (in functions
//! of tensors) gradients are recorded.
//! On `None` the caller runs the compiled op, which reports errors.

use crate::data::Data;
use crate::device::Device;
use crate::eager::call_cache::plain;
use crate::eager::tape;
use crate::tensor::Tensor;
use crate::trace;
use gradus_ir::ops::{Combine, Form};
use gradus_ir::reference::Offsets;
use gradus_ir::{Aval, C, DType, Shape, philox};
use gradus_mem::{Pod, Storage};

/// Largest size evaluated directly: of a result in bytes, of an index tensor in elements.
const LIMIT: usize = 1 << 10;

/// Evaluates an op that only moves, counts or draws elements. Returns `None` if the results are large, and in
/// every other case that the compiled op must handle, errors included.
pub(crate) fn evaluate_small(form: &Form, ins: &[Data], outs: &[Aval]) -> Option<Vec<Data>> {
    let out = outs.first()?;
    let on_another_device = match ins {
        [] => Device::default() != Device::CPU,
        _ => !ins.iter().all(Data::is_host),
    };
    if on_another_device {
        return None;
    }
    let bytes = out.shape.checked_numel()?.checked_mul(out.dtype.size())?;
    let storage = match (form, out.dtype.size()) {
        _ if bytes > LIMIT => None,
        (Form::Bits, _) => return draw_bits(&ins[0], outs),
        (Form::Iota { axis }, _) => fill_iota(out, *axis),
        (_, 1) => move_elements::<u8>(form, ins, out),
        (_, 2) => move_elements::<u16>(form, ins, out),
        (_, 4) => move_elements::<u32>(form, ins, out),
        (_, 8) => move_elements::<u64>(form, ins, out),
        _ => move_elements::<C>(form, ins, out),
    };
    storage.map(|storage| vec![Data::row_major(storage, out)])
}

/// Concatenates tensors along an axis, or stacks them along a new one. Returns `None` unless they are small,
/// row-major, of one type, and not recorded.
pub(crate) fn concat_small(tensors: &[&Tensor], axis: usize, new: bool) -> Option<Tensor> {
    let parts = plain(tensors)?;
    let Aval { dtype, shape } = &parts.first()?.aval;
    let fits = |d: &Data| {
        let own = &d.aval.shape;
        let same = |a: usize| own[a] == shape[a] || (a == axis && !new);
        d.aval.dtype == *dtype && own.rank() == shape.rank() && (0..shape.rank()).all(same)
    };
    if !parts.iter().all(fits) {
        return None;
    }
    let (before, after) = shape.split_at(axis);
    let along = if new {
        parts.len()
    } else {
        parts.iter().try_fold(0usize, |sum, d| sum.checked_add(d.aval.shape[axis]))?
    };
    let after = if new { after } else { &after[1..] };
    let shape: Shape = before.iter().chain(&[along]).chain(after).copied().collect();
    let bytes = shape.checked_numel()?.checked_mul(dtype.size()).filter(|&bytes| bytes <= LIMIT)?;
    let mut result = Storage::zeroed(bytes)?;
    let (to, mut first) = (result.get_mut_slice::<u8>()?, 0);
    // If the result is empty, the row count may overflow, so no row is copied.
    let rows = if bytes == 0 { 0 } else { before.iter().product() };
    for part in parts.iter().filter(|_| rows > 0) {
        let from = &part.storage.host::<u8>()?[part.offset * dtype.size()..];
        let own = part.aval.shape[axis..].iter().product::<usize>() * dtype.size();
        for row in 0..rows {
            let at = row * (bytes / rows) + first;
            to[at..at + own].copy_from_slice(&from[row * own..(row + 1) * own]);
        }
        first += own;
    }
    Some(Tensor::data(Data::row_major(result, &Aval::new(*dtype, shape))))
}

/// Returns the row-major positions that indices along an axis select. Returns `None` unless the indices are
/// few, in range and on the CPU.
fn positions_of(shape: &Shape, axis: usize, ids: &Data) -> Option<Vec<usize>> {
    let own = &ids.aval.shape;
    if own.rank() != shape.rank() || (0..own.rank()).any(|a| a != axis && own[a] > shape[a]) {
        return None;
    }
    let along = in_range_indices(ids, shape[axis])?;
    let mut strides: Vec<i64> = shape.strides().iter().map(|&s| s as i64).collect();
    let stride = std::mem::replace(&mut strides[axis], 0);
    let offsets = along.iter().zip(Offsets::new(own, &strides, 0));
    Some(offsets.map(|(id, at)| (at + id * stride) as usize).collect())
}

/// Returns true if an operation on these tensors would be recorded for gradients or in a trace.
fn is_recorded(ins: &[&Tensor]) -> bool {
    trace::is_tracing() || (tape::is_grad_enabled() && ins.iter().any(|t| t.requires_grad()))
}

/// Gathers one element per index along an axis. Returns `None` if the indices are many or out of range, `x` is
/// not row-major, or the operation is recorded.
pub(crate) fn gather_small(x: &Tensor, axis: usize, ids: &Tensor) -> Option<Tensor> {
    if is_recorded(&[x]) {
        return None;
    }
    let of = |x: &Data, ids: &Data| {
        let at = positions_of(&x.aval.shape, axis, ids)?;
        let storage = match x.aval.dtype.size() {
            _ if x.strides.is_some() => None,
            1 => gather_at::<u8>(x, &at),
            2 => gather_at::<u16>(x, &at),
            4 => gather_at::<u32>(x, &at),
            8 => gather_at::<u64>(x, &at),
            _ => gather_at::<C>(x, &at),
        };
        Some(Tensor::data(Data::row_major(storage?, &Aval::new(x.aval.dtype, ids.aval.shape.clone()))))
    };
    x.with_data(|x| ids.with_data(|ids| of(x, ids)))
}

fn gather_at<E: Pod>(x: &Data, at: &[usize]) -> Option<Storage> {
    let all = &x.storage.host::<E>()?[x.offset..];
    Storage::from_fn(at.len(), |i| all[at[i]])
}

/// Scatters elements to indices along an axis. Returns `None` if the operands are large, do not fit or have
/// another dtype or layout, or if the operation is recorded.
pub(crate) fn scatter_small(
    x: &Tensor,
    axis: usize,
    ids: &Tensor,
    source: &Tensor,
    combine: Option<Combine>,
) -> Option<Tensor> {
    if is_recorded(&[x, source]) {
        return None;
    }
    let of = |x: &Data, ids: &Data, new: &Data| {
        let (needed, own) = (&ids.aval.shape, &new.aval.shape);
        let fits =
            own.rank() == needed.rank() && own.iter().zip(&needed[..]).all(|(have, need)| have >= need);
        let few = x.aval.shape.checked_numel()?.checked_mul(x.aval.dtype.size())? <= LIMIT;
        if !fits || !few || x.strides.is_some() || new.aval.dtype != x.aval.dtype {
            return None;
        }
        let at = positions_of(&x.aval.shape, axis, ids)?;
        let storage = match (combine, x.aval.dtype, x.aval.dtype.size()) {
            (Some(Combine::Sum), DType::F32, _) => scatter_at::<f32>(x, &at, needed, new, |a, b| *a += b),
            (Some(Combine::Sum), DType::F64, _) => scatter_at::<f64>(x, &at, needed, new, |a, b| *a += b),
            (Some(Combine::Sum), DType::I64, _) => {
                scatter_at::<i64>(x, &at, needed, new, |a, b| *a = a.wrapping_add(b))
            }
            (Some(_), ..) => None,
            (None, _, 1) => scatter_at::<u8>(x, &at, needed, new, |a, b| *a = b),
            (None, _, 2) => scatter_at::<u16>(x, &at, needed, new, |a, b| *a = b),
            (None, _, 4) => scatter_at::<u32>(x, &at, needed, new, |a, b| *a = b),
            (None, _, 8) => scatter_at::<u64>(x, &at, needed, new, |a, b| *a = b),
            (None, ..) => scatter_at::<C>(x, &at, needed, new, |a, b| *a = b),
        };
        Some(Tensor::data(Data::row_major(storage?, &x.aval)))
    };
    x.with_data(|x| ids.with_data(|ids| source.with_data(|new| of(x, ids, new))))
}

fn scatter_at<E: Pod>(
    x: &Data,
    at: &[usize],
    shape: &Shape,
    new: &Data,
    into: impl Fn(&mut E, E),
) -> Option<Storage> {
    let mut result = Storage::from_slice(&x.storage.host::<E>()?[x.offset..][..x.aval.shape.numel()])?;
    let (to, all) = (result.get_mut_slice::<E>()?, new.storage.host::<E>()?);
    let strides = new.strides();
    let from = Offsets::new(shape, &strides, new.offset as i64);
    at.iter().zip(from).for_each(|(&i, j)| into(&mut to[i], all[j as usize]));
    Some(result)
}

fn draw_bits(state: &Data, outs: &[Aval]) -> Option<Vec<Data>> {
    let [words, next] = outs else { return None };
    let state: [u32; 4] = state.to_vec().ok()?.try_into().ok()?;
    let n = words.shape.numel();
    let mut all = Vec::with_capacity(n);
    philox::fill_bits(state, |word| all.push(word), n);
    let (words, next) = ((words, &all[..]), (next, &philox::advance(state, n)[..]));
    [words, next].iter().map(|(aval, all)| Some(Data::row_major(Storage::from_slice(all)?, aval))).collect()
}

fn fill_iota(out: &Aval, axis: usize) -> Option<Storage> {
    let (n, stride, extent) = (out.shape.numel(), out.shape.strides()[axis], out.shape[axis]);
    let at = |i: usize| i / stride % extent;
    match out.dtype {
        DType::I64 => Storage::from_fn(n, |i| at(i) as i64),
        DType::F64 => Storage::from_fn(n, |i| at(i) as f64),
        _ => None,
    }
}

fn move_elements<E: Pod>(form: &Form, ins: &[Data], out: &Aval) -> Option<Storage> {
    match form {
        Form::Concat { axis } => {
            let row: usize = out.shape[*axis..].iter().product();
            let mut result = Storage::zeroed(out.shape.numel() * size_of::<E>())?;
            let to = result.get_mut_slice::<E>()?;
            let mut first = 0;
            for part in ins {
                let own: usize = part.aval.shape[*axis..].iter().product();
                each(part, |k, x: E| to[k / own * row + first + k % own] = x)?;
                first += own;
            }
            Some(result)
        }
        Form::Take { axis } => {
            let [x, ids] = ins else { return None };
            let strides = x.strides();
            let (before, after) = (&x.aval.shape[..*axis], &x.aval.shape[axis + 1..]);
            let ids = in_range_indices(ids, x.aval.shape[*axis])?;
            let all = x.storage.host::<E>()?;
            let mut from = Vec::with_capacity(out.shape.numel());
            for first in Offsets::new(before, &strides[..*axis], x.offset as i64) {
                for id in &ids {
                    from.extend(Offsets::new(after, &strides[axis + 1..], first + id * strides[*axis]));
                }
            }
            Storage::from_fn(from.len(), |i| all[from[i] as usize])
        }
        Form::Scatter { axis, combine: None } => {
            let [x, ids, new] = ins else { return None };
            let ids = in_range_indices(ids, x.aval.shape[*axis])?;
            let (extent, inner) = (x.aval.shape[*axis], x.aval.shape[axis + 1..].iter().product::<usize>());
            let mut result = Storage::zeroed(out.shape.numel() * size_of::<E>())?;
            let to = result.get_mut_slice::<E>()?;
            each(x, |k, x: E| to[k] = x)?;
            each(new, |k, x: E| {
                let (slice, i) = (k / inner, k % inner);
                let (before, id) = (slice / ids.len(), ids[slice % ids.len()] as usize);
                to[(before * extent + id) * inner + i] = x;
            })?;
            Some(result)
        }
        _ => None,
    }
}

/// Calls `f` with every element and its row-major position. Returns `None` if the data is not on the CPU.
fn each<E: Pod>(d: &Data, mut f: impl FnMut(usize, E)) -> Option<()> {
    let (all, n) = (d.storage.host::<E>()?, d.aval.shape.numel());
    match &d.strides {
        None => all[d.offset..d.offset + n].iter().enumerate().for_each(|(k, x)| f(k, *x)),
        Some(strides) => Offsets::new(&d.aval.shape, strides, d.offset as i64)
            .enumerate()
            .for_each(|(k, i)| f(k, all[i as usize])),
    }
    Some(())
}

/// Returns the indices. Returns `None` unless they are `i64` on the CPU, at most `LIMIT`, and all in range.
fn in_range_indices(ids: &Data, extent: usize) -> Option<Vec<i64>> {
    let few = ids.is_host() && ids.aval.dtype == DType::I64 && ids.aval.shape.numel() <= LIMIT;
    let ids = few.then(|| ids.to_vec::<i64>().ok())??;
    ids.iter().all(|i| (0..extent as i64).contains(i)).then_some(ids)
}
