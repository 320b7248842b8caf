//! Packs quantised weights into panels for `gemm`: unpacks them block by block, then transposes them by the packer of `f32`.

use super::{Kernels, Weights};
use crate::gemm::{Pack, Panel, Scratch, transpose_panel};

/// Weights as the right operand of a product. A lane is a row of weights; depth runs along the row.
pub(super) struct Panels {
    pub(super) weights: Weights,
    pub(super) kernels: &'static Kernels,
}

impl Pack<f32> for Panels {
    fn pack(&self, panel: Panel, out: &mut [f32]) {
        let Panel { lane, lanes, depth, steps, width, .. } = panel;
        let w = &self.weights;
        let (elements, bytes) = (w.format.block_elements(), w.format.block_bytes());
        let scratch = Scratch::take::<f32>(lanes * elements);
        let wide = scratch.as_ptr::<f32>();
        let mut done = 0;
        while done < steps {
            let (block, skip) = ((depth + done) / elements, (depth + done) % elements);
            let count = (elements - skip).min(steps - done);
            for l in 0..lanes {
                let from = w.data.wrapping_add((lane + l) * w.row_bytes() + block * bytes);
                // SAFETY: `gemm` asks only for lanes and depths within the product, so the weights have this row and block. The
                // scratch memory has space for a block of every lane.
                unsafe { (self.kernels.unpack)(w.format, from, 1, wide.add(l * elements)) };
            }
            let to = &mut out[done * width..(done + count) * width];
            // SAFETY: `wide` has a block of values for every lane, of which at least `count` follow the first `skip`; `to` has
            // `count · width` elements.
            unsafe { transpose_panel(wide.add(skip), elements, (lanes, width), count, to) };
            done += count;
        }
    }
}
