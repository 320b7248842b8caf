//! Converts the bits of `bf16` and `f16` to and from `f32`, rounding to nearest, ties to even. NaN stays NaN.

/// The bits of `f16` infinity, of its quiet bit, and of its smallest normal number as an `f32`.
const INFINITY: u32 = 0x7c00;
const QUIET: u32 = 0x0200;
const NORMAL: u32 = 0x3880_0000;

#[inline(always)]
pub(super) fn from_bf16(h: u16) -> f32 {
    f32::from_bits(u32::from(h) << 16)
}

#[inline(always)]
pub(super) fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    // Adds half of the last kept bit; if that bit is 0, adds one less, so that ties round to even.
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    (if x.is_nan() { bits >> 16 | 0x40 } else { rounded }) as u16
}

#[inline(always)]
pub(super) fn from_f16(h: u16) -> f32 {
    let h = u32::from(h);
    // The exponent is wrong by the difference of the biases. A multiplication corrects that, also for subnormal numbers.
    // In both formats the largest exponent means infinity or NaN.
    let x = f32::from_bits((h & 0x7fff) << 13) * 2.0_f32.powi(112);
    let top = if h & INFINITY == INFINITY { 0xff << 23 } else { 0 };
    f32::from_bits(x.to_bits() | top | (h & 0x8000) << 16)
}

#[inline(always)]
pub(super) fn to_f16(x: f32) -> u16 {
    let sign = x.to_bits() >> 16 & 0x8000;
    let a = x.to_bits() & 0x7fff_ffff;
    let normal = a.wrapping_sub(112 << 23).wrapping_add(0xfff + (a >> 13 & 1)) >> 13;
    // The last bit of an `f32` near 1/2 has the value of the smallest `f16`, so adding 1/2 rounds to a multiple of that.
    let tiny = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let r = if a < NORMAL { tiny } else { normal };
    let r = if r > INFINITY { INFINITY } else { r };
    let nan = INFINITY | QUIET | (a >> 13 & 0x3ff);
    (sign | if x.is_nan() { nan } else { r }) as u16
}
