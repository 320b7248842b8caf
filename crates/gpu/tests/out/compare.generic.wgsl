@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[1].y) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = (p[0].z + v2);
  let v4 = bitcast<f32>(m0[v3]);
  let v5 = bitcast<f32>(m0[(v3 + 1u)]);
  let v6 = bitcast<f32>(m0[(v3 + 2u)]);
  let v7 = bitcast<f32>(m0[(v3 + 3u)]);
  let v8 = (p[0].w + v2);
  let v9 = bitcast<f32>(m0[v8]);
  let v10 = bitcast<f32>(m0[(v8 + 1u)]);
  let v11 = bitcast<f32>(m0[(v8 + 2u)]);
  let v12 = bitcast<f32>(m0[(v8 + 3u)]);
  let v13 = (v4 < v9);
  let v14 = (v5 < v10);
  let v15 = (v6 < v11);
  let v16 = (v7 < v12);
  let v17 = ((p[1].x + v2) / 4u);
  m0[v17] = (select(0u, 1u, v13) | (select(0u, 1u, v14) << 8u) | (select(0u, 1u, v15) << 16u) | (select(0u, 1u, v16) << 24u));
}
