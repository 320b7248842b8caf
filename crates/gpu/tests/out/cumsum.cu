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
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 18u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = ((v1 / 3u) % 6u);
  let v4 = (v3 * 256u);
  let v5 = min(v4 + 256u, 1500u);
  var v6 = f_bits(0x80000000u);
  var v7 = 0.0f;
  for (var v8 = v4; v8 < v5; v8 = v8 + 1u) {
    let v9 = (p[0].y + ((v2 * 1500u) + v8));
    let v10 = bitcast<f32>(m0[v9]);
    let v11 = f_fence(v6 + v10);
    let v12 = f_fence(v11 - v6);
    let v13 = f_fence(v6 - f_fence(v11 - v12)) + f_fence(v10 - v12);
    v7 = select(v7, f_fence(v7 + v13), f_is_finite(v11));
    v6 = v11;
  }
  let v14 = ((p[0].z + (v3 * 3u)) + v2);
  m1[v14] = bitcast<u32>(v6);
  let v15 = ((p[0].w + (v3 * 3u)) + v2);
  m1[v15] = bitcast<u32>(v7);
}
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
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 3u) {
    return;
  }
  var v2 = f_bits(0x80000000u);
  var v3 = 0.0f;
  for (var v4 = 0u; v4 < 6u; v4 = v4 + 1u) {
    let v5 = ((p[0].y + (v4 * 3u)) + v1);
    let v6 = bitcast<f32>(m0[v5]);
    let v7 = ((p[0].z + (v4 * 3u)) + v1);
    let v8 = bitcast<f32>(m0[v7]);
    let v9 = ((p[0].w + (v4 * 3u)) + v1);
    m0[v9] = bitcast<u32>(v2);
    let v10 = ((p[1].x + (v4 * 3u)) + v1);
    m0[v10] = bitcast<u32>(v3);
    let v11 = f_fence(v2 + v6);
    let v12 = f_fence(v11 - v2);
    let v13 = f_fence(v2 - f_fence(v11 - v12)) + f_fence(v6 - v12);
    v3 = select(v3, f_fence(v3 + v13), f_is_finite(v11));
    v2 = v11;
    let v14 = f_fence(v2 + v8);
    let v15 = f_fence(v14 - v2);
    let v16 = f_fence(v2 - f_fence(v14 - v15)) + f_fence(v8 - v15);
    v3 = select(v3, f_fence(v3 + v16), f_is_finite(v14));
    v2 = v14;
  }
}
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
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 18u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = ((v1 / 3u) % 6u);
  let v4 = (v3 * 256u);
  let v5 = min(v4 + 256u, 1500u);
  var v6 = f_bits(0x80000000u);
  var v7 = 0.0f;
  let v8 = ((p[0].y + (v3 * 3u)) + v2);
  let v9 = bitcast<f32>(m1[v8]);
  let v10 = ((p[0].z + (v3 * 3u)) + v2);
  let v11 = bitcast<f32>(m1[v10]);
  let v12 = f_fence(v6 + v9);
  let v13 = f_fence(v12 - v6);
  let v14 = f_fence(v6 - f_fence(v12 - v13)) + f_fence(v9 - v13);
  v7 = select(v7, f_fence(v7 + v14), f_is_finite(v12));
  v6 = v12;
  let v15 = f_fence(v6 + v11);
  let v16 = f_fence(v15 - v6);
  let v17 = f_fence(v6 - f_fence(v15 - v16)) + f_fence(v11 - v16);
  v7 = select(v7, f_fence(v7 + v17), f_is_finite(v15));
  v6 = v15;
  for (var v18 = v4; v18 < v5; v18 = v18 + 1u) {
    let v19 = (p[0].w + ((v2 * 1500u) + v18));
    let v20 = bitcast<f32>(m0[v19]);
    let v21 = f_fence(v6 + v20);
    let v22 = f_fence(v21 - v6);
    let v23 = f_fence(v6 - f_fence(v21 - v22)) + f_fence(v20 - v22);
    v7 = select(v7, f_fence(v7 + v23), f_is_finite(v21));
    v6 = v21;
    let v24 = v6 + v7;
    let v25 = (p[1].x + ((v2 * 1500u) + v18));
    m0[v25] = bitcast<u32>(v24);
  }
}
