//! The loops of vector functions, over blocks of elements. Each block is read completely, computed, and written
//! completely.
//!
//! Therefore a result may overwrite an operand. Compilers do not vectorize plain loops over pointers if operand and
//! result can overlap. The remainder is processed in smaller blocks by the same arithmetic, which takes little time for
//! short operands. The value of an element therefore does not depend on its position. All functions here are inlined
//! into functions that are compiled for one instruction set (`isa.rs`), where they become vector code.
//!
//! # Safety
//! Operands are valid for reading `n` elements and the result for writing them; the memory of the result is
//! that of an operand of the same element size, or does not overlap it.

/// Elements in a block: four registers of 16 `f32`, so that their latencies overlap.
pub(super) const BLOCK: usize = 64;

/// Loads a block.
#[inline(always)]
unsafe fn load<T: Copy, const N: usize>(x: *const T) -> [T; N] {
    // SAFETY: the caller guarantees `N` readable elements at `x`.
    unsafe { x.cast::<[T; N]>().read_unaligned() }
}

/// Stores a block.
#[inline(always)]
unsafe fn store<T: Copy, const N: usize>(block: [T; N], y: *mut T) {
    // SAFETY: the caller guarantees space for `N` elements at `y`.
    unsafe { y.cast::<[T; N]>().write_unaligned(block) };
}

/// Loads the last, short block of a reduction, padded with defaults.
#[inline(always)]
unsafe fn load_padded<T: Copy + Default>(x: *const T, n: usize) -> [T; BLOCK] {
    let mut block = [T::default(); BLOCK];
    // SAFETY: the caller guarantees `n` readable elements at `x`, with `n` at most `BLOCK`.
    unsafe { x.copy_to_nonoverlapping(block.as_mut_ptr(), n) };
    block
}

/// Runs a body for every block. The named constant is the number of elements of the block. This is a macro, because
/// closures in a function would be compiled for the baseline instruction set.
macro_rules! blocks {
    ($n:expr, |$i:ident, $block:ident| $body:block) => {{
        let n: usize = $n;
        let mut $i = 0;
        while n - $i >= BLOCK {
            const $block: usize = BLOCK;
            $body
            $i += BLOCK;
        }
        while n - $i >= 8 {
            const $block: usize = 8;
            $body
            $i += 8;
        }
        if n - $i >= 4 {
            const $block: usize = 4;
            $body
            $i += 4;
        }
        if n - $i >= 2 {
            const $block: usize = 2;
            $body
            $i += 2;
        }
        if n > $i {
            const $block: usize = 1;
            $body
        }
    }};
}

/// Computes `y = f(x)`. Where `needs_slow` is true, it computes `slow(x)` instead, because `f` is inaccurate there.
#[inline(always)]
pub(super) unsafe fn map<T: Copy + Default, U: Copy + Default>(
    x: *const T,
    y: *mut U,
    n: usize,
    f: impl Fn(T) -> U,
    needs_slow: impl Fn(T) -> bool,
    slow: impl Fn(T) -> U,
) {
    blocks!(n, |i, N| {
        // SAFETY: the block is within the operand.
        let x = unsafe { load::<T, N>(x.add(i)) };
        let mut r = [U::default(); N];
        let mut any = false;
        for j in 0..N {
            r[j] = f(x[j]);
            any |= needs_slow(x[j]);
        }
        if any {
            for j in 0..N {
                if needs_slow(x[j]) {
                    r[j] = slow(x[j]);
                }
            }
        }
        // SAFETY: the block is within the result.
        unsafe { store(r, y.add(i)) };
    });
}

/// An operand: an array or one number.
pub(super) trait Source: Copy {
    /// Type of the elements.
    type Item: Copy + Default;
    /// Returns the block at `i`.
    ///
    /// # Safety
    /// The `N` elements from `i` on are readable.
    unsafe fn block<const N: usize>(self, i: usize) -> [Self::Item; N];
}

impl<T: Copy + Default> Source for *const T {
    type Item = T;
    #[inline(always)]
    unsafe fn block<const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: the caller guarantees `N` elements from `i` on.
        unsafe { load(self.add(i)) }
    }
}

/// The same number for every element.
#[derive(Clone, Copy)]
pub(super) struct Splat<T>(pub(super) T);

impl<T: Copy + Default> Source for Splat<T> {
    type Item = T;
    #[inline(always)]
    unsafe fn block<const N: usize>(self, _: usize) -> [T; N] {
        [self.0; N]
    }
}

