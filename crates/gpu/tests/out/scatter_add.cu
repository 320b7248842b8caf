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
FN bool l_less(vec2<u32> a, vec2<u32> b) {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
FN u32 u_minimum(u32 a, u32 b) {
  return select(a, b, b < a);
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  __shared__ u32 s0[256];
  let v1 = vec2<u32>(p[0].z, p[0].w);
  let v2 = vec2<u32>(p[1].x, p[1].y);
  let v3 = p[1].z;
  let v4 = local % 32u;
  let v5 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v6 = min(v5, 1u - 1u);
  let v7 = v5 < 1u;
  var v8 = 0xffffffffu;
  let v9 = v4 < 41u;
  let v10 = min(v4, 41u - 1u);
  let v11 = (p[0].y + v10);
  let v12 = vec2<u32>(m0[(v11 * 2u)], m0[((v11 * 2u) + 1u)]);
  let v13 = v12;
  let v14 = !l_less(v13, v1);
  let v15 = l_less(v13, v2);
  let v16 = (v14 && v15);
  let v17 = bitcast<i32>(v10);
  let v18 = bitcast<u32>(v17);
  let v19 = select(v18, v3, v16);
  v8 = select(v8, u_minimum(v8, v19), v9);
  let v20 = (v4 + 32u) < 41u;
  let v21 = min((v4 + 32u), 41u - 1u);
  let v22 = (p[0].y + v21);
  let v23 = vec2<u32>(m0[(v22 * 2u)], m0[((v22 * 2u) + 1u)]);
  let v24 = v23;
  let v25 = !l_less(v24, v1);
  let v26 = l_less(v24, v2);
  let v27 = (v25 && v26);
  let v28 = bitcast<i32>(v21);
  let v29 = bitcast<u32>(v28);
  let v30 = select(v29, v3, v27);
  v8 = select(v8, u_minimum(v8, v30), v20);
  s0[local] = v8;
  workgroupBarrier();
  let v31 = (local / 32u) * 32u;
  if (v4 < 4u) {
    let v32 = s0[local];
    let v33 = u_minimum(v32, s0[local + 4u]);
    let v34 = u_minimum(v33, s0[local + 8u]);
    let v35 = u_minimum(v34, s0[local + 12u]);
    let v36 = u_minimum(v35, s0[local + 16u]);
    let v37 = u_minimum(v36, s0[local + 20u]);
    let v38 = u_minimum(v37, s0[local + 24u]);
    let v39 = u_minimum(v38, s0[local + 28u]);
    s0[local] = v39;
  }
  workgroupBarrier();
  let v40 = s0[v31 + 0u];
  let v41 = u_minimum(v40, s0[v31 + 1u]);
  let v42 = u_minimum(v41, s0[v31 + 2u]);
  let v43 = u_minimum(v42, s0[v31 + 3u]);
  workgroupBarrier();
  if (v7 && v4 == 0u) {
    m1[p[1].w] = v43;
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
FN bool l_less(vec2<u32> a, vec2<u32> b) {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 41u) {
    return;
  }
  let v2 = (v1 % 41u);
  let v3 = (v1 / 41u);
  let v4 = (v3 * 41u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = vec2<u32>(m0[(v5 * 2u)], m0[((v5 * 2u) + 1u)]);
  let v7 = (v2 / p[0].y);
  let v8 = (v7 & 1u) == 1u;
  let v9 = ((v7 & ~1u) * p[0].y);
  let v10 = select(v9 + p[0].y, v9, v8);
  var v11 = min(v10, 41u);
  var v12 = min(v10 + p[0].y, 41u);
  let v13 = v11;
  while (v11 < v12) {
    let v14 = (v11 + v12) / 2u;
    let v15 = ((p[0].z + v4) + v14);
    let v16 = vec2<u32>(m0[(v15 * 2u)], m0[((v15 * 2u) + 1u)]);
    if (select(l_less(v16, v6), !l_less(v6, v16), v8)) {
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
FN bool l_less(vec2<u32> a, vec2<u32> b) {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 41u) {
    return;
  }
  let v2 = (v1 % 41u);
  let v3 = (v1 / 41u);
  let v4 = (v3 * 41u);
  let v5 = ((p[0].w + v4) + v2);
  let v6 = m1[v5];
  let v7 = ((p[0].z + v4) + v6);
  let v8 = vec2<u32>(m0[(v7 * 2u)], m0[((v7 * 2u) + 1u)]);
  let v9 = (v2 / p[0].y);
  let v10 = (v9 & 1u) == 1u;
  let v11 = ((v9 & ~1u) * p[0].y);
  let v12 = select(v11 + p[0].y, v11, v10);
  var v13 = min(v12, 41u);
  var v14 = min(v12 + p[0].y, 41u);
  let v15 = v13;
  while (v13 < v14) {
    let v16 = (v13 + v14) / 2u;
    let v17 = ((p[0].w + v4) + v16);
    let v18 = m1[v17];
    let v19 = ((p[0].z + v4) + v18);
    let v20 = vec2<u32>(m0[(v19 * 2u)], m0[((v19 * 2u) + 1u)]);
    if (select(l_less(v20, v8), !l_less(v8, v20), v10)) {
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
FN bool l_less(vec2<u32> a, vec2<u32> b) {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
FN vec2<u32> l_u32(u32 x) {
  return vec2<u32>(x, 0u);
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 11u) {
    return;
  }
  var v2 = 0u;
  var v3 = 41u;
  while (v2 < v3) {
    let v4 = (v2 + v3) / 2u;
    let v5 = m1[(p[0].z + v4)];
    let v6 = vec2<u32>(m0[((p[0].w + v5) * 2u)], m0[(((p[0].w + v5) * 2u) + 1u)]);
    if (l_less(v6, l_u32(v1))) {
      v2 = v4 + 1u;
    } else {
      v3 = v4;
    }
  }
  let v7 = (p[0].y + v1);
  m1[v7] = v2;
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
  if (v1 >= 60u) {
    return;
  }
  let v2 = (v1 % 6u);
  let v3 = (v1 / 6u);
  let v4 = (v3 % 10u);
  let v5 = (v3 / 10u);
  let v6 = (p[0].z + v1);
  var v7 = bitcast<f32>(m0[v6]);
  let v8 = (p[1].y + v4);
  let v9 = m1[(v8 + 1u)];
  for (var v10 = m1[v8]; v10 < v9; v10 = v10 + 1u) {
    let v11 = m1[(p[0].w + v10)];
    let v12 = (p[1].x + ((((v5 * 41u) + v11) * 6u) + v2));
    let v13 = bitcast<f32>(m0[v12]);
    v7 = (v7 + v13);
  }
  let v14 = (p[0].y + v1);
  m0[v14] = bitcast<u32>(v7);
}
