//! Walks along one axis: running combinations and positions of extremes. Every line is done by one task.

use super::element::{Element, Ordered, with_element};
use super::{Call, Out, around};
use crate::vector;
use gradus_ir::ops::Combine;
use gradus_ir::reference::Combined;
use gradus_ir::{DType, Result};

/// Lines beside each other that are walked together.
const BLOCK: usize = 64;
/// Lines behind each other that are walked together.
const BESIDE: usize = 8;

/// Calls `walk(first element of the first line, how many lines, index of the first line)` for blocks of neighbouring
/// lines that together are all.
fn blocks(
    call: &Call<'_>,
    (rows, n, width): (usize, usize, usize),
    size: usize,
    walk: impl Fn(usize, usize, usize) + Sync,
) {
    if n == 0 {
        return;
    }
    let across = width.div_ceil(BLOCK);
    call.parts(rows * across, n * BLOCK.min(width) * size, |from, to| {
        for block in from..to {
            let (r, column) = (block / across, block % across * BLOCK);
            walk(r * n * width + column, BLOCK.min(width - column), r * width + column);
        }
    });
}

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn cumulate(call: &Call<'_>, combine: Combine, axis: usize, reverse: bool) -> Result<bool> {
    // SAFETY: the caller's promise, at the type of the elements.
    unsafe {
        with_element!(call.of(0).dtype,
            T => match combine {
                Combine::Sum => run_along::<T>(call, Combine::Sum, axis, reverse),
                Combine::Max => run_along::<T>(call, Combine::Max, axis, reverse),
                Combine::Min => run_along::<T>(call, Combine::Min, axis, reverse),
                c => run_along::<T>(call, c, axis, reverse),
            },
            Z => run_along::<Z>(call, combine, axis, reverse)
        );
    }
    Ok(true)
}

#[inline(always)]
unsafe fn run_along<T: Element>(call: &Call<'_>, combine: Combine, axis: usize, reverse: bool) {
    let (rows, n, width) = around(&call.of(0).shape, axis);
    // SAFETY: elements are of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out = call.result::<T>(0);
    let identity = <T::Carrier as Combined>::identity(combine, T::DTYPE);
    if width == 1 {
        // A sum waits for the one before: lines are walked a few at a time.
        return call.parts(rows.div_ceil(BESIDE), BESIDE * n * size_of::<T>(), |from, to| {
            for first in (from * BESIDE..rows.min(to * BESIDE)).step_by(BESIDE) {
                let lines = BESIDE.min(rows - first);
                let walk = if lines == BESIDE { walk::<T, BESIDE> } else { walk::<T, 1> };
                let count = if lines == BESIDE { 1 } else { lines };
                for line in first..first + count {
                    // SAFETY: the lines are this task's.
                    unsafe { walk(combine, x, out, line * n, n, reverse) };
                }
            }
        });
    }
    blocks(call, (rows, n, width), size_of::<T>(), |start, lines, _| {
        let mut sums = [identity; BLOCK];
        for k in 0..n {
            let at = start + width * if reverse { n - 1 - k } else { k };
            // SAFETY: these elements exist and are this task's.
            let to = unsafe { out.slice(at, lines) };
            for ((sum, x), to) in sums.iter_mut().zip(&x[at..at + lines]).zip(to) {
                *sum = T::Carrier::combine(combine, *sum, x.up());
                *to = T::down(*sum);
            }
        }
    });
}

