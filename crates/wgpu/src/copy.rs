//! Copies on the device, from any byte to new memory. A kernel does them, because copies of wgpu cannot stay inside one
//! buffer, need starts at multiples of 4, and would end the compute pass.

use crate::context::Context;
use crate::queue::{Bound, State};
use gradus_gpu::Module;

/// Threads of a workgroup.
const GROUP: u32 = 256;
/// Words that a thread copies.
const WORDS: u32 = 4;

/// The kernels: inside a buffer, and from one to another.
pub(crate) fn modules() -> [Module; 2] {
    let text = |bindings: &str, to: &str| {
        format!(
            "{bindings}
fn word(at: u32) -> u32 {{
  let low = at >> 2u;
  let bits = (at & 3u) * 8u;
  if (bits == 0u) {{ return a[low]; }}
  return (a[low] >> bits) | (a[low + 1u] << (32u - bits));
}}
@compute @workgroup_size({GROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let first = (id.y * p.w + id.x) * {WORDS}u;
  let end = min(first + {WORDS}u, p.z);
  for (var i = first; i < end; i += 1u) {{ {to}[p.y + i] = word(p.x + i * 4u); }}
}}
"
        )
    };
    let inside = "@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<uniform> p: vec4<u32>;";
    let between = "@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@group(0) @binding(2) var<uniform> p: vec4<u32>;";
    let group = [GROUP, 1, 1];
    [
        Module { text: text(inside, "a"), writable: vec![true], group },
        Module { text: text(between, "b"), writable: vec![false, true], group },
    ]
}

impl Context {
    /// Queues a copy to memory that is padded to whole words and begins at a multiple of 4.
    pub(crate) fn queue_copy(
        &self,
        state: &mut State,
        (from, first): (Bound, usize),
        (to, start): (Bound, usize),
        bytes: usize,
        run: u64,
    ) {
        let words = bytes.div_ceil(4) as u32;
        let groups = words.div_ceil(GROUP * WORDS);
        let x = groups.min(self.limits.groups);
        let y = groups.div_ceil(x.max(1));
        let parameters = [first as u32, (start / 4) as u32, words, x * GROUP];
        let parameters: Vec<u8> = parameters.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let (kernel, buffers) = match (&from, &to) {
            (Bound::Heap, Bound::Heap) => (&self.copies[0], vec![to]),
            (Bound::Own(a), Bound::Own(b)) if a.number == b.number => (&self.copies[0], vec![to]),
            _ => (&self.copies[1], vec![from, to]),
        };
        state.dispatch(self, (kernel, buffers), &parameters, [x, y, 1], run);
    }
}
