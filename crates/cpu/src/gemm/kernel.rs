//! The innermost loops: a tile of C in registers over a range of k, and dot products.

use super::vector::{Lanes, Vector, prefetch, prefetch_to_write};
use super::{Real, pack};
use crate::Isa;

/// A tile of C and its operands. Element (i, p) of A is at `a[i * a_lane + p * a_depth]`. Element (p, j) of B
/// is at `b[p * b_depth + j]` for tiles and at `b[j * b_depth + p]` for dots. Element (i, j) of C is at `c[i *
/// c_row + j]`.
pub(super) struct Step<T: Real> {
    pub(super) k: usize,
    pub(super) a: *const T,
    pub(super) a_lane: isize,
    pub(super) a_depth: isize,
    pub(super) b: *const T,
    pub(super) b_depth: isize,
    pub(super) c: *mut T::Sum,
    pub(super) c_row: isize,
    /// Number of rows of the tile that exist in C.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only AMX kernels use it"))]
    pub(super) rows: usize,
    /// Number of columns of the tile's last vector that exist in C.
    pub(super) last: usize,
    /// If true, the product is added to C instead of replacing it.
    pub(super) accumulate: bool,
}

pub(super) type Kernel<T> = unsafe fn(&Step<T>);

/// The kernels of one number type on one instruction set.
pub(super) struct Kernels<T: Real> {
    /// Number of rows of a full tile, and of a packed panel of A.
    pub(super) mr: usize,
    /// Number of columns of a full tile, and of a packed panel of B.
    pub(super) nr: usize,
    /// Number of elements in a register.
    pub(super) lanes: usize,
    /// Number of steps along k that are packed together. Panels are padded with zeros to a multiple of it.
    pub(super) deep: usize,
    /// Speed relative to multiplications of `f32`, which decides how much work a task has.
    pub(super) speed: usize,
    /// Functions that a thread calls before and after running these kernels.
    pub(super) before_and_after: Option<[unsafe fn(); 2]>,
    /// Computes a full tile of packed operands.
    pub(super) packed: Kernel<T>,
    /// Functions that compute tiles of operands with any strides, indexed by the number of vectors minus 1, then the number of
    /// rows minus 1. Narrow tiles may have more than `mr` rows. If empty, `packed` computes all tiles, and only complete
    /// strips of A along k are read in place.
    pub(super) tiles: &'static [&'static [Kernel<T>]],
    /// Functions that compute dot products, indexed by the number of rows minus 1, then the number of columns minus 1. Empty if
    /// `tiles` is empty.
    pub(super) dots: &'static [[Kernel<T>; DOT]],
    pub(super) pack_a: pack::Packer<T>,
    /// Packers of B, indexed by the number of vectors of the panel minus 1. If there is only one, every panel has the
    /// width of a full tile.
    pub(super) pack_b: &'static [pack::Packer<T>],
}

impl<T: Real> Kernels<T> {
    /// Returns the width of the narrowest packed panel of B for the remaining columns, and its packer.
    pub(super) fn panel_of(&self, columns: usize) -> (usize, pack::Packer<T>) {
        match self.pack_b {
            [only] => (self.nr, *only),
            each => {
                let vectors = columns.min(self.nr).div_ceil(self.lanes);
                (vectors * self.lanes, each[vectors - 1])
            }
        }
    }
}

/// Number of rows and of columns of the largest block of dot products.
pub(super) const DOT: usize = 4;

/// Number of rows of B to prefetch ahead. The rows of a B in place are too far apart for the hardware
/// prefetcher; packed rows are in the second-level cache.
const AHEAD: isize = 12;

