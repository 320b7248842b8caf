@group(0) @binding(0) var<storage, read_write> m0: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 3>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_max_found(a: f32, b: f32) -> f32 {
  return select(a, b, !f_is_nan(a) && ((a < b) || f_is_nan(b)));
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_exp(a: f32) -> f32 {
  let v2 = (a < -104.0f);
  let v4 = select(a, 0.0f, v2);
  let v6 = (89.0f < v4);
  let v7 = select(v4, 89.0f, v6);
  let v10 = fma(v7, 1.442695f, 12582912.0f);
  let v11 = (f_fence(v10) - 12582912.0f);
  let v13 = fma(v11, -0.69314575f, v7);
  let v15 = fma(v11, -1.4286068e-6f, f_fence(v13));
  let v16 = (v15 * v15);
  let v19 = fma(0.0013926326f, v15, 0.008363293f);
  let v21 = fma(v19, v15, 0.041666552f);
  let v23 = fma(v21, v15, 0.16666576f);
  let v25 = fma(v23, v15, 0.5f);
  let v26 = fma(v16, v25, f_fence(v15));
  let v28 = (f_fence(v26) + 1.0f);
  let v29 = bitcast<u32>(v10);
  let v31 = (v29 - 0x4b400000u);
  let v32 = bitcast<u32>(bitcast<i32>(v31) >> 1u);
  let v34 = (v32 + 0x7fu);
  let v35 = (v34 << 23u);
  let v36 = bitcast<f32>(v35);
  let v37 = (v31 - v32);
  let v38 = (v37 + 0x7fu);
  let v39 = (v38 << 23u);
  let v40 = bitcast<f32>(v39);
  let v41 = (v28 * v36);
  let v42 = f_fence(v41);
  let v43 = (v42 * v40);
  let v44 = select(v43, 0.0f, v2);
  let v45 = f_is_nan(a);
  let v46 = select(v44, a, v45);
  return v46;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[2].y) {
    return;
  }
  var v2 = f_bits(0xff800000u);
  for (var v3 = 0u; v3 < p[2].z; v3 = v3 + 4u) {
    let v4 = (p[0].w + ((v1 * p[1].x) + (v3 * p[1].y)));
    let v5 = m0[(v4 / 4u)];
    let v6 = bitcast<f32>(v5.x);
    let v7 = bitcast<f32>(v5.y);
    let v8 = bitcast<f32>(v5.z);
    let v9 = bitcast<f32>(v5.w);
    v2 = f_max_found(v2, v6);
    v2 = f_max_found(v2, v7);
    v2 = f_max_found(v2, v8);
    v2 = f_max_found(v2, v9);
  }
  var v10 = f_bits(0x80000000u);
  for (var v11 = 0u; v11 < p[2].z; v11 = v11 + 4u) {
    let v12 = (p[0].w + ((v1 * p[1].x) + (v11 * p[1].y)));
    let v13 = m0[(v12 / 4u)];
    let v14 = bitcast<f32>(v13.x);
    let v15 = bitcast<f32>(v13.y);
    let v16 = bitcast<f32>(v13.z);
    let v17 = bitcast<f32>(v13.w);
    let v18 = (v14 - v2);
    let v19 = f_exp(v18);
    let v20 = (v15 - v2);
    let v21 = f_exp(v20);
    let v22 = (v16 - v2);
    let v23 = f_exp(v22);
    let v24 = (v17 - v2);
    let v25 = f_exp(v24);
    v10 = (v10 + v19);
    v10 = (v10 + v21);
    v10 = (v10 + v23);
    v10 = (v10 + v25);
  }
  for (var v26 = 0u; v26 < p[2].z; v26 = v26 + 4u) {
    let v27 = (p[0].w + ((v1 * p[1].x) + (v26 * p[1].y)));
    let v28 = m0[(v27 / 4u)];
    let v29 = bitcast<f32>(v28.x);
    let v30 = bitcast<f32>(v28.y);
    let v31 = bitcast<f32>(v28.z);
    let v32 = bitcast<f32>(v28.w);
    let v33 = (v29 - v2);
    let v34 = f_exp(v33);
    let v35 = (v34 / v10);
    let v36 = (v30 - v2);
    let v37 = f_exp(v36);
    let v38 = (v37 / v10);
    let v39 = (v31 - v2);
    let v40 = f_exp(v39);
    let v41 = (v40 / v10);
    let v42 = (v32 - v2);
    let v43 = f_exp(v42);
    let v44 = (v43 / v10);
    m0[((p[1].z + ((v1 * p[1].w) + (v26 * p[2].x))) / 4u)] = vec4<u32>(bitcast<u32>(v35), bitcast<u32>(v38), bitcast<u32>(v41), bitcast<u32>(v44));
  }
}
