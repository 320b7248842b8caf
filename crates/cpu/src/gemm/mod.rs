//! Matrix products: C = A·B or C += A·B, batched, with operands anywhere in memory.
//!
//! A task is a block of C over the whole of k. Its innermost loop holds a tile of C in registers and reads A and B in
//! place where they lie well, otherwise from packed panels, which the task makes for itself and which stay in its second
//! cache. When the last sums of a part of the block are done and it is still in cache, `finish` is called with it, which
//! is how bias, activation and residual are fused.
//!
//! The order of the sums depends on the problem and the instruction set alone: the result has the same bits for any
//! number of threads. Only the blocks that `finish` sees are others.
//!
//! Numbers are summed in their own type, `bf16` in `f32`: C is then of `f32`, and who wants it narrower does that in
//! `finish`. Where the processor has tiles (`amx`) they are packed as pairs along k; where it has none they become `f32` as
//! they are packed (`widen`).

#[cfg(target_arch = "x86_64")]
mod amx;
mod block;
mod drive;
mod kernel;
mod pack;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod plan;
mod scratch;
mod vector;
mod widen;

pub(crate) use pack::{MOST_ROWS, TransposeBlock};
pub(crate) use scratch::Scratch;

use crate::{Isa, Pool};
use half::bf16;
use std::ops::Add;

/// `C[b] = A[b]·B[b]` for each `b` in the batch, where A is m by k, B is k by n and C is m by n.
#[derive(Clone, Copy)]
pub struct Problem<'a, T: Real> {
    /// How many products.
    pub batch: usize,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B. If there are none the product is zero.
    pub k: usize,
    /// The left operand; its lanes are rows.
    pub a: Operand<'a, T>,
    /// The right operand; its lanes are columns.
    pub b: Operand<'a, T>,
    /// Where the products go.
    pub c: Output<T::Sum>,
    /// Whether the products are added to what C holds.
    pub accumulate: bool,
    /// What to do with each finished block of C. Every element is in one block.
    pub finish: Option<Finish<'a, T::Sum>>,
}

/// Called with each finished block of C, by the thread that finished it. Which blocks depends on the number of threads.
pub type Finish<'a, T> = &'a (dyn Fn(Tile<T>) + Sync);

/// An operand of a product. A *lane* is a row of A or a column of B; *depth* runs along k.
#[derive(Clone, Copy)]
pub enum Operand<'a, T> {
    /// Elements in memory.
    Strided(Strided<T>),
    /// Elements that something else puts where they are needed.
    Packed(&'a dyn Pack<T>),
}

/// Elements in memory: the one at (`batch`, `lane`, `depth`) is `data[batch·batch + lane·lane + depth·depth]`.
#[derive(Clone, Copy, Debug)]
pub struct Strided<T> {
    /// The first element.
    pub data: *const T,
    /// From one product of the batch to the next; zero for an operand they share.
    pub batch: isize,
    /// From one row of A, or column of B, to the next.
    pub lane: isize,
    /// From one step along k to the next.
    pub depth: isize,
}

/// An operand that is computed, or lies in memory in some other way, such as the patches of a convolution.
pub trait Pack<T>: Sync {
    /// Sets `out[p * panel.width + lane]` to the element at lane `panel.lane + lane` and depth `panel.depth + p` for
    /// every `p < panel.steps` and `lane < panel.lanes`, and to zero for the lanes from there to `panel.width`.
    /// A panel may be asked for more than once.
    fn pack(&self, panel: Panel, out: &mut [T]);
}

/// A stretch of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Which product of the batch.
    pub batch: usize,
    /// The first lane.
    pub lane: usize,
    /// How many lanes, at most `width`.
    pub lanes: usize,
    /// The first step along k.
    pub depth: usize,
    /// How many steps.
    pub steps: usize,
    /// How many lanes are stored.
    pub width: usize,
}

