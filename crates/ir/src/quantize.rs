//! Quantisation: `f32` values to the blocks of a format.
//!
//! Blocks of Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 have the same bits as those of other programs that write GGUF files.
//! Formats with 256 elements per block try several scales for each group and keep the one with the smallest squared error.
//! [`Format::dequantize`] is the inverse.

use crate::format::Format;
use crate::{Error, Result};
use half::f16;

impl Format {
    /// Appends the blocks of `values`, which must be finite and fill complete blocks.
    pub fn quantize(self, values: &[f32], out: &mut Vec<u8>) -> Result<()> {
        let elements = self.block_elements();
        if !self.is_quantized() || !values.len().is_multiple_of(elements) {
            let what = format!("{} values", values.len());
            return Err(Error::value(what, format!("are not complete blocks of {}", self.name())));
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::value(
                format!("value {at}, {}", values[at]),
                "cannot be quantised: it is not finite",
            ));
        }
        for block in values.chunks_exact(elements) {
            let from = out.len();
            match self {
                Format::Q4_0 | Format::Q5_0 => self.centred_block(block, out),
                Format::Q4_1 | Format::Q5_1 => self.offset_block(block, out),
                Format::Q2K => q2_k(block, out),
                Format::Q3K => q3_k(block, out),
                Format::Q4K | Format::Q5K => self.k_block(block, out),
                Format::Q6K => q6_k(block, out),
                Format::Int8 => int8(block, out),
                Format::Int4 => int4(block, out),
                Format::Fp8 => fp8(block, out),
                // Q8_0; formats without blocks are refused above.
                _ => q8_0(block, out),
            }
            debug_assert_eq!(out.len() - from, self.block_bytes());
            if !self.scales_are_finite(&out[from..]) {
                let largest = block.iter().fold(0f32, |most, x| most.max(x.abs()));
                let why =
                    format!("needs a scale beyond the range of f16, in which {} stores scales", self.name());
                return Err(Error::value(format!("a value of size {largest}"), why));
            }
        }
        Ok(())
    }

    /// Returns true if the `f16` scales of a block are finite.
    fn scales_are_finite(self, b: &[u8]) -> bool {
        let at: &[usize] = match self {
            Format::Int8 | Format::Int4 | Format::Fp8 => &[],
            Format::Q4_1 | Format::Q5_1 | Format::Q4K | Format::Q5K => &[0, 2],
            Format::Q2K => &[80, 82],
            Format::Q3K => &[108],
            Format::Q6K => &[208],
            _ => &[0],
        };
        at.iter().all(|at| f16::from_le_bytes([b[*at], b[at + 1]]).is_finite())
    }

    /// Packs a block with one scale: the element of largest size becomes the most negative integer.
    fn centred_block(self, x: &[f32], out: &mut Vec<u8>) {
        let fifth = self == Format::Q5_0;
        let (centre, most) = if fifth { (16.0f32, 31) } else { (8.0, 15) };
        // Takes the first of several elements with the largest size.
        let largest = x.iter().copied().fold(x[0], |a, b| if b.abs() > a.abs() { b } else { a });
        let d = largest / -centre;
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        let q: [u8; 32] = std::array::from_fn(|i| ((x[i] * inverse + (centre + 0.5)) as u8).min(most));
        push_half(out, d);
        push_bits(&q, fifth, out);
    }

    /// Packs a block with a scale and an offset, which map the smallest element to 0 and the largest one to
    /// the largest integer.
    fn offset_block(self, x: &[f32], out: &mut Vec<u8>) {
        let fifth = self == Format::Q5_1;
        let most = if fifth { 31u8 } else { 15 };
        let (least, largest) = range(x);
        let d = (largest - least) / f32::from(most);
        let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
        let q: [u8; 32] = std::array::from_fn(|i| (((x[i] - least) * inverse + 0.5) as u8).min(most));
        push_half(out, d);
        push_half(out, least);
        push_bits(&q, fifth, out);
    }

    /// Packs eight groups of 32, with scales and offsets of six bits.
    fn k_block(self, x: &[f32], out: &mut Vec<u8>) {
        let fifth = self == Format::Q5K;
        let most = if fifth { 31 } else { 15 };
        let Groups { d, least, scales, offsets, q } = Groups::find(x, 32, most, 63);
        push_half(out, d);
        push_half(out, least);
        let mut packed = [0u8; 12];
        for j in 0..4 {
            packed[j] = scales[j] | (scales[j + 4] >> 4) << 6;
            packed[j + 4] = offsets[j] | (offsets[j + 4] >> 4) << 6;
            packed[j + 8] = (scales[j + 4] & 15) | (offsets[j + 4] & 15) << 4;
        }
        out.extend(packed);
        if fifth {
            out.extend((0..32).map(|i| (0..8).fold(0, |all, j| all | (q[32 * j + i] >> 4) << j)));
        }
        out.extend((0..128).map(|i| {
            let at = i / 32 * 64 + i % 32;
            (q[at] & 15) | (q[at + 32] & 15) << 4
        }));
    }
}

