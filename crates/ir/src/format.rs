//! The element formats of quantised weights: identifiers in GGUF files, block sizes, and how blocks become `f32`.
//!
//! A quantised format stores blocks of 32 to 256 consecutive elements of a row. Every element is `scale · q + offset`, where `q` is
//! a small integer and scale and offset belong to a group of elements. A format defines how a block stores `q`, scales and
//! offsets; in `FP8`, `q` is a float of eight bits. `quantize.rs` converts `f32` to these formats.

use crate::DType;
use crate::quantize::from_e4m3;
use half::{bf16, f16};

/// Storage format of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Format {
    F32,
    F16,
    BF16,
    F64,
    I8,
    I16,
    I32,
    I64,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Int8,
    Int4,
    Fp8,
}

/// An entry of the table of formats.
struct Entry {
    format: Format,
    id: u32,
    name: &'static str,
    elements: usize,
    bytes: usize,
}

const fn entry(format: Format, id: u32, name: &'static str, elements: usize, bytes: usize) -> Entry {
    Entry { format, id, name, elements, bytes }
}

/// Formats with their identifiers, names, elements in a block and bytes of a block.
const FORMATS: &[Entry] = &[
    entry(Format::F32, 0, "F32", 1, 4),
    entry(Format::F16, 1, "F16", 1, 2),
    entry(Format::Q4_0, 2, "Q4_0", 32, 18),
    entry(Format::Q4_1, 3, "Q4_1", 32, 20),
    entry(Format::Q5_0, 6, "Q5_0", 32, 22),
    entry(Format::Q5_1, 7, "Q5_1", 32, 24),
    entry(Format::Q8_0, 8, "Q8_0", 32, 34),
    entry(Format::Q2K, 10, "Q2_K", 256, 84),
    entry(Format::Q3K, 11, "Q3_K", 256, 110),
    entry(Format::Q4K, 12, "Q4_K", 256, 144),
    entry(Format::Q5K, 13, "Q5_K", 256, 176),
    entry(Format::Q6K, 14, "Q6_K", 256, 210),
    entry(Format::I8, 24, "I8", 1, 1),
    entry(Format::I16, 25, "I16", 1, 2),
    entry(Format::I32, 26, "I32", 1, 4),
    entry(Format::I64, 27, "I64", 1, 8),
    entry(Format::F64, 28, "F64", 1, 8),
    entry(Format::BF16, 30, "BF16", 1, 2),
    // Groups of 64 with a scale of `f32`. GGUF files do not have these, so their identifiers are never read.
    entry(Format::Int8, FIRST_OWN_ID, "INT8", 64, 68),
    entry(Format::Int4, FIRST_OWN_ID + 1, "INT4", 64, 36),
    entry(Format::Fp8, FIRST_OWN_ID + 2, "FP8", 64, 68),
];

/// The representation of activations in products with quantised weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compute {
    /// Activations stay as they are.
    #[default]
    F32,
    /// Activations are rounded to `bf16`; products are summed in `f32`.
    Bf16,
    /// Activations are rounded to integers from -127 to 127, in blocks of 32 that share a scale.
    Int8,
}

impl Compute {
    /// All variants.
    pub const ALL: [Compute; 3] = [Compute::F32, Compute::Bf16, Compute::Int8];

    /// Returns the name, such as `int8`.
    pub fn name(self) -> &'static str {
        match self {
            Compute::F32 => "f32",
            Compute::Bf16 => "bf16",
            Compute::Int8 => "int8",
        }
    }

    /// Returns the variant with this name.
    pub fn of_name(name: &str) -> Option<Compute> {
        Compute::ALL.into_iter().find(|c| c.name() == name)
    }
}
/// The first identifier of formats that GGUF files do not have.
const FIRST_OWN_ID: u32 = 1 << 16;

/// Largest number of elements in a block of any format.
pub const MAX: usize = 256;

impl Format {
    /// Returns all formats.
    pub fn all() -> impl Iterator<Item = Format> {
        FORMATS.iter().map(|entry| entry.format)
    }

