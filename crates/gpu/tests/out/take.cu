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
  let v1 = vec2<u32>(p[0].z, p[0].w);
  let v2 = vec2<u32>(p[1].x, p[1].y);
  let v3 = p[1].z;
  let v4 = (group.y * groups.x + group.x) * 256u + local;
  if (v4 >= 1u) {
    return;
  }
  var v5 = 0xffffffffu;
  let v6 = p[0].y;
  let v7 = vec2<u32>(m0[(v6 * 2u)], m0[((v6 * 2u) + 1u)]);
  let v8 = v7;
  let v9 = !l_less(v8, v1);
  let v10 = l_less(v8, v2);
  let v11 = (v9 && v10);
  let v12 = bitcast<i32>(0u);
  let v13 = bitcast<u32>(v12);
  let v14 = select(v13, v3, v11);
  v5 = u_minimum(v5, v14);
  let v15 = (p[0].y + 1u);
  let v16 = vec2<u32>(m0[(v15 * 2u)], m0[((v15 * 2u) + 1u)]);
  let v17 = v16;
  let v18 = !l_less(v17, v1);
  let v19 = l_less(v17, v2);
  let v20 = (v18 && v19);
  let v21 = bitcast<i32>(1u);
  let v22 = bitcast<u32>(v21);
  let v23 = select(v22, v3, v20);
  v5 = u_minimum(v5, v23);
  let v24 = (p[0].y + 2u);
  let v25 = vec2<u32>(m0[(v24 * 2u)], m0[((v24 * 2u) + 1u)]);
  let v26 = v25;
  let v27 = !l_less(v26, v1);
  let v28 = l_less(v26, v2);
  let v29 = (v27 && v28);
  let v30 = bitcast<i32>(2u);
  let v31 = bitcast<u32>(v30);
  let v32 = select(v31, v3, v29);
  v5 = u_minimum(v5, v32);
  let v33 = (p[0].y + 3u);
  let v34 = vec2<u32>(m0[(v33 * 2u)], m0[((v33 * 2u) + 1u)]);
  let v35 = v34;
  let v36 = !l_less(v35, v1);
  let v37 = l_less(v35, v2);
  let v38 = (v36 && v37);
  let v39 = bitcast<i32>(3u);
  let v40 = bitcast<u32>(v39);
  let v41 = select(v40, v3, v38);
  v5 = u_minimum(v5, v41);
  let v42 = (p[0].y + 4u);
  let v43 = vec2<u32>(m0[(v42 * 2u)], m0[((v42 * 2u) + 1u)]);
  let v44 = v43;
  let v45 = !l_less(v44, v1);
  let v46 = l_less(v44, v2);
  let v47 = (v45 && v46);
  let v48 = bitcast<i32>(4u);
  let v49 = bitcast<u32>(v48);
  let v50 = select(v49, v3, v47);
  v5 = u_minimum(v5, v50);
  let v51 = (p[0].y + 5u);
  let v52 = vec2<u32>(m0[(v51 * 2u)], m0[((v51 * 2u) + 1u)]);
  let v53 = v52;
  let v54 = !l_less(v53, v1);
  let v55 = l_less(v53, v2);
  let v56 = (v54 && v55);
  let v57 = bitcast<i32>(5u);
  let v58 = bitcast<u32>(v57);
  let v59 = select(v58, v3, v56);
  v5 = u_minimum(v5, v59);
  let v60 = (p[0].y + 6u);
  let v61 = vec2<u32>(m0[(v60 * 2u)], m0[((v60 * 2u) + 1u)]);
  let v62 = v61;
  let v63 = !l_less(v62, v1);
  let v64 = l_less(v62, v2);
  let v65 = (v63 && v64);
  let v66 = bitcast<i32>(6u);
  let v67 = bitcast<u32>(v66);
  let v68 = select(v67, v3, v65);
  v5 = u_minimum(v5, v68);
  let v69 = (p[0].y + 7u);
  let v70 = vec2<u32>(m0[(v69 * 2u)], m0[((v69 * 2u) + 1u)]);
  let v71 = v70;
  let v72 = !l_less(v71, v1);
  let v73 = l_less(v71, v2);
  let v74 = (v72 && v73);
  let v75 = bitcast<i32>(7u);
  let v76 = bitcast<u32>(v75);
  let v77 = select(v76, v3, v74);
  v5 = u_minimum(v5, v77);
  let v78 = (p[0].y + 8u);
  let v79 = vec2<u32>(m0[(v78 * 2u)], m0[((v78 * 2u) + 1u)]);
  let v80 = v79;
  let v81 = !l_less(v80, v1);
  let v82 = l_less(v80, v2);
  let v83 = (v81 && v82);
  let v84 = bitcast<i32>(8u);
  let v85 = bitcast<u32>(v84);
  let v86 = select(v85, v3, v83);
  v5 = u_minimum(v5, v86);
  m1[p[1].w] = v5;
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
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 54u) {
    return;
  }
  let v2 = (v1 % 6u);
  let v3 = (v1 / 6u);
  let v4 = (v3 % 9u);
  let v5 = (v3 / 9u);
  let v6 = (p[0].z + v4);
  let v7 = vec2<u32>(m0[(v6 * 2u)], m0[((v6 * 2u) + 1u)]);
  let v8 = select(0u, v7.x, (v7.y == 0u && v7.x < 10u));
  let v9 = (p[0].w + ((((v5 * 10u) + v8) * 6u) + v2));
  let v10 = bitcast<f32>(m0[v9]);
  let v11 = (p[0].y + v1);
  m0[v11] = bitcast<u32>(v10);
}
