//! Gathers and scatters slices along an axis at computed indices.

use super::element::{Element, with_element};
use super::{Call, split_extents};
use crate::elements::Elements;
use crate::tile::memory;
use gradus_ir::ops::Combine;
use gradus_ir::reference::Combined;
use gradus_ir::{DType, Error, Result, stop};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the integers of operand 1, or an error if one is out of range.
unsafe fn indices<'a>(call: &Call<'a>, extent: usize) -> Result<Cow<'a, [i64]>> {
    let aval = call.operand_type(1);
    let all = if aval.dtype == DType::I64 {
        // SAFETY: `i64` is the element type of the operand's dtype.
        Cow::Borrowed(unsafe { call.operand::<i64>(1) })
    } else {
        let mut own = vec![0i64; aval.shape.numel()];
        let (from, to) = (Elements(call.memory.0[call.routine.ins[1]]), Elements(own.as_mut_ptr()));
        call.parts(own.len(), size_of::<i64>(), |first, last| {
            let from = from.at(first * aval.dtype.size());
            // SAFETY: the operand has these elements, and this range of `own` belongs to this task.
            unsafe { memory::read(aval.dtype, from, 0, 1, to.at(first).cast(), last - first) };
        });
        Cow::Owned(own)
    };
    let out_of_range = AtomicBool::new(false);
    call.parts(all.len(), size_of::<i64>(), |first, last| {
        // Checks all indices, because a search that stops at the first would not be vectorized.
        let some = all[first..last].iter().fold(false, |some, i| some | (*i as u64 >= extent as u64));
        out_of_range.fetch_or(some, Ordering::Relaxed);
    });
    // If the work was interrupted, some indices have not been checked.
    stop::poll()?;
    let first = || all.iter().find(|&&i| i < 0 || i >= extent as i64);
    match out_of_range.into_inner().then(first).flatten() {
        Some(&index) => Err(Error::index(index, extent)),
        None => Ok(all),
    }
}

