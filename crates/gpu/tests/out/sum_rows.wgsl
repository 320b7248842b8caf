@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 1>;
var<workgroup> s0: array<f32, 256>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = local % 32u;
  let v2 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v3 = min(v2, 50u - 1u);
  let v4 = v2 < 50u;
  var v5 = f_bits(0x80000000u);
  for (var v6 = (v1 * 4u); v6 < 600u; v6 = v6 + 128u) {
    let v7 = (p[0].y + ((v3 * 600u) + v6));
    let v8 = bitcast<f32>(m0[v7]);
    let v9 = bitcast<f32>(m0[(v7 + 1u)]);
    let v10 = bitcast<f32>(m0[(v7 + 2u)]);
    let v11 = bitcast<f32>(m0[(v7 + 3u)]);
    v5 = (v5 + v8);
    v5 = (v5 + v9);
    v5 = (v5 + v10);
    v5 = (v5 + v11);
  }
  s0[local] = v5;
  workgroupBarrier();
  if (v1 < 16u) {
    s0[local] = (s0[local] + s0[local + 16u]);
  }
  workgroupBarrier();
  if (v1 < 8u) {
    s0[local] = (s0[local] + s0[local + 8u]);
  }
  workgroupBarrier();
  if (v1 < 4u) {
    s0[local] = (s0[local] + s0[local + 4u]);
  }
  workgroupBarrier();
  if (v1 < 2u) {
    s0[local] = (s0[local] + s0[local + 2u]);
  }
  workgroupBarrier();
  if (v1 < 1u) {
    s0[local] = (s0[local] + s0[local + 1u]);
  }
  workgroupBarrier();
  let v12 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  if (v4 && v1 == 0u) {
    m0[(p[0].z + v3)] = bitcast<u32>(v12);
  }
}
