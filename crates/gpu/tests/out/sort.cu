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
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN bool f_before(f32 a, f32 b) {
  return (a < b) || (!f_is_nan(a) && f_is_nan(b));
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = bitcast<f32>(m0[v5]);
  let v7 = (v2 / p[0].y);
  let v8 = (v7 & 1u) == 1u;
  let v9 = ((v7 & ~1u) * p[0].y);
  let v10 = select(v9 + p[0].y, v9, v8);
  var v11 = min(v10, 64u);
  var v12 = min(v10 + p[0].y, 64u);
  let v13 = v11;
  while (v11 < v12) {
    let v14 = (v11 + v12) / 2u;
    let v15 = ((p[0].z + v4) + v14);
    let v16 = bitcast<f32>(m0[v15]);
    if (select(f_before(v16, v6), !f_before(v6, v16), v8)) {
      v11 = v14 + 1u;
    } else {
      v12 = v14;
    }
  }
  let v17 = v2 - select(v9, v9 + p[0].y, v8);
  let v18 = v9 + v17 + (v11 - v13);
  let v19 = ((p[0].w + v4) + v18);
  m1[v19] = v2;
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
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN bool f_before(f32 a, f32 b) {
  return (a < b) || (!f_is_nan(a) && f_is_nan(b));
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].w + v4) + v2);
  let v6 = m1[v5];
  let v7 = ((p[0].z + v4) + v6);
  let v8 = bitcast<f32>(m0[v7]);
  let v9 = (v2 / p[0].y);
  let v10 = (v9 & 1u) == 1u;
  let v11 = ((v9 & ~1u) * p[0].y);
  let v12 = select(v11 + p[0].y, v11, v10);
  var v13 = min(v12, 64u);
  var v14 = min(v12 + p[0].y, 64u);
  let v15 = v13;
  while (v13 < v14) {
    let v16 = (v13 + v14) / 2u;
    let v17 = ((p[0].w + v4) + v16);
    let v18 = m1[v17];
    let v19 = ((p[0].z + v4) + v18);
    let v20 = bitcast<f32>(m0[v19]);
    if (select(f_before(v20, v8), !f_before(v8, v20), v10)) {
      v13 = v16 + 1u;
    } else {
      v14 = v16;
    }
  }
  let v21 = v2 - select(v11, v11 + p[0].y, v10);
  let v22 = v11 + v21 + (v13 - v15);
  let v23 = ((p[1].x + v4) + v22);
  m1[v23] = v6;
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
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = m1[v5];
  let v7 = ((p[0].w + v4) + v6);
  let v8 = bitcast<f32>(m0[v7]);
  let v9 = (p[0].y + v1);
  m0[v9] = bitcast<u32>(v8);
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
FN vec2<u32> l_u32(u32 x) {
  return vec2<u32>(x, 0u);
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = m0[v5];
  let v7 = l_u32(v6);
  let v8 = (p[0].y + v1);
  let v9 = (v8 * 2u);
  m1[v9] = v7.x;
  m1[(v9 + 1u)] = v7.y;
}
