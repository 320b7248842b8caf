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
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 15u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = (v1 / 3u);
  var v4 = f_bits(0x80000000u);
  let v5 = (p[0].y + (v3 * 3u));
  let v6 = bitcast<f32>(m0[v5]);
  let v7 = (p[0].z + v2);
  let v8 = bitcast<f32>(m0[v7]);
  let v9 = (v6 * v8);
  v4 = (v4 + v9);
  let v10 = (p[0].y + ((v3 * 3u) + 1u));
  let v11 = bitcast<f32>(m0[v10]);
  let v12 = (p[0].z + (v2 + 3u));
  let v13 = bitcast<f32>(m0[v12]);
  let v14 = (v11 * v13);
  v4 = (v4 + v14);
  let v15 = (p[0].y + ((v3 * 3u) + 2u));
  let v16 = bitcast<f32>(m0[v15]);
  let v17 = (p[0].z + (v2 + 6u));
  let v18 = bitcast<f32>(m0[v17]);
  let v19 = (v16 * v18);
  v4 = (v4 + v19);
  m1[(p[0].w + ((v3 * 3u) + v2))] = bitcast<u32>(v4);
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
FN f32 f_abs(f32 x) {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
FN f32 f_copysign(f32 x, f32 s) {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN f32 f_tanh(f32 a) {
  let v1 = f_abs(a);
  let v2 = (a * a);
  let v5 = fma(-0.0064063007f, v2, 0.021194931f);
  let v7 = fma(v5, v2, -0.053889714f);
  let v9 = fma(v7, v2, 0.13333008f);
  let v11 = fma(v9, v2, -0.3333333f);
  let v12 = (v2 * v11);
  let v13 = fma(v1, v12, v1);
  let v15 = (9.1f < v1);
  let v16 = select(v1, 9.1f, v15);
  let v19 = fma(v16, 2.88539f, 12582912.0f);
  let v20 = (f_fence(v19) - 12582912.0f);
  let v22 = fma(v20, -0.3465736f, v16);
  let v25 = fma(0.08917536f, v22, 0.267813f);
  let v27 = fma(v25, v22, 0.66666347f);
  let v29 = fma(v27, v22, 1.3333204f);
  let v31 = fma(v29, v22, 2.0f);
  let v32 = fma(v31, v22, 2.0f);
  let v33 = bitcast<u32>(v19);
  let v34 = (v33 << 23u);
  let v36 = (v34 + 0x3f800000u);
  let v37 = bitcast<f32>(v36);
  let v39 = (v37 * v22);
  let v40 = (v37 + 1.0f);
  let v41 = fma(v39, v32, f_fence(v40));
  let v42 = (2.0f / v41);
  let v43 = (1.0f - v42);
  let v45 = (v1 < 0.58f);
  let v46 = select(v43, v13, v45);
  let v47 = f_copysign(v46, a);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = bitcast<f32>(p[0].w);
  let v2 = (group.y * groups.x + group.x) * 256u + local;
  if (v2 >= 15u) {
    return;
  }
  let v3 = (p[0].y + v2);
  let v4 = bitcast<f32>(m0[v3]);
  let v5 = (p[0].z + v2);
  let v6 = bitcast<f32>(m1[v5]);
  let v7 = (v4 + v6);
  let v8 = f_tanh(v7);
  let v9 = (v8 * v1);
  m0[(p[1].x + v2)] = bitcast<u32>(v8);
  m1[(p[1].y + v2)] = bitcast<u32>(v9);
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
  if (v1 >= 15u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = (v1 / 3u);
  var v4 = f_bits(0x80000000u);
  let v5 = (p[0].y + (v3 * 3u));
  let v6 = bitcast<f32>(m0[v5]);
  let v7 = (p[0].z + v2);
  let v8 = bitcast<f32>(m1[v7]);
  let v9 = (v6 * v8);
  v4 = (v4 + v9);
  let v10 = (p[0].y + ((v3 * 3u) + 1u));
  let v11 = bitcast<f32>(m0[v10]);
  let v12 = (p[0].z + (v2 + 3u));
  let v13 = bitcast<f32>(m1[v12]);
  let v14 = (v11 * v13);
  v4 = (v4 + v14);
  let v15 = (p[0].y + ((v3 * 3u) + 2u));
  let v16 = bitcast<f32>(m0[v15]);
  let v17 = (p[0].z + (v2 + 6u));
  let v18 = bitcast<f32>(m1[v17]);
  let v19 = (v16 * v18);
  v4 = (v4 + v19);
  m0[(p[0].w + ((v3 * 3u) + v2))] = bitcast<u32>(v4);
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
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 15u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = (v1 / 3u);
  var v4 = f_bits(0x80000000u);
  let v5 = (p[0].y + (v3 * 3u));
  let v6 = bitcast<f32>(m0[v5]);
  let v7 = (p[0].z + v2);
  let v8 = bitcast<f32>(m1[v7]);
  let v9 = (v6 * v8);
  v4 = (v4 + v9);
  let v10 = (p[0].y + ((v3 * 3u) + 1u));
  let v11 = bitcast<f32>(m0[v10]);
  let v12 = (p[0].z + (v2 + 3u));
  let v13 = bitcast<f32>(m1[v12]);
  let v14 = (v11 * v13);
  v4 = (v4 + v14);
  let v15 = (p[0].y + ((v3 * 3u) + 2u));
  let v16 = bitcast<f32>(m0[v15]);
  let v17 = (p[0].z + (v2 + 6u));
  let v18 = bitcast<f32>(m1[v17]);
  let v19 = (v16 * v18);
  v4 = (v4 + v19);
  m1[(p[0].w + ((v3 * 3u) + v2))] = bitcast<u32>(v4);
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
FN f32 f_abs(f32 x) {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
FN f32 f_copysign(f32 x, f32 s) {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN f32 f_tanh(f32 a) {
  let v1 = f_abs(a);
  let v2 = (a * a);
  let v5 = fma(-0.0064063007f, v2, 0.021194931f);
  let v7 = fma(v5, v2, -0.053889714f);
  let v9 = fma(v7, v2, 0.13333008f);
  let v11 = fma(v9, v2, -0.3333333f);
  let v12 = (v2 * v11);
  let v13 = fma(v1, v12, v1);
  let v15 = (9.1f < v1);
  let v16 = select(v1, 9.1f, v15);
  let v19 = fma(v16, 2.88539f, 12582912.0f);
  let v20 = (f_fence(v19) - 12582912.0f);
  let v22 = fma(v20, -0.3465736f, v16);
  let v25 = fma(0.08917536f, v22, 0.267813f);
  let v27 = fma(v25, v22, 0.66666347f);
  let v29 = fma(v27, v22, 1.3333204f);
  let v31 = fma(v29, v22, 2.0f);
  let v32 = fma(v31, v22, 2.0f);
  let v33 = bitcast<u32>(v19);
  let v34 = (v33 << 23u);
  let v36 = (v34 + 0x3f800000u);
  let v37 = bitcast<f32>(v36);
  let v39 = (v37 * v22);
  let v40 = (v37 + 1.0f);
  let v41 = fma(v39, v32, f_fence(v40));
  let v42 = (2.0f / v41);
  let v43 = (1.0f - v42);
  let v45 = (v1 < 0.58f);
  let v46 = select(v43, v13, v45);
  let v47 = f_copysign(v46, a);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = bitcast<f32>(p[0].w);
  let v2 = (group.y * groups.x + group.x) * 256u + local;
  if (v2 >= 15u) {
    return;
  }
  let v3 = (p[0].y + v2);
  let v4 = bitcast<f32>(m0[v3]);
  let v5 = (p[0].z + v2);
  let v6 = bitcast<f32>(m0[v5]);
  let v7 = (v4 + v6);
  let v8 = f_tanh(v7);
  let v9 = (v8 * v1);
  m0[(p[1].x + v2)] = bitcast<u32>(v8);
  m0[(p[1].y + v2)] = bitcast<u32>(v9);
}
