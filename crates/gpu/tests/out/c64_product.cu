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
FN vec2<f32> c_sum(f32 a, f32 b, f32 c, f32 d) {
  let p1 = f_fence(a * b);
  let p2 = f_fence(c * d);
  let sum = f_fence(p1 + p2);
  let back = f_fence(sum - p1);
  let lost = f_fence(f_fence(p1 - f_fence(sum - back)) + f_fence(p2 - back));
  let error = f_fence(lost + f_fence(f_product_error(a, b, p1) + f_product_error(c, d, p2)));
  return vec2<f32>(sum, select(0.0f, error, f_is_finite(sum) && f_is_finite(error)));
}
FN vec2<f32> c_mul(vec2<f32> a, vec2<f32> b) {
  let re = c_sum(a.x, b.x, -a.y, b.y);
  let im = c_sum(a.x, b.y, a.y, b.x);
  return vec2<f32>(re.x + re.y, im.x + im.y);
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
  let v4 = vec2<f32>(bitcast<f32>(m0[(v3 * 2u)]), bitcast<f32>(m0[((v3 * 2u) + 1u)]));
  let v5 = (p[0].z + v2);
  let v6 = vec2<f32>(bitcast<f32>(m0[(v5 * 2u)]), bitcast<f32>(m0[((v5 * 2u) + 1u)]));
  let v7 = c_mul(v4, v6);
  let v8 = (p[0].y + (v2 + 1u));
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = (p[0].z + (v2 + 1u));
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = c_mul(v9, v11);
  let v13 = (p[0].y + (v2 + 2u));
  let v14 = vec2<f32>(bitcast<f32>(m0[(v13 * 2u)]), bitcast<f32>(m0[((v13 * 2u) + 1u)]));
  let v15 = (p[0].z + (v2 + 2u));
  let v16 = vec2<f32>(bitcast<f32>(m0[(v15 * 2u)]), bitcast<f32>(m0[((v15 * 2u) + 1u)]));
  let v17 = c_mul(v14, v16);
  let v18 = (p[0].y + (v2 + 3u));
  let v19 = vec2<f32>(bitcast<f32>(m0[(v18 * 2u)]), bitcast<f32>(m0[((v18 * 2u) + 1u)]));
  let v20 = (p[0].z + (v2 + 3u));
  let v21 = vec2<f32>(bitcast<f32>(m0[(v20 * 2u)]), bitcast<f32>(m0[((v20 * 2u) + 1u)]));
  let v22 = c_mul(v19, v21);
  let v23 = ((p[0].w + v2) * 2u);
  m0[v23] = bitcast<u32>(v7.x);
  m0[(v23 + 1u)] = bitcast<u32>(v7.y);
  let v24 = (((p[0].w + v2) + 1u) * 2u);
  m0[v24] = bitcast<u32>(v12.x);
  m0[(v24 + 1u)] = bitcast<u32>(v12.y);
  let v25 = (((p[0].w + v2) + 2u) * 2u);
  m0[v25] = bitcast<u32>(v17.x);
  m0[(v25 + 1u)] = bitcast<u32>(v17.y);
  let v26 = (((p[0].w + v2) + 3u) * 2u);
  m0[v26] = bitcast<u32>(v22.x);
  m0[(v26 + 1u)] = bitcast<u32>(v22.y);
}
