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
FN bool l_zero(vec2<u32> a) {
  return (a.x | a.y) == 0u;
}
FN bool l_below(vec2<u32> a, vec2<u32> b) {
  return (a.y < b.y) || (a.y == b.y && a.x < b.x);
}
FN vec2<u32> l_sub(vec2<u32> a, vec2<u32> b) {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
FN vec4<u32> l_divide(vec2<u32> a, vec2<u32> b) {
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
FN vec2<u32> l_neg(vec2<u32> a) {
  return l_sub(vec2<u32>(0u, 0u), a);
}
FN bool l_negative(vec2<u32> a) {
  return (a.y >> 31u) == 1u;
}
FN vec2<u32> l_abs(vec2<u32> a) {
  return select(a, l_neg(a), l_negative(a));
}
FN vec2<u32> l_div(vec2<u32> a, vec2<u32> b) {
  if (l_zero(b)) {
    return vec2<u32>(0u, 0u);
  }
  let d = l_divide(l_abs(a), l_abs(b));
  let q = vec2<u32>(d.x, d.y);
  return select(q, l_neg(q), l_negative(a) != l_negative(b));
}
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 16u) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = (p[0].y + v2);
  let v4 = vec2<u32>(m0[(v3 * 2u)], m0[((v3 * 2u) + 1u)]);
  let v5 = (p[0].z + v2);
  let v6 = vec2<u32>(m0[(v5 * 2u)], m0[((v5 * 2u) + 1u)]);
  let v7 = l_div(v4, v6);
  let v8 = (p[0].y + (v2 + 1u));
  let v9 = vec2<u32>(m0[(v8 * 2u)], m0[((v8 * 2u) + 1u)]);
  let v10 = (p[0].z + (v2 + 1u));
  let v11 = vec2<u32>(m0[(v10 * 2u)], m0[((v10 * 2u) + 1u)]);
  let v12 = l_div(v9, v11);
  let v13 = (p[0].y + (v2 + 2u));
  let v14 = vec2<u32>(m0[(v13 * 2u)], m0[((v13 * 2u) + 1u)]);
  let v15 = (p[0].z + (v2 + 2u));
  let v16 = vec2<u32>(m0[(v15 * 2u)], m0[((v15 * 2u) + 1u)]);
  let v17 = l_div(v14, v16);
  let v18 = (p[0].y + (v2 + 3u));
  let v19 = vec2<u32>(m0[(v18 * 2u)], m0[((v18 * 2u) + 1u)]);
  let v20 = (p[0].z + (v2 + 3u));
  let v21 = vec2<u32>(m0[(v20 * 2u)], m0[((v20 * 2u) + 1u)]);
  let v22 = l_div(v19, v21);
  let v23 = ((p[0].w + v2) * 2u);
  m0[v23] = v7.x;
  m0[(v23 + 1u)] = v7.y;
  let v24 = (((p[0].w + v2) + 1u) * 2u);
  m0[v24] = v12.x;
  m0[(v24 + 1u)] = v12.y;
  let v25 = (((p[0].w + v2) + 2u) * 2u);
  m0[v25] = v17.x;
  m0[(v25 + 1u)] = v17.y;
  let v26 = (((p[0].w + v2) + 3u) * 2u);
  m0[v26] = v22.x;
  m0[(v26 + 1u)] = v22.y;
}