/// Running combinations of `N` lines from `start` on, one behind the other.
///
/// # Safety
/// The lines exist, and those of the result are nobody else's.
#[inline(always)]
unsafe fn walk<T: Element, const N: usize>(
    combine: Combine,
    x: &[T],
    out: Out<T>,
    start: usize,
    n: usize,
    reverse: bool,
) {
    let mut sums = [<T::Carrier as Combined>::identity(combine, T::DTYPE); N];
    let lines: [&[T]; N] = std::array::from_fn(|l| &x[start + l * n..][..n]);
    for k in 0..n {
        let k = if reverse { n - 1 - k } else { k };
        for l in 0..N {
            sums[l] = T::Carrier::combine(combine, sums[l], lines[l][k].up());
            // SAFETY: the caller's promise.
            unsafe { out.at(start + l * n + k).write(T::down(sums[l])) };
        }
    }
}

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn arg_reduce(call: &Call<'_>, largest: bool, axis: usize) -> Result<bool> {
    let last = axis + 1 == call.of(0).shape.rank();
    // SAFETY: the caller's promise, at the type of the elements.
    unsafe {
        match call.of(0).dtype {
            DType::F32 if last => return first_extreme::<f32>(call, largest),
            DType::F64 if last => return first_extreme::<f64>(call, largest),
            _ => {}
        }
        with_element!(call.of(0).dtype,
            T => if largest {
                extreme::<T>(call, axis, |x| x.rank())
            } else {
                // NaN wins here too.
                extreme::<T>(call, axis, |x| if x.is_nan() { u64::MAX } else { !x.rank() })
            },
            Z => return Ok(false)
        );
    }
    Ok(true)
}

/// The first place of the extreme along each line of the last axis: that is found first, by a loop with vectors.
unsafe fn first_extreme<T: Ordered + vector::Element + PartialEq>(
    call: &Call<'_>,
    largest: bool,
) -> Result<bool> {
    let shape = &call.of(0).shape;
    let (rows, n, _) = around(shape, shape.rank() - 1);
    if n == 0 {
        return Ok(false);
    }
    // SAFETY: elements are of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out: Out<i64> = call.result(0);
    let loops = vector::loops::<T>();
    let extreme = if largest { loops.max } else { loops.min };
    call.parts(rows, n * size_of::<T>() + 8, |from, to| {
        for r in from..to {
            let line = &x[r * n..][..n];
            // SAFETY: the line has so many elements, and is this task's.
            unsafe {
                let best = extreme(line.as_ptr(), n);
                let is_best = |x: &T| *x == best || best.is_nan() && x.is_nan();
                // Blocks are asked whole, without leaving early.
                let near = line.chunks(BLOCK).position(|c| c.iter().fold(false, |any, x| any | is_best(x)));
                let first = near.unwrap_or(0) * BLOCK;
                let place = line[first..].iter().position(is_best).unwrap_or(0);
                out.at(r).write((first + place) as i64);
            }
        }
    });
    Ok(true)
}

/// The first place of the greatest rank along each line.
#[inline(always)]
unsafe fn extreme<T: Ordered>(call: &Call<'_>, axis: usize, rank: impl Fn(T) -> u64 + Sync) {
    let (rows, n, width) = around(&call.of(0).shape, axis);
    // SAFETY: elements are of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out: Out<i64> = call.result(0);
    if width == 1 && n > 0 {
        return call.parts(rows, n * size_of::<T>() + 8, |from, to| {
            for r in from..to {
                let line = &x[r * n..][..n];
                let (mut best, mut place) = (rank(line[0]), 0);
                for (k, &x) in line.iter().enumerate().skip(1) {
                    let own = rank(x);
                    (best, place) = if own > best { (own, k) } else { (best, place) };
                }
                // SAFETY: the line is this task's.
                unsafe { out.at(r).write(place as i64) };
            }
        });
    }
    blocks(call, (rows, n, width), size_of::<T>(), |start, lines, first| {
        let (mut best, mut place) = ([0u64; BLOCK], [0i64; BLOCK]);
        for k in 0..n {
            for (l, &x) in x[start + k * width..][..lines].iter().enumerate() {
                let own = rank(x);
                if k == 0 || own > best[l] {
                    (best[l], place[l]) = (own, k as i64);
                }
            }
        }
        // SAFETY: the lines are this task's.
        unsafe { out.slice(first, lines) }.copy_from_slice(&place[..lines]);
    });
}
