// 64-bit integers as two words, the low word first.

fn l_i32(x: i32) -> vec2<u32> {
  return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u));
}
fn l_u32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}
fn l_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn l_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
fn l_neg(a: vec2<u32>) -> vec2<u32> {
  return l_sub(vec2<u32>(0u, 0u), a);
}
fn l_wide(a: u32, b: u32) -> vec2<u32> {
  let ll = (a & 0xffffu) * (b & 0xffffu);
  let lh = (a & 0xffffu) * (b >> 16u);
  let hl = (a >> 16u) * (b & 0xffffu);
  let hh = (a >> 16u) * (b >> 16u);
  let middle = (ll >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
  return vec2<u32>((ll & 0xffffu) | (middle << 16u), hh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u));
}
fn l_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = l_wide(a.x, b.x);
  return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}
fn l_and(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x & b.x, a.y & b.y);
}
fn l_or(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x | b.x, a.y | b.y);
}
fn l_xor(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x ^ b.x, a.y ^ b.y);
}
fn l_not(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(~a.x, ~a.y);
}
fn l_eq(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.x == b.x && a.y == b.y;
}
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
fn l_below(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (a.y < b.y) || (a.y == b.y && a.x < b.x);
}
fn l_negative(a: vec2<u32>) -> bool {
  return (a.y >> 31u) == 1u;
}
fn l_zero(a: vec2<u32>) -> bool {
  return (a.x | a.y) == 0u;
}
fn l_abs(a: vec2<u32>) -> vec2<u32> {
  return select(a, l_neg(a), l_negative(a));
}
fn l_sign(a: vec2<u32>) -> vec2<u32> {
  return select(select(vec2<u32>(1u, 0u), vec2<u32>(0u, 0u), l_zero(a)), vec2<u32>(0xffffffffu, 0xffffffffu), l_negative(a));
}
fn l_maximum(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, l_less(a, b));
}
fn l_minimum(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, l_less(b, a));
}
fn l_left(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) {
    return a;
  }
  if (n >= 32u) {
    return vec2<u32>(0u, a.x << (n & 31u));
  }
  return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}
fn l_right(a: vec2<u32>, n: u32) -> vec2<u32> {
  let high = bitcast<i32>(a.y);
  if (n == 0u) {
    return a;
  }
  if (n >= 32u) {
    return vec2<u32>(bitcast<u32>(high >> (n & 31u)), bitcast<u32>(high >> 31u));
  }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), bitcast<u32>(high >> n));
}
fn l_shl(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y != 0u || b.x > 63u) {
    return vec2<u32>(0u, 0u);
  }
  return l_left(a, b.x);
}
fn l_shr(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y != 0u || b.x > 63u) {
    return l_right(a, 63u);
  }
  return l_right(a, b.x);
}
// Returns the quotient and the remainder of unsigned numbers. Computes the quotient bit by bit.
fn l_divide(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  if (a.y == 0u && b.y == 0u) {
    return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u);
  }
  var q = vec2<u32>(0u, 0u);
  var r = vec2<u32>(0u, 0u);
  for (var i = 0u; i < 64u; i = i + 1u) {
    let word = select(a.x, a.y, i < 32u);
    let carry = r.y >> 31u;
    r = vec2<u32>((r.x << 1u) | ((word >> (31u - (i & 31u))) & 1u), (r.y << 1u) | (r.x >> 31u));
    q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
    if (carry == 1u || !l_below(r, b)) {
      r = l_sub(r, b);
      q.x = q.x | 1u;
    }
  }
  return vec4<u32>(q.x, q.y, r.x, r.y);
}
fn l_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (l_zero(b)) {
    return vec2<u32>(0u, 0u);
  }
  let d = l_divide(l_abs(a), l_abs(b));
  let q = vec2<u32>(d.x, d.y);
  return select(q, l_neg(q), l_negative(a) != l_negative(b));
}
fn l_fmod(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (l_zero(b)) {
    return a;
  }
  let d = l_divide(l_abs(a), l_abs(b));
  let r = vec2<u32>(d.z, d.w);
  return select(r, l_neg(r), l_negative(a));
}
fn l_floor_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (l_zero(b)) {
    return vec2<u32>(0u, 0u);
  }
  let q = l_div(a, b);
  let down = !l_zero(l_fmod(a, b)) && (l_negative(a) != l_negative(b));
  return select(q, l_sub(q, vec2<u32>(1u, 0u)), down);
}
fn l_remainder(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let r = l_fmod(a, b);
  return select(r, l_add(r, b), !l_zero(b) && !l_zero(r) && (l_negative(r) != l_negative(b)));
}
fn l_pow(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  var power = vec2<u32>(1u, 0u);
  if (l_negative(b)) {
    if (l_eq(a, power)) {
      return power;
    }
    if (l_eq(a, vec2<u32>(0xffffffffu, 0xffffffffu))) {
      return select(a, power, (b.x & 1u) == 0u);
    }
    return vec2<u32>(0u, 0u);
  }
  var base = a;
  var left = b;
  while (!l_zero(left)) {
    if ((left.x & 1u) == 1u) {
      power = l_mul(power, base);
    }
    base = l_mul(base, base);
    left = l_right(left, 1u);
  }
  return power;
}
fn l_to_f32(a: vec2<u32>) -> f32 {
  let m = l_abs(a);
  // The first 32 bits, the last of them also set if anything is lost. Without branches, since compilers inline this function.
  let shift = 32u - countLeadingZeros(m.y);
  let left = (32u - shift) & 31u;
  let none = shift == 0u;
  let every = shift == 32u;
  let top = select(select((m.y << left) | (m.x >> (shift & 31u)), m.y, every), m.x, none);
  let lost = select(select(m.x << left, m.x, every), 0u, none);
  let y = f32(top | select(0u, 1u, lost != 0u)) * bitcast<f32>((127u + shift) << 23u);
  return select(y, -y, l_negative(a));
}
fn l_from_f32(x: f32) -> vec2<u32> {
  let b = bitcast<u32>(x);
  let e = (b >> 23u) & 0xffu;
  let negative = (b >> 31u) == 1u;
  if (f_is_nan(x) || e < 127u) {
    return vec2<u32>(0u, 0u);
  }
  if (e >= 190u) {
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
  }
  let m = vec2<u32>((b & 0x7fffffu) | 0x800000u, 0u);
  var y = l_left(m, select(e - 150u, 0u, e < 150u));
  if (e < 150u) {
    y = vec2<u32>(m.x >> (150u - e), 0u);
  }
  return select(y, l_neg(y), negative);
}
// Philox4x32-10: four random words of a counter under a key.
fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var i = 0u; i < 10u; i = i + 1u) {
    let a = l_wide(0xd2511f53u, c.x);
    let b = l_wide(0xcd9e8d57u, c.z);
    c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
    k = vec2<u32>(k.x + 0x9e3779b9u, k.y + 0xbb67ae85u);
  }
  return c;
}
