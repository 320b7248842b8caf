@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 1>;
var<workgroup> s0: array<f32, 256>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = local / 32u;
  let v2 = (group.y * groups.x + group.x) * 32u + (local % 32u);
  let v3 = min(v2, 50u - 1u);
  let v4 = v2 < 50u;
  var v5 = f_bits(0x80000000u);
  for (var v6 = v1; v6 < 600u; v6 = v6 + 8u) {
    let v7 = (p[0].y + (v3 + (v6 * 50u)));
    let v8 = bitcast<f32>(m0[v7]);
    v5 = (v5 + v8);
  }
  s0[local] = v5;
  workgroupBarrier();
  let v9 = local % 32u;
  let v10 = s0[v9 + 0u];
  let v11 = (v10 + s0[v9 + 32u]);
  let v12 = (v11 + s0[v9 + 64u]);
  let v13 = (v12 + s0[v9 + 96u]);
  let v14 = (v13 + s0[v9 + 128u]);
  let v15 = (v14 + s0[v9 + 160u]);
  let v16 = (v15 + s0[v9 + 192u]);
  let v17 = (v16 + s0[v9 + 224u]);
  workgroupBarrier();
  if (v4 && v1 == 0u) {
    m0[(p[0].z + v3)] = bitcast<u32>(v17);
  }
}
