//! Weights of each format, 32 at a time, in vector registers.
//! The values are those of `gradus_ir::format`, bit for bit. Formats without a kernel of their own unpack their integers there.

use crate::wide::{GROUP, Unpack, half_at};
use gradus_ir::format::{Format, MOST, Parts, six_bits};

/// How kernels read the blocks of a format.
///
/// # Safety
/// `each` needs the instruction set of `W` and a block of readable bytes.
pub(super) trait Blocks {
    /// Calls `f` with the number and the weights of each group of a block, in order.
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
        // SAFETY: a block is a scale and 16 bytes; the caller guarantees the instruction set.
        unsafe { f(0, W::nibbles::<8>(block.add(2), W::half(block), None)) }
    }
}

impl Blocks for Q4_1 {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: a block is a scale, an offset and 16 bytes; the caller guarantees the instruction set.
        unsafe {
            let (scale, offset) = W::halves(block);
            f(0, W::nibbles::<0>(block.add(4), scale, Some(offset)));
        }
    }
}

impl Blocks for Q8_0 {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: a block is a scale and 32 bytes; the caller guarantees the instruction set.
        unsafe { f(0, W::bytes(block.add(2).cast(), [W::half(block); 2], None)) }
    }
}

impl Blocks for Q4K {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        // SAFETY: a block is two halves, 12 bytes of scales and offsets, and 128 bytes of nibbles.
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
        // SAFETY: a block is 128 bytes of low bits, 64 of high bits, 16 scales and a half.
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

/// Any quantised format.
pub(super) struct Any {
    pub(super) format: Format,
    pub(super) parts: Parts,
}

impl Any {
    pub(super) fn new(format: Format) -> Any {
        let mut parts = Parts::new();
        // Blocks of zeros tell whether the format has offsets.
        format.unpack(&[0; MOST], &mut parts);
        Any { format, parts }
    }
}

impl Blocks for Any {
    #[inline(always)]
    unsafe fn each<W: Unpack>(&mut self, block: *const u8, mut f: impl FnMut(usize, W)) {
        let (format, parts) = (self.format, &mut self.parts);
        // SAFETY: the caller guarantees a whole block.
        format.unpack(unsafe { std::slice::from_raw_parts(block, format.block_bytes()) }, parts);
        for j in 0..format.block_elements() / GROUP {
            let at = |i: usize| (GROUP * j + 16 * i) / parts.group;
            // SAFETY: `parts` has 256 integers; the caller guarantees the instruction set.
            unsafe {
                let scale = [W::splat(parts.scales[at(0)]), W::splat(parts.scales[at(1)])];
                let offset = [W::splat(parts.offsets[at(0)]), W::splat(parts.offsets[at(1)])];
                let offset = parts.has_offsets.then_some(offset);
                f(j, W::bytes(parts.q.as_ptr().add(GROUP * j), scale, offset));
            }
        }
    }
}
