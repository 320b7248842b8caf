//! Slices along an axis, read and written at computed indices.

use super::element::{Element, with_element};
use super::{Call, around};
use crate::tile::memory;
use gradus_ir::ops::Combine;
use gradus_ir::reference::Combined;
use gradus_ir::{DType, Error, Result};
use std::borrow::Cow;

/// The integers of operand 1, if all are indices of the extent.
unsafe fn indices<'a>(call: &Call<'a>, extent: usize) -> Result<Cow<'a, [i64]>> {
    let aval = call.of(1);
    let all = if aval.dtype == DType::I64 {
        // SAFETY: elements are of the operand's dtype.
        Cow::Borrowed(unsafe { call.operand::<i64>(1) })
    } else {
        let mut own = vec![0i64; aval.shape.numel()];
        let from = call.memory.0[call.routine.ins[1]];
        // SAFETY: integers of every dtype are read as i64.
        unsafe { memory::read(aval.dtype, from, 0, 1, own.as_mut_ptr().cast(), own.len()) };
        Cow::Owned(own)
    };
    match all.iter().find(|&&i| i < 0 || i >= extent as i64) {
        Some(&index) => Err(Error::index(index, extent)),
        None => Ok(all),
    }
}

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn take(call: &Call<'_>, axis: usize) -> Result<bool> {
    let aval = call.of(0);
    let (rows, n, width) = around(&aval.shape, axis);
    // SAFETY: the caller's promise.
    let index = unsafe { indices(call, n)? };
    let bytes = width * aval.dtype.size();
    if rows * index.len() * bytes == 0 {
        return Ok(true);
    }
    // Small slices as one number each.
    // SAFETY: the caller's promise; the places of memory are aligned for all numbers.
    unsafe {
        match bytes {
            1 => take_each(call, rows, n, &index, |from: *const u8, to: *mut u8| to.write(from.read())),
            2 => take_each(call, rows, n, &index, |from: *const u16, to: *mut u16| to.write(from.read())),
            4 => take_each(call, rows, n, &index, |from: *const u32, to: *mut u32| to.write(from.read())),
            8 => take_each(call, rows, n, &index, |from: *const [u32; 2], to| to.write(from.read())),
            _ => {
                let source = call.memory.0[call.routine.ins[0]];
                let out = call.result::<u8>(0);
                let source = super::Out(source);
                call.parts(rows * index.len(), bytes, |first, last| {
                    for slice in first..last {
                        let (r, i) = (slice / index.len(), index[slice % index.len()] as usize);
                        // SAFETY: the index is within the extent, and the slice of the result is this task's.
                        std::ptr::copy_nonoverlapping(
                            source.at((r * n + i) * bytes),
                            out.at(slice * bytes),
                            bytes,
                        );
                    }
                });
            }
        }
    }
    Ok(true)
}

/// Slices of one number each.
unsafe fn take_each<T>(
    call: &Call<'_>,
    rows: usize,
    n: usize,
    index: &[i64],
    copy: impl Fn(*const T, *mut T) + Sync,
) {
    let source = super::Out(call.memory.0[call.routine.ins[0]].cast::<T>());
    let out = call.result::<T>(0);
    for r in 0..rows {
        call.parts(index.len(), size_of::<T>() + 8, |first, last| {
            for (at, &i) in (first..last).zip(&index[first..last]) {
                copy(source.at(r * n + i as usize), out.at(r * index.len() + at));
            }
        });
    }
}

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn scatter(call: &Call<'_>, axis: usize, combine: Option<Combine>) -> Result<bool> {
    let (_, n, _) = around(&call.of(0).shape, axis);
    // SAFETY: the caller's promise.
    let index = unsafe { indices(call, n)? };
    if index.len() >= NONE as usize {
        return Ok(false);
    }
    // SAFETY: the caller's promise, at the type of the elements.
    unsafe {
        with_element!(call.of(0).dtype,
            T => match combine {
                None => write::<T>(call, axis, &index, |_, u| u),
                Some(Combine::Sum) => write::<T>(call, axis, &index, |a, b| Combined::combine(Combine::Sum, a, b)),
                Some(c) => write::<T>(call, axis, &index, |a, b| Combined::combine(c, a, b)),
            },
            Z => match combine {
                None => write::<Z>(call, axis, &index, |_, u| u),
                Some(c) => write::<Z>(call, axis, &index, |a, b| Combined::combine(c, a, b)),
            }
        );
    }
    Ok(true)
}

/// No update.
const NONE: u32 = u32::MAX;
/// Elements of a slice that are combined at a time.
const BLOCK: usize = 64;

/// Every slice of the result is combined from its updates, in their order, by one task: which task does not matter.
unsafe fn write<T: Element>(
    call: &Call<'_>,
    axis: usize,
    index: &[i64],
    combine: impl Fn(T::Carrier, T::Carrier) -> T::Carrier + Sync,
) {
    let (rows, n, width) = around(&call.of(0).shape, axis);
    // The first update of each slice, and the next one after each update.
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; index.len()]);
    for (u, &i) in index.iter().enumerate().rev() {
        next[u] = std::mem::replace(&mut first[i as usize], u as u32);
    }
    // SAFETY: elements are of the operands' dtype.
    let (base, updates) = unsafe { (call.operand::<T>(0), call.operand::<T>(2)) };
    let out = call.result::<T>(0);
    call.parts(rows * n, width * size_of::<T>(), |from, to| {
        for slice in from..to {
            let (r, head) = (slice / n, first[slice % n]);
            // SAFETY: the slice exists and is this task's.
            let whole = |at: usize, count: usize| unsafe { out.slice(slice * width + at, count) };
            if head == NONE {
                whole(0, width).copy_from_slice(&base[slice * width..][..width]);
                continue;
            }
            for at in (0..width).step_by(BLOCK) {
                let count = BLOCK.min(width - at);
                let mut sums = [T::Carrier::default(); BLOCK];
                for (sum, x) in sums.iter_mut().zip(&base[slice * width + at..][..count]) {
                    *sum = x.up();
                }
                let mut u = head;
                while u != NONE {
                    let from = &updates[(r * index.len() + u as usize) * width + at..][..count];
                    for (sum, x) in sums.iter_mut().zip(from) {
                        *sum = combine(*sum, x.up());
                    }
                    u = next[u as usize];
                }
                for (to, sum) in whole(at, count).iter_mut().zip(sums) {
                    *to = T::down(sum);
                }
            }
        }
    });
}
