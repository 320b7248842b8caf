/** Plans for tests of the executor: y = a * x + b, a running counter, an index check, a host step, a broken kernel. */

/** The kernel of `out = left * right + plus` over `n` floats, all in one heap. */
const affine = `
struct P { n: u32, x: u32, y: u32, plus: u32, factor: u32 }
@group(0) @binding(0) var<storage, read_write> heap: array<f32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p[0].x) { return; }
  heap[p[0].z + id.x] = heap[p[0].y + id.x] * bitcast<f32>(p[1].x) + bitcast<f32>(p[0].w);
}`
const bits = (x) => new Uint32Array(new Float32Array([x]).buffer)[0]
const heap = (dtype, numel, kind, i) => ({ dtype, numel, place: [kind, i] })

/** y = factor * x + plus over n elements. */
export function affinePlan(n, factor, plus, donor = null) {
  return {
    version: 1, modules: [{ text: affine, writable: [true], group: [64, 1, 1] }],
    buffers: [heap('f32', n, 'input', 0), heap('f32', n, 'output', 0)],
    commands: [{ module: 0, bindings: [-1], parameters: [n, [0, 0], [1, 0], bits(plus), bits(factor)], groups: [Math.ceil(n / 64), 1, 1], step: 0 }],
    inputs: [0], outputs: [1], donors: [donor], arena: 0, checks: [],
  }
}

/** A plan with a step on the host between two kernels: y = reverse(2 x) + 1, temporaries in the arena. */
export function hostPlan(n) {
  const text = `
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> target_: array<f32>;
@group(0) @binding(2) var<uniform> p: vec4<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p.x) { return; }
 target_[p.z + id.x] = KERNEL;
}`
  const module = (expression) => ({ text: text.replace('KERNEL', expression), writable: [false, true], group: [64, 1, 1] })
  const groups = [Math.ceil(n / 64), 1, 1]
  return {
    version: 1, modules: [module('2.0 * source[p.y + id.x]'), module('source[p.y + id.x] + 1.0')],
    buffers: [heap('f32', n, 'input', 0), heap('f32', n, 'arena', 0), heap('f32', n, 'arena', 1024), heap('f32', n, 'output', 0)],
    commands: [
      { module: 0, bindings: [-1, -2], parameters: [n, [0, 0], [1, 0]], groups, step: 0 },
      { host: 'there is no kernel for reverse', reads: [1], writes: [2], step: 1 },
      { module: 1, bindings: [-2, -1], parameters: [n, [2, 0], [3, 0]], groups, step: 2 },
    ],
    inputs: [0], outputs: [3], donors: [null], arena: 2048, checks: [],
  }
}

/** Stores the position of the first index >= extent in a word of the arena. */
export function checkPlan(n, extent) {
  const text = `
@group(0) @binding(0) var<storage, read> heap: array<u32>;
@group(0) @binding(1) var<storage, read_write> arena: array<u32>;
@group(0) @binding(2) var<uniform> p: vec4<u32>;
@compute @workgroup_size(1) fn main() {
  var found = 0xffffffffu;
  for (var i = 0u; i < p.x; i++) { if (heap[p.y + i] >= p.w) { found = min(found, i); } }
  arena[p.z] = found;
}`
  return {
    version: 1, modules: [{ text, writable: [false, true], group: [1, 1, 1] }],
    buffers: [heap('i32', n, 'input', 0), heap('i32', 1, 'arena', 256)],
    commands: [{ module: 0, bindings: [-1, -2], parameters: [n, [0, 0], [1, 0], extent], groups: [1, 1, 1], step: 0 }],
    inputs: [0], outputs: [], donors: [], arena: 512, checks: [{ word: 1, index: 0, extent, step: 0 }],
  }
}

/** A plan whose kernel does not compile. */
export function brokenPlan() {
  const plan = affinePlan(1, 1, 0)
  return { ...plan, modules: [{ ...plan.modules[0], text: affine.replace('bitcast<f32>(p[1].x)', 'unknown_name') }] }
}
