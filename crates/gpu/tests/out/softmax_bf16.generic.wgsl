@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 3>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn h_from_bf16(h: u32) -> f32 {
  return bitcast<f32>(h << 16u);
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
fn h_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  return select((b + (0x7fffu + ((b >> 16u) & 1u))) >> 16u, (b >> 16u) | 0x40u, f_is_nan(x));
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
    let v5 = (v4 / 2u);
    let v6 = m0[v5];
    let v7 = m0[(v5 + 1u)];
    let v8 = h_from_bf16((v6 >> 0u) & 0xffffu);
    let v9 = h_from_bf16((v6 >> 16u) & 0xffffu);
    let v10 = h_from_bf16((v7 >> 0u) & 0xffffu);
    let v11 = h_from_bf16((v7 >> 16u) & 0xffffu);
    v2 = f_max_found(v2, v8);
    v2 = f_max_found(v2, v9);
    v2 = f_max_found(v2, v10);
    v2 = f_max_found(v2, v11);
  }
  var v12 = f_bits(0x80000000u);
  for (var v13 = 0u; v13 < p[2].z; v13 = v13 + 4u) {
    let v14 = (p[0].w + ((v1 * p[1].x) + (v13 * p[1].y)));
    let v15 = (v14 / 2u);
    let v16 = m0[v15];
    let v17 = m0[(v15 + 1u)];
    let v18 = h_from_bf16((v16 >> 0u) & 0xffffu);
    let v19 = h_from_bf16((v16 >> 16u) & 0xffffu);
    let v20 = h_from_bf16((v17 >> 0u) & 0xffffu);
    let v21 = h_from_bf16((v17 >> 16u) & 0xffffu);
    let v22 = (v18 - v2);
    let v23 = f_exp(v22);
    let v24 = (v19 - v2);
    let v25 = f_exp(v24);
    let v26 = (v20 - v2);
    let v27 = f_exp(v26);
    let v28 = (v21 - v2);
    let v29 = f_exp(v28);
    v12 = (v12 + v23);
    v12 = (v12 + v25);
    v12 = (v12 + v27);
    v12 = (v12 + v29);
  }
  for (var v30 = 0u; v30 < p[2].z; v30 = v30 + 4u) {
    let v31 = (p[0].w + ((v1 * p[1].x) + (v30 * p[1].y)));
    let v32 = (v31 / 2u);
    let v33 = m0[v32];
    let v34 = m0[(v32 + 1u)];
    let v35 = h_from_bf16((v33 >> 0u) & 0xffffu);
    let v36 = h_from_bf16((v33 >> 16u) & 0xffffu);
    let v37 = h_from_bf16((v34 >> 0u) & 0xffffu);
    let v38 = h_from_bf16((v34 >> 16u) & 0xffffu);
    let v39 = (v35 - v2);
    let v40 = f_exp(v39);
    let v41 = (v40 / v12);
    let v42 = (v36 - v2);
    let v43 = f_exp(v42);
    let v44 = (v43 / v12);
    let v45 = (v37 - v2);
    let v46 = f_exp(v45);
    let v47 = (v46 / v12);
    let v48 = (v38 - v2);
    let v49 = f_exp(v48);
    let v50 = (v49 / v12);
    let v51 = ((p[1].z + ((v1 * p[1].w) + (v30 * p[2].x))) / 2u);
    m0[v51] = (h_to_bf16(v41) | (h_to_bf16(v44) << 16u));
    m0[(v51 + 1u)] = (h_to_bf16(v47) | (h_to_bf16(v50) << 16u));
  }
}