    /// Returns the format with this identifier.
    pub fn of_id(id: u32) -> Option<Format> {
        FORMATS.iter().find(|entry| entry.id == id && id < FIRST_OWN_ID).map(|entry| entry.format)
    }

    /// Returns true if GGUF files can have this format.
    pub fn is_in_files(self) -> bool {
        self.id() < FIRST_OWN_ID
    }

    /// Returns the format with this name, such as `Q4_K`.
    pub fn of_name(name: &str) -> Option<Format> {
        FORMATS.iter().find(|entry| entry.name == name).map(|entry| entry.format)
    }

    /// Returns the format that holds exactly the elements of a dtype.
    pub fn of_dtype(dtype: DType) -> Option<Format> {
        Format::all().find(|f| f.dtype() == Some(dtype))
    }

    fn entry(self) -> &'static Entry {
        // Every variant has an entry, which a test checks.
        FORMATS.iter().find(|entry| entry.format == self).unwrap_or(&FORMATS[0])
    }

    /// Returns the identifier in GGUF files. Formats that these files do not have get identifiers from `FIRST_OWN_ID` on.
    pub fn id(self) -> u32 {
        self.entry().id
    }

    /// Returns the usual name, such as `Q4_K`.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the number of consecutive elements of a row that are stored together.
    pub fn block_elements(self) -> usize {
        self.entry().elements
    }

    /// Returns the bytes of a block.
    pub fn block_bytes(self) -> usize {
        self.entry().bytes
    }

    /// Returns the dtype with the same elements, if there is one: block formats have none.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Format::F32 => Some(DType::F32),
            Format::F16 => Some(DType::F16),
            Format::BF16 => Some(DType::BF16),
            Format::F64 => Some(DType::F64),
            Format::I8 => Some(DType::I8),
            Format::I32 => Some(DType::I32),
            Format::I64 => Some(DType::I64),
            _ => None,
        }
    }

    /// Returns true if elements are stored in blocks that share a scale.
    pub fn is_quantized(self) -> bool {
        self.block_elements() > 1
    }

    /// Returns the bytes of `elements` elements, if they fill complete blocks and the count does not overflow.
    pub fn bytes_of(self, elements: usize) -> Option<usize> {
        let entry = self.entry();
        let blocks = elements.is_multiple_of(entry.elements).then_some(elements / entry.elements)?;
        blocks.checked_mul(entry.bytes)
    }

    /// Writes the elements of `bytes` to `out` as `f32`, for as many blocks as both have.
    pub fn dequantize(self, bytes: &[u8], out: &mut [f32]) {
        let entry = self.entry();
        let blocks = bytes.chunks_exact(entry.bytes).zip(out.chunks_exact_mut(entry.elements));
        if !self.is_quantized() {
            return blocks.for_each(|(b, out)| out[0] = self.number(b));
        }
        if !self.has_integers() {
            return blocks.for_each(|(b, out)| {
                let scale = single_at(b);
                out.iter_mut().zip(&b[4..]).for_each(|(x, byte)| *x = scale * from_e4m3(*byte));
            });
        }
        let mut parts = Parts::new();
        for (block, out) in blocks {
            self.unpack(block, &mut parts);
            parts.write(out);
        }
    }

    /// Returns true if elements of blocks are integers, so that [`unpack`](Format::unpack) applies.
    pub fn has_integers(self) -> bool {
        self.is_quantized() && self != Format::Fp8
    }

    /// Converts one element of a format without blocks.
    fn number(self, b: &[u8]) -> f32 {
        match self {
            Format::F16 => f16::from_le_bytes([b[0], b[1]]).to_f32(),
            Format::BF16 => bf16::from_le_bytes([b[0], b[1]]).to_f32(),
            Format::F64 => f64::from_le_bytes(std::array::from_fn(|i| b[i])) as f32,
            Format::I8 => f32::from(b[0] as i8),
            Format::I16 => f32::from(i16::from_le_bytes([b[0], b[1]])),
            Format::I32 => i32::from_le_bytes(std::array::from_fn(|i| b[i])) as f32,
            Format::I64 => i64::from_le_bytes(std::array::from_fn(|i| b[i])) as f32,
            _ => f32::from_le_bytes(std::array::from_fn(|i| b[i])),
        }
    }

    /// Unpacks the integers, scales and offsets of a block of a quantised format that has integers. Panics if `b` is shorter
    /// than a block.
    pub fn unpack(self, b: &[u8], p: &mut Parts) {
        match self {
            Format::Q4_0 | Format::Q4_1 | Format::Q5_0 | Format::Q5_1 => self.unpack_simple(b, p),
            Format::Q2K => p.q2_k(b),
            Format::Q3K => p.q3_k(b),
            Format::Q4K | Format::Q5K => self.unpack_k(b, p),
            Format::Q6K => p.q6_k(b),
            Format::Int8 | Format::Int4 => {
                p.begin(64, false);
                p.scales[0] = single_at(b);
                let four = self == Format::Int4;
                (0..64).for_each(|i| {
                    p.q[i] = if four { nibble(b[4 + i % 32], i >= 32) as i8 - 8 } else { b[4 + i] as i8 };
                });
            }
            // Q8_0; formats without blocks do not reach this.
            _ => {
                p.begin(32, false);
                p.scales[0] = half_at(b, 0);
                (0..32).for_each(|i| p.q[i] = b[2 + i] as i8);
            }
        }
    }

    /// Unpacks a scale, an offset and a fifth bit of every element if the format has them, then 16 bytes of
    /// low and high nibbles.
    fn unpack_simple(self, b: &[u8], p: &mut Parts) {
        let offset = matches!(self, Format::Q4_1 | Format::Q5_1);
        let fifth = matches!(self, Format::Q5_0 | Format::Q5_1);
        p.begin(32, offset);
        p.scales[0] = half_at(b, 0);
        p.offsets[0] = if offset { half_at(b, 2) } else { 0.0 };
        let bits = if offset { &b[4..] } else { &b[2..] };
        let (high, nibbles) = bits.split_at(if fifth { 4 } else { 0 });
        // Without an offset the integers are centred.
        let centre = match (offset, fifth) {
            (true, _) => 0,
            (false, false) => 8,
            (false, true) => 16,
        };
        for i in 0..32 {
            let low = nibble(nibbles[i % 16], i >= 16);
            let fifth = high.get(i / 8).map_or(0, |byte| (byte >> (i % 8)) & 1);
            p.q[i] = (low | fifth << 4) as i8 - centre;
        }
    }

    /// Unpacks eight groups of 32, with scales and offsets of six bits each; Q5_K has a fifth bit of every
    /// element.
    fn unpack_k(self, b: &[u8], p: &mut Parts) {
        let (d, least, packed) = (half_at(b, 0), half_at(b, 2), &b[4..16]);
        let (high, nibbles) = b[16..].split_at(if self == Format::Q5K { 32 } else { 0 });
        p.begin(32, true);
        for j in 0..8 {
            let (scale, offset) = six_bits(packed, j);
            p.scales[j] = d * f32::from(scale);
            p.offsets[j] = -(least * f32::from(offset));
        }
        for i in 0..256 {
            let (group, within) = (i / 32, i % 32);
            let low = nibble(nibbles[group / 2 * 32 + within], group % 2 == 1);
            let fifth = high.get(within).map_or(0, |byte| (byte >> group) & 1);
            p.q[i] = (low | fifth << 4) as i8;
        }
    }
}

