//! The canonical hash of a graph. It depends on the computation, not on the numbering of the nodes.

use super::print::attr_text;
use super::{Graph, Id};
use crate::Literal;
use crate::attr::Attr;
use crate::literal::Data;
use crate::ops::Op;
use std::fmt::Write;
use std::hash::Hasher;

/// A 128-bit hash that is the same on every platform and in every build: two multiplicative lanes over words.
#[derive(Clone, Debug)]
pub struct StableHasher(u64, u64);

impl Default for StableHasher {
    fn default() -> StableHasher {
        StableHasher(0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03)
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl StableHasher {
    /// Returns all 128 bits.
    pub fn finish128(&self) -> u128 {
        ((mix(self.0 ^ self.1.rotate_left(32)) as u128) << 64) | mix(self.1.wrapping_add(self.0)) as u128
    }
}

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, x: u64) {
        self.0 = mix(self.0 ^ x);
        self.1 = mix(self.1.wrapping_add(x).rotate_left(23));
    }

    fn write_u8(&mut self, x: u8) {
        self.write_u64(x as u64);
    }

    fn write_u32(&mut self, x: u32) {
        self.write_u64(x as u64);
    }

    fn write_u128(&mut self, x: u128) {
        self.write_u64(x as u64);
        self.write_u64((x >> 64) as u64);
    }

    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }

    fn finish(&self) -> u64 {
        self.finish128() as u64
    }
}

/// Hashes the type as text, and the bits of the elements; all NaNs are equal. The `Hash` of a shape is not used, because
/// it writes machine words, whose width depends on the platform.
fn literal_hash(l: &Literal, h: &mut StableHasher) {
    let float = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    h.write(l.aval().to_string().as_bytes());
    match l.data() {
        Data::F(v) => v.iter().for_each(|x| h.write_u64(float(*x))),
        Data::C(v) => v.iter().for_each(|z| [z.re, z.im].into_iter().for_each(|x| h.write_u64(float(x)))),
        Data::I(v) => v.iter().for_each(|x| h.write_u64(*x as u64)),
    }
}

/// Hashes each op's text (regions by their own hash) together with the hashes of its operands.
pub(super) fn graph_hash(graph: &Graph) -> u128 {
    let mut nodes: Vec<u128> = Vec::with_capacity(graph.nodes().len());
    let value = |nodes: &[u128], h: &mut StableHasher, id: &Id| {
        h.write_u128(nodes[id.node as usize]);
        h.write_u64(id.out as u64);
    };
    for node in graph.nodes() {
        let mut h = StableHasher::default();
        op_hash(&node.op, &mut h);
        node.ins.iter().for_each(|id| value(&nodes, &mut h, id));
        nodes.push(h.finish128());
    }
    let mut h = StableHasher::default();
    for (name, id) in graph.inputs() {
        h.write(name.as_bytes());
        h.write(graph.aval(*id).to_string().as_bytes());
    }
    h.write_u64(graph.inputs().len() as u64);
    graph.outputs().iter().for_each(|id| value(&nodes, &mut h, id));
    h.finish128()
}

fn op_hash(op: &Op, h: &mut StableHasher) {
    let mut text = op.name().to_string();
    for (name, attr) in op.def().attrs() {
        match &attr {
            Attr::Literal(l) => literal_hash(l, h),
            a => {
                // Writing to a String cannot fail.
                let _ =
                    write!(text, " {name}={}", attr_text(a, &mut |g| format!("{:x}", g.canonical_hash())));
            }
        }
    }
    h.write(text.as_bytes());
}
