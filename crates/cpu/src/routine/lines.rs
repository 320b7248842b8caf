//! Computes cumulative operations and positions of extremes along one axis. A *line* is a vector along that axis. A task
//! processes complete lines.

use super::element::{Element, Ordered, with_element};
use super::{Call, split_extents};
use crate::elements::Elements;
use crate::vector;
use gradus_ir::ops::Combine;
use gradus_ir::reference::Combined;
use gradus_ir::{DType, Result};

/// Number of adjacent lines that are processed together. Corresponding elements of adjacent lines are contiguous in memory.
const BLOCK: usize = 64;
/// Number of consecutive lines that are processed together. Each of them is contiguous in memory.
const CONSECUTIVE: usize = 8;

/// Calls `walk(first element of the first line, number of lines, index of the first line)` for blocks of adjacent lines. The
/// blocks cover all lines.
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
    // SAFETY: the caller guarantees buffers of the stated types that no other thread accesses; `T` and `Z` are the
    // element type of the dtype.
    unsafe {
        with_element!(call.operand_type(0).dtype,
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
    let (rows, n, width) = split_extents(&call.operand_type(0).shape, axis);
    // SAFETY: `T` is the element type of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out = call.result::<T>(0);
    let identity = <T::Carrier as Combined>::identity(combine, T::DTYPE);
    if width == 1 {
        // Processes several lines together, because each sum of a line depends on the previous one.
        return call.parts(rows.div_ceil(CONSECUTIVE), CONSECUTIVE * n * size_of::<T>(), |from, to| {
            for first in (from * CONSECUTIVE..rows.min(to * CONSECUTIVE)).step_by(CONSECUTIVE) {
                let lines = CONSECUTIVE.min(rows - first);
                let cumulate_some = if lines == CONSECUTIVE {
                    cumulate_lines::<T, CONSECUTIVE>
                } else {
                    cumulate_lines::<T, 1>
                };
                let count = if lines == CONSECUTIVE { 1 } else { lines };
                for line in first..first + count {
                    // SAFETY: the lines exist, and belong to this task.
                    unsafe { cumulate_some(combine, x, out, line * n, n, reverse) };
                }
            }
        });
    }
    blocks(call, (rows, n, width), size_of::<T>(), |start, lines, _| {
        let mut sums = [identity; BLOCK];
        for k in 0..n {
            let at = start + width * if reverse { n - 1 - k } else { k };
            // SAFETY: these elements exist and belong to this task.
            let to = unsafe { out.slice(at, lines) };
            for ((sum, x), to) in sums.iter_mut().zip(&x[at..at + lines]).zip(to) {
                *sum = T::Carrier::combine(combine, *sum, x.to_carrier());
                *to = T::from_carrier(*sum);
            }
        }
    });
}

/// Computes cumulative combinations of `N` consecutive lines from `start` on.
///
/// # Safety
/// The lines exist, and no other thread accesses those of the result.
#[inline(always)]
unsafe fn cumulate_lines<T: Element, const N: usize>(
    combine: Combine,
    x: &[T],
    out: Elements<T>,
    start: usize,
    n: usize,
    reverse: bool,
) {
    let mut sums = [<T::Carrier as Combined>::identity(combine, T::DTYPE); N];
    let lines: [&[T]; N] = std::array::from_fn(|l| &x[start + l * n..][..n]);
    for k in 0..n {
        let k = if reverse { n - 1 - k } else { k };
        for l in 0..N {
            sums[l] = T::Carrier::combine(combine, sums[l], lines[l][k].to_carrier());
            // SAFETY: the caller guarantees the lines.
            unsafe { out.at(start + l * n + k).write(T::from_carrier(sums[l])) };
        }
    }
}

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn arg_reduce(call: &Call<'_>, largest: bool, axis: usize) -> Result<bool> {
    let last = axis + 1 == call.operand_type(0).shape.rank();
    // SAFETY: the caller guarantees buffers of the stated types that no other thread accesses; `T` is the element
    // type of the dtype.
    unsafe {
        match call.operand_type(0).dtype {
            DType::F32 if last => return first_extreme::<f32>(call, largest),
            DType::F64 if last => return first_extreme::<f64>(call, largest),
            _ => {}
        }
        with_element!(call.operand_type(0).dtype,
            T => if largest {
                extreme::<T>(call, axis, |x| x.rank())
            } else {
                // NaN counts as the smallest element too.
                extreme::<T>(call, axis, |x| if x.is_nan() { u64::MAX } else { !x.rank() })
            },
            Z => return Ok(false)
        );
    }
    Ok(true)
}

/// Finds the first position of the extreme along each line of the last axis. Computes the extreme by a vectorized loop,
/// then searches for it.
unsafe fn first_extreme<T: Ordered + vector::Element + PartialEq>(
    call: &Call<'_>,
    largest: bool,
) -> Result<bool> {
    let shape = &call.operand_type(0).shape;
    let (rows, n, _) = split_extents(shape, shape.rank() - 1);
    if n == 0 {
        return Ok(false);
    }
    // SAFETY: `T` is the element type of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out: Elements<i64> = call.result(0);
    let loops = vector::loops::<T>();
    let extreme = if largest { loops.max } else { loops.min };
    call.parts(rows, n * size_of::<T>() + 8, |from, to| {
        for r in from..to {
            let line = &x[r * n..][..n];
            // SAFETY: the line has `n` elements, and its result belongs to this task.
            unsafe {
                let best = extreme(line.as_ptr(), n);
                let is_best = |x: &T| *x == best || best.is_nan() && x.is_nan();
                // Tests complete blocks without leaving the loop early, so that the compiler vectorizes the test.
                let near = line.chunks(BLOCK).position(|c| c.iter().fold(false, |any, x| any | is_best(x)));
                let first = near.unwrap_or(0) * BLOCK;
                let position = line[first..].iter().position(is_best).unwrap_or(0);
                out.at(r).write((first + position) as i64);
            }
        }
    });
    Ok(true)
}

/// Finds the first position of the largest rank along each line.
#[inline(always)]
unsafe fn extreme<T: Ordered>(call: &Call<'_>, axis: usize, rank: impl Fn(T) -> u64 + Sync) {
    let (rows, n, width) = split_extents(&call.operand_type(0).shape, axis);
    // SAFETY: `T` is the element type of the operand's dtype.
    let x = unsafe { call.operand::<T>(0) };
    let out: Elements<i64> = call.result(0);
    if width == 1 && n > 0 {
        return call.parts(rows, n * size_of::<T>() + 8, |from, to| {
            for r in from..to {
                let line = &x[r * n..][..n];
                let (mut best, mut position) = (rank(line[0]), 0);
                for (k, &x) in line.iter().enumerate().skip(1) {
                    let own = rank(x);
                    (best, position) = if own > best { (own, k) } else { (best, position) };
                }
                // SAFETY: the result of this line belongs to this task.
                unsafe { out.at(r).write(position as i64) };
            }
        });
    }
    blocks(call, (rows, n, width), size_of::<T>(), |start, lines, first| {
        let (mut best, mut position) = ([0u64; BLOCK], [0i64; BLOCK]);
        for k in 0..n {
            for (l, &x) in x[start + k * width..][..lines].iter().enumerate() {
                let own = rank(x);
                if k == 0 || own > best[l] {
                    (best[l], position[l]) = (own, k as i64);
                }
            }
        }
        // SAFETY: the results of these lines belong to this task.
        unsafe { out.slice(first, lines) }.copy_from_slice(&position[..lines]);
    });
}
