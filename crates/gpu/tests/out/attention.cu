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
FN f32 f_round(f32 x) { return rintf(x); }
FN f32 f_fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
FN f32 f_product_error(f32 a, f32 b, f32 product) { return __fmaf_rn(a, b, -product); }
FN u32 countLeadingZeros(u32 x) { return __clz(x); }
FN void workgroupBarrier() { __syncthreads(); }
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN f32 f_maximum(f32 a, f32 b) {
  return select(a, b, (a < b) || f_is_nan(b));
}
FN f32 f_exp(f32 a) {
  let v2 = (a < -104.0f);
  let v4 = select(a, 0.0f, v2);
  let v6 = (89.0f < v4);
  let v7 = select(v4, 89.0f, v6);
  let v10 = fma(v7, 1.442695f, 12582912.0f);
  let v11 = (f_fence(v10) - 12582912.0f);
  let v13 = fma(v11, -0.69314575f, v7);
  let v15 = fma(v11, -1.4286068e-6f, f_fence(v13));
  let v16 = (v15 * v15);
  let v19 = fma(0.0013926326f, v15, 0.008363293f);
  let v21 = fma(v19, v15, 0.041666552f);
  let v23 = fma(v21, v15, 0.16666576f);
  let v25 = fma(v23, v15, 0.5f);
  let v26 = fma(v16, v25, f_fence(v15));
  let v28 = (f_fence(v26) + 1.0f);
  let v29 = bitcast<u32>(v10);
  let v31 = (v29 - 0x4b400000u);
  let v32 = bitcast<u32>(bitcast<i32>(v31) >> 1u);
  let v34 = (v32 + 0x7fu);
  let v35 = (v34 << 23u);
  let v36 = bitcast<f32>(v35);
  let v37 = (v31 - v32);
  let v38 = (v37 + 0x7fu);
  let v39 = (v38 << 23u);
  let v40 = bitcast<f32>(v39);
  let v41 = (v28 * v36);
  let v42 = f_fence(v41);
  let v43 = (v42 * v40);
  let v44 = select(v43, 0.0f, v2);
  return v44;
}
extern "C" __global__ void __launch_bounds__(256)
entry(vec4<u32>* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  let v1 = bitcast<f32>(p[0].y);
  let v2 = (group.y * groups.x + group.x) * 256u + local;
  if (v2 >= 1200u) {
    return;
  }
  let v3 = (p[0].z + (v2 * 4u));
  let v4 = m0[(v3 / 4u)];
  let v5 = bitcast<f32>(v4.x);
  let v6 = bitcast<f32>(v4.y);
  let v7 = bitcast<f32>(v4.z);
  let v8 = bitcast<f32>(v4.w);
  let v9 = (v2 / 300u);
  let v10 = (v2 % 300u);
  let v11 = 0u;
  let v12 = 300u;
  var v13 = -3.0e38f;
  var v14 = 0.0f;
  var v15 = 0.0f;
  var v16 = 0.0f;
  var v17 = 0.0f;
  var v18 = 0.0f;
  let v19 = (v9 * 300u);
  for (var v20 = v11; v20 < v12; v20 = v20 + 4u) {
    let v21 = (v19 + v20);
    let v22 = (p[0].w + (v21 * 4u));
    let v23 = m0[(v22 / 4u)];
    let v24 = bitcast<f32>(v23.x);
    let v25 = bitcast<f32>(v23.y);
    let v26 = bitcast<f32>(v23.z);
    let v27 = bitcast<f32>(v23.w);
    let v28 = (v5 * v24);
    let v29 = (v6 * v25);
    let v30 = (v7 * v26);
    let v31 = (v8 * v27);
    let v32 = v28 + v29 + v30 + v31;
    let v33 = v32 * v1;
    let v34 = min(v20 + 1u, v12 - 1u);
    let v35 = (v19 + v34);
    let v36 = (p[1].x + (v35 * 4u));
    let v37 = m0[(v36 / 4u)];
    let v38 = bitcast<f32>(v37.x);
    let v39 = bitcast<f32>(v37.y);
    let v40 = bitcast<f32>(v37.z);
    let v41 = bitcast<f32>(v37.w);
    let v42 = (v5 * v38);
    let v43 = (v6 * v39);
    let v44 = (v7 * v40);
    let v45 = (v8 * v41);
    let v46 = v42 + v43 + v44 + v45;
    let v47 = v46 * v1;
    let v48 = select(-3.0e38f, v47, v20 + 1u < v12);
    let v49 = min(v20 + 2u, v12 - 1u);
    let v50 = (v19 + v49);
    let v51 = (p[1].y + (v50 * 4u));
    let v52 = m0[(v51 / 4u)];
    let v53 = bitcast<f32>(v52.x);
    let v54 = bitcast<f32>(v52.y);
    let v55 = bitcast<f32>(v52.z);
    let v56 = bitcast<f32>(v52.w);
    let v57 = (v5 * v53);
    let v58 = (v6 * v54);
    let v59 = (v7 * v55);
    let v60 = (v8 * v56);
    let v61 = v57 + v58 + v59 + v60;
    let v62 = v61 * v1;
    let v63 = select(-3.0e38f, v62, v20 + 2u < v12);
    let v64 = min(v20 + 3u, v12 - 1u);
    let v65 = (v19 + v64);
    let v66 = (p[1].z + (v65 * 4u));
    let v67 = m0[(v66 / 4u)];
    let v68 = bitcast<f32>(v67.x);
    let v69 = bitcast<f32>(v67.y);
    let v70 = bitcast<f32>(v67.z);
    let v71 = bitcast<f32>(v67.w);
    let v72 = (v5 * v68);
    let v73 = (v6 * v69);
    let v74 = (v7 * v70);
    let v75 = (v8 * v71);
    let v76 = v72 + v73 + v74 + v75;
    let v77 = v76 * v1;
    let v78 = select(-3.0e38f, v77, v20 + 3u < v12);
    let v79 = f_maximum(f_maximum(f_maximum(f_maximum(v13, v33), v48), v63), v78);
    let v80 = f_exp(v13 - v79);
    v13 = v79;
    v14 = v14 * v80;
    v15 = v15 * v80;
    v16 = v16 * v80;
    v17 = v17 * v80;
    v18 = v18 * v80;
    let v81 = f_exp(v33 - v79);
    v14 = v14 + v81;
    let v82 = (p[1].w + (v21 * 4u));
    let v83 = m0[(v82 / 4u)];
    let v84 = bitcast<f32>(v83.x);
    let v85 = bitcast<f32>(v83.y);
    let v86 = bitcast<f32>(v83.z);
    let v87 = bitcast<f32>(v83.w);
    v15 = fma(v81, v84, v15);
    v16 = fma(v81, v85, v16);
    v17 = fma(v81, v86, v17);
    v18 = fma(v81, v87, v18);
    let v88 = select(0.0f, f_exp(v48 - v79), v20 + 1u < v12);
    v14 = v14 + v88;
    let v89 = (p[2].x + (v35 * 4u));
    let v90 = m0[(v89 / 4u)];
    let v91 = bitcast<f32>(v90.x);
    let v92 = bitcast<f32>(v90.y);
    let v93 = bitcast<f32>(v90.z);
    let v94 = bitcast<f32>(v90.w);
    v15 = fma(v88, v91, v15);
    v16 = fma(v88, v92, v16);
    v17 = fma(v88, v93, v17);
    v18 = fma(v88, v94, v18);
    let v95 = select(0.0f, f_exp(v63 - v79), v20 + 2u < v12);
    v14 = v14 + v95;
    let v96 = (p[2].y + (v50 * 4u));
    let v97 = m0[(v96 / 4u)];
    let v98 = bitcast<f32>(v97.x);
    let v99 = bitcast<f32>(v97.y);
    let v100 = bitcast<f32>(v97.z);
    let v101 = bitcast<f32>(v97.w);
    v15 = fma(v95, v98, v15);
    v16 = fma(v95, v99, v16);
    v17 = fma(v95, v100, v17);
    v18 = fma(v95, v101, v18);
    let v102 = select(0.0f, f_exp(v78 - v79), v20 + 3u < v12);
    v14 = v14 + v102;
    let v103 = (p[2].z + (v65 * 4u));
    let v104 = m0[(v103 / 4u)];
    let v105 = bitcast<f32>(v104.x);
    let v106 = bitcast<f32>(v104.y);
    let v107 = bitcast<f32>(v104.z);
    let v108 = bitcast<f32>(v104.w);
    v15 = fma(v102, v105, v15);
    v16 = fma(v102, v106, v16);
    v17 = fma(v102, v107, v17);
    v18 = fma(v102, v108, v18);
  }
  let v109 = 1.0f / select(v14, 1.0f, v14 == 0.0f);
  let v110 = v15 * v109;
  let v111 = v16 * v109;
  let v112 = v17 * v109;
  let v113 = v18 * v109;
  let v114 = (p[2].w + (v2 * 4u));
  m0[(v114 / 4u)] = vec4<u32>(bitcast<u32>(v110), bitcast<u32>(v111), bitcast<u32>(v112), bitcast<u32>(v113));
}