/// The integers of a block, and scales and offsets of its groups. Element `i` is `q[i] · scales[i / group]`, plus
/// `offsets[i / group]` if there are offsets.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Integers of the elements.
    pub q: [i8; MAX],
    /// Scales of the groups.
    pub scales: [f32; 16],
    /// Offsets of the groups.
    pub offsets: [f32; 16],
    /// Elements that share a scale.
    pub group: usize,
    /// If true, offsets are added.
    pub has_offsets: bool,
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::new()
    }
}

impl Parts {
    /// Makes empty parts, into which blocks can be unpacked.
    pub fn new() -> Parts {
        Parts { q: [0; MAX], scales: [0.0; 16], offsets: [0.0; 16], group: MAX, has_offsets: false }
    }

    fn begin(&mut self, group: usize, has_offsets: bool) {
        (self.group, self.has_offsets) = (group, has_offsets);
    }

    /// Writes `scale · q + offset` of every element, each operation rounded to `f32`.
    fn write(&self, out: &mut [f32]) {
        let groups = out.chunks_mut(self.group).zip(self.q.chunks(self.group));
        for ((out, q), (scale, offset)) in groups.zip(self.scales.iter().zip(&self.offsets)) {
            for (x, q) in out.iter_mut().zip(q) {
                let product = scale * f32::from(*q);
                // Adding zero would lose the sign of a negative zero.
                *x = if self.has_offsets { product + offset } else { product };
            }
        }
    }

