//! Computes products of `bf16` by kernels of `f32`: elements are converted when they are packed.

use super::kernel::Kernels;
use super::scratch::Scratch;
use super::{Operand, Pack, Panel, Problem, drive};
use crate::Pool;
use half::bf16;

/// Number of steps that are converted before they are packed, and largest number of lanes of a panel.
const STEPS: usize = 32;
const LANES: usize = 64;
/// The elements of panels with at most this many elements are converted one by one.
const MAX_ELEMENTWISE: usize = 256;

/// Computes `problem` with kernels of `f32`.
///
/// # Safety
/// As for [`drive::run`].
pub(super) unsafe fn run(pool: &Pool, kernels: &'static Kernels<f32>, problem: &Problem<'_, bf16>) {
    let &Problem { batch, m, n, k, a, b, c, accumulate, finish } = problem;
    let (a, b) = (Widened { narrow: a, kernels }, Widened { narrow: b, kernels });
    let (a, b) = (Operand::Packed(&a), Operand::Packed(&b));
    // SAFETY: the caller guarantees the memory of the problem and that the processor can run the kernels; the
    // converted operands have the elements of the narrow ones.
    unsafe { drive::run(pool, kernels, &Problem { batch, m, n, k, a, b, c, accumulate, finish }) }
}

struct Widened<'a> {
    narrow: Operand<'a, bf16>,
    kernels: &'static Kernels<f32>,
}

// SAFETY: the operand is only read, and the caller of `gemm` guarantees that no thread writes to it; packs are
// `Sync`.
unsafe impl Sync for Widened<'_> {}

impl Pack<f32> for Widened<'_> {
    fn pack(&self, panel: Panel, out: &mut [f32]) {
        let Panel { batch, lane, lanes, depth, steps, width } = panel;
        match self.narrow {
            // Converts contiguous steps, then transposes them with the packer of `f32`.
            Operand::Strided(s)
                if s.depth == 1 && s.lane != 1 && width <= LANES && steps * lanes > MAX_ELEMENTWISE =>
            {
                let Kernels { mr, pack_a, .. } = self.kernels;
                let packer = if width == *mr { *pack_a } else { self.kernels.panel_of(width).1 };
                let mut wide = [[0.0; STEPS]; LANES];
                for (stretch, out) in out.chunks_mut(STEPS * width).enumerate() {
                    let count = out.len() / width;
                    for (l, wide) in wide[..lanes].iter_mut().enumerate() {
                        // SAFETY: the panel is within the operand.
                        let row = unsafe {
                            let first = s.at(batch, lane + l, depth + stretch * STEPS);
                            std::slice::from_raw_parts(first, count)
                        };
                        wide.iter_mut().zip(row).for_each(|(to, x)| *to = widened(*x));
                    }
                    // SAFETY: `wide` holds `LANES` rows of `STEPS`, of which `lanes` rows of `count` steps were
                    // written.
                    unsafe {
                        packer(wide.as_ptr().cast(), STEPS as isize, 1, lanes, count, out.as_mut_ptr())
                    };
                }
            }
            Operand::Strided(s) => {
                for (p, out) in out.chunks_exact_mut(width).take(steps).enumerate() {
                    // SAFETY: the panel is within the operand.
                    let at = |l: usize| unsafe { *s.at(batch, lane + l, depth + p) };
                    let (some, none) = out.split_at_mut(lanes);
                    if s.lane == 1 && lanes > 0 {
                        // SAFETY: the panel is within the operand, and its lanes are contiguous.
                        let row = unsafe { std::slice::from_raw_parts(s.at(batch, lane, depth + p), lanes) };
                        some.iter_mut().zip(row).for_each(|(to, x)| *to = widened(*x));
                    } else {
                        some.iter_mut().enumerate().for_each(|(l, to)| *to = widened(at(l)));
                    }
                    none.fill(0.0);
                }
            }
            Operand::Packed(pack) => {
                let narrow = Scratch::take::<bf16>(out.len());
                // SAFETY: the scratch memory holds `out.len()` elements and is always initialized.
                let narrow = unsafe { std::slice::from_raw_parts_mut(narrow.as_ptr::<bf16>(), out.len()) };
                pack.pack(panel, narrow);
                out.iter_mut().zip(narrow).for_each(|(to, x)| *to = widened(*x));
            }
        }
    }
}

/// Converts by a shift, which the compiler vectorizes. Unlike `to_f32` it does not quiet NaN, but products do.
#[inline(always)]
fn widened(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}