fn push_half(out: &mut Vec<u8>, x: f32) {
    out.extend(f16::from_f32(x).to_le_bytes());
}

fn half(x: f32) -> f32 {
    f16::from_f32(x).to_f32()
}

fn range(x: &[f32]) -> (f32, f32) {
    x.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)))
}

/// Appends the fifth bits of 32 elements if `fifth` is set, then their low nibbles: elements 0 to 15 in the
/// low halves of bytes, 16 to 31 in the high halves.
fn push_bits(q: &[u8; 32], fifth: bool, out: &mut Vec<u8>) {
    if fifth {
        out.extend((0..4).map(|byte| (0..8).fold(0, |all, bit| all | (q[8 * byte + bit] >> 4) << bit)));
    }
    out.extend((0..16).map(|i| (q[i] & 15) | q[i + 16] << 4));
}

/// Appends two bits of each of 256 elements. Every 32 bytes store 128 elements: bit pair `j` of byte `k` is element
/// `k + 32 j`.
fn push_pairs(q: &[u8], out: &mut Vec<u8>) {
    for half in q.chunks_exact(128) {
        out.extend((0..32).map(|i| (0..4).fold(0, |all, row| all | (half[32 * row + i] & 3) << (2 * row))));
    }
}

fn q8_0(x: &[f32], out: &mut Vec<u8>) {
    let d = x.iter().fold(0f32, |most, x| most.max(x.abs())) / 127.0;
    let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
    push_half(out, d);
    out.extend(x.iter().map(|x| (x * inverse).round() as i8 as u8));
}

/// Returns the nearest integer within bounds.
fn nearest(x: f32, least: i32, most: i32) -> i32 {
    (x.round() as i32).clamp(least, most)
}

/// Tries several scales for integers from `-n` to `n - 1`, and returns the one with the least squared error.
fn centred_scale(x: &[f32], n: i32) -> f32 {
    let largest = x.iter().copied().fold(0f32, |a, b| if b.abs() > a.abs() { b } else { a });
    if largest == 0.0 {
        return 0.0;
    }
    let mut best = (0.0f64, 0.0f32);
    for step in -9..=9 {
        let inverse = -(n as f32 + 0.1 * step as f32) / largest;
        let (mut products, mut squares) = (0f64, 0f64);
        for x in x {
            let q = f64::from(nearest(inverse * x, -n, n - 1));
            products += f64::from(*x) * q;
            squares += q * q;
        }
        // The best scale for these integers reduces the squared error by this much, compared with all zeros.
        let removed = if squares > 0.0 { products * products / squares } else { 0.0 };
        if removed > best.0 {
            best = (removed, (products / squares) as f32);
        }
    }
    best.1
}

/// Groups of a block whose elements are `scale · q - offset`.
struct Groups {
    /// The scale of the scales.
    d: f32,
    /// The scale of the offsets.
    least: f32,
    scales: [u8; 16],
    offsets: [u8; 16],
    q: [u8; 256],
}

