@group(0) @binding(0) var<storage, read_write> m0: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = bitcast<f32>(p[1].z);
  let v2 = bitcast<f32>(p[1].w);
  let v3 = (group.y * groups.x + group.x) * 64u + local;
  if (v3 >= p[2].w) {
    return;
  }
  var v4 = f_bits(0x80000000u);
  for (var v5 = 0u; v5 < p[3].x; v5 = v5 + 4u) {
    let v6 = (p[0].w + ((v3 * p[1].x) + (v5 * p[1].y)));
    let v7 = m0[(v6 / 4u)];
    let v8 = bitcast<f32>(v7.x);
    let v9 = bitcast<f32>(v7.y);
    let v10 = bitcast<f32>(v7.z);
    let v11 = bitcast<f32>(v7.w);
    v4 = (v4 + v8);
    v4 = (v4 + v9);
    v4 = (v4 + v10);
    v4 = (v4 + v11);
  }
  let v12 = (v4 * v1);
  var v13 = f_bits(0x80000000u);
  for (var v14 = 0u; v14 < p[3].x; v14 = v14 + 4u) {
    let v15 = (p[0].w + ((v3 * p[1].x) + (v14 * p[1].y)));
    let v16 = m0[(v15 / 4u)];
    let v17 = bitcast<f32>(v16.x);
    let v18 = bitcast<f32>(v16.y);
    let v19 = bitcast<f32>(v16.z);
    let v20 = bitcast<f32>(v16.w);
    let v21 = (v17 - f_fence(v12));
    let v22 = (v21 * v21);
    let v23 = (v18 - f_fence(v12));
    let v24 = (v23 * v23);
    let v25 = (v19 - f_fence(v12));
    let v26 = (v25 * v25);
    let v27 = (v20 - f_fence(v12));
    let v28 = (v27 * v27);
    v13 = (v13 + v22);
    v13 = (v13 + v24);
    v13 = (v13 + v26);
    v13 = (v13 + v28);
  }
  let v29 = (v13 * v1);
  let v30 = (f_fence(v29) + v2);
  let v31 = sqrt(v30);
  for (var v32 = 0u; v32 < p[3].x; v32 = v32 + 4u) {
    let v33 = (p[0].w + ((v3 * p[1].x) + (v32 * p[1].y)));
    let v34 = m0[(v33 / 4u)];
    let v35 = bitcast<f32>(v34.x);
    let v36 = bitcast<f32>(v34.y);
    let v37 = bitcast<f32>(v34.z);
    let v38 = bitcast<f32>(v34.w);
    let v39 = (v35 - f_fence(v12));
    let v40 = (v39 / v31);
    let v41 = (v36 - f_fence(v12));
    let v42 = (v41 / v31);
    let v43 = (v37 - f_fence(v12));
    let v44 = (v43 / v31);
    let v45 = (v38 - f_fence(v12));
    let v46 = (v45 / v31);
    m0[((p[2].x + ((v3 * p[2].y) + (v32 * p[2].z))) / 4u)] = vec4<u32>(bitcast<u32>(v40), bitcast<u32>(v42), bitcast<u32>(v44), bitcast<u32>(v46));
  }
}