/// Computes a tile of `M` rows and `N` vectors.
///
/// # Safety
/// The processor has the instructions of `V`; `step` describes valid memory, and no other thread accesses C.
#[inline(always)]
unsafe fn tile<V: Vector, const M: usize, const N: usize, const PACKED: bool>(step: &Step<V::Scalar>) {
    let &Step { k, a_lane, a_depth, b_depth, c, c_row, .. } = step;
    let (mut a, mut b) = (step.a, step.b);
    let some = V::mask(step.last);
    let whole = step.last == V::LANES;
    // SAFETY: the caller guarantees the rows and columns of the tile and k steps of the operands. Pointers that
    // may pass an end are only compared or prefetched, and are computed by wrapping arithmetic.
    unsafe {
        for i in 0..M {
            for v in 0..N {
                prefetch_to_write(c.wrapping_offset(i as isize * c_row).wrapping_add(v * V::LANES));
            }
        }
        let mut sums = [[V::zero(); N]; M];
        for _ in 0..k {
            let row: [V; N] = std::array::from_fn(|v| {
                let p = b.wrapping_add(v * V::LANES);
                prefetch(p.wrapping_offset(AHEAD * b_depth));
                // A packed panel is padded with zeros, so its last vector can always be loaded.
                if PACKED || v + 1 < N || whole { V::load(p) } else { V::load_some(some, p) }
            });
            for (i, sums) in sums.iter_mut().enumerate() {
                let x = V::splat(*a.wrapping_offset(i as isize * a_lane));
                for (sum, &y) in sums.iter_mut().zip(&row) {
                    *sum = x.mul_add(y, *sum);
                }
            }
            a = a.wrapping_offset(a_depth);
            b = b.wrapping_offset(b_depth);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (v, &sum) in sums.iter().enumerate() {
                let p = c.offset(i as isize * c_row).add(v * V::LANES);
                if v + 1 < N || whole {
                    if step.accumulate { sum.add(V::load(p)).store(p) } else { sum.store(p) }
                } else if step.accumulate {
                    sum.add(V::load_some(some, p)).store_some(some, p)
                } else {
                    sum.store_some(some, p)
                }
            }
        }
    }
}

/// Computes `M` by `N` dot products of contiguous rows of A and contiguous columns of B.
///
/// # Safety
/// As for [`tile`]; `a_depth` is 1.
#[inline(always)]
unsafe fn dot<V: Vector, const M: usize, const N: usize>(step: &Step<V::Scalar>)
where
    V::Scalar: std::ops::Add<Output = V::Scalar>,
{
    // SAFETY: the caller guarantees the elements of the rows and columns.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        let whole = step.k / V::LANES * V::LANES;
        for p in (0..whole).step_by(V::LANES) {
            dot_step(step, &mut sums, p, |p| V::load(p));
        }
        if whole < step.k {
            let some = V::mask(step.k - whole);
            dot_step(step, &mut sums, whole, |p| V::load_some(some, p));
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let p = step.c.offset(i as isize * step.c_row).add(j);
                *p = if step.accumulate { *p + sum.sum() } else { sum.sum() };
            }
        }
    }
}

#[inline(always)]
unsafe fn dot_step<V: Vector, const M: usize, const N: usize>(
    step: &Step<V::Scalar>,
    sums: &mut [[V; N]; M],
    p: usize,
    load: impl Fn(*const V::Scalar) -> V,
) {
    // SAFETY: the caller of `dot` guarantees the elements of the rows and columns.
    unsafe {
        let columns: [V; N] = std::array::from_fn(|j| load(step.b.offset(j as isize * step.b_depth).add(p)));
        for (i, sums) in sums.iter_mut().enumerate() {
            let x = load(step.a.offset(i as isize * step.a_lane).add(p));
            for (sum, &column) in sums.iter_mut().zip(&columns) {
                *sum = x.mul_add(column, *sum);
            }
        }
    }
}

/// Defines functions that enable an instruction set and call the bodies above, and tables of these functions.
macro_rules! isa {
    ($name:ident $(, $features:literal)?) => {
        mod $name {
            use super::{Step, Vector};

            // SAFETY (of the three): the caller guarantees the instruction set and the memory of the step.
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn tile<V: Vector, const M: usize, const N: usize>(step: &Step<V::Scalar>) {
                // SAFETY: the caller guarantees the instruction set and the memory of the step.
                unsafe { super::tile::<V, M, N, false>(step) }
            }
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn packed<V: Vector, const M: usize, const N: usize>(step: &Step<V::Scalar>) {
                let (a_depth, b_depth) = (M as isize, (N * V::LANES) as isize);
                // SAFETY: the caller guarantees the instruction set and the memory of the step; packed panels
                // have these strides, which are constants for the compiler.
                unsafe { super::tile::<V, M, N, true>(&Step { a_lane: 1, a_depth, b_depth, ..*step }) }
            }
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn dot<V: Vector, const M: usize, const N: usize>(step: &Step<V::Scalar>)
            where
                V::Scalar: std::ops::Add<Output = V::Scalar>,
            {
                // SAFETY: the caller guarantees the instruction set and the memory of the step.
                unsafe { super::dot::<V, M, N>(step) }
            }
        }
    };
}