/// Computes `y = f(a, b)`, with `slow` as in [`map`].
#[inline(always)]
pub(super) unsafe fn map2<A: Source, B: Source, U: Copy + Default>(
    (a, b): (A, B),
    y: *mut U,
    n: usize,
    f: impl Fn(A::Item, B::Item) -> U,
    needs_slow: impl Fn(A::Item, B::Item) -> bool,
    slow: impl Fn(A::Item, B::Item) -> U,
) {
    blocks!(n, |i, N| {
        // SAFETY: the block is within the operands.
        let (a, b) = unsafe { (a.block::<N>(i), b.block::<N>(i)) };
        let mut r = [U::default(); N];
        let mut any = false;
        for j in 0..N {
            r[j] = f(a[j], b[j]);
            any |= needs_slow(a[j], b[j]);
        }
        if any {
            for j in 0..N {
                if needs_slow(a[j], b[j]) {
                    r[j] = slow(a[j], b[j]);
                }
            }
        }
        // SAFETY: the block is within the result.
        unsafe { store(r, y.add(i)) };
    });
}

/// Computes `y = f(a, b, c)`.
#[inline(always)]
pub(super) unsafe fn map3<A: Source, B: Source, C: Source, U: Copy + Default>(
    a: A,
    b: B,
    c: C,
    y: *mut U,
    n: usize,
    f: impl Fn(A::Item, B::Item, C::Item) -> U,
) {
    blocks!(n, |i, N| {
        // SAFETY: the block is within the operands.
        let (a, b, c) = unsafe { (a.block::<N>(i), b.block::<N>(i), c.block::<N>(i)) };
        let mut r = [U::default(); N];
        for j in 0..N {
            r[j] = f(a[j], b[j], c[j]);
        }
        // SAFETY: the block is within the result.
        unsafe { store(r, y.add(i)) };
    });
}

/// Combines all elements. Element `i` is combined into lane `i` modulo [`BLOCK`], in order. Then the upper half
/// of the lanes is combined into the lower half, until one lane is left. The order depends only on the length,
/// not on the instruction set.
#[inline(always)]
pub(super) unsafe fn fold<T: Copy + Default>(
    x: *const T,
    n: usize,
    identity: T,
    step: impl Fn(T, T) -> T,
) -> T {
    let mut lanes = [identity; BLOCK];
    let whole = n / BLOCK * BLOCK;
    for i in (0..whole).step_by(BLOCK) {
        // SAFETY: the block is within the operand.
        let x = unsafe { load::<T, BLOCK>(x.add(i)) };
        for j in 0..BLOCK {
            lanes[j] = step(lanes[j], x[j]);
        }
    }
    if whole < n {
        // SAFETY: the caller guarantees `n` readable elements at `x`; `x[whole..n]` is their tail, shorter than
        // `BLOCK`.
        let x = unsafe { load_padded(x.add(whole), n - whole) };
        for j in 0..BLOCK {
            lanes[j] = if j < n - whole { step(lanes[j], x[j]) } else { lanes[j] };
        }
    }
    halve(lanes, step)
}

/// Combines the elements of two operands in the order of [`fold`]. `step(a, b, lane)` combines elements of both with a
/// lane, and `join` two lanes. `step` of two defaults must not change a lane, because the last block is padded with
/// defaults.
#[inline(always)]
pub(super) unsafe fn fold2<T: Copy + Default>(
    a: *const T,
    b: *const T,
    n: usize,
    step: impl Fn(T, T, T) -> T,
    join: impl Fn(T, T) -> T,
) -> T {
    let mut lanes = [T::default(); BLOCK];
    let whole = n / BLOCK * BLOCK;
    for i in (0..whole).step_by(BLOCK) {
        // SAFETY: the block is within the operands.
        let (a, b) = unsafe { (load::<T, BLOCK>(a.add(i)), load::<T, BLOCK>(b.add(i))) };
        for j in 0..BLOCK {
            lanes[j] = step(a[j], b[j], lanes[j]);
        }
    }
    if whole < n {
        // SAFETY: the caller guarantees `n` readable elements of each; `whole..n` is their tail, shorter than
        // `BLOCK`.
        let (a, b) = unsafe { (load_padded(a.add(whole), n - whole), load_padded(b.add(whole), n - whole)) };
        for j in 0..BLOCK {
            lanes[j] = step(a[j], b[j], lanes[j]);
        }
    }
    halve(lanes, join)
}

/// Combines the upper half of the lanes into the lower, until one is left.
#[inline(always)]
fn halve<T: Copy>(mut lanes: [T; BLOCK], join: impl Fn(T, T) -> T) -> T {
    let mut half = BLOCK / 2;
    while half > 0 {
        for j in 0..half {
            lanes[j] = join(lanes[j], lanes[j + half]);
        }
        half /= 2;
    }
    lanes[0]
}
