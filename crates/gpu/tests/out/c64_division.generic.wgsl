@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
fn c_finite(a: vec2<f32>) -> bool {
  return f_is_finite(a.x) && f_is_finite(a.y);
}
fn f_exponent(x: f32) -> i32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b < 0x800000u) {
    return i32(bitcast<u32>(f32(b)) >> 23u) - 276;
  }
  return i32(b >> 23u) - 127;
}
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_scale(x: f32, n: i32) -> f32 {
  let third = n / 3;
  let first = bitcast<f32>(u32(third + 127) << 23u);
  let last = bitcast<f32>(u32(n - third - third + 127) << 23u);
  return f_fence(f_fence(x * first) * first) * last;
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
fn f_fused(a: f32, b: f32, c: f32) -> f32 {
  let product = f_fence(a * b);
  let error = f_product_error(a, b, product);
  let sum = f_fence(product + c);
  let back = f_fence(sum - product);
  let lost = f_fence(product - f_fence(sum - back)) + f_fence(c - back);
  return select(sum, sum + f_fence(lost + error), f_is_finite(sum) && f_is_finite(product));
}
fn c_over(n: vec2<f32>, d: vec2<f32>) -> f32 {
  let q = f_fence(n.x / d.x);
  let r = f_fence(f_fence(f_fused(-q, d.x, n.x) + f_fence(n.y - q * d.y)) / d.x);
  return select(q, q + r, f_is_finite(q) && f_is_finite(r));
}
fn f_quotient(a: f32, b: f32) -> f32 {
  if (a == 0.0f) {
    return a / b;
  }
  let up = f_exponent(a);
  let down = f_exponent(b);
  let zero = f_bits(0u);
  return f_scale(c_over(vec2<f32>(f_scale(a, -up), zero), vec2<f32>(f_scale(b, -down), zero)), up - down);
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_maximum(a: f32, b: f32) -> f32 {
  return select(a, b, (a < b) || f_is_nan(b));
}
fn f_abs(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
fn f_copysign(x: f32, s: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
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
fn f_is_inf(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}
fn c_infinite(a: vec2<f32>) -> bool {
  return f_is_inf(a.x) || f_is_inf(a.y);
}
fn c_unit(x: f32) -> f32 {
  return f_copysign(select(0.0f, 1.0f, f_is_inf(x)), x);
}
fn c_div(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  if (c_finite(a) && c_finite(b) && b.y == 0.0f && b.x != 0.0f) {
    return vec2<f32>(f_quotient(a.x, b.x), f_quotient(a.y, b.x));
  }
  if (c_finite(a) && c_finite(b) && b.x == 0.0f && b.y != 0.0f) {
    return vec2<f32>(f_quotient(a.y, b.y), -f_quotient(a.x, b.y));
  }
  let la = f_maximum(f_abs(a.x), f_abs(a.y));
  let lb = f_maximum(f_abs(b.x), f_abs(b.y));
  var up = 0;
  var down = 0;
  if (f_is_finite(la) && la > 0.0f) {
    up = -f_exponent(la);
  }
  if (f_is_finite(lb) && lb > 0.0f) {
    down = -f_exponent(lb);
  }
  let c = vec2<f32>(f_scale(a.x, up), f_scale(a.y, up));
  // A part that is much smaller than the other must not become zero.
  let least = 1.2e-38f;
  let x = f_scale(b.x, down);
  let y = f_scale(b.y, down);
  let d = vec2<f32>(select(x, f_copysign(least, b.x), x == 0.0f && b.x != 0.0f), select(y, f_copysign(least, b.y), y == 0.0f && b.y != 0.0f));
  let square = c_sum(d.x, d.x, d.y, d.y);
  let re = f_scale(c_over(c_sum(c.x, d.x, c.y, d.y), square), down - up);
  let im = f_scale(c_over(c_sum(c.y, d.x, -c.x, d.y), square), down - up);
  let q = vec2<f32>(re, im);
  if (!f_is_nan(re) || !f_is_nan(im) || f_is_nan(a.x) || f_is_nan(a.y) || f_is_nan(b.x) || f_is_nan(b.y)) {
    return q;
  }
  if (square.x == 0.0f) {
    let by = f_copysign(f_bits(0x7f800000u), b.x);
    return vec2<f32>(a.x * by, a.y * by);
  }
  if (c_infinite(a) && c_finite(b)) {
    let e = vec2<f32>(c_unit(a.x), c_unit(a.y));
    let by = f_bits(0x7f800000u);
    return vec2<f32>((e.x * d.x + e.y * d.y) * by, (e.y * d.x - e.x * d.y) * by);
  }
  if (c_infinite(b) && c_finite(a)) {
    return vec2<f32>(0.0f, 0.0f);
  }
  return q;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= p[1].y) {
    return;
  }
  let v2 = (p[0].z + v1);
  let v3 = vec2<f32>(bitcast<f32>(m0[(v2 * 2u)]), bitcast<f32>(m0[((v2 * 2u) + 1u)]));
  let v4 = (p[0].w + v1);
  let v5 = vec2<f32>(bitcast<f32>(m0[(v4 * 2u)]), bitcast<f32>(m0[((v4 * 2u) + 1u)]));
  let v6 = c_div(v3, v5);
  let v7 = ((p[1].x + v1) * 2u);
  m0[v7] = bitcast<u32>(v6.x);
  m0[(v7 + 1u)] = bitcast<u32>(v6.y);
}