/// Where products go: the element at (`batch`, `i`, `j`) is `data[batch·batch + i·row + j]`. For a C whose rows, not
/// columns, are next to each other use [`Problem::transposed`].
#[derive(Clone, Copy, Debug)]
pub struct Output<T> {
    /// The first element.
    pub data: *mut T,
    /// From one product of the batch to the next.
    pub batch: isize,
    /// From one row to the next.
    pub row: isize,
}

/// A finished block of C: element (`i`, `j`) of the block is `data[i·row + j]`.
#[derive(Clone, Copy, Debug)]
pub struct Tile<T> {
    /// Which product of the batch.
    pub batch: usize,
    /// The first row of C in the block.
    pub row0: usize,
    /// How many rows.
    pub rows: usize,
    /// The first column of C in the block.
    pub col0: usize,
    /// How many columns.
    pub cols: usize,
    /// The first element of the block.
    pub data: *mut T,
    /// From one row to the next.
    pub row: isize,
}

impl<T: Real> Problem<'_, T> {
    /// The problem of the transposed C, which is B transposed times A transposed: the operands change places.
    /// `c.row` is then the distance between columns, and blocks are finished with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Problem { m: self.n, n: self.m, a: self.b, b: self.a, ..self }
    }
}

/// A number type that products are made of.
pub trait Real: Copy + sealed::Sealed + 'static {
    /// What products are added up in.
    type Sum: Copy + Add<Output = Self::Sum> + 'static;

    /// Computes a product.
    ///
    /// # Safety
    /// As for [`gemm`].
    unsafe fn gemm(pool: &Pool, isa: Isa, problem: &Problem<'_, Self>);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for half::bf16 {}
}

macro_rules! real {
    ($($t:ty)*) => {$(
        impl Real for $t {
            type Sum = $t;

            unsafe fn gemm(pool: &Pool, isa: Isa, problem: &Problem<'_, $t>) {
                // SAFETY: as the caller vouches.
                unsafe { drive::run(pool, <$t as kernel::Kernelled>::kernels(isa), problem) }
            }
        }
    )*};
}

real!(f32 f64);

impl Real for bf16 {
    type Sum = f32;

    unsafe fn gemm(pool: &Pool, isa: Isa, problem: &Problem<'_, bf16>) {
        // SAFETY: as the caller vouches; the processor has what is left of `isa` when it is clamped.
        unsafe {
            match isa.clamped() {
                #[cfg(target_arch = "x86_64")]
                Isa::Amx if problem.m * problem.n * problem.k > amx::FEW => {
                    drive::run(pool, &amx::KERNELS, problem)
                }
                isa => widen::run(pool, <f32 as kernel::Kernelled>::kernels(isa), problem),
            }
        }
    }
}

/// Fills a panel of `width` lanes from rows of values: lane `l` at step `p` is `source[l · row + p]`. Lanes from `lanes` on
/// are zero.
///
/// # Safety
/// The source has the lanes and steps. `width` is the width of a panel that [`gemm`] asks a [`Pack`] for, and `out` has
/// `steps · width` elements.
pub(crate) unsafe fn transpose_panel(
    source: *const f32,
    row: usize,
    (lanes, width): (usize, usize),
    steps: usize,
    out: &mut [f32],
) {
    let kernels = <f32 as kernel::Kernelled>::kernels(Isa::best());
    let packer = if width == kernels.mr { kernels.pack_a } else { kernels.panel_of(width).1 };
    // SAFETY: the caller's contract.
    unsafe { packer(source, row as isize, 1, lanes, steps, out.as_mut_ptr()) }
}

/// Computes a product with the best instructions there are, on the threads of `pool`.
///
/// # Safety
/// Every element of the strided operands and of C is valid, distinct elements of C are distinct memory, and until it
/// returns nobody else uses C (`finish` may use its block) or writes to the operands.
pub unsafe fn gemm<T: Real>(pool: &Pool, problem: &Problem<'_, T>) {
    // SAFETY: as the caller vouches.
    unsafe { T::gemm(pool, Isa::best(), problem) }
}
