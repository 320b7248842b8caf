@group(0) @binding(0) var<storage, read_write> m0: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[1].y) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = min((v2 + 1u), p[1].z);
  let v4 = min((v2 + 2u), p[1].z);
  let v5 = min((v2 + 3u), p[1].z);
  let v6 = (p[0].z + v2);
  let v7 = m0[(v6 / 4u)];
  let v8 = bitcast<f32>(v7.x);
  let v9 = bitcast<f32>(v7.y);
  let v10 = bitcast<f32>(v7.z);
  let v11 = bitcast<f32>(v7.w);
  let v12 = (p[0].w + v2);
  let v13 = m0[(v12 / 4u)];
  let v14 = bitcast<f32>(v13.x);
  let v15 = bitcast<f32>(v13.y);
  let v16 = bitcast<f32>(v13.z);
  let v17 = bitcast<f32>(v13.w);
  let v18 = (v8 < v14);
  let v19 = select(v14, v8, v18);
  let v20 = (v9 < v15);
  let v21 = select(v15, v9, v20);
  let v22 = (v10 < v16);
  let v23 = select(v16, v10, v22);
  let v24 = (v11 < v17);
  let v25 = select(v17, v11, v24);
  m0[((p[1].x + v2) / 4u)] = vec4<u32>(bitcast<u32>(v19), bitcast<u32>(v21), bitcast<u32>(v23), bitcast<u32>(v25));
}
