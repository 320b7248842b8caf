//! Matrix products: C = A·B or C += A·B, in batches, with operands of any strides.
//!
//! A task computes a block of C over all of k. Its innermost loop holds a tile of C in registers. The loop reads A and B in
//! place if their strides are suitable, otherwise from packed panels. The task packs these panels itself, and they stay in the
//! second-level cache of its processor. When a part of the block is complete and still in cache, `finish` is called with it, so
//! that bias, activation and residual are fused.
//!
//! The order of the sums depends only on the problem and the instruction set, so the result has the same bits for any number of
//! threads. Only the blocks that `finish` receives depend on the number of threads.
//!
//! Elements are summed in their own type, except `bf16`, which are summed in `f32`: C is then `f32`, and `finish` can round it.
//! On processors with AMX tiles (`amx`), `bf16` are packed as pairs along k; on others they are converted to `f32` when
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
#[cfg(target_arch = "x86_64")]
mod square;
mod vector;
mod widen;

pub(crate) use pack::{MAX_ROWS, TransposeBlock};
pub(crate) use scratch::Scratch;
#[cfg(target_arch = "x86_64")]
pub(crate) use square::transpose as transpose_square;
pub(crate) use vector::{prefetch, prefetch_far};

use crate::{Isa, Pool};
use half::bf16;
use std::ops::Add;

/// `C[b] = A[b]·B[b]` for each `b` in the batch, where A is m by k, B is k by n and C is m by n.
#[derive(Clone, Copy)]
pub struct Problem<'a, T: Real> {
    /// Number of products.
    pub batch: usize,
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B. If 0, all elements of the product are zero.
    pub k: usize,
    /// The left operand; its lanes are rows.
    pub a: Operand<'a, T>,
    /// The right operand; its lanes are columns.
    pub b: Operand<'a, T>,
    /// The output.
    pub c: Output<T::Sum>,
    /// If true, the products are added to C.
    pub accumulate: bool,
    /// Called with each finished block of C. Every element is in exactly one block.
    pub finish: Option<Finish<'a, T::Sum>>,
}

/// Receives each finished block of C, on the thread that finished it. The blocks depend on the number of
/// threads.
pub type Finish<'a, T> = &'a (dyn Fn(Tile<T>) + Sync);

/// An operand of a product. A *lane* is a row of A or a column of B; *depth* runs along k.
#[derive(Clone, Copy)]
pub enum Operand<'a, T> {
    /// Elements in memory.
    Strided(Strided<T>),
    /// Elements that a [`Pack`] implementation writes into panels.
    Packed(&'a dyn Pack<T>),
}

/// Elements in memory: the one of product `b`, lane `l` and depth `p` is `data[b·batch + l·lane + p·depth]`.
#[derive(Clone, Copy, Debug)]
pub struct Strided<T> {
    /// The first element.
    pub data: *const T,
    /// Stride between products of the batch; zero for a shared operand.
    pub batch: isize,
    /// Stride between rows of A, or columns of B.
    pub lane: isize,
    /// Stride along k.
    pub depth: isize,
}

/// An operand that is computed, or is stored in some other way, such as the patches of a convolution.
pub trait Pack<T>: Sync {
    /// Sets `out[p * panel.width + lane]` to the element at lane `panel.lane + lane` and depth `panel.depth +
    /// p` for every `p < panel.steps` and `lane < panel.lanes`. Sets the lanes from `panel.lanes` to
    /// `panel.width` to zero. A panel may be requested more than once.
    fn pack(&self, panel: Panel, out: &mut [T]);
}

/// A range of lanes and steps of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Index of the product in the batch.
    pub batch: usize,
    /// The first lane.
    pub lane: usize,
    /// Number of lanes, at most `width`.
    pub lanes: usize,
    /// The first step along k.
    pub depth: usize,
    /// Number of steps.
    pub steps: usize,
    /// Number of lanes stored.
    pub width: usize,
}

/// Layout of C: element (`i`, `j`) of product `b` is `data[b·batch + i·row + j]`. For a C whose columns are
/// contiguous use [`Problem::transposed`].
#[derive(Clone, Copy, Debug)]
pub struct Output<T> {
    /// The first element.
    pub data: *mut T,
    /// Stride between products of the batch.
    pub batch: isize,
    /// Stride between rows.
    pub row: isize,
}

/// A finished block of C: element (`i`, `j`) of the block is `data[i·row + j]`.
#[derive(Clone, Copy, Debug)]
pub struct Tile<T> {
    /// Index of the product in the batch.
    pub batch: usize,
    /// The first row of C in the block.
    pub row0: usize,
    /// Number of rows.
    pub rows: usize,
    /// The first column of C in the block.
    pub col0: usize,
    /// Number of columns.
    pub cols: usize,
    /// The first element of the block.
    pub data: *mut T,
    /// Stride between rows.
    pub row: isize,
}

impl<T: Real> Problem<'_, T> {
    /// Returns the problem of the transposed C, which is B transposed times A transposed. `c.row` is then the
    /// stride between columns, and blocks are finished with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Problem { m: self.n, n: self.m, a: self.b, b: self.a, ..self }
    }
}

/// An element type of products.
pub trait Real: Copy + sealed::Sealed + 'static {
    /// The type in which products are summed.
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
                // SAFETY: the caller guarantees the memory of the problem; `kernels` returns kernels that the
                // processor can run.
                unsafe { drive::run(pool, <$t as kernel::HasKernels>::kernels(isa), problem) }
            }
        }
    )*};
}

real!(f32 f64);

impl Real for bf16 {
    type Sum = f32;

    unsafe fn gemm(pool: &Pool, isa: Isa, problem: &Problem<'_, bf16>) {
        // SAFETY: the caller guarantees the memory of the problem; the processor can run a clamped `isa`.
        unsafe {
            match isa.clamped() {
                #[cfg(target_arch = "x86_64")]
                Isa::Amx if problem.m * problem.n * problem.k > amx::MIN_WORK => {
                    drive::run(pool, &amx::KERNELS, problem)
                }
                isa => widen::run(pool, <f32 as kernel::HasKernels>::kernels(isa), problem),
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
    let kernels = <f32 as kernel::HasKernels>::kernels(Isa::best());
    let packer = if width == kernels.mr { kernels.pack_a } else { kernels.panel_of(width).1 };
    // SAFETY: the caller guarantees the lanes and steps of the source, the width, and the elements of `out`.
    unsafe { packer(source, row as isize, 1, lanes, steps, out.as_mut_ptr()) }
}

/// Computes a product with the best instruction set, on the threads of `pool`.
///
/// # Safety
/// Every element of the strided operands and of C is valid memory, and distinct elements of C are distinct memory.
/// During the call no other thread accesses C (`finish` may access its block) or writes to the operands.
pub unsafe fn gemm<T: Real>(pool: &Pool, problem: &Problem<'_, T>) {
    // SAFETY: the caller guarantees the memory of the problem and exclusive access to C.
    unsafe { T::gemm(pool, Isa::best(), problem) }
}
