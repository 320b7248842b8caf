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
// Returns the quotient, rounded towards zero, and the remainder. The remainder is exact. A quotient of more than 24 bits is
// inexact.
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
// Returns the sum of two products as a pair of floats.
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
fn f_exponent(x: f32) -> i32 {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b < 0x800000u) {
    return i32(bitcast<u32>(f32(b)) >> 23u) - 276;
  }
  return i32(b >> 23u) - 127;
}
fn f_scale(x: f32, n: i32) -> f32 {
  let third = n / 3;
  let first = bitcast<f32>(u32(third + 127) << 23u);
  let last = bitcast<f32>(u32(n - third - third + 127) << 23u);
  return f_fence(f_fence(x * first) * first) * last;
}
// Returns the quotient of two pairs near one. Devices divide with an error of some units in the last place, which the
// remainder corrects. Some devices divide by multiplying with the reciprocal. Without the fences, their compilers fuse that
// multiplication with the addition of `r`, and `r` then corrects another quotient than the one it was computed from.
fn c_over(n: vec2<f32>, d: vec2<f32>) -> f32 {
  let q = f_fence(n.x / d.x);
  let r = f_fence(f_fence(f_fused(-q, d.x, n.x) + f_fence(n.y - q * d.y)) / d.x);
  return select(q, q + r, f_is_finite(q) && f_is_finite(r));
}
// Returns the quotient of two finite numbers, the second not zero, with an error of little more than half a unit in the last
// place.
fn f_quotient(a: f32, b: f32) -> f32 {
  if (a == 0.0f) {
    return a / b;
  }
  let up = f_exponent(a);
  let down = f_exponent(b);
  let zero = f_bits(0u);
  return f_scale(c_over(vec2<f32>(f_scale(a, -up), zero), vec2<f32>(f_scale(b, -down), zero)), up - down);
}
fn c_finite(a: vec2<f32>) -> bool {
  return f_is_finite(a.x) && f_is_finite(a.y);
}
fn c_infinite(a: vec2<f32>) -> bool {
  return f_is_inf(a.x) || f_is_inf(a.y);
}
fn c_unit(x: f32) -> f32 {
  return f_copysign(select(0.0f, 1.0f, f_is_inf(x)), x);
}
// Returns the quotient of two complex numbers. Both are scaled to numbers near one, so that no intermediate value overflows.
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
// Returns word `k` of the bits of 2/pi, after a word of zeros. Uses selections instead of branches, because compilers
// inline this function many times.
fn f_turn_bits(k: u32) -> u32 {
  let low = select(select(0u, 0xa2f9836eu, k == 1u), select(0x4e441529u, 0xfc2757d1u, k == 3u), k >= 2u);
  let high = select(select(0xf534ddc0u, 0xdb629599u, k == 5u), select(0x3c439041u, 0xfe5163abu, k == 7u), k >= 6u);
  return select(low, high, k >= 4u);
}
fn f_turn_word(high: u32, low: u32, shift: u32) -> u32 {
  return (high << shift) | select(low >> ((32u - shift) & 31u), 0u, shift == 0u);
}
// Returns the remainder of a large angle divided by pi/2, and the quotient modulo 4. Computes the fraction of the product with
// 2/pi in integer arithmetic.
fn f_far(x: f32) -> vec2<f32> {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  let m = (b & 0x7fffffu) | 0x800000u;
  // The first bit of 2/pi whose product with the number is less than four quarter turns.
  let at = (b >> 23u) - 120u;
  let k = at >> 5u;
  let shift = at & 31u;
  let second = f_turn_bits(k + 1u);
  let third = f_turn_bits(k + 2u);
  let p0 = l_wide(m, f_turn_word(third, f_turn_bits(k + 3u), shift));
  let p1 = l_add(l_wide(m, f_turn_word(second, third, shift)), vec2<u32>(p0.y, 0u));
  let top = m * f_turn_word(f_turn_bits(k), second, shift) + p1.y;
  let quarter = ((top + 0x20000000u) >> 30u) & 3u;
  let fraction = vec2<u32>((p1.x << 2u) | (p0.x >> 30u), (top << 2u) | (p1.x >> 30u));
  let r = l_to_f32(fraction) * 5.421010862427522e-20f * 1.5707964f;
  let negative = x < 0.0f;
  return vec2<f32>(select(r, -r, negative), f32(select(quarter, (4u - quarter) & 3u, negative)));
}
// Returns an angle of at most 2e5 and a number of quarter turns. Their sum differs from `x` by a multiple of a full
// turn.
fn f_reduced(x: f32) -> vec2<f32> {
  var t = vec2<f32>(x, 0.0f);
  if (f_abs(x) > 2e5f) {
    t = f_far(x);
  }
  return t;
}
fn f_sin(x: f32) -> f32 {
  let t = f_reduced(x);
  return select(f_bits(0x7fc00000u), f_near_turned(t.x, t.y), f_is_finite(x));
}
fn f_cos(x: f32) -> f32 {
  let t = f_reduced(x);
  return select(f_bits(0x7fc00000u), f_near_turned(t.x, t.y + 1.0f), f_is_finite(x));
}
fn f_tan(x: f32) -> f32 {
  let t = f_reduced(x);
  let y = f_near_tan(t.x);
  let z = select(y, -1.0f / y, (u32(t.y) & 1u) == 1u);
  return select(f_bits(0x7fc00000u), z, f_is_finite(x));
}
fn f_before(a: f32, b: f32) -> bool {
  return (a < b) || (!f_is_nan(a) && f_is_nan(b));
}