    /// Unpacks 16 groups: a byte of scale and offset each, two bits per element.
    fn q2_k(&mut self, b: &[u8]) {
        let (packed, bits, d, least) = (&b[..16], &b[16..80], half_at(b, 80), half_at(b, 82));
        self.begin(16, true);
        for (j, byte) in packed.iter().enumerate() {
            self.scales[j] = d * f32::from(byte & 15);
            self.offsets[j] = -(least * f32::from(byte >> 4));
        }
        for i in 0..256 {
            self.q[i] = two_bits(bits, i) as i8;
        }
    }

    /// Unpacks 16 groups with centred scales of six bits. An element has two low bits and a bit in a mask of
    /// high bits; 4 is subtracted where that bit is clear.
    fn q3_k(&mut self, b: &[u8]) {
        let (mask, bits, packed, d) = (&b[..32], &b[32..96], &b[96..108], half_at(b, 108));
        self.begin(16, false);
        for j in 0..16 {
            let low = nibble(packed[j % 8], j >= 8);
            let high = (packed[8 + j % 4] >> (2 * (j / 4))) & 3;
            self.scales[j] = d * f32::from((low | high << 4) as i8 - 32);
        }
        for i in 0..256 {
            let third = (mask[i % 32] >> (i / 32)) & 1;
            self.q[i] = two_bits(bits, i) as i8 - if third == 1 { 0 } else { 4 };
        }
    }

    /// Unpacks 16 groups: signed scales of a byte; four low and two high bits per element, centred.
    fn q6_k(&mut self, b: &[u8]) {
        let (low, high, scales, d) = (&b[..128], &b[128..192], &b[192..208], half_at(b, 208));
        self.begin(16, false);
        for (j, scale) in scales.iter().enumerate() {
            self.scales[j] = d * f32::from(*scale as i8);
        }
        for i in 0..256 {
            let low = nibble(low[i / 128 * 64 + i % 64], i % 128 >= 64);
            self.q[i] = (low | two_bits(high, i) << 4) as i8 - 32;
        }
    }
}

/// Returns the scale and the offset of group `j` of eight, six bits each, in the 12 bytes of Q4_K and Q5_K.
/// Panics if `packed` is shorter.
#[inline(always)]
pub fn six_bits(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        return (packed[j] & 63, packed[j + 4] & 63);
    }
    let both = packed[j + 4];
    ((both & 15) | (packed[j - 4] >> 6) << 4, (both >> 4) | (packed[j] >> 6) << 4)
}

/// Returns the two bits of element `i`. Every 32 bytes store 128 elements: bit pair `j` of byte `k` is element
/// `k + 32 j`.
fn two_bits(bytes: &[u8], i: usize) -> u8 {
    (bytes[i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32))) & 3
}

fn nibble(byte: u8, high: bool) -> u8 {
    if high { byte >> 4 } else { byte & 15 }
}

fn single_at(b: &[u8]) -> f32 {
    f32::from_le_bytes(std::array::from_fn(|i| b[i]))
}

fn half_at(b: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([b[at], b[at + 1]]).to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_an_entry() {
        for format in Format::all() {
            assert_eq!(Format::of_id(format.id()), format.is_in_files().then_some(format));
            assert_eq!(Format::of_name(format.name()), Some(format));
            assert_eq!(format.entry().format, format);
        }
    }
}
