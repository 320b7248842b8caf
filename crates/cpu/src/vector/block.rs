//! The loops themselves: a block is read whole, computed, and written whole.
//!
//! So a result may overwrite an operand, which a plain loop over pointers could not allow without losing its
//! vectors; and the last, short block is filled up, so that an element's value does not depend on its place.
//! Everything here is inlined into functions compiled for one instruction set (`isa.rs`), and only there
//! becomes vector code.
//!
//! # Safety
//! Operands are valid for reading `n` elements and the result for writing them; the memory of the result is
//! that of an operand of the same element size, or apart from it.

/// Elements in a block: four registers of 16 `f32`, so that their latencies overlap.
pub(super) const BLOCK: usize = 64;

/// A block from memory, the rest of a short one filled with defaults.
#[inline(always)]
unsafe fn load<T: Copy + Default>(x: *const T, n: usize) -> [T; BLOCK] {
    if n >= BLOCK {
        // SAFETY: a whole block is there.
        return unsafe { x.cast::<[T; BLOCK]>().read_unaligned() };
    }
    let mut block = [T::default(); BLOCK];
    // SAFETY: `n` elements are there, and fit.
    unsafe { x.copy_to_nonoverlapping(block.as_mut_ptr(), n) };
    block
}

/// The first `n` elements of a block to memory.
#[inline(always)]
unsafe fn store<T: Copy>(block: [T; BLOCK], y: *mut T, n: usize) {
    if n >= BLOCK {
        // SAFETY: there is room for a whole block.
        unsafe { y.cast::<[T; BLOCK]>().write_unaligned(block) };
    } else {
        // SAFETY: there is room for `n` elements.
        unsafe { block.as_ptr().copy_to_nonoverlapping(y, n) };
    }
}

/// Does something at the start and length of every block. The whole ones have a constant length, which is what
/// lets the compiler keep them in registers. A macro, as the body must not become a function: that would be
/// compiled for what every machine has.
macro_rules! blocks {
    ($n:expr, |$i:ident, $m:ident| $body:block) => {{
        let n: usize = $n;
        let whole = n / BLOCK * BLOCK;
        let mut $i = 0;
        while $i < whole {
            let $m = BLOCK;
            $body
            $i += BLOCK;
        }
        if whole < n {
            let $m = n - whole;
            $body
        }
    }};
}

/// `y = f(x)`. Where `far` says so, `f` is not good enough and `slow` is called instead, one by one.
#[inline(always)]
pub(super) unsafe fn map<T: Copy + Default, U: Copy + Default>(
    x: *const T,
    y: *mut U,
    n: usize,
    f: impl Fn(T) -> U,
    far: impl Fn(T) -> bool,
    slow: impl Fn(T) -> U,
) {
    blocks!(n, |i, m| {
        // SAFETY: the block lies within the operand.
        let x = unsafe { load(x.add(i), m) };
        let mut r = [U::default(); BLOCK];
        let mut any = false;
        for j in 0..BLOCK {
            r[j] = f(x[j]);
            any |= far(x[j]);
        }
        if any {
            for j in 0..BLOCK {
                if far(x[j]) {
                    r[j] = slow(x[j]);
                }
            }
        }
        // SAFETY: the block lies within the result.
        unsafe { store(r, y.add(i), m) };
    });
}

/// Where an operand of several comes from: an array or one number.
pub(super) trait Source: Copy {
    /// What it holds.
    type Item: Copy + Default;
    /// The block at `i` of `n` elements.
    ///
    /// # Safety
    /// These elements are there.
    unsafe fn block(self, i: usize, n: usize) -> [Self::Item; BLOCK];
}

impl<T: Copy + Default> Source for *const T {
    type Item = T;
    #[inline(always)]
    unsafe fn block(self, i: usize, n: usize) -> [T; BLOCK] {
        // SAFETY: the caller's promise.
        unsafe { load(self.add(i), n) }
    }
}

/// The same number for every element.
#[derive(Clone, Copy)]
pub(super) struct Splat<T>(pub(super) T);

impl<T: Copy + Default> Source for Splat<T> {
    type Item = T;
    #[inline(always)]
    unsafe fn block(self, _: usize, _: usize) -> [T; BLOCK] {
        [self.0; BLOCK]
    }
}

/// `y = f(a, b)`.
#[inline(always)]
pub(super) unsafe fn map2<A: Source, B: Source, U: Copy + Default>(
    a: A,
    b: B,
    y: *mut U,
    n: usize,
    f: impl Fn(A::Item, B::Item) -> U,
) {
    blocks!(n, |i, m| {
        // SAFETY: the block lies within the operands.
        let (a, b) = unsafe { (a.block(i, m), b.block(i, m)) };
        let mut r = [U::default(); BLOCK];
        for j in 0..BLOCK {
            r[j] = f(a[j], b[j]);
        }
        // SAFETY: the block lies within the result.
        unsafe { store(r, y.add(i), m) };
    });
}

/// `y = f(a, b, c)`.
#[inline(always)]
pub(super) unsafe fn map3<A: Source, B: Source, C: Source, U: Copy + Default>(
    a: A,
    b: B,
    c: C,
    y: *mut U,
    n: usize,
    f: impl Fn(A::Item, B::Item, C::Item) -> U,
) {
    blocks!(n, |i, m| {
        // SAFETY: the block lies within the operands.
        let (a, b, c) = unsafe { (a.block(i, m), b.block(i, m), c.block(i, m)) };
        let mut r = [U::default(); BLOCK];
        for j in 0..BLOCK {
            r[j] = f(a[j], b[j], c[j]);
        }
        // SAFETY: the block lies within the result.
        unsafe { store(r, y.add(i), m) };
    });
}

/// Combines all elements: element `i` goes to lane `i` modulo [`BLOCK`], in order, and then the upper half of
/// the lanes is combined into the lower until one is left. The order depends on the length alone, not on the
/// instruction set.
#[inline(always)]
pub(super) unsafe fn fold<T: Copy + Default>(
    x: *const T,
    n: usize,
    identity: T,
    step: impl Fn(T, T) -> T,
) -> T {
    let mut lanes = [identity; BLOCK];
    blocks!(n, |i, m| {
        // SAFETY: the block lies within the operand.
        let x = unsafe { load(x.add(i), m) };
        for j in 0..BLOCK {
            lanes[j] = if m == BLOCK || j < m { step(lanes[j], x[j]) } else { lanes[j] };
        }
    });
    halve(lanes, step)
}

/// As [`fold`], of what `step` makes of both operands and the lane.
#[inline(always)]
pub(super) unsafe fn fold2<T: Copy + Default>(
    a: *const T,
    b: *const T,
    n: usize,
    step: impl Fn(T, T, T) -> T,
    join: impl Fn(T, T) -> T,
) -> T {
    let mut lanes = [T::default(); BLOCK];
    blocks!(n, |i, m| {
        // SAFETY: the block lies within the operands.
        let (a, b) = unsafe { (load(a.add(i), m), load(b.add(i), m)) };
        for j in 0..BLOCK {
            lanes[j] = step(a[j], b[j], lanes[j]);
        }
    });
    halve(lanes, join)
}

/// The upper half of the lanes into the lower, until one is left.
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
