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
  let v3 = (p[0].z + v2);
  let v4 = m0[(v3 / 4u)];
  let v5 = bitcast<f32>(v4.x);
  let v6 = bitcast<f32>(v4.y);
  let v7 = bitcast<f32>(v4.z);
  let v8 = bitcast<f32>(v4.w);
  let v9 = (p[0].w + v2);
  let v10 = m0[(v9 / 4u)];
  let v11 = bitcast<f32>(v10.x);
  let v12 = bitcast<f32>(v10.y);
  let v13 = bitcast<f32>(v10.z);
  let v14 = bitcast<f32>(v10.w);
  let v15 = (v5 + v11);
  let v16 = (v6 + v12);
  let v17 = (v7 + v13);
  let v18 = (v8 + v14);
  m0[((p[1].x + v2) / 4u)] = vec4<u32>(bitcast<u32>(v15), bitcast<u32>(v16), bitcast<u32>(v17), bitcast<u32>(v18));
}
