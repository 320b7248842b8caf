//! Copies bytes on the device, from any offset to new memory, by a kernel. Copy commands of wgpu are not used, because they
//! cannot copy within one buffer, require offsets that are multiples of 4, and would end the compute pass.

use crate::context::Context;
use crate::queue::{Bound, State};
use gradus_gpu::Module;

/// Number of threads per workgroup.
const GROUP: u32 = 256;

/// Returns the kernels: copies within a buffer and between buffers, each by words and by vectors of four words.
pub(crate) fn modules() -> [Module; 4] {
    let kernel = |vectors: bool, between: bool| {
        let (unit, from) = if vectors { ("vec4<u32>", "a[p.x + i]") } else { ("u32", "word(p.x + i * 4u)") };
        let (to, access, second) = match between {
            false => ("a", "read_write", String::new()),
            true => {
                ("b", "read", format!("@group(0) @binding(1) var<storage, read_write> b: array<{unit}>;"))
            }
        };
        let word = "fn word(at: u32) -> u32 {
  let low = at >> 2u;
  let bits = (at & 3u) * 8u;
  if (bits == 0u) { return a[low]; }
  return (a[low] >> bits) | (a[low + 1u] << (32u - bits));
}";
        let word = if vectors { "" } else { word };
        let text = format!(
            "@group(0) @binding(0) var<storage, {access}> a: array<{unit}>;
{second}
@group(0) @binding({}) var<uniform> p: vec4<u32>;
{word}
@compute @workgroup_size({GROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let i = id.y * p.w + id.x;
  if (i < p.z) {{ {to}[p.y + i] = {from}; }}
}}
",
            1 + u32::from(between)
        );
        let writable = if between { vec![false, true] } else { vec![true] };
        Module { text, writable, group: [GROUP, 1, 1] }
    };
    [kernel(false, false), kernel(false, true), kernel(true, false), kernel(true, true)]
}

impl Context {
    /// Queues a copy. The target starts at a multiple of 16 bytes and is padded to 16 bytes.
    pub(crate) fn queue_copy(
        &self,
        state: &mut State,
        (from, first): (Bound, usize),
        (to, start): (Bound, usize),
        bytes: usize,
        run: u64,
    ) {
        let vectors = first % 16 == 0;
        let (unit, first) = if vectors { (16, first / 16) } else { (4, first) };
        let count = bytes.div_ceil(unit) as u32;
        let groups = count.div_ceil(GROUP);
        // Uses a second dimension if there are more groups than one dimension allows.
        let x = groups.min(self.limits.groups);
        let y = groups.div_ceil(x.max(1));
        let parameters = [first as u32, (start / unit) as u32, count, x * GROUP];
        let parameters: Vec<u8> = parameters.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let same = match (&from, &to) {
            (Bound::Heap, Bound::Heap) => true,
            (Bound::Own(a), Bound::Own(b)) => a.number == b.number,
            _ => false,
        };
        let kernel = &self.copies[2 * usize::from(vectors) + usize::from(!same)];
        let buffers = if same { vec![to] } else { vec![from, to] };
        state.dispatch(self, (kernel, buffers), &parameters, [x, y, 1], run);
    }
}
