@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 5>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[4].x) {
    return;
  }
  let v2 = (v1 % p[0].z);
  let v3 = (v1 / p[0].z);
  var v4 = f_bits(0x80000000u);
  for (var v5 = 0u; v5 < p[4].y; v5 = v5 + 4u) {
    let v6 = (p[1].x + (((v3 * p[1].y) + (v2 * p[1].z)) + (v5 * p[1].w)));
    let v7 = bitcast<f32>(m0[v6]);
    let v8 = bitcast<f32>(m0[(v6 + 1u)]);
    let v9 = bitcast<f32>(m0[(v6 + 2u)]);
    let v10 = bitcast<f32>(m0[(v6 + 3u)]);
    let v11 = (p[2].x + (((v3 * p[2].y) + (v2 * p[2].z)) + (v5 * p[2].w)));
    let v12 = bitcast<f32>(m0[v11]);
    let v13 = bitcast<f32>(m0[(v11 + 1u)]);
    let v14 = bitcast<f32>(m0[(v11 + 2u)]);
    let v15 = bitcast<f32>(m0[(v11 + 3u)]);
    let v16 = (v7 * v12);
    let v17 = (v8 * v13);
    let v18 = (v9 * v14);
    let v19 = (v10 * v15);
    v4 = (v4 + v16);
    v4 = (v4 + v17);
    v4 = (v4 + v18);
    v4 = (v4 + v19);
  }
  m0[(p[3].x + ((v3 * p[3].y) + (v2 * p[3].z)))] = bitcast<u32>(v4);
}
