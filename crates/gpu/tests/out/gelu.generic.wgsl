@group(0) @binding(0) var<storage, read_write> m0: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 3>;
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_abs(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
fn f_copysign(x: f32, s: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_tanh(a: f32) -> f32 {
  let v1 = f_abs(a);
  let v2 = (a * a);
  let v5 = fma(-0.0064063007f, v2, 0.021194931f);
  let v7 = fma(v5, v2, -0.053889714f);
  let v9 = fma(v7, v2, 0.13333008f);
  let v11 = fma(v9, v2, -0.3333333f);
  let v12 = (v2 * v11);
  let v13 = fma(v1, v12, v1);
  let v15 = (9.1f < v1);
  let v16 = select(v1, 9.1f, v15);
  let v19 = fma(v16, 2.88539f, 12582912.0f);
  let v20 = (f_fence(v19) - 12582912.0f);
  let v22 = fma(v20, -0.3465736f, v16);
  let v25 = fma(0.08917536f, v22, 0.267813f);
  let v27 = fma(v25, v22, 0.66666347f);
  let v29 = fma(v27, v22, 1.3333204f);
  let v31 = fma(v29, v22, 2.0f);
  let v32 = fma(v31, v22, 2.0f);
  let v33 = bitcast<u32>(v19);
  let v34 = (v33 << 23u);
  let v36 = (v34 + 0x3f800000u);
  let v37 = bitcast<f32>(v36);
  let v39 = (v37 * v22);
  let v40 = (v37 + 1.0f);
  let v41 = fma(v39, v32, f_fence(v40));
  let v42 = (2.0f / v41);
  let v43 = (1.0f - v42);
  let v45 = (v1 < 0.58f);
  let v46 = select(v43, v13, v45);
  let v47 = f_copysign(v46, a);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = bitcast<f32>(p[0].w);
  let v2 = bitcast<f32>(p[1].x);
  let v3 = bitcast<f32>(p[1].y);
  let v4 = bitcast<f32>(p[1].z);
  let v5 = (group.y * groups.x + group.x) * 64u + local;
  if (v5 >= p[2].x) {
    return;
  }
  let v6 = (v5 * 4u);
  let v7 = (p[0].z + v6);
  let v8 = m0[(v7 / 4u)];
  let v9 = bitcast<f32>(v8.x);
  let v10 = bitcast<f32>(v8.y);
  let v11 = bitcast<f32>(v8.z);
  let v12 = bitcast<f32>(v8.w);
  let v13 = (v9 * v9);
  let v14 = (v13 * v9);
  let v15 = (v14 * v1);
  let v16 = (v9 + f_fence(v15));
  let v17 = (v16 * v2);
  let v18 = f_tanh(v17);
  let v19 = (v18 + v3);
  let v20 = (v9 * v19);
  let v21 = (v20 * v4);
  let v22 = (v10 * v10);
  let v23 = (v22 * v10);
  let v24 = (v23 * v1);
  let v25 = (v10 + f_fence(v24));
  let v26 = (v25 * v2);
  let v27 = f_tanh(v26);
  let v28 = (v27 + v3);
  let v29 = (v10 * v28);
  let v30 = (v29 * v4);
  let v31 = (v11 * v11);
  let v32 = (v31 * v11);
  let v33 = (v32 * v1);
  let v34 = (v11 + f_fence(v33));
  let v35 = (v34 * v2);
  let v36 = f_tanh(v35);
  let v37 = (v36 + v3);
  let v38 = (v11 * v37);
  let v39 = (v38 * v4);
  let v40 = (v12 * v12);
  let v41 = (v40 * v12);
  let v42 = (v41 * v1);
  let v43 = (v12 + f_fence(v42));
  let v44 = (v43 * v2);
  let v45 = f_tanh(v44);
  let v46 = (v45 + v3);
  let v47 = (v12 * v46);
  let v48 = (v47 * v4);
  m0[((p[1].w + v6) / 4u)] = vec4<u32>(bitcast<u32>(v21), bitcast<u32>(v30), bitcast<u32>(v39), bitcast<u32>(v48));
}