isa!(portable);
#[cfg(target_arch = "x86_64")]
isa!(avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
isa!(avx512, "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma");

macro_rules! kernels {
    ($isa:ident, $v:ty, $t:ty, $mr:literal, $nr:literal, $packs:path, $([$n:literal: $($m:literal)*])*) => {
        &Kernels {
            mr: $mr,
            nr: $nr * <$v as Vector>::LANES,
            lanes: <$v as Vector>::LANES,
            deep: 1,
            speed: 1,
            before_and_after: None,
            packed: $isa::packed::<$v, $mr, $nr>,
            tiles: &[$(&[$($isa::tile::<$v, $m, $n>),*]),*],
            dots: &[
                kernels!(@dots $isa, $v, 1), kernels!(@dots $isa, $v, 2), kernels!(@dots $isa, $v, 3),
                kernels!(@dots $isa, $v, 4),
            ],
            pack_a: { use $packs as p; p::<$t, $mr> },
            pack_b: { use $packs as p; &[$(p::<$t, { $n * <$v as Vector>::LANES }>),*] },
        }
    };
    (@dots $isa:ident, $v:ty, $m:literal) => {
        [$isa::dot::<$v, $m, 1>, $isa::dot::<$v, $m, 2>, $isa::dot::<$v, $m, 3>, $isa::dot::<$v, $m, 4>]
    };
}

/// An element type with kernels.
pub(super) trait HasKernels: Real {
    fn kernels(isa: Isa) -> &'static Kernels<Self>;
}

macro_rules! implement_kernels {
    ($t:ty, $portable:ty, $avx2:ident, $avx512:ident, $neon:ident) => {
        impl HasKernels for $t {
            fn kernels(isa: Isa) -> &'static Kernels<$t> {
                match isa.clamped().vectors() {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => {
                        use std::arch::x86_64::$avx512;
                        kernels!(
                            avx512, $avx512, $t, 6, 4, pack::transposing, [1: 1 2 3 4 5 6 7 8 9 10 11 12]
                            [2: 1 2 3 4 5 6 7 8 9 10] [3: 1 2 3 4 5 6 7 8] [4: 1 2 3 4 5 6]
                        )
                    }
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => {
                        use std::arch::x86_64::$avx2;
                        kernels!(avx2, $avx2, $t, 6, 2, pack::transposing, [1: 1 2 3 4 5 6 7 8 9 10 11 12] [2: 1 2 3 4 5 6])
                    }
                    // 24 of the 32 registers hold sums, enough independent sums to hide four cycles of latency on up
                    // to four units. Three registers hold B, the others elements of A. A tile of 8 rows by 3 vectors
                    // needs fewer loads than one of 12 by 2, because elements of A are loaded one by one. The
                    // instructions are part of the target, so no function needs to enable them.
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => {
                        use std::arch::aarch64::$neon;
                        kernels!(
                            portable, $neon, $t, 8, 3, pack::transposing, [1: 1 2 3 4 5 6 7 8 9 10 11 12]
                            [2: 1 2 3 4 5 6 7 8 9 10] [3: 1 2 3 4 5 6 7 8]
                        )
                    }
                    _ => kernels!(portable, $portable, $t, 6, 2, pack::portable, [1: 1 2 3 4 5 6] [2: 1 2 3 4 5 6]),
                }
            }
        }
    };
}

implement_kernels!(f32, Lanes<f32, 4>, __m256, __m512, float32x4_t);
implement_kernels!(f64, Lanes<f64, 2>, __m256d, __m512d, float64x2_t);
