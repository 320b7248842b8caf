//! Runs one loop over arrays, for a single eager operation that needs no kernel.

use crate::Pool;
use crate::elements::Elements;
use crate::vector::{Binary, Convert, Unary};
use gradus_mem::{Pod, Storage};

/// Smallest number of elements per thread.
const GRAIN: usize = 1 << 15;

/// Allocates a storage of `n` elements and fills it in pieces: `f(first, to, count)`.
fn fill_new<T: Pod>(n: usize, f: impl Fn(usize, *mut T, usize) + Sync) -> Option<Storage> {
    // SAFETY: the calls of `f` below write all elements; each writes its own piece.
    let storage = unsafe { Storage::uninit(n.checked_mul(size_of::<T>())?)? };
    let to = Elements(storage.as_ptr().cast::<T>());
    if n <= 2 * GRAIN {
        f(0, to.0, n);
    } else {
        Pool::global().run(n.div_ceil(GRAIN), &|c| {
            let first = c * GRAIN;
            f(first, to.at(first), GRAIN.min(n - first));
        });
    }
    Some(storage)
}

/// Computes `f(x)` for each element. Returns `None` if the allocation fails.
pub fn map1<T: Pod, U: Pod>(f: Convert<T, U>, x: &[T]) -> Option<Storage> {
    // SAFETY: each piece is within the operand and the new storage.
    fill_new(x.len(), |at, to, n| unsafe { f(x.as_ptr().wrapping_add(at), to, n) })
}

/// Computes `f(x)` for each element in place.
pub fn map_in_place<T: Pod>(f: Unary<T>, x: &mut [T]) {
    // SAFETY: result and operand are the same elements, which the loops allow.
    unsafe { f(x.as_ptr(), x.as_mut_ptr(), x.len()) }
}

/// Computes `f(x, y)` for each pair. Returns `None` if the allocation fails.
pub fn map2<T: Pod, U: Pod>(f: &Binary<T, U>, x: &[T], y: &[T]) -> Option<Storage> {
    let n = x.len().min(y.len());
    // SAFETY: each piece is within both operands and the new storage.
    fill_new(n, |at, to, n| unsafe {
        (f.vv)(x.as_ptr().wrapping_add(at), y.as_ptr().wrapping_add(at), to, n)
    })
}

/// Computes `f(x, y)` for each `x`. Returns `None` if the allocation fails.
pub fn map2_scalar<T: Pod, U: Pod>(f: &Binary<T, U>, x: &[T], y: T) -> Option<Storage> {
    // SAFETY: each piece is within the operand and the new storage.
    fill_new(x.len(), |at, to, n| unsafe { (f.vs)(x.as_ptr().wrapping_add(at), y, to, n) })
}

/// Computes `f(x, y)` for each `y`. Returns `None` if the allocation fails.
pub fn map2_by<T: Pod, U: Pod>(f: &Binary<T, U>, x: T, y: &[T]) -> Option<Storage> {
    // SAFETY: each piece is within the operand and the new storage.
    fill_new(y.len(), |at, to, n| unsafe { (f.sv)(x, y.as_ptr().wrapping_add(at), to, n) })
}