/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn take(call: &Call<'_>, axis: usize) -> Result<bool> {
    let aval = call.operand_type(0);
    let (rows, n, width) = split_extents(&aval.shape, axis);
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses.
    let index = unsafe { indices(call, n)? };
    let bytes = width * aval.dtype.size();
    if rows * index.len() * bytes == 0 {
        return Ok(true);
    }
    // Copies each small slice as one integer.
    // SAFETY: the caller guarantees the buffers, which are aligned for all element types, and `indices` has checked the
    // indices.
    unsafe {
        match bytes {
            1 => take_each(call, rows, n, &index, |from: *const u8, to: *mut u8| to.write(from.read())),
            2 => take_each(call, rows, n, &index, |from: *const u16, to: *mut u16| to.write(from.read())),
            4 => take_each(call, rows, n, &index, |from: *const u32, to: *mut u32| to.write(from.read())),
            8 => take_each(call, rows, n, &index, |from: *const [u32; 2], to| to.write(from.read())),
            _ => {
                let source = call.memory.0[call.routine.ins[0]];
                let out = call.result::<u8>(0);
                let source = Elements(source);
                call.parts(rows * index.len(), bytes, |first, last| {
                    for slice in first..last {
                        let (r, i) = (slice / index.len(), index[slice % index.len()] as usize);
                        // SAFETY: the index is in range, and this slice of the result belongs to this task.
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

/// Gathers slices of the size of an integer type.
unsafe fn take_each<T>(
    call: &Call<'_>,
    rows: usize,
    n: usize,
    index: &[i64],
    copy: impl Fn(*const T, *mut T) + Sync,
) {
    let source = Elements(call.memory.0[call.routine.ins[0]].cast::<T>());
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
    let (_, n, _) = split_extents(&call.operand_type(0).shape, axis);
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses.
    let index = unsafe { indices(call, n)? };
    if index.len() >= NONE as usize {
        return Ok(false);
    }
    // SAFETY: the caller guarantees buffers of the stated types, which no other thread accesses; `T` and `Z`
    // are the element type of the dtype.
    unsafe {
        with_element!(call.operand_type(0).dtype,
            T => match combine {
                None => scatter_slices::<T>(call, axis, &index, |_, u| u),
                Some(Combine::Sum) => {
                    scatter_slices::<T>(call, axis, &index, |a, b| Combined::combine(Combine::Sum, a, b))
                }
                Some(c) => scatter_slices::<T>(call, axis, &index, |a, b| Combined::combine(c, a, b)),
            },
            Z => match combine {
                None => scatter_slices::<Z>(call, axis, &index, |_, u| u),
                Some(c) => scatter_slices::<Z>(call, axis, &index, |a, b| Combined::combine(c, a, b)),
            }
        );
    }
    Ok(true)
}

/// Marks the end of a list of updates.
const NONE: u32 = u32::MAX;
/// Number of elements of a slice that are combined together.
const BLOCK: usize = 64;

/// If there is at least one update for this number of elements, [`scatter_elements`] scatters single elements span by span.
const MAX_ELEMENTS_PER_UPDATE: usize = 8;
/// Number of elements in a span, which one task accumulates in a buffer of the carrier type.
const SPAN: usize = 1 << 15;
/// Smallest number of updates in a piece that one task sorts, and largest number of pieces.
const PIECE: usize = 1 << 14;
const PIECES: usize = 64;

/// Scatters single elements. Combines one span of elements at a time with all updates of the span, in order.
unsafe fn scatter_elements<T: Element>(
    call: &Call<'_>,
    index: &[i64],
    combine: impl Fn(T::Carrier, T::Carrier) -> T::Carrier + Sync,
) {
    let n = call.operand_type(0).shape.numel();
    let (base, out) = (Elements(call.memory.0[call.routine.ins[0]].cast::<T>()), call.result::<T>(0));
    // SAFETY: `T` is the element type of the operand's dtype.
    let updates = unsafe { call.operand::<T>(2) };
    let spans = n.div_ceil(SPAN);
    let (starts, order) = sort_by_span(call, index, spans);
    call.parts(spans, SPAN * size_of::<T::Carrier>(), |from, to| {
        let mut sums: Vec<T::Carrier> = std::iter::repeat_n(T::Carrier::default(), SPAN).collect();
        for span in from..to {
            let first = span * SPAN;
            let count = SPAN.min(n - first);
            for (k, sum) in sums[..count].iter_mut().enumerate() {
                // SAFETY: the element exists, and its span belongs to this task.
                *sum = unsafe { base.at(first + k).read() }.to_carrier();
            }
            let mut update = |u: usize| {
                let sum = &mut sums[index[u] as usize - first];
                *sum = combine(*sum, updates[u].to_carrier());
            };
            match &order {
                Some(order) => order[starts[span]..starts[span + 1]].iter().for_each(|u| update(*u as usize)),
                None => (starts[span]..starts[span + 1]).for_each(update),
            }
            for (k, sum) in sums[..count].iter().enumerate() {
                // SAFETY: the element exists, and its span belongs to this task.
                unsafe { out.at(first + k).write(T::from_carrier(*sum)) };
            }
        }
    });
}

/// Sorts updates by span with a stable sort. Returns the position of the first update of each span in sorted order,
/// then the number of updates; and the sorted updates, or `None` if the order does not change.
fn sort_by_span(call: &Call<'_>, index: &[i64], spans: usize) -> (Vec<usize>, Option<Vec<u32>>) {
    // The number of pieces is bounded, because each has a counter for every span.
    let piece = PIECE.max(index.len().div_ceil(PIECES));
    let pieces: Vec<&[i64]> = index.chunks(piece).collect();
    // For each piece and span, the number of updates, and later the position of the next update in sorted order.
    let mut counts = vec![0usize; pieces.len() * spans];
    let (shared_counts, sorted) = (Elements(counts.as_mut_ptr()), AtomicBool::new(true));
    call.parts(pieces.len(), piece * size_of::<i64>(), |from, to| {
        for (own, at) in pieces[from..to].iter().zip(from..) {
            // SAFETY: the counters of the piece belong to this task.
            let counts = unsafe { shared_counts.slice(at * spans, spans) };
            let mut last = at.checked_sub(1).and_then(|a| pieces[a].last()).map_or(0, |i| *i as usize / SPAN);
            let mut rising = true;
            for i in *own {
                let span = *i as usize / SPAN;
                counts[span] += 1;
                rising &= span >= last;
                last = span;
            }
            sorted.fetch_and(rising, Ordering::Relaxed);
        }
    });
    let (mut starts, mut next) = (Vec::with_capacity(spans + 1), 0);
    for span in 0..spans {
        starts.push(next);
        for count in counts.iter_mut().skip(span).step_by(spans) {
            next += std::mem::replace(count, next);
        }
    }
    starts.push(next);
    if sorted.into_inner() {
        return (starts, None);
    }
    let mut order = vec![0u32; index.len()];
    let (shared_counts, out) = (Elements(counts.as_mut_ptr()), Elements(order.as_mut_ptr()));
    call.parts(pieces.len(), piece * size_of::<i64>(), |from, to| {
        for (own, at) in pieces[from..to].iter().zip(from..) {
            // SAFETY: the counters of the piece belong to this task.
            let next = unsafe { shared_counts.slice(at * spans, spans) };
            for (i, u) in own.iter().zip(at * piece..) {
                let slot = &mut next[*i as usize / SPAN];
                // SAFETY: every update has its own position in sorted order, which is below the number of updates.
                unsafe { out.at(*slot).write(u as u32) };
                *slot += 1;
            }
        }
    });
    (starts, Some(order))
}

/// Copies the base, then combines each slice with its updates, in order. The task that owns the first update of a slice
/// combines all updates of the slice, so that the result does not depend on the division into tasks.
unsafe fn scatter_slices<T: Element>(
    call: &Call<'_>,
    axis: usize,
    index: &[i64],
    combine: impl Fn(T::Carrier, T::Carrier) -> T::Carrier + Sync,
) {
    let (rows, n, width) = split_extents(&call.operand_type(0).shape, axis);
    if rows * width == 1 && index.len() >= n / MAX_ELEMENTS_PER_UPDATE {
        // SAFETY: the caller guarantees that `T` is the element type and that no other thread accesses the
        // result.
        return unsafe { scatter_elements::<T>(call, index, combine) };
    }
    // Lists of updates: the first update of each slice, and after each update the next one of the same slice.
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; index.len()]);
    for (u, &i) in index.iter().enumerate().rev() {
        next[u] = std::mem::replace(&mut first[i as usize], u as u32);
    }
    let (base, out) = (Elements(call.memory.0[call.routine.ins[0]].cast::<T>()), call.result::<T>(0));
    if base.0 != out.0 {
        call.parts(rows * n * width, size_of::<T>(), |from, to| {
            // SAFETY: both have these elements, in separate memory.
            unsafe { out.at(from).copy_from_nonoverlapping(base.at(from), to - from) };
        });
    }
    // SAFETY: `T` is the element type of the operand's dtype.
    let updates = unsafe { call.operand::<T>(2) };
    let of = |r: usize, u: u32, at: usize| (r * index.len() + u as usize) * width + at;
    call.parts(index.len(), rows * width * size_of::<T>(), |from, to| {
        for head in from as u32..to as u32 {
            let i = index[head as usize] as usize;
            if first[i] != head {
                continue;
            }
            for (r, at) in (0..rows).flat_map(|r| (0..width).step_by(BLOCK).map(move |at| (r, at))) {
                // SAFETY: the slice exists and belongs to this task.
                let slice = unsafe { out.slice((r * n + i) * width + at, BLOCK.min(width - at)) };
                let mut sums = [T::Carrier::default(); BLOCK];
                slice.iter().zip(&mut sums).for_each(|(x, sum)| *sum = x.to_carrier());
                let mut u = head;
                while u != NONE {
                    let from = &updates[of(r, u, at)..][..slice.len()];
                    from.iter().zip(&mut sums).for_each(|(x, sum)| *sum = combine(*sum, x.to_carrier()));
                    u = next[u as usize];
                }
                slice.iter_mut().zip(sums).for_each(|(to, sum)| *to = T::from_carrier(sum));
            }
        }
    });
}