impl Groups {
    /// Finds integers up to `most`, and scales and offsets up to `limit`.
    fn find(x: &[f32], group: usize, most: i32, limit: i32) -> Groups {
        let fits: Vec<(f32, f32)> = x.chunks_exact(group).map(|x| offset_scale(x, most)).collect();
        let largest = |f: fn(&(f32, f32)) -> f32| fits.iter().map(f).fold(0f32, f32::max);
        let unit = |x: f32| half(x / limit as f32);
        let (d, least) = (unit(largest(|f| f.0)), unit(largest(|f| f.1)));
        let mut out = Groups { d, least, scales: [0; 16], offsets: [0; 16], q: [0; 256] };
        for (j, ((scale, offset), x)) in fits.iter().zip(x.chunks_exact(group)).enumerate() {
            let part = |x: f32, unit: f32| if unit > 0.0 { nearest(x / unit, 0, limit) as u8 } else { 0 };
            (out.scales[j], out.offsets[j]) = (part(*scale, d), part(*offset, least));
            let (scale, offset) = (d * f32::from(out.scales[j]), least * f32::from(out.offsets[j]));
            if scale > 0.0 {
                for (q, x) in out.q[j * group..].iter_mut().zip(x) {
                    *q = nearest((x + offset) / scale, 0, most) as u8;
                }
            }
        }
        out
    }
}

/// Returns a scale and an offset, neither negative, such that `scale · q - offset` is near the elements for
/// integers up to `n`.
fn offset_scale(x: &[f32], n: i32) -> (f32, f32) {
    let (least, largest) = range(x);
    let least = least.min(0.0);
    if largest <= least {
        return (0.0, -least);
    }
    let mut best = (f64::INFINITY, 0f32, 0f32);
    for step in 0..=20 {
        let inverse = (n as f32 - 1.0 + 0.1 * step as f32) / (largest - least);
        // Sums for the line through the points (q, x) with the least squared error.
        let [mut count, mut sq, mut sqq, mut sx, mut sqx] = [0f64; 5];
        for x in x {
            let (q, x) = (f64::from(nearest(inverse * (x - least), 0, n)), f64::from(*x));
            (count, sq, sqq, sx, sqx) = (count + 1.0, sq + q, sqq + q * q, sx + x, sqx + q * x);
        }
        let determinant = count * sqq - sq * sq;
        let mut scale = (count * sqx - sq * sx) / determinant;
        let mut start = (sqq * sx - sq * sqx) / determinant;
        // Equal integers do not determine a line, and offsets are not negative: then the line goes through zero.
        if determinant <= 0.0 || start > 0.0 {
            (scale, start) = (sqx / sqq, 0.0);
        }
        let (scale, start) = (scale as f32, start as f32);
        if scale <= 0.0 {
            continue;
        }
        let error = |x: &f32| {
            let q = nearest((x - start) / scale, 0, n) as f32;
            f64::from(scale * q + start - x).powi(2)
        };
        let error: f64 = x.iter().map(error).sum();
        if error < best.0 {
            best = (error, scale, -start);
        }
    }
    (best.1, best.2)
}

fn q2_k(x: &[f32], out: &mut Vec<u8>) {
    let Groups { d, least, scales, offsets, q } = Groups::find(x, 16, 3, 15);
    out.extend((0..16).map(|j| scales[j] | offsets[j] << 4));
    push_pairs(&q, out);
    push_half(out, d);
    push_half(out, least);
}

/// Returns the scale of the scales, the scales, and integers from `-n` to `n - 1` of 16 groups of 16. Scales
/// are from `-limit` to `limit - 1`.
fn centred_groups(x: &[f32], n: i32, limit: i32) -> (f32, [i32; 16], [i32; 256]) {
    let found: Vec<f32> = x.chunks_exact(16).map(|x| centred_scale(x, n)).collect();
    let largest = found.iter().copied().fold(0f32, |a, b| if b.abs() > a.abs() { b } else { a });
    let d = half(largest / -(limit as f32));
    let (mut scales, mut q) = ([0; 16], [0; 256]);
    for (j, (scale, x)) in found.iter().zip(x.chunks_exact(16)).enumerate() {
        scales[j] = if d == 0.0 { 0 } else { nearest(scale / d, -limit, limit - 1) };
        let scale = d * scales[j] as f32;
        if scale != 0.0 {
            q[16 * j..].iter_mut().zip(x).for_each(|(q, x)| *q = nearest(x / scale, -n, n - 1));
        }
    }
    (d, scales, q)
}

