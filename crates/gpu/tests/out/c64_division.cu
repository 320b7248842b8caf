typedef unsigned int u32;
typedef int i32;
typedef float f32;
#define let const auto
#define var auto
#define FN __device__ __forceinline__
template <class T> struct __align__(2 * sizeof(T)) vec2 {
  T x, y;
  vec2() = default;
  FN vec2(T x, T y) : x(x), y(y) {}
  FN vec2 operator+(vec2 o) const { return vec2(x + o.x, y + o.y); }
  FN vec2 operator-(vec2 o) const { return vec2(x - o.x, y - o.y); }
  FN vec2 operator-() const { return vec2(-x, -y); }
};
template <class T> struct __align__(4 * sizeof(T)) vec4 {
  T x, y, z, w;
  vec4() = default;
  FN vec4(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
};
template <class T> FN T select(T no, T yes, bool c) { return c ? yes : no; }
template <class T, class S> FN T bitcast(S x) {
  static_assert(sizeof(T) == sizeof(S), "sizes differ");
  T y;
  memcpy(&y, &x, sizeof(T));
  return y;
}
FN f32 f_fence(f32 x) { return x; }
FN f32 f_bits(u32 b) { return __uint_as_float(b); }
FN f32 f_zero(f32) { return 0.0f; }
FN f32 f_round(f32 x) { return rintf(x); }
FN f32 f_fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
FN f32 f_product_error(f32 a, f32 b, f32 product) { return __fmaf_rn(a, b, -product); }
FN u32 countLeadingZeros(u32 x) { return __clz(x); }
FN void workgroupBarrier() { __syncthreads(); }
FN bool f_is_finite(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
FN bool c_finite(vec2<f32> a) {
  return f_is_finite(a.x) && f_is_finite(a.y);
}
FN i32 f_exponent(f32 x) {
  let b = bitcast<u32>(x) & 0x7fffffffu;
  if (b < 0x800000u) {
    return i32(bitcast<u32>(f32(b)) >> 23u) - 276;
  }
  return i32(b >> 23u) - 127;
}
FN f32 f_scale(f32 x, i32 n) {
  let third = n / 3;
  let first = bitcast<f32>(u32(third + 127) << 23u);
  let last = bitcast<f32>(u32(n - third - third + 127) << 23u);
  return f_fence(f_fence(x * first) * first) * last;
}
FN f32 c_over(vec2<f32> n, vec2<f32> d) {
  let q = f_fence(n.x / d.x);
  let r = f_fence(f_fence(f_fused(-q, d.x, n.x) + f_fence(n.y - q * d.y)) / d.x);
  return select(q, q + r, f_is_finite(q) && f_is_finite(r));
}
FN f32 f_quotient(f32 a, f32 b) {
  if (a == 0.0f) {
    return a / b;
  }
  let up = f_exponent(a);
  let down = f_exponent(b);
  let zero = f_bits(0u);
  return f_scale(c_over(vec2<f32>(f_scale(a, -up), zero), vec2<f32>(f_scale(b, -down), zero)), up - down);
}
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN f32 f_maximum(f32 a, f32 b) {
  return select(a, b, (a < b) || f_is_nan(b));
}
FN f32 f_abs(f32 x) {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
FN f32 f_copysign(f32 x, f32 s) {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
FN vec2<f32> c_sum(f32 a, f32 b, f32 c, f32 d) {
  let p1 = f_fence(a * b);
  let p2 = f_fence(c * d);
  let sum = f_fence(p1 + p2);
  let back = f_fence(sum - p1);
  let lost = f_fence(f_fence(p1 - f_fence(sum - back)) + f_fence(p2 - back));
  let error = f_fence(lost + f_fence(f_product_error(a, b, p1) + f_product_error(c, d, p2)));
  return vec2<f32>(sum, select(0.0f, error, f_is_finite(sum) && f_is_finite(error)));
}
FN bool f_is_inf(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}
FN bool c_infinite(vec2<f32> a) {
  return f_is_inf(a.x) || f_is_inf(a.y);
}
FN f32 c_unit(f32 x) {
  return f_copysign(select(0.0f, 1.0f, f_is_inf(x)), x);
}
FN vec2<f32> c_div(vec2<f32> a, vec2<f32> b) {
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
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 64u) {
    return;
  }
  let v2 = (p[0].y + v1);
  let v3 = vec2<f32>(bitcast<f32>(m0[(v2 * 2u)]), bitcast<f32>(m0[((v2 * 2u) + 1u)]));
  let v4 = (p[0].z + v1);
  let v5 = vec2<f32>(bitcast<f32>(m0[(v4 * 2u)]), bitcast<f32>(m0[((v4 * 2u) + 1u)]));
  let v6 = c_div(v3, v5);
  let v7 = ((p[0].w + v1) * 2u);
  m0[v7] = bitcast<u32>(v6.x);
  m0[(v7 + 1u)] = bitcast<u32>(v6.y);
}
