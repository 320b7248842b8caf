@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
fn h_from_bf16(h: u32) -> f32 {
  return bitcast<f32>(h << 16u);
}
fn f_abs(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
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
fn h_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  return select((b + (0x7fffu + ((b >> 16u) & 1u))) >> 16u, (b >> 16u) | 0x40u, f_is_nan(x));
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[1].x) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = min((v2 + 1u), p[1].y);
  let v4 = min((v2 + 2u), p[1].y);
  let v5 = min((v2 + 3u), p[1].y);
  let v6 = (p[0].z + v2);
  let v7 = (v6 / 2u);
  let v8 = m0[v7];
  let v9 = m0[(v7 + 1u)];
  let v10 = h_from_bf16((v8 >> 0u) & 0xffffu);
  let v11 = h_from_bf16((v8 >> 16u) & 0xffffu);
  let v12 = h_from_bf16((v9 >> 0u) & 0xffffu);
  let v13 = h_from_bf16((v9 >> 16u) & 0xffffu);
  let v14 = f_tanh(v10);
  let v15 = f_tanh(v11);
  let v16 = f_tanh(v12);
  let v17 = f_tanh(v13);
  let v18 = ((p[0].w + v2) / 2u);
  m0[v18] = (h_to_bf16(v14) | (h_to_bf16(v15) << 16u));
  m0[(v18 + 1u)] = (h_to_bf16(v16) | (h_to_bf16(v17) << 16u));
}
