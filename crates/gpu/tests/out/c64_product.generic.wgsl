@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
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
fn c_sum(a: f32, b: f32, c: f32, d: f32) -> vec2<f32> {
  let p1 = f_fence(a * b);
  let p2 = f_fence(c * d);
  let sum = f_fence(p1 + p2);
  let back = f_fence(sum - p1);
  let lost = f_fence(f_fence(p1 - f_fence(sum - back)) + f_fence(p2 - back));
  let error = f_fence(lost + f_fence(f_product_error(a, b, p1) + f_product_error(c, d, p2)));
  return vec2<f32>(sum, select(0.0f, error, f_is_finite(sum) && f_is_finite(error)));
}
fn c_mul(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let re = c_sum(a.x, b.x, -a.y, b.y);
  let im = c_sum(a.x, b.y, a.y, b.x);
  return vec2<f32>(re.x + re.y, im.x + im.y);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[1].y) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = (p[0].z + v2);
  let v4 = vec2<f32>(bitcast<f32>(m0[(v3 * 2u)]), bitcast<f32>(m0[((v3 * 2u) + 1u)]));
  let v5 = (p[0].w + v2);
  let v6 = vec2<f32>(bitcast<f32>(m0[(v5 * 2u)]), bitcast<f32>(m0[((v5 * 2u) + 1u)]));
  let v7 = c_mul(v4, v6);
  let v8 = (p[0].z + (v2 + 1u));
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = (p[0].w + (v2 + 1u));
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = c_mul(v9, v11);
  let v13 = (p[0].z + (v2 + 2u));
  let v14 = vec2<f32>(bitcast<f32>(m0[(v13 * 2u)]), bitcast<f32>(m0[((v13 * 2u) + 1u)]));
  let v15 = (p[0].w + (v2 + 2u));
  let v16 = vec2<f32>(bitcast<f32>(m0[(v15 * 2u)]), bitcast<f32>(m0[((v15 * 2u) + 1u)]));
  let v17 = c_mul(v14, v16);
  let v18 = (p[0].z + (v2 + 3u));
  let v19 = vec2<f32>(bitcast<f32>(m0[(v18 * 2u)]), bitcast<f32>(m0[((v18 * 2u) + 1u)]));
  let v20 = (p[0].w + (v2 + 3u));
  let v21 = vec2<f32>(bitcast<f32>(m0[(v20 * 2u)]), bitcast<f32>(m0[((v20 * 2u) + 1u)]));
  let v22 = c_mul(v19, v21);
  let v23 = ((p[1].x + v2) * 2u);
  m0[v23] = bitcast<u32>(v7.x);
  m0[(v23 + 1u)] = bitcast<u32>(v7.y);
  let v24 = (((p[1].x + v2) + 1u) * 2u);
  m0[v24] = bitcast<u32>(v12.x);
  m0[(v24 + 1u)] = bitcast<u32>(v12.y);
  let v25 = (((p[1].x + v2) + 2u) * 2u);
  m0[v25] = bitcast<u32>(v17.x);
  m0[(v25 + 1u)] = bitcast<u32>(v17.y);
  let v26 = (((p[1].x + v2) + 3u) * 2u);
  m0[v26] = bitcast<u32>(v22.x);
  m0[(v26 + 1u)] = bitcast<u32>(v22.y);
}
