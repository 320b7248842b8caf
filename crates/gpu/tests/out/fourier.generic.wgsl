@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 4>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[0].z);
  let v3 = (v1 / p[0].z);
  let v4 = (v3 % p[1].x);
  let v5 = ((v3 / p[1].x) * p[0].w);
  let v6 = ((p[1].z + ((v5 + v4) * p[0].z)) + v2);
  let v7 = vec2<f32>(bitcast<f32>(m0[(v6 * 2u)]), bitcast<f32>(m0[((v6 * 2u) + 1u)]));
  let v8 = ((p[1].w + ((v5 + (v4 + p[1].x)) * p[0].z)) + v2);
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = ((p[2].x + ((v5 + (v4 + (p[1].x * 2u))) * p[0].z)) + v2);
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = ((p[2].y + ((v5 + (v4 + (p[1].x * 3u))) * p[0].z)) + v2);
  let v13 = vec2<f32>(bitcast<f32>(m0[(v12 * 2u)]), bitcast<f32>(m0[((v12 * 2u) + 1u)]));
  let v14 = (v4 % p[1].y);
  let v15 = (((v4 / p[1].y) * p[1].y) * 4u);
  let v16 = vec2<f32>((((v7.x + v9.x) + v11.x) + v13.x), (((v7.y + v9.y) + v11.y) + v13.y));
  let v17 = vec2<f32>((((v7.x + v9.y) - v11.x) - v13.y), (((v7.y - v9.x) - v11.y) + v13.x));
  let v18 = vec2<f32>((((v7.x - v9.x) + v11.x) - v13.x), (((v7.y - v9.y) + v11.y) - v13.y));
  let v19 = vec2<f32>((((v7.x - v9.y) - v11.x) + v13.y), (((v7.y + v9.x) - v11.y) - v13.x));
  let v20 = ((p[2].z + ((v5 + (v15 + v14)) * p[0].z)) + v2);
  let v21 = (v20 * 2u);
  m0[v21] = bitcast<u32>(v16.x);
  m0[(v21 + 1u)] = bitcast<u32>(v16.y);
  let v22 = ((p[2].w + ((v5 + ((v15 + v14) + p[1].y)) * p[0].z)) + v2);
  let v23 = (v22 * 2u);
  m0[v23] = bitcast<u32>(v17.x);
  m0[(v23 + 1u)] = bitcast<u32>(v17.y);
  let v24 = ((p[3].x + ((v5 + ((v15 + v14) + (p[1].y * 2u))) * p[0].z)) + v2);
  let v25 = (v24 * 2u);
  m0[v25] = bitcast<u32>(v18.x);
  m0[(v25 + 1u)] = bitcast<u32>(v18.y);
  let v26 = ((p[3].y + ((v5 + ((v15 + v14) + (p[1].y * 3u))) * p[0].z)) + v2);
  let v27 = (v26 * 2u);
  m0[v27] = bitcast<u32>(v19.x);
  m0[(v27 + 1u)] = bitcast<u32>(v19.y);
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 4>;
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_product_error(a: f32, b: f32, product: f32) -> f32 {
  let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let al = f_fence(a - ah);
  let bl = f_fence(b - bh);
  let high = f_fence(f_fence(ah * bh) - product);
  let middle = f_fence(f_fence(high + f_fence(ah * bl)) + f_fence(al * bh));
  return middle + f_fence(al * bl);
}
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
fn f_fused(a: f32, b: f32, c: f32) -> f32 {
  let product = f_fence(a * b);
  let error = f_product_error(a, b, product);
  let sum = f_fence(product + c);
  let back = f_fence(sum - product);
  let lost = f_fence(product - f_fence(sum - back)) + f_fence(c - back);
  return select(sum, sum + f_fence(lost + error), f_is_finite(sum) && f_is_finite(product));
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_near_cos(a: f32) -> f32 {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = (v5 + 0x1u);
  let v11 = f_fused(v4, -7.5497894e-8f, v7);
  let v13 = f_fused(v4, -5.3903025e-15f, v11);
  let v15 = fma(v11, v11, -1e-30f);
  let v16 = (v9 & 0x1u);
  let v17 = (v16 << 29u);
  let v18 = bitcast<f32>(v17);
  let v20 = (0.0f < v18);
  let v23 = select(-0.00019494575f, 2.440948e-5f, v20);
  let v26 = select(0.008332007f, -0.0013887107f, v20);
  let v27 = fma(v23, v15, v26);
  let v30 = select(-0.16666652f, 0.04166664f, v20);
  let v31 = fma(v27, v15, v30);
  let v32 = select(v11, v15, v20);
  let v33 = (v9 << 30u);
  let v34 = bitcast<u32>(v32);
  let v36 = (v33 & 0x80000000u);
  let v37 = (v34 + v36);
  let v38 = bitcast<f32>(v37);
  let v41 = fma(v15, -0.5f, 1.0f);
  let v42 = select(v13, v41, v20);
  let v43 = bitcast<u32>(v42);
  let v44 = (v43 + v36);
  let v45 = bitcast<f32>(v44);
  let v46 = (v38 * v15);
  let v47 = fma(v46, v31, v45);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
fn f_near_sin(a: f32) -> f32 {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = f_fused(v4, -7.5497894e-8f, v7);
  let v11 = f_fused(v4, -5.3903025e-15f, v9);
  let v13 = fma(v9, v9, -1e-30f);
  let v15 = (v5 & 0x1u);
  let v16 = (v15 << 29u);
  let v17 = bitcast<f32>(v16);
  let v19 = (0.0f < v17);
  let v22 = select(-0.00019494575f, 2.440948e-5f, v19);
  let v25 = select(0.008332007f, -0.0013887107f, v19);
  let v26 = fma(v22, v13, v25);
  let v29 = select(-0.16666652f, 0.04166664f, v19);
  let v30 = fma(v26, v13, v29);
  let v31 = select(v9, v13, v19);
  let v32 = (v5 << 30u);
  let v33 = bitcast<u32>(v31);
  let v35 = (v32 & 0x80000000u);
  let v36 = (v33 + v35);
  let v37 = bitcast<f32>(v36);
  let v40 = fma(v13, -0.5f, 1.0f);
  let v41 = select(v11, v40, v19);
  let v42 = bitcast<u32>(v41);
  let v43 = (v42 + v35);
  let v44 = bitcast<f32>(v43);
  let v45 = (v37 * v13);
  let v46 = fma(v45, v30, v44);
  let v47 = f_is_nan(a);
  let v48 = select(v46, a, v47);
  return v48;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[0].z);
  let v3 = (v1 / p[0].z);
  let v4 = (v3 % p[1].x);
  let v5 = ((v3 / p[1].x) * p[0].w);
  let v6 = ((p[1].z + ((v5 + v4) * p[0].z)) + v2);
  let v7 = vec2<f32>(bitcast<f32>(m0[(v6 * 2u)]), bitcast<f32>(m0[((v6 * 2u) + 1u)]));
  let v8 = ((p[1].w + ((v5 + (v4 + p[1].x)) * p[0].z)) + v2);
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = ((p[2].x + ((v5 + (v4 + (p[1].x * 2u))) * p[0].z)) + v2);
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = (v4 % p[1].y);
  let v13 = (v12 * 8u);
  let v14 = (v13 / p[2].y);
  let v15 = v13 - (v14 * p[2].y);
  let v16 = (v14 & 1u) == 1u;
  let v17 = select(v15, p[2].y - v15, v16);
  let v18 = (f32(v17) / f32(p[2].y)) * bitcast<f32>(p[2].z);
  let v19 = f_near_cos(v18);
  let v20 = f_near_sin(v18);
  let v21 = ((v14 + 1u) >> 1u) & 3u;
  let v22 = select(v20, -v20, v16);
  let v23 = select(select(v19, -v22, v21 == 1u), select(-v19, v22, v21 == 3u), v21 >= 2u);
  let v24 = select(select(v22, v19, v21 == 1u), select(-v22, -v19, v21 == 3u), v21 >= 2u);
  let v25 = vec2<f32>(v23, -v24);
  let v26 = vec2<f32>(fma(v9.x, v25.x, -(v9.y * v25.y)), fma(v9.x, v25.y, v9.y * v25.x));
  let v27 = vec2<f32>(fma(v25.x, v25.x, -(v25.y * v25.y)), fma(v25.x, v25.y, v25.y * v25.x));
  let v28 = vec2<f32>(fma(v11.x, v27.x, -(v11.y * v27.y)), fma(v11.x, v27.y, v11.y * v27.x));
  let v29 = (((v4 / p[1].y) * p[1].y) * 3u);
  let v30 = vec2<f32>(((v7.x + v26.x) + v28.x), ((v7.y + v26.y) + v28.y));
  let v31 = vec2<f32>(fma(-0.8660254f, v28.y, fma(-0.5f, v28.x, fma(0.8660254f, v26.y, fma(-0.5f, v26.x, v7.x)))), fma(0.8660254f, v28.x, fma(-0.5f, v28.y, fma(-0.8660254f, v26.x, fma(-0.5f, v26.y, v7.y)))));
  let v32 = vec2<f32>(fma(0.8660254f, v28.y, fma(-0.5f, v28.x, fma(-0.8660254f, v26.y, fma(-0.5f, v26.x, v7.x)))), fma(-0.8660254f, v28.x, fma(-0.5f, v28.y, fma(0.8660254f, v26.x, fma(-0.5f, v26.y, v7.y)))));
  let v33 = ((p[2].w + ((v5 + (v29 + v12)) * p[0].z)) + v2);
  let v34 = (v33 * 2u);
  m1[v34] = bitcast<u32>(v30.x);
  m1[(v34 + 1u)] = bitcast<u32>(v30.y);
  let v35 = ((p[3].x + ((v5 + ((v29 + v12) + p[1].y)) * p[0].z)) + v2);
  let v36 = (v35 * 2u);
  m1[v36] = bitcast<u32>(v31.x);
  m1[(v36 + 1u)] = bitcast<u32>(v31.y);
  let v37 = ((p[3].y + ((v5 + ((v29 + v12) + (p[1].y * 2u))) * p[0].z)) + v2);
  let v38 = (v37 * 2u);
  m1[v38] = bitcast<u32>(v32.x);
  m1[(v38 + 1u)] = bitcast<u32>(v32.y);
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 5>;
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_product_error(a: f32, b: f32, product: f32) -> f32 {
  let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let al = f_fence(a - ah);
  let bl = f_fence(b - bh);
  let high = f_fence(f_fence(ah * bh) - product);
  let middle = f_fence(f_fence(high + f_fence(ah * bl)) + f_fence(al * bh));
  return middle + f_fence(al * bl);
}
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
fn f_fused(a: f32, b: f32, c: f32) -> f32 {
  let product = f_fence(a * b);
  let error = f_product_error(a, b, product);
  let sum = f_fence(product + c);
  let back = f_fence(sum - product);
  let lost = f_fence(product - f_fence(sum - back)) + f_fence(c - back);
  return select(sum, sum + f_fence(lost + error), f_is_finite(sum) && f_is_finite(product));
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_near_cos(a: f32) -> f32 {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = (v5 + 0x1u);
  let v11 = f_fused(v4, -7.5497894e-8f, v7);
  let v13 = f_fused(v4, -5.3903025e-15f, v11);
  let v15 = fma(v11, v11, -1e-30f);
  let v16 = (v9 & 0x1u);
  let v17 = (v16 << 29u);
  let v18 = bitcast<f32>(v17);
  let v20 = (0.0f < v18);
  let v23 = select(-0.00019494575f, 2.440948e-5f, v20);
  let v26 = select(0.008332007f, -0.0013887107f, v20);
  let v27 = fma(v23, v15, v26);
  let v30 = select(-0.16666652f, 0.04166664f, v20);
  let v31 = fma(v27, v15, v30);
  let v32 = select(v11, v15, v20);
  let v33 = (v9 << 30u);
  let v34 = bitcast<u32>(v32);
  let v36 = (v33 & 0x80000000u);
  let v37 = (v34 + v36);
  let v38 = bitcast<f32>(v37);
  let v41 = fma(v15, -0.5f, 1.0f);
  let v42 = select(v13, v41, v20);
  let v43 = bitcast<u32>(v42);
  let v44 = (v43 + v36);
  let v45 = bitcast<f32>(v44);
  let v46 = (v38 * v15);
  let v47 = fma(v46, v31, v45);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
fn f_near_sin(a: f32) -> f32 {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = f_fused(v4, -7.5497894e-8f, v7);
  let v11 = f_fused(v4, -5.3903025e-15f, v9);
  let v13 = fma(v9, v9, -1e-30f);
  let v15 = (v5 & 0x1u);
  let v16 = (v15 << 29u);
  let v17 = bitcast<f32>(v16);
  let v19 = (0.0f < v17);
  let v22 = select(-0.00019494575f, 2.440948e-5f, v19);
  let v25 = select(0.008332007f, -0.0013887107f, v19);
  let v26 = fma(v22, v13, v25);
  let v29 = select(-0.16666652f, 0.04166664f, v19);
  let v30 = fma(v26, v13, v29);
  let v31 = select(v9, v13, v19);
  let v32 = (v5 << 30u);
  let v33 = bitcast<u32>(v31);
  let v35 = (v32 & 0x80000000u);
  let v36 = (v33 + v35);
  let v37 = bitcast<f32>(v36);
  let v40 = fma(v13, -0.5f, 1.0f);
  let v41 = select(v11, v40, v19);
  let v42 = bitcast<u32>(v41);
  let v43 = (v42 + v35);
  let v44 = bitcast<f32>(v43);
  let v45 = (v37 * v13);
  let v46 = fma(v45, v30, v44);
  let v47 = f_is_nan(a);
  let v48 = select(v46, a, v47);
  return v48;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[0].z);
  let v3 = (v1 / p[0].z);
  let v4 = (v3 % p[1].x);
  let v5 = ((v3 / p[1].x) * p[0].w);
  let v6 = ((p[1].z + ((v5 + v4) * p[0].z)) + v2);
  let v7 = vec2<f32>(bitcast<f32>(m0[(v6 * 2u)]), bitcast<f32>(m0[((v6 * 2u) + 1u)]));
  let v8 = ((p[1].w + ((v5 + (v4 + p[1].x)) * p[0].z)) + v2);
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = ((p[2].x + ((v5 + (v4 + (p[1].x * 2u))) * p[0].z)) + v2);
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = ((p[2].y + ((v5 + (v4 + (p[1].x * 3u))) * p[0].z)) + v2);
  let v13 = vec2<f32>(bitcast<f32>(m0[(v12 * 2u)]), bitcast<f32>(m0[((v12 * 2u) + 1u)]));
  let v14 = ((p[2].z + ((v5 + (v4 + (p[1].x * 4u))) * p[0].z)) + v2);
  let v15 = vec2<f32>(bitcast<f32>(m0[(v14 * 2u)]), bitcast<f32>(m0[((v14 * 2u) + 1u)]));
  let v16 = (v4 % p[1].y);
  let v17 = (v16 * 8u);
  let v18 = (v17 / p[2].w);
  let v19 = v17 - (v18 * p[2].w);
  let v20 = (v18 & 1u) == 1u;
  let v21 = select(v19, p[2].w - v19, v20);
  let v22 = (f32(v21) / f32(p[2].w)) * bitcast<f32>(p[3].x);
  let v23 = f_near_cos(v22);
  let v24 = f_near_sin(v22);
  let v25 = ((v18 + 1u) >> 1u) & 3u;
  let v26 = select(v24, -v24, v20);
  let v27 = select(select(v23, -v26, v25 == 1u), select(-v23, v26, v25 == 3u), v25 >= 2u);
  let v28 = select(select(v26, v23, v25 == 1u), select(-v26, -v23, v25 == 3u), v25 >= 2u);
  let v29 = vec2<f32>(v27, -v28);
  let v30 = vec2<f32>(fma(v9.x, v29.x, -(v9.y * v29.y)), fma(v9.x, v29.y, v9.y * v29.x));
  let v31 = vec2<f32>(fma(v29.x, v29.x, -(v29.y * v29.y)), fma(v29.x, v29.y, v29.y * v29.x));
  let v32 = vec2<f32>(fma(v11.x, v31.x, -(v11.y * v31.y)), fma(v11.x, v31.y, v11.y * v31.x));
  let v33 = vec2<f32>(fma(v31.x, v29.x, -(v31.y * v29.y)), fma(v31.x, v29.y, v31.y * v29.x));
  let v34 = vec2<f32>(fma(v13.x, v33.x, -(v13.y * v33.y)), fma(v13.x, v33.y, v13.y * v33.x));
  let v35 = vec2<f32>(fma(v33.x, v29.x, -(v33.y * v29.y)), fma(v33.x, v29.y, v33.y * v29.x));
  let v36 = vec2<f32>(fma(v15.x, v35.x, -(v15.y * v35.y)), fma(v15.x, v35.y, v15.y * v35.x));
  let v37 = (((v4 / p[1].y) * p[1].y) * 5u);
  let v38 = vec2<f32>(((((v7.x + v30.x) + v32.x) + v34.x) + v36.x), ((((v7.y + v30.y) + v32.y) + v34.y) + v36.y));
  let v39 = vec2<f32>(fma(-0.95105654f, v36.y, fma(0.309017f, v36.x, fma(-0.58778524f, v34.y, fma(-0.809017f, v34.x, fma(0.58778524f, v32.y, fma(-0.809017f, v32.x, fma(0.95105654f, v30.y, fma(0.309017f, v30.x, v7.x)))))))), fma(0.95105654f, v36.x, fma(0.309017f, v36.y, fma(0.58778524f, v34.x, fma(-0.809017f, v34.y, fma(-0.58778524f, v32.x, fma(-0.809017f, v32.y, fma(-0.95105654f, v30.x, fma(0.309017f, v30.y, v7.y)))))))));
  let v40 = vec2<f32>(fma(-0.58778524f, v36.y, fma(-0.809017f, v36.x, fma(0.95105654f, v34.y, fma(0.309017f, v34.x, fma(-0.95105654f, v32.y, fma(0.309017f, v32.x, fma(0.58778524f, v30.y, fma(-0.809017f, v30.x, v7.x)))))))), fma(0.58778524f, v36.x, fma(-0.809017f, v36.y, fma(-0.95105654f, v34.x, fma(0.309017f, v34.y, fma(0.95105654f, v32.x, fma(0.309017f, v32.y, fma(-0.58778524f, v30.x, fma(-0.809017f, v30.y, v7.y)))))))));
  let v41 = vec2<f32>(fma(0.58778524f, v36.y, fma(-0.809017f, v36.x, fma(-0.95105654f, v34.y, fma(0.309017f, v34.x, fma(0.95105654f, v32.y, fma(0.309017f, v32.x, fma(-0.58778524f, v30.y, fma(-0.809017f, v30.x, v7.x)))))))), fma(-0.58778524f, v36.x, fma(-0.809017f, v36.y, fma(0.95105654f, v34.x, fma(0.309017f, v34.y, fma(-0.95105654f, v32.x, fma(0.309017f, v32.y, fma(0.58778524f, v30.x, fma(-0.809017f, v30.y, v7.y)))))))));
  let v42 = vec2<f32>(fma(0.95105654f, v36.y, fma(0.309017f, v36.x, fma(0.58778524f, v34.y, fma(-0.809017f, v34.x, fma(-0.58778524f, v32.y, fma(-0.809017f, v32.x, fma(-0.95105654f, v30.y, fma(0.309017f, v30.x, v7.x)))))))), fma(-0.95105654f, v36.x, fma(0.309017f, v36.y, fma(-0.58778524f, v34.x, fma(-0.809017f, v34.y, fma(0.58778524f, v32.x, fma(-0.809017f, v32.y, fma(0.95105654f, v30.x, fma(0.309017f, v30.y, v7.y)))))))));
  let v43 = ((p[3].y + ((v5 + (v37 + v16)) * p[0].z)) + v2);
  let v44 = (v43 * 2u);
  m1[v44] = bitcast<u32>(v38.x);
  m1[(v44 + 1u)] = bitcast<u32>(v38.y);
  let v45 = ((p[3].z + ((v5 + ((v37 + v16) + p[1].y)) * p[0].z)) + v2);
  let v46 = (v45 * 2u);
  m1[v46] = bitcast<u32>(v39.x);
  m1[(v46 + 1u)] = bitcast<u32>(v39.y);
  let v47 = ((p[3].w + ((v5 + ((v37 + v16) + (p[1].y * 2u))) * p[0].z)) + v2);
  let v48 = (v47 * 2u);
  m1[v48] = bitcast<u32>(v40.x);
  m1[(v48 + 1u)] = bitcast<u32>(v40.y);
  let v49 = ((p[4].x + ((v5 + ((v37 + v16) + (p[1].y * 3u))) * p[0].z)) + v2);
  let v50 = (v49 * 2u);
  m1[v50] = bitcast<u32>(v41.x);
  m1[(v50 + 1u)] = bitcast<u32>(v41.y);
  let v51 = ((p[4].y + ((v5 + ((v37 + v16) + (p[1].y * 4u))) * p[0].z)) + v2);
  let v52 = (v51 * 2u);
  m1[v52] = bitcast<u32>(v42.x);
  m1[(v52 + 1u)] = bitcast<u32>(v42.y);
}