fn q3_k(x: &[f32], out: &mut Vec<u8>) {
    let (d, scales, q) = centred_groups(x, 4, 32);
    let q: Vec<u8> = q.iter().map(|q| (q + 4) as u8).collect();
    let scales: Vec<u8> = scales.iter().map(|s| (s + 32) as u8).collect();
    // Third bits: bit `row` of byte `i` belongs to element `32 row + i`.
    out.extend((0..32).map(|i| (0..8).fold(0, |all, row| all | (q[32 * row + i] >> 2) << row)));
    push_pairs(&q, out);
    out.extend((0..8).map(|j| (scales[j] & 15) | (scales[j + 8] & 15) << 4));
    out.extend((0..4).map(|j| (0..4).fold(0, |all, row| all | (scales[4 * row + j] >> 4) << (2 * row))));
    push_half(out, d);
}

fn q6_k(x: &[f32], out: &mut Vec<u8>) {
    let (d, scales, q) = centred_groups(x, 32, 128);
    let q: Vec<u8> = q.iter().map(|q| (q + 32) as u8).collect();
    for part in q.chunks_exact(128) {
        out.extend((0..64).map(|i| (part[i] & 15) | (part[i + 64] & 15) << 4));
    }
    push_pairs(&q.iter().map(|q| q >> 4).collect::<Vec<u8>>(), out);
    out.extend(scales.iter().map(|s| *s as i8 as u8));
    push_half(out, d);
}

fn int8(x: &[f32], out: &mut Vec<u8>) {
    let scale = x.iter().fold(0f32, |most, x| most.max(x.abs())) / 127.0;
    out.extend(scale.to_le_bytes());
    let q = |x: &f32| if scale == 0.0 { 0 } else { nearest(x / scale, -127, 127) as i8 as u8 };
    out.extend(x.iter().map(q));
}

fn int4(x: &[f32], out: &mut Vec<u8>) {
    let scale = centred_scale(x, 8);
    out.extend(scale.to_le_bytes());
    let q = |x: &f32| if scale == 0.0 { 8 } else { (nearest(x / scale, -8, 7) + 8) as u8 };
    let (low, high) = x.split_at(x.len() / 2);
    out.extend(low.iter().zip(high).map(|(a, b)| q(a) | q(b) << 4));
}

/// The largest finite value of eight-bit floats with four bits of exponent.
const MAX_FP8: f32 = 448.0;

fn fp8(x: &[f32], out: &mut Vec<u8>) {
    let scale = x.iter().fold(0f32, |most, x| most.max(x.abs())) / MAX_FP8;
    out.extend(scale.to_le_bytes());
    out.extend(x.iter().map(|x| if scale == 0.0 { 0 } else { to_e4m3(x / scale) }));
}

/// Rounds to the nearest eight-bit float (sign, four bits of exponent, three of fraction; no infinities),
/// ties to even. Values beyond the largest become the largest.
pub fn to_e4m3(x: f32) -> u8 {
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let size = x.abs();
    if size.is_nan() {
        return sign | 0x7F;
    }
    // Smallest normal number: 2⁻⁶; below it numbers are 2⁻⁹ apart.
    let exponent = if size < 0.015_625 { -6 } else { ((size.to_bits() >> 23) as i32 - 127).min(8) };
    let unit = f32::from_bits(((exponent - 3 + 127) as u32) << 23);
    let units = (size / unit).round_ties_even() as u32;
    let code = match units {
        0..=7 => units,
        8..=15 => ((exponent + 7) as u32) << 3 | (units - 8),
        // Rounded up to the next power of two.
        16 => ((exponent + 8) as u32) << 3,
        _ => 0x7E,
    };
    sign | code.min(0x7E) as u8
}

