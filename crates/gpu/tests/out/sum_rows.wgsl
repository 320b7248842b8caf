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
  let v12 = (local / 32u) * 32u;
  if (v1 < 4u) {
    let v13 = s0[local];
    let v14 = (v13 + s0[local + 4u]);
    let v15 = (v14 + s0[local + 8u]);
    let v16 = (v15 + s0[local + 12u]);
    let v17 = (v16 + s0[local + 16u]);
    let v18 = (v17 + s0[local + 20u]);
    let v19 = (v18 + s0[local + 24u]);
    let v20 = (v19 + s0[local + 28u]);
    s0[local] = v20;
  }
  workgroupBarrier();
  let v21 = s0[v12 + 0u];
  let v22 = (v21 + s0[v12 + 1u]);
  let v23 = (v22 + s0[v12 + 2u]);
  let v24 = (v23 + s0[v12 + 3u]);
  workgroupBarrier();
  if (v4 && v1 == 0u) {
    m0[(p[0].z + v3)] = bitcast<u32>(v24);
  }
}
