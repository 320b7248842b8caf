@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = bitcast<f32>(p[0].w);
  let v2 = (group.y * groups.x + group.x) * 64u + local;
  if (v2 >= p[1].y) {
    return;
  }
  let v3 = (v2 * 4u);
  let v4 = min((v3 + 1u), p[1].z);
  let v5 = min((v3 + 2u), p[1].z);
  let v6 = min((v3 + 3u), p[1].z);
  let v7 = (p[0].z + v3);
  let v8 = (v7 / 4u);
  let v9 = m0[v8];
  let v10 = ((v9 >> 0u) & 0xffu);
  let v11 = ((v9 >> 8u) & 0xffu);
  let v12 = ((v9 >> 16u) & 0xffu);
  let v13 = ((v9 >> 24u) & 0xffu);
  let v14 = f32(v10);
  let v15 = (v14 * v1);
  let v16 = f32(v11);
  let v17 = (v16 * v1);
  let v18 = f32(v12);
  let v19 = (v18 * v1);
  let v20 = f32(v13);
  let v21 = (v20 * v1);
  m0[(p[1].x + v3)] = bitcast<u32>(v15);
  m0[((p[1].x + v3) + 1u)] = bitcast<u32>(v17);
  m0[((p[1].x + v3) + 2u)] = bitcast<u32>(v19);
  m0[((p[1].x + v3) + 3u)] = bitcast<u32>(v21);
}
