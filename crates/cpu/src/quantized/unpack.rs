//! Reads the blocks of each format into vector registers, 32 weights at a time.
//! The values equal those of `gradus_ir::format` bit for bit. Formats without code here are unpacked by that module (`Any`).

use crate::wide::{GROUP, Unpack, half_at};
use gradus_ir::format::{self, Format, Parts, six_bits};

/// Reads the blocks of a format.
///
/// # Safety
/// Callers of `each` guarantee the instruction set of `W` and the readable bytes of a block.
pub(super) trait Blocks {
    /// Calls `f` with the number and the weights of each group of 32 in a block, in order.
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, f: impl FnMut(usize, W));
}

pub(super) struct Q4_0;
pub(super) struct Q4_1;
pub(super) struct Q8_0;
pub(super) struct Q4K;
pub(super) struct Q6K;

impl Blocks for Q4_0 {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: the caller guarantees a block, which is an `f16` scale and 16 bytes, and the instruction set.
        unsafe { f(0, W::nibbles::<8>(block.add(2), W::half(block), None)) }
    }
}

impl Blocks for Q4_1 {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: the caller guarantees a block, which is an `f16` scale, an `f16` offset and 16 bytes, and the
        // instruction set.
        unsafe {
            let (scale, offset) = W::halves(block);
            f(0, W::nibbles::<0>(block.add(4), scale, Some(offset)));
        }
    }
}

impl Blocks for Q8_0 {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: the caller guarantees a block, which is an `f16` scale and 32 bytes, and the instruction set.
        unsafe { f(0, W::bytes(block.add(2).cast(), [W::half(block); 2], None)) }
    }
}

impl Blocks for Q4K {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: the caller guarantees the instruction set and a block: two `f16`, 12 bytes of scales and offsets, and
        // 128 bytes of nibbles.
        unsafe {
            let (d, least) = (half_at(block), half_at(block.add(2)));
            let packed = block.add(4).cast::<[u8; 12]>().read();
            for j in 0..8 {
                let (scale, offset) = six_bits(&packed, j);
                let bytes = block.add(16 + j / 2 * GROUP).cast::<[u8; GROUP]>().read();
                let shift = 4 * (j % 2);
                let q: [i8; GROUP] = std::array::from_fn(|i| ((bytes[i] >> shift) & 15) as i8);
                let scale = W::splat(d * f32::from(scale));
                let offset = W::splat(-(least * f32::from(offset)));
                f(j, W::bytes(q.as_ptr(), [scale; 2], Some([offset; 2])));
            }
        }
    }
}

impl Blocks for Q6K {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: the caller guarantees the instruction set and a block: 128 bytes of low bits, 64 of high bits, 16
        // scales and an `f16`.
        unsafe {
            let d = half_at(block.add(208));
            for j in 0..8 {
                let low = block.add(j / 4 * 64 + j % 2 * GROUP).cast::<[u8; GROUP]>().read();
                let high = block.add(128 + j / 4 * GROUP).cast::<[u8; GROUP]>().read();
                let (shift, pair) = (j % 4 / 2 * 4, 2 * (j % 4));
                let q: [i8; GROUP] = std::array::from_fn(|i| {
                    (((low[i] >> shift) & 15) | ((high[i] >> pair) & 3) << 4) as i8 - 32
                });
                let scale = |i: usize| W::splat(d * f32::from(*block.add(192 + 2 * j + i) as i8));
                f(j, W::bytes(q.as_ptr(), [scale(0), scale(1)], None));
            }
        }
    }
}

/// A quantised format that `gradus_ir::format` unpacks.
pub(super) struct Any {
    pub(super) format: Format,
    pub(super) parts: Parts,
}

impl Any {
    pub(super) fn new(format: Format) -> Any {
        let mut parts = Parts::new();
        // Unpacks a block of zeros to set `parts.has_offsets` and `parts.group`.
        format.unpack(&[0; format::MAX], &mut parts);
        Any { format, parts }
    }
}

impl Blocks for Any {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        let (format, parts) = (self.format, &mut self.parts);
        // SAFETY: the caller guarantees the readable bytes of a block.
        format.unpack(unsafe { std::slice::from_raw_parts(block, format.block_bytes()) }, parts);
        for j in 0..format.block_elements() / GROUP {
            let at = |i: usize| (GROUP * j + 16 * i) / parts.group;
            // SAFETY: `parts.q` has the integers of the largest block, and group `j` is within this block; the caller
            // guarantees the instruction set.
            unsafe {
                let scale = [W::splat(parts.scales[at(0)]), W::splat(parts.scales[at(1)])];
                let offset = [W::splat(parts.offsets[at(0)]), W::splat(parts.offsets[at(1)])];
                let offset = parts.has_offsets.then_some(offset);
                f(j, W::bytes(parts.q.as_ptr().add(GROUP * j), scale, offset));
            }
        }
    }
}
