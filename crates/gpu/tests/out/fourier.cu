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
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 30u) {
    return;
  }
  let v2 = (v1 % 15u);
  let v3 = ((v1 / 15u) * 60u);
  let v4 = (p[0].y + (v3 + v2));
  let v5 = vec2<f32>(bitcast<f32>(m0[(v4 * 2u)]), bitcast<f32>(m0[((v4 * 2u) + 1u)]));
  let v6 = (p[0].z + (v3 + (v2 + 15u)));
  let v7 = vec2<f32>(bitcast<f32>(m0[(v6 * 2u)]), bitcast<f32>(m0[((v6 * 2u) + 1u)]));
  let v8 = (p[0].w + (v3 + (v2 + 30u)));
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = (p[1].x + (v3 + (v2 + 45u)));
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = (v2 * 4u);
  let v13 = vec2<f32>((((v5.x + v7.x) + v9.x) + v11.x), (((v5.y + v7.y) + v9.y) + v11.y));
  let v14 = vec2<f32>((((v5.x + v7.y) - v9.x) - v11.y), (((v5.y - v7.x) - v9.y) + v11.x));
  let v15 = vec2<f32>((((v5.x - v7.x) + v9.x) - v11.x), (((v5.y - v7.y) + v9.y) - v11.y));
  let v16 = vec2<f32>((((v5.x - v7.y) - v9.x) + v11.y), (((v5.y + v7.x) - v9.y) - v11.x));
  let v17 = (p[1].y + (v3 + v12));
  let v18 = (v17 * 2u);
  m0[v18] = bitcast<u32>(v13.x);
  m0[(v18 + 1u)] = bitcast<u32>(v13.y);
  let v19 = (p[1].z + (v3 + (v12 + 1u)));
  let v20 = (v19 * 2u);
  m0[v20] = bitcast<u32>(v14.x);
  m0[(v20 + 1u)] = bitcast<u32>(v14.y);
  let v21 = (p[1].w + (v3 + (v12 + 2u)));
  let v22 = (v21 * 2u);
  m0[v22] = bitcast<u32>(v15.x);
  m0[(v22 + 1u)] = bitcast<u32>(v15.y);
  let v23 = (p[2].x + (v3 + (v12 + 3u)));
  let v24 = (v23 * 2u);
  m0[v24] = bitcast<u32>(v16.x);
  m0[(v24 + 1u)] = bitcast<u32>(v16.y);
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
FN f32 f_near_cos(f32 a) {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = (v5 + 0x1u);
  let v11 = f_fused(v4, -7.5497894e-8f, v7);
  let v13 = f_fused(v4, -5.3903025e-15f, v11);
  let v15 = fma(v11, v11, -1e-30f);
  let v16 = (v9 & 0x1u);
  let v17 = (v16 << 29u);
  let v18 = bitcast<f32>(v17);
  let v20 = (0.0f < v18);
  let v23 = select(-0.00019494575f, 2.440948e-5f, v20);
  let v26 = select(0.008332007f, -0.0013887107f, v20);
  let v27 = fma(v23, v15, v26);
  let v30 = select(-0.16666652f, 0.04166664f, v20);
  let v31 = fma(v27, v15, v30);
  let v32 = select(v11, v15, v20);
  let v33 = (v9 << 30u);
  let v34 = bitcast<u32>(v32);
  let v36 = (v33 & 0x80000000u);
  let v37 = (v34 + v36);
  let v38 = bitcast<f32>(v37);
  let v41 = fma(v15, -0.5f, 1.0f);
  let v42 = select(v13, v41, v20);
  let v43 = bitcast<u32>(v42);
  let v44 = (v43 + v36);
  let v45 = bitcast<f32>(v44);
  let v46 = (v38 * v15);
  let v47 = fma(v46, v31, v45);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
FN f32 f_near_sin(f32 a) {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = f_fused(v4, -7.5497894e-8f, v7);
  let v11 = f_fused(v4, -5.3903025e-15f, v9);
  let v13 = fma(v9, v9, -1e-30f);
  let v15 = (v5 & 0x1u);
  let v16 = (v15 << 29u);
  let v17 = bitcast<f32>(v16);
  let v19 = (0.0f < v17);
  let v22 = select(-0.00019494575f, 2.440948e-5f, v19);
  let v25 = select(0.008332007f, -0.0013887107f, v19);
  let v26 = fma(v22, v13, v25);
  let v29 = select(-0.16666652f, 0.04166664f, v19);
  let v30 = fma(v26, v13, v29);
  let v31 = select(v9, v13, v19);
  let v32 = (v5 << 30u);
  let v33 = bitcast<u32>(v31);
  let v35 = (v32 & 0x80000000u);
  let v36 = (v33 + v35);
  let v37 = bitcast<f32>(v36);
  let v40 = fma(v13, -0.5f, 1.0f);
  let v41 = select(v11, v40, v19);
  let v42 = bitcast<u32>(v41);
  let v43 = (v42 + v35);
  let v44 = bitcast<f32>(v43);
  let v45 = (v37 * v13);
  let v46 = fma(v45, v30, v44);
  let v47 = f_is_nan(a);
  let v48 = select(v46, a, v47);
  return v48;
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 40u) {
    return;
  }
  let v2 = (v1 % 20u);
  let v3 = ((v1 / 20u) * 60u);
  let v4 = (p[0].y + (v3 + v2));
  let v5 = vec2<f32>(bitcast<f32>(m0[(v4 * 2u)]), bitcast<f32>(m0[((v4 * 2u) + 1u)]));
  let v6 = (p[0].z + (v3 + (v2 + 20u)));
  let v7 = vec2<f32>(bitcast<f32>(m0[(v6 * 2u)]), bitcast<f32>(m0[((v6 * 2u) + 1u)]));
  let v8 = (p[0].w + (v3 + (v2 + 40u)));
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = (v2 % 4u);
  let v11 = (v10 * 8u);
  let v12 = (v11 / 12u);
  let v13 = v11 - (v12 * 12u);
  let v14 = (v12 & 1u) == 1u;
  let v15 = select(v13, 12u - v13, v14);
  let v16 = (f32(v15) / f32(12u)) * bitcast<f32>(p[1].x);
  let v17 = f_near_cos(v16);
  let v18 = f_near_sin(v16);
  let v19 = ((v12 + 1u) >> 1u) & 3u;
  let v20 = select(v18, -v18, v14);
  let v21 = select(select(v17, -v20, v19 == 1u), select(-v17, v20, v19 == 3u), v19 >= 2u);
  let v22 = select(select(v20, v17, v19 == 1u), select(-v20, -v17, v19 == 3u), v19 >= 2u);
  let v23 = vec2<f32>(v21, -v22);
  let v24 = vec2<f32>(fma(v7.x, v23.x, -(v7.y * v23.y)), fma(v7.x, v23.y, v7.y * v23.x));
  let v25 = vec2<f32>(fma(v23.x, v23.x, -(v23.y * v23.y)), fma(v23.x, v23.y, v23.y * v23.x));
  let v26 = vec2<f32>(fma(v9.x, v25.x, -(v9.y * v25.y)), fma(v9.x, v25.y, v9.y * v25.x));
  let v27 = (((v2 / 4u) * 4u) * 3u);
  let v28 = vec2<f32>(((v5.x + v24.x) + v26.x), ((v5.y + v24.y) + v26.y));
  let v29 = vec2<f32>(fma(-0.8660254f, v26.y, fma(-0.5f, v26.x, fma(0.8660254f, v24.y, fma(-0.5f, v24.x, v5.x)))), fma(0.8660254f, v26.x, fma(-0.5f, v26.y, fma(-0.8660254f, v24.x, fma(-0.5f, v24.y, v5.y)))));
  let v30 = vec2<f32>(fma(0.8660254f, v26.y, fma(-0.5f, v26.x, fma(-0.8660254f, v24.y, fma(-0.5f, v24.x, v5.x)))), fma(-0.8660254f, v26.x, fma(-0.5f, v26.y, fma(0.8660254f, v24.x, fma(-0.5f, v24.y, v5.y)))));
  let v31 = (p[1].y + (v3 + (v27 + v10)));
  let v32 = (v31 * 2u);
  m1[v32] = bitcast<u32>(v28.x);
  m1[(v32 + 1u)] = bitcast<u32>(v28.y);
  let v33 = (p[1].z + (v3 + ((v27 + v10) + 4u)));
  let v34 = (v33 * 2u);
  m1[v34] = bitcast<u32>(v29.x);
  m1[(v34 + 1u)] = bitcast<u32>(v29.y);
  let v35 = (p[1].w + (v3 + ((v27 + v10) + 8u)));
  let v36 = (v35 * 2u);
  m1[v36] = bitcast<u32>(v30.x);
  m1[(v36 + 1u)] = bitcast<u32>(v30.y);
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
FN f32 f_near_cos(f32 a) {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = (v5 + 0x1u);
  let v11 = f_fused(v4, -7.5497894e-8f, v7);
  let v13 = f_fused(v4, -5.3903025e-15f, v11);
  let v15 = fma(v11, v11, -1e-30f);
  let v16 = (v9 & 0x1u);
  let v17 = (v16 << 29u);
  let v18 = bitcast<f32>(v17);
  let v20 = (0.0f < v18);
  let v23 = select(-0.00019494575f, 2.440948e-5f, v20);
  let v26 = select(0.008332007f, -0.0013887107f, v20);
  let v27 = fma(v23, v15, v26);
  let v30 = select(-0.16666652f, 0.04166664f, v20);
  let v31 = fma(v27, v15, v30);
  let v32 = select(v11, v15, v20);
  let v33 = (v9 << 30u);
  let v34 = bitcast<u32>(v32);
  let v36 = (v33 & 0x80000000u);
  let v37 = (v34 + v36);
  let v38 = bitcast<f32>(v37);
  let v41 = fma(v15, -0.5f, 1.0f);
  let v42 = select(v13, v41, v20);
  let v43 = bitcast<u32>(v42);
  let v44 = (v43 + v36);
  let v45 = bitcast<f32>(v44);
  let v46 = (v38 * v15);
  let v47 = fma(v46, v31, v45);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
FN f32 f_near_sin(f32 a) {
  let v3 = fma(a, 0.63661975f, 12582912.0f);
  let v4 = (f_fence(v3) - 12582912.0f);
  let v5 = bitcast<u32>(v3);
  let v7 = f_fused(v4, -1.5707963f, a);
  let v9 = f_fused(v4, -7.5497894e-8f, v7);
  let v11 = f_fused(v4, -5.3903025e-15f, v9);
  let v13 = fma(v9, v9, -1e-30f);
  let v15 = (v5 & 0x1u);
  let v16 = (v15 << 29u);
  let v17 = bitcast<f32>(v16);
  let v19 = (0.0f < v17);
  let v22 = select(-0.00019494575f, 2.440948e-5f, v19);
  let v25 = select(0.008332007f, -0.0013887107f, v19);
  let v26 = fma(v22, v13, v25);
  let v29 = select(-0.16666652f, 0.04166664f, v19);
  let v30 = fma(v26, v13, v29);
  let v31 = select(v9, v13, v19);
  let v32 = (v5 << 30u);
  let v33 = bitcast<u32>(v31);
  let v35 = (v32 & 0x80000000u);
  let v36 = (v33 + v35);
  let v37 = bitcast<f32>(v36);
  let v40 = fma(v13, -0.5f, 1.0f);
  let v41 = select(v11, v40, v19);
  let v42 = bitcast<u32>(v41);
  let v43 = (v42 + v35);
  let v44 = bitcast<f32>(v43);
  let v45 = (v37 * v13);
  let v46 = fma(v45, v30, v44);
  let v47 = f_is_nan(a);
  let v48 = select(v46, a, v47);
  return v48;
}
extern "C" __global__ void __launch_bounds__(256)
entry(const u32* __restrict__ m0, u32* __restrict__ m1, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 24u) {
    return;
  }
  let v2 = (v1 % 12u);
  let v3 = ((v1 / 12u) * 60u);
  let v4 = (p[0].y + (v3 + v2));
  let v5 = vec2<f32>(bitcast<f32>(m0[(v4 * 2u)]), bitcast<f32>(m0[((v4 * 2u) + 1u)]));
  let v6 = (p[0].z + (v3 + (v2 + 12u)));
  let v7 = vec2<f32>(bitcast<f32>(m0[(v6 * 2u)]), bitcast<f32>(m0[((v6 * 2u) + 1u)]));
  let v8 = (p[0].w + (v3 + (v2 + 24u)));
  let v9 = vec2<f32>(bitcast<f32>(m0[(v8 * 2u)]), bitcast<f32>(m0[((v8 * 2u) + 1u)]));
  let v10 = (p[1].x + (v3 + (v2 + 36u)));
  let v11 = vec2<f32>(bitcast<f32>(m0[(v10 * 2u)]), bitcast<f32>(m0[((v10 * 2u) + 1u)]));
  let v12 = (p[1].y + (v3 + (v2 + 48u)));
  let v13 = vec2<f32>(bitcast<f32>(m0[(v12 * 2u)]), bitcast<f32>(m0[((v12 * 2u) + 1u)]));
  let v14 = (v2 % 12u);
  let v15 = (v14 * 8u);
  let v16 = (v15 / 60u);
  let v17 = v15 - (v16 * 60u);
  let v18 = (v16 & 1u) == 1u;
  let v19 = select(v17, 60u - v17, v18);
  let v20 = (f32(v19) / f32(60u)) * bitcast<f32>(p[1].z);
  let v21 = f_near_cos(v20);
  let v22 = f_near_sin(v20);
  let v23 = ((v16 + 1u) >> 1u) & 3u;
  let v24 = select(v22, -v22, v18);
  let v25 = select(select(v21, -v24, v23 == 1u), select(-v21, v24, v23 == 3u), v23 >= 2u);
  let v26 = select(select(v24, v21, v23 == 1u), select(-v24, -v21, v23 == 3u), v23 >= 2u);
  let v27 = vec2<f32>(v25, -v26);
  let v28 = vec2<f32>(fma(v7.x, v27.x, -(v7.y * v27.y)), fma(v7.x, v27.y, v7.y * v27.x));
  let v29 = vec2<f32>(fma(v27.x, v27.x, -(v27.y * v27.y)), fma(v27.x, v27.y, v27.y * v27.x));
  let v30 = vec2<f32>(fma(v9.x, v29.x, -(v9.y * v29.y)), fma(v9.x, v29.y, v9.y * v29.x));
  let v31 = vec2<f32>(fma(v29.x, v27.x, -(v29.y * v27.y)), fma(v29.x, v27.y, v29.y * v27.x));
  let v32 = vec2<f32>(fma(v11.x, v31.x, -(v11.y * v31.y)), fma(v11.x, v31.y, v11.y * v31.x));
  let v33 = vec2<f32>(fma(v31.x, v27.x, -(v31.y * v27.y)), fma(v31.x, v27.y, v31.y * v27.x));
  let v34 = vec2<f32>(fma(v13.x, v33.x, -(v13.y * v33.y)), fma(v13.x, v33.y, v13.y * v33.x));
  let v35 = (((v2 / 12u) * 12u) * 5u);
  let v36 = vec2<f32>(((((v5.x + v28.x) + v30.x) + v32.x) + v34.x), ((((v5.y + v28.y) + v30.y) + v32.y) + v34.y));
  let v37 = vec2<f32>(fma(-0.95105654f, v34.y, fma(0.309017f, v34.x, fma(-0.58778524f, v32.y, fma(-0.809017f, v32.x, fma(0.58778524f, v30.y, fma(-0.809017f, v30.x, fma(0.95105654f, v28.y, fma(0.309017f, v28.x, v5.x)))))))), fma(0.95105654f, v34.x, fma(0.309017f, v34.y, fma(0.58778524f, v32.x, fma(-0.809017f, v32.y, fma(-0.58778524f, v30.x, fma(-0.809017f, v30.y, fma(-0.95105654f, v28.x, fma(0.309017f, v28.y, v5.y)))))))));
  let v38 = vec2<f32>(fma(-0.58778524f, v34.y, fma(-0.809017f, v34.x, fma(0.95105654f, v32.y, fma(0.309017f, v32.x, fma(-0.95105654f, v30.y, fma(0.309017f, v30.x, fma(0.58778524f, v28.y, fma(-0.809017f, v28.x, v5.x)))))))), fma(0.58778524f, v34.x, fma(-0.809017f, v34.y, fma(-0.95105654f, v32.x, fma(0.309017f, v32.y, fma(0.95105654f, v30.x, fma(0.309017f, v30.y, fma(-0.58778524f, v28.x, fma(-0.809017f, v28.y, v5.y)))))))));
  let v39 = vec2<f32>(fma(0.58778524f, v34.y, fma(-0.809017f, v34.x, fma(-0.95105654f, v32.y, fma(0.309017f, v32.x, fma(0.95105654f, v30.y, fma(0.309017f, v30.x, fma(-0.58778524f, v28.y, fma(-0.809017f, v28.x, v5.x)))))))), fma(-0.58778524f, v34.x, fma(-0.809017f, v34.y, fma(0.95105654f, v32.x, fma(0.309017f, v32.y, fma(-0.95105654f, v30.x, fma(0.309017f, v30.y, fma(0.58778524f, v28.x, fma(-0.809017f, v28.y, v5.y)))))))));
  let v40 = vec2<f32>(fma(0.95105654f, v34.y, fma(0.309017f, v34.x, fma(0.58778524f, v32.y, fma(-0.809017f, v32.x, fma(-0.58778524f, v30.y, fma(-0.809017f, v30.x, fma(-0.95105654f, v28.y, fma(0.309017f, v28.x, v5.x)))))))), fma(-0.95105654f, v34.x, fma(0.309017f, v34.y, fma(-0.58778524f, v32.x, fma(-0.809017f, v32.y, fma(0.58778524f, v30.x, fma(-0.809017f, v30.y, fma(0.95105654f, v28.x, fma(0.309017f, v28.y, v5.y)))))))));
  let v41 = (p[1].w + (v3 + (v35 + v14)));
  let v42 = (v41 * 2u);
  m1[v42] = bitcast<u32>(v36.x);
  m1[(v42 + 1u)] = bitcast<u32>(v36.y);
  let v43 = (p[2].x + (v3 + ((v35 + v14) + 12u)));
  let v44 = (v43 * 2u);
  m1[v44] = bitcast<u32>(v37.x);
  m1[(v44 + 1u)] = bitcast<u32>(v37.y);
  let v45 = (p[2].y + (v3 + ((v35 + v14) + 24u)));
  let v46 = (v45 * 2u);
  m1[v46] = bitcast<u32>(v38.x);
  m1[(v46 + 1u)] = bitcast<u32>(v38.y);
  let v47 = (p[2].z + (v3 + ((v35 + v14) + 36u)));
  let v48 = (v47 * 2u);
  m1[v48] = bitcast<u32>(v39.x);
  m1[(v48 + 1u)] = bitcast<u32>(v39.y);
  let v49 = (p[2].w + (v3 + ((v35 + v14) + 48u)));
  let v50 = (v49 * 2u);
  m1[v50] = bitcast<u32>(v40.x);
  m1[(v50 + 1u)] = bitcast<u32>(v40.y);
}
