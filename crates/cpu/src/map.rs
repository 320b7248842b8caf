//! One loop over whole arrays: what a single eager operation needs, without a kernel around it.

use crate::Pool;
use crate::vector::{Binary, Convert, Unary};
use gradus_mem::{Pod, Storage};

/// Elements that one thread does at least.
const GRAIN: usize = 1 << 15;

/// A new storage of `n` elements, written piece by piece: `f(first, to, count)`.
fn filled<T: Pod>(n: usize, f: impl Fn(usize, *mut T, usize) + Sync) -> Option<Storage> {
    // SAFETY: the pieces cover all elements and each writes its own.
    let storage = unsafe { Storage::uninit(n.checked_mul(size_of::<T>())?)? };
    let to = Shared(storage.as_ptr().cast::<T>());
    if n <= 2 * GRAIN {
        f(0, to.0, n);
    } else {
        Pool::global().run(n.div_ceil(GRAIN), &|c| {
            let (first, to) = (c * GRAIN, &to);
            f(first, to.0.wrapping_add(first), GRAIN.min(n - first));
        });
    }
    Some(storage)
}

struct Shared<T>(*mut T);

// SAFETY: threads write different pieces.
unsafe impl<T> Sync for Shared<T> {}

/// `f(x)` for each; `None` if memory cannot be had.
pub fn map1<T: Pod, U: Pod>(f: Convert<T, U>, x: &[T]) -> Option<Storage> {
    // SAFETY: pieces lie in the operand and in the new storage.
    filled(x.len(), |at, to, n| unsafe { f(x.as_ptr().wrapping_add(at), to, n) })
}

/// `f(x)` for each, in its place.
pub fn map_in_place<T: Pod>(f: Unary<T>, x: &mut [T]) {
    // SAFETY: result and operand are the same elements.
    unsafe { f(x.as_ptr(), x.as_mut_ptr(), x.len()) }
}

/// `f(x, y)` for each pair; `None` if memory cannot be had.
pub fn map2<T: Pod, U: Pod>(f: &Binary<T, U>, x: &[T], y: &[T]) -> Option<Storage> {
    let n = x.len().min(y.len());
    // SAFETY: as above.
    filled(n, |at, to, n| unsafe { (f.vv)(x.as_ptr().wrapping_add(at), y.as_ptr().wrapping_add(at), to, n) })
}

/// `f(x, y)` for each `x`; `None` if memory cannot be had.
pub fn map2_scalar<T: Pod, U: Pod>(f: &Binary<T, U>, x: &[T], y: T) -> Option<Storage> {
    // SAFETY: as above.
    filled(x.len(), |at, to, n| unsafe { (f.vs)(x.as_ptr().wrapping_add(at), y, to, n) })
}

/// `f(x, y)` for each `y`; `None` if memory cannot be had.
pub fn map2_by<T: Pod, U: Pod>(f: &Binary<T, U>, x: T, y: &[T]) -> Option<Storage> {
    // SAFETY: as above.
    filled(y.len(), |at, to, n| unsafe { (f.sv)(x, y.as_ptr().wrapping_add(at), to, n) })
}
