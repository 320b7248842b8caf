//! Few elements moved by hand, where finding a program for it and running it would take longer than the moves.

use crate::data::Data;
use gradus_ir::ops::Form;
use gradus_ir::reference::Offsets;
use gradus_ir::{Aval, C, DType, philox};
use gradus_mem::{Pod, Storage};

/// Results of up to so many bytes.
const FEW: usize = 1 << 10;

/// The results of an op that only moves, counts or draws elements, if they are few. Anything else, errors included, is left to
/// programs.
pub(crate) fn by_hand(form: &Form, ins: &[Data], outs: &[Aval]) -> Option<Vec<Data>> {
    let out = outs.first()?;
    let bytes = out.shape.checked_numel()?.checked_mul(out.dtype.size())?;
    let storage = match (form, out.dtype.size()) {
        _ if bytes > FEW => None,
        (Form::Bits, _) => return drawn(&ins[0], outs),
        (Form::Iota { axis }, _) => counted(out, *axis),
        (_, 1) => moved::<u8>(form, ins, out),
        (_, 2) => moved::<u16>(form, ins, out),
        (_, 4) => moved::<u32>(form, ins, out),
        (_, 8) => moved::<u64>(form, ins, out),
        _ => moved::<C>(form, ins, out),
    };
    storage.map(|storage| vec![Data::row_major(storage, out)])
}

fn drawn(state: &Data, outs: &[Aval]) -> Option<Vec<Data>> {
    let [words, next] = outs else { return None };
    let state: [u32; 4] = state.to_vec().ok()?.try_into().ok()?;
    let n = words.shape.numel();
    let mut all = Vec::with_capacity(n);
    philox::fill_bits(state, |word| all.push(word), n);
    let (words, next) = ((words, &all[..]), (next, &philox::advance(state, n)[..]));
    [words, next].iter().map(|(aval, all)| Some(Data::row_major(Storage::from_slice(all)?, aval))).collect()
}

fn counted(out: &Aval, axis: usize) -> Option<Storage> {
    let (n, step, extent) = (out.shape.numel(), out.shape.strides()[axis], out.shape[axis]);
    let at = |i: usize| i / step % extent;
    match out.dtype {
        DType::I64 => Storage::from_fn(n, |i| at(i) as i64),
        DType::F64 => Storage::from_fn(n, |i| at(i) as f64),
        _ => None,
    }
}

fn moved<E: Pod>(form: &Form, ins: &[Data], out: &Aval) -> Option<Storage> {
    match form {
        Form::Concat { axis } => {
            let row: usize = out.shape[*axis..].iter().product();
            let mut result = Storage::zeroed(out.shape.numel() * size_of::<E>())?;
            let to = result.get_mut_slice::<E>()?;
            let mut first = 0;
            for part in ins {
                let own: usize = part.aval.shape[*axis..].iter().product();
                each(part, |k, x: E| to[k / own * row + first + k % own] = x);
                first += own;
            }
            Some(result)
        }
        Form::Take { axis } => {
            let [x, ids] = ins else { return None };
            let strides = x.strides();
            let (before, after) = (&x.aval.shape[..*axis], &x.aval.shape[axis + 1..]);
            let ids = positions(ids, x.aval.shape[*axis])?;
            let all = x.storage.as_slice::<E>();
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
            let ids = positions(ids, x.aval.shape[*axis])?;
            let (extent, inner) = (x.aval.shape[*axis], x.aval.shape[axis + 1..].iter().product::<usize>());
            let mut result = Storage::zeroed(out.shape.numel() * size_of::<E>())?;
            let to = result.get_mut_slice::<E>()?;
            each(x, |k, x: E| to[k] = x);
            each(new, |k, x: E| {
                let (slice, i) = (k / inner, k % inner);
                let (before, id) = (slice / ids.len(), ids[slice % ids.len()] as usize);
                to[(before * extent + id) * inner + i] = x;
            });
            Some(result)
        }
        _ => None,
    }
}

/// Every element with its row-major position.
fn each<E: Pod>(d: &Data, mut f: impl FnMut(usize, E)) {
    let (all, n) = (d.storage.as_slice::<E>(), d.aval.shape.numel());
    match &d.strides {
        None => all[d.offset..d.offset + n].iter().enumerate().for_each(|(k, x)| f(k, *x)),
        Some(strides) => Offsets::new(&d.aval.shape, strides, d.offset as i64)
            .enumerate()
            .for_each(|(k, i)| f(k, all[i as usize])),
    }
}

/// Indices that all are inside of an axis.
fn positions(ids: &Data, extent: usize) -> Option<Vec<i64>> {
    let few = ids.aval.dtype == DType::I64 && ids.aval.shape.numel() <= FEW;
    let ids = few.then(|| ids.to_vec::<i64>().ok())??;
    ids.iter().all(|i| (0..extent as i64).contains(i)).then_some(ids)
}
