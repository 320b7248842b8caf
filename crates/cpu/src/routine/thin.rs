//! Computes convolutions with few output channels per group, such as depthwise convolutions. Packing patches would cost
//! more than it saves, so adjacent output positions are summed in registers directly from the operand.

use super::patches::Patches;
use crate::Isa;
use std::ops::{AddAssign, Mul};

/// Element types that can be summed.
pub(super) trait Number: Copy + Default + Send + Sync + AddAssign + Mul<Output = Self> {}

impl Number for f32 {}
impl Number for f64 {}

/// Numbers of output positions that are summed together. A row of the result has at least `NARROW` positions.
const WIDE: usize = 16;
pub(super) const NARROW: usize = 8;

/// Convolves the first image of `patches` with each of `windows`, the weights of one output channel each.
pub(super) fn convolve<T: Number>(patches: &Patches<'_, T>, windows: &[T], out: &mut [T]) {
    match Isa::best().vectors() {
        // SAFETY: `Isa::best` returns only sets that the processor has, and these include AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx2 => unsafe { convolve_avx2(patches, windows, out) },
        _ => body(patches, windows, out),
    }
}

/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn convolve_avx2<T: Number>(patches: &Patches<'_, T>, windows: &[T], out: &mut [T]) {
    body(patches, windows, out);
}

#[inline(always)]
fn body<T: Number>(patches: &Patches<'_, T>, windows: &[T], out: &mut [T]) {
    let (starts, depth) = (patches.starts, patches.depth_offsets.len());
    let positions = starts.rows().count() * starts.row;
    for (o, out) in out.chunks_exact_mut(positions).enumerate() {
        let sums = Sums {
            x: patches.x,
            window: &windows[o * depth..][..depth],
            depth_offsets: patches.depth_offsets,
        };
        for (first, at) in starts.rows() {
            let to = &mut out[first..first + starts.row];
            if starts.row < WIDE {
                sums.row::<NARROW>(at, starts.stride, to);
            } else {
                sums.row::<WIDE>(at, starts.stride, to);
            }
        }
    }
}

/// The sums of one window over patches.
struct Sums<'a, T> {
    x: &'a [T],
    window: &'a [T],
    depth_offsets: &'a [usize],
}

impl<T: Number> Sums<'_, T> {
    /// Computes a row of output positions, `N` at a time. `at` is the offset of the first element of the row's first
    /// patch. The last `N` positions may overlap those before.
    #[inline(always)]
    fn row<const N: usize>(&self, at: usize, stride: usize, out: &mut [T]) {
        let last = out.len().saturating_sub(N);
        for i in (0..last).step_by(N).chain([last]) {
            let mut sums = [T::default(); N];
            let from = &self.x[at + i * stride..];
            for (&w, &offset) in self.window.iter().zip(self.depth_offsets) {
                let x = &from[offset..];
                match x.first_chunk::<N>() {
                    Some(x) if stride == 1 => sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += w * x),
                    _ => sums.iter_mut().enumerate().for_each(|(l, sum)| *sum += w * x[l * stride]),
                }
            }
            out[i..].iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
        }
    }
}