/// Returns the value of an eight-bit float of [`to_e4m3`].
pub fn from_e4m3(byte: u8) -> f32 {
    let (exponent, fraction) = ((byte >> 3) & 15, byte & 7);
    let size = match (exponent, fraction) {
        (15, 7) => f32::NAN,
        (0, _) => f32::from(fraction) / 512.0,
        _ => f32::from_bits((u32::from(exponent) + 120) << 23 | u32::from(fraction) << 20),
    };
    if byte & 0x80 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that no pattern of a format fits exactly.
    fn values(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * i) as f32 * 0.37).sin() * (1.0 + (i / 32) as f32 * 0.2)).collect()
    }

    fn error(format: Format, x: &[f32]) -> f64 {
        let (mut bytes, mut back) = (Vec::new(), vec![0.0; x.len()]);
        format.quantize(x, &mut bytes).unwrap();
        assert_eq!(Some(bytes.len()), format.bytes_of(x.len()));
        format.dequantize(&bytes, &mut back);
        let squares: f64 = x.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum();
        (squares / x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>()).sqrt()
    }

    #[test]
    fn values_are_restored_within_the_precision_of_a_format() {
        let x = values(1024);
        let bounds = [
            (Format::Q8_0, 0.005),
            (Format::Q6K, 0.02),
            (Format::Q5K, 0.03),
            (Format::Q5_1, 0.03),
            (Format::Q5_0, 0.04),
            (Format::Q4K, 0.055),
            (Format::Q4_1, 0.06),
            (Format::Q4_0, 0.08),
            (Format::Q3K, 0.16),
            (Format::Q2K, 0.25),
            (Format::Int8, 0.005),
            (Format::Int4, 0.08),
            (Format::Fp8, 0.03),
        ];
        for (format, most) in bounds {
            let e = error(format, &x);
            assert!(e > most / 20.0 && e < most, "{}: {e}", format.name());
            // Zeros, and a block of one value.
            assert_eq!(Format::dequantized(format, &vec![0.0; 256]), vec![0.0; 256], "{}", format.name());
        }
        assert!(error(Format::Q4K, &x) < error(Format::Q4_0, &x));
        assert!(error(Format::Q5K, &x) < error(Format::Q5_0, &x));
    }

    impl Format {
        fn dequantized(self, x: &[f32]) -> Vec<f32> {
            let (mut bytes, mut back) = (Vec::new(), vec![1.0; x.len()]);
            self.quantize(x, &mut bytes).unwrap();
            self.dequantize(&bytes, &mut back);
            back
        }
    }

    #[test]
    fn values_that_cannot_be_quantised_are_refused() {
        for format in Format::all().filter(|f| f.is_quantized()) {
            let n = format.block_elements();
            let refused = |x: &[f32], why: &str| {
                let e = format.quantize(x, &mut Vec::new()).unwrap_err().to_string();
                assert!(e.contains(why), "{e}");
            };
            refused(&vec![1.0; n - 1], "not complete blocks");
            let mut x = vec![0.5; n];
            x[3] = f32::NAN;
            refused(&x, "not finite");
            x[3] = f32::MAX;
            if !matches!(format, Format::Int8 | Format::Int4 | Format::Fp8) {
                refused(&x, "needs a scale beyond the range of f16");
            }
        }
        assert!(Format::F32.quantize(&[1.0], &mut Vec::new()).is_err());
    }

    #[test]
    fn eight_bit_floats_are_rounded_to_nearest() {
        let all: Vec<f32> = (0..=0x7E).map(from_e4m3).collect();
        assert_eq!(all[0x7E], 448.0);
        for i in 0..0x7E {
            let middle = (all[i] + all[i + 1]) / 2.0;
            for (x, right) in [
                (all[i], i),
                (middle.next_down(), i),
                (middle, if i % 2 == 0 { i } else { i + 1 }),
                (middle.next_up(), i + 1),
            ] {
                assert_eq!(to_e4m3(x) as usize, right, "{x}");
                assert_eq!(to_e4m3(-x) as usize, right | 0x80, "-{x}");
            }
        }
        assert_eq!((to_e4m3(1e9), to_e4m3(f32::NAN)), (0x7E, 0x7F));
    }
}
