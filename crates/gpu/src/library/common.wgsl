// Functions that kernels call, in the part of WGSL that is also C++ with the definitions of `dialect/cuda.rs`.

fn f_abs(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
fn f_copysign(x: f32, s: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_is_inf(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
fn f_sign(x: f32) -> f32 {
  return select(select(0.0f, -1.0f, x < 0.0f), 1.0f, x > 0.0f);
}
fn f_maximum(a: f32, b: f32) -> f32 {
  return select(a, b, (a < b) || f_is_nan(b));
}
fn f_minimum(a: f32, b: f32) -> f32 {
  return select(a, b, (b < a) || f_is_nan(b));
}
fn f_max_found(a: f32, b: f32) -> f32 {
  return select(a, b, !f_is_nan(a) && ((a < b) || f_is_nan(b)));
}
fn f_min_found(a: f32, b: f32) -> f32 {
  return select(a, b, !f_is_nan(a) && ((b < a) || f_is_nan(b)));
}
fn f_to_i32(x: f32) -> i32 {
  if (f_is_nan(x)) {
    return 0;
  }
  if (x >= 2147483648.0f) {
    return 0x7fffffff;
  }
  if (x <= -2147483648.0f) {
    return bitcast<i32>(0x80000000u);
  }
  return i32(x);
}
fn f_to_u32(x: f32) -> u32 {
  if (!(x >= 1.0f)) {
    return 0u;
  }
  if (x >= 4294967296.0f) {
    return 0xffffffffu;
  }
  return u32(x);
}
fn f_to_i8(x: f32) -> i32 {
  let i = f_to_i32(x);
  return select(select(i, -128, i < -128), 127, i > 127);
}
fn f_to_u8(x: f32) -> u32 {
  let u = f_to_u32(x);
  return select(u, 255u, u > 255u);
}
// Quotient and remainder of a division rounded towards zero. The remainder is exact; the quotient is rounded down in
// magnitude if it has more than 24 bits.
fn f_divmod(a: f32, b: f32) -> vec2<f32> {
  let top = bitcast<u32>(a) & 0x7fffffffu;
  let bottom = bitcast<u32>(b) & 0x7fffffffu;
  if (top >= 0x7f800000u || bottom > 0x7f800000u || bottom == 0u) {
    let nan = f_bits(0x7fc00000u);
    return vec2<f32>(nan, nan);
  }
  if (top < bottom) {
    return vec2<f32>(0.0f, a);
  }
  var x = top & 0x7fffffu;
  var y = bottom & 0x7fffffu;
  var ex = i32(top >> 23u);
  var ey = i32(bottom >> 23u);
  if (ex == 0) {
    ex = 1;
  } else {
    x = x | 0x800000u;
  }
  if (ey == 0) {
    ey = 1;
  } else {
    y = y | 0x800000u;
  }
  while (x < 0x800000u) {
    x = x << 1u;
    ex = ex - 1;
  }
  while (y < 0x800000u) {
    y = y << 1u;
    ey = ey - 1;
  }
  var q = 0.0f;
  while (ex > ey) {
    q = q + q;
    if (x >= y) {
      x = x - y;
      q = q + 1.0f;
    }
    x = x << 1u;
    ex = ex - 1;
  }
  q = q + q;
  if (x >= y) {
    x = x - y;
    q = q + 1.0f;
  }
  if (x == 0u) {
    return vec2<f32>(q, f_copysign(0.0f, a));
  }
  while (x < 0x800000u) {
    x = x << 1u;
    ex = ex - 1;
  }
  let small = x >> u32(select(1 - ex, 0, ex >= 1));
  let r = select(small, (x & 0x7fffffu) | (u32(select(ex, 1, ex < 1)) << 23u), ex >= 1);
  return vec2<f32>(q, f_copysign(bitcast<f32>(r), a));
}
fn f_fmod(a: f32, b: f32) -> f32 {
  return f_divmod(a, b).y;
}
fn f_remainder(a: f32, b: f32) -> f32 {
  let r = f_divmod(a, b).y;
  return select(r, r + b, r != 0.0f && ((r < 0.0f) != (b < 0.0f)));
}
fn f_floor_div(a: f32, b: f32) -> f32 {
  if (b == 0.0f || f_is_inf(a)) {
    return select(a / b, f_bits(0x7fc00000u), b != 0.0f);
  }
  let d = f_divmod(a, b);
  let negative = ((bitcast<u32>(a) ^ bitcast<u32>(b)) >> 31u) == 1u;
  let q = d.x + select(0.0f, 1.0f, d.y != 0.0f && negative);
  return select(q, -q, negative);
}
fn h_from_bf16(h: u32) -> f32 {
  return bitcast<f32>(h << 16u);
}
fn h_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  return select((b + (0x7fffu + ((b >> 16u) & 1u))) >> 16u, (b >> 16u) | 0x40u, f_is_nan(x));
}
fn h_from_f16(h: u32) -> f32 {
  let sign = (h & 0x8000u) << 16u;
  let top = h & 0x7c00u;
  let low = h & 0x3ffu;
  if (top == 0u) {
    return bitcast<f32>(bitcast<u32>(f32(low) * 5.9604644775390625e-8f) | sign);
  }
  return bitcast<f32>(sign | (((h & 0x7fffu) << 13u) + select(0x38000000u, 0x70000000u, top == 0x7c00u)));
}
fn h_to_f16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let sign = (b >> 16u) & 0x8000u;
  let a = b & 0x7fffffffu;
  if (a > 0x7f800000u) {
    return sign | 0x7e00u;
  }
  if (a >= 0x477ff000u) {
    return sign | 0x7c00u;
  }
  if (a < 0x33000000u) {
    return sign;
  }
  if (a < 0x38800000u) {
    let m = (a & 0x7fffffu) | 0x800000u;
    let drop = 126u - (a >> 23u);
    let kept = m >> drop;
    let rest = m & ((1u << drop) - 1u);
    let half = 1u << (drop - 1u);
    return sign | (kept + select(0u, 1u, rest > half || (rest == half && (kept & 1u) == 1u)));
  }
  return sign | ((a - 0x38000000u + (0xfffu + ((a >> 13u) & 1u))) >> 13u);
}
fn i_add(a: i32, b: i32) -> i32 {
  return bitcast<i32>(bitcast<u32>(a) + bitcast<u32>(b));
}
fn i_sub(a: i32, b: i32) -> i32 {
  return bitcast<i32>(bitcast<u32>(a) - bitcast<u32>(b));
}
fn i_mul(a: i32, b: i32) -> i32 {
  return bitcast<i32>(bitcast<u32>(a) * bitcast<u32>(b));
}
fn i_neg(a: i32) -> i32 {
  return bitcast<i32>(0u - bitcast<u32>(a));
}
fn i_div(a: i32, b: i32) -> i32 {
  if (b == 0) {
    return 0;
  }
  if (b == -1) {
    return i_neg(a);
  }
  return a / b;
}
fn i_fmod(a: i32, b: i32) -> i32 {
  if (b == 0) {
    return a;
  }
  if (b == -1) {
    return 0;
  }
  return a % b;
}
fn i_floor_div(a: i32, b: i32) -> i32 {
  if (b == 0) {
    return 0;
  }
  let q = i_div(a, b);
  return select(q, q - 1, i_fmod(a, b) != 0 && ((a < 0) != (b < 0)));
}
fn i_remainder(a: i32, b: i32) -> i32 {
  let r = i_fmod(a, b);
  return select(r, i_add(r, b), b != 0 && r != 0 && ((r < 0) != (b < 0)));
}
fn i_abs(a: i32) -> i32 {
  return select(a, i_neg(a), a < 0);
}
fn i_sign(a: i32) -> i32 {
  return select(select(0, -1, a < 0), 1, a > 0);
}
fn i_maximum(a: i32, b: i32) -> i32 {
  return select(a, b, a < b);
}
fn i_minimum(a: i32, b: i32) -> i32 {
  return select(a, b, b < a);
}
fn i_pow(a: i32, b: i32) -> i32 {
  if (b < 0) {
    if (a == 1) {
      return 1;
    }
    if (a == -1) {
      return select(-1, 1, (b & 1) == 0);
    }
    return 0;
  }
  return bitcast<i32>(u_pow(bitcast<u32>(a), bitcast<u32>(b)));
}
fn i_shl(a: i32, b: i32) -> i32 {
  return select(0, bitcast<i32>(bitcast<u32>(a) << (bitcast<u32>(b) & 31u)), b >= 0 && b < 32);
}
fn i_shr(a: i32, b: i32) -> i32 {
  return a >> select(31u, bitcast<u32>(b), b >= 0 && b < 32);
}
fn u_div(a: u32, b: u32) -> u32 {
  if (b == 0u) {
    return 0u;
  }
  return a / b;
}
fn u_fmod(a: u32, b: u32) -> u32 {
  if (b == 0u) {
    return a;
  }
  return a % b;
}
fn u_maximum(a: u32, b: u32) -> u32 {
  return select(a, b, a < b);
}
fn u_minimum(a: u32, b: u32) -> u32 {
  return select(a, b, b < a);
}
fn u_pow(a: u32, b: u32) -> u32 {
  var power = 1u;
  var base = a;
  var left = b;
  while (left > 0u) {
    if ((left & 1u) == 1u) {
      power = power * base;
    }
    base = base * base;
    left = left >> 1u;
  }
  return power;
}
fn u_shl(a: u32, b: u32) -> u32 {
  return select(0u, a << (b & 31u), b < 32u);
}
fn u_shr(a: u32, b: u32) -> u32 {
  return select(0u, a >> (b & 31u), b < 32u);
}
fn c_mul(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(f_fence(a.x * b.x) - f_fence(a.y * b.y), f_fence(a.x * b.y) + f_fence(a.y * b.x));
}
// Scaled by a power of two, so that neither the squares nor the quotient overflow on the way.
fn c_div(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  let large = f_maximum(f_abs(b.x), f_abs(b.y));
  let top = bitcast<u32>(large) >> 23u;
  let e = select(select(top, 1u, top < 1u), 252u, top > 252u);
  let scale = bitcast<f32>((253u - e) << 23u);
  let x = b.x * scale;
  let y = b.y * scale;
  let d = f_fence(x * x) + f_fence(y * y);
  let re = (f_fence(a.x * x) + f_fence(a.y * y)) / d;
  let im = (f_fence(a.y * x) - f_fence(a.x * y)) / d;
  return vec2<f32>(re * scale, im * scale);
}
