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
  let v45 = f_is_nan(a);
  let v46 = select(v44, a, v45);
  return v46;
}
extern "C" __global__ void __launch_bounds__(256)
entry(vec4<u32>* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  __shared__ vec4<f32> parts[256];
  let v1 = bitcast<f32>(p[0].y);
  let v2 = (group.y * groups.x + group.x) * 256u + local;
  let v3 = v2 % 16u;
  let v4 = v2 / 16u;
  let v5 = v3 == 0u && v4 < 1200u;
  let v6 = min(v4, 1200u - 1u);
  let v7 = (p[0].z + (v6 * 4u));
  let v8 = m0[(v7 / 4u)];
  let v9 = bitcast<f32>(v8.x);
  let v10 = bitcast<f32>(v8.y);
  let v11 = bitcast<f32>(v8.z);
  let v12 = bitcast<f32>(v8.w);
  let v13 = (v6 / 300u);
  let v14 = (v6 % 300u);
  let v15 = 0u;
  let v16 = 300u;
  var v17 = -3.0e38f;
  var v18 = 0.0f;
  var v19 = 0.0f;
  var v20 = 0.0f;
  var v21 = 0.0f;
  var v22 = 0.0f;
  let v23 = (v13 * 300u);
  for (var v24 = v15 + v3 * 4u; v24 < v16; v24 = v24 + 64u) {
    let v25 = (v23 + v24);
    let v26 = (p[0].w + (v25 * 4u));
    let v27 = m0[(v26 / 4u)];
    let v28 = bitcast<f32>(v27.x);
    let v29 = bitcast<f32>(v27.y);
    let v30 = bitcast<f32>(v27.z);
    let v31 = bitcast<f32>(v27.w);
    let v32 = (v9 * v28);
    let v33 = (v10 * v29);
    let v34 = (v11 * v30);
    let v35 = (v12 * v31);
    let v36 = v32 + v33 + v34 + v35;
    let v37 = v36 * v1;
    let v38 = min(v24 + 1u, v16 - 1u);
    let v39 = (v23 + v38);
    let v40 = (p[1].x + (v39 * 4u));
    let v41 = m0[(v40 / 4u)];
    let v42 = bitcast<f32>(v41.x);
    let v43 = bitcast<f32>(v41.y);
    let v44 = bitcast<f32>(v41.z);
    let v45 = bitcast<f32>(v41.w);
    let v46 = (v9 * v42);
    let v47 = (v10 * v43);
    let v48 = (v11 * v44);
    let v49 = (v12 * v45);
    let v50 = v46 + v47 + v48 + v49;
    let v51 = v50 * v1;
    let v52 = select(-3.0e38f, v51, v24 + 1u < v16);
    let v53 = min(v24 + 2u, v16 - 1u);
    let v54 = (v23 + v53);
    let v55 = (p[1].y + (v54 * 4u));
    let v56 = m0[(v55 / 4u)];
    let v57 = bitcast<f32>(v56.x);
    let v58 = bitcast<f32>(v56.y);
    let v59 = bitcast<f32>(v56.z);
    let v60 = bitcast<f32>(v56.w);
    let v61 = (v9 * v57);
    let v62 = (v10 * v58);
    let v63 = (v11 * v59);
    let v64 = (v12 * v60);
    let v65 = v61 + v62 + v63 + v64;
    let v66 = v65 * v1;
    let v67 = select(-3.0e38f, v66, v24 + 2u < v16);
    let v68 = min(v24 + 3u, v16 - 1u);
    let v69 = (v23 + v68);
    let v70 = (p[1].z + (v69 * 4u));
    let v71 = m0[(v70 / 4u)];
    let v72 = bitcast<f32>(v71.x);
    let v73 = bitcast<f32>(v71.y);
    let v74 = bitcast<f32>(v71.z);
    let v75 = bitcast<f32>(v71.w);
    let v76 = (v9 * v72);
    let v77 = (v10 * v73);
    let v78 = (v11 * v74);
    let v79 = (v12 * v75);
    let v80 = v76 + v77 + v78 + v79;
    let v81 = v80 * v1;
    let v82 = select(-3.0e38f, v81, v24 + 3u < v16);
    let v83 = f_maximum(f_maximum(f_maximum(f_maximum(v17, v37), v52), v67), v82);
    let v84 = f_exp(v17 - v83);
    v17 = v83;
    v18 = v18 * v84;
    v19 = v19 * v84;
    v20 = v20 * v84;
    v21 = v21 * v84;
    v22 = v22 * v84;
    let v85 = f_exp(v37 - v83);
    v18 = v18 + v85;
    let v86 = (p[1].w + (v25 * 4u));
    let v87 = m0[(v86 / 4u)];
    let v88 = bitcast<f32>(v87.x);
    let v89 = bitcast<f32>(v87.y);
    let v90 = bitcast<f32>(v87.z);
    let v91 = bitcast<f32>(v87.w);
    v19 = fma(v85, v88, v19);
    v20 = fma(v85, v89, v20);
    v21 = fma(v85, v90, v21);
    v22 = fma(v85, v91, v22);
    let v92 = select(0.0f, f_exp(v52 - v83), v24 + 1u < v16);
    v18 = v18 + v92;
    let v93 = (p[2].x + (v39 * 4u));
    let v94 = m0[(v93 / 4u)];
    let v95 = bitcast<f32>(v94.x);
    let v96 = bitcast<f32>(v94.y);
    let v97 = bitcast<f32>(v94.z);
    let v98 = bitcast<f32>(v94.w);
    v19 = fma(v92, v95, v19);
    v20 = fma(v92, v96, v20);
    v21 = fma(v92, v97, v21);
    v22 = fma(v92, v98, v22);
    let v99 = select(0.0f, f_exp(v67 - v83), v24 + 2u < v16);
    v18 = v18 + v99;
    let v100 = (p[2].y + (v54 * 4u));
    let v101 = m0[(v100 / 4u)];
    let v102 = bitcast<f32>(v101.x);
    let v103 = bitcast<f32>(v101.y);
    let v104 = bitcast<f32>(v101.z);
    let v105 = bitcast<f32>(v101.w);
    v19 = fma(v99, v102, v19);
    v20 = fma(v99, v103, v20);
    v21 = fma(v99, v104, v21);
    v22 = fma(v99, v105, v22);
    let v106 = select(0.0f, f_exp(v82 - v83), v24 + 3u < v16);
    v18 = v18 + v106;
    let v107 = (p[2].z + (v69 * 4u));
    let v108 = m0[(v107 / 4u)];
    let v109 = bitcast<f32>(v108.x);
    let v110 = bitcast<f32>(v108.y);
    let v111 = bitcast<f32>(v108.z);
    let v112 = bitcast<f32>(v108.w);
    v19 = fma(v106, v109, v19);
    v20 = fma(v106, v110, v20);
    v21 = fma(v106, v111, v21);
    v22 = fma(v106, v112, v22);
  }
  let v113 = v17;
  parts[local] = vec4<f32>(v17, 0.0f, 0.0f, 0.0f);
  workgroupBarrier();
  if (v3 < 8u) {
    let v114 = parts[local];
    let v115 = parts[local + 8u];
    parts[local] = vec4<f32>(f_maximum(v114.x, v115.x), f_maximum(v114.y, v115.y), f_maximum(v114.z, v115.z), f_maximum(v114.w, v115.w));
  }
  workgroupBarrier();
  if (v3 < 4u) {
    let v116 = parts[local];
    let v117 = parts[local + 4u];
    parts[local] = vec4<f32>(f_maximum(v116.x, v117.x), f_maximum(v116.y, v117.y), f_maximum(v116.z, v117.z), f_maximum(v116.w, v117.w));
  }
  workgroupBarrier();
  if (v3 < 2u) {
    let v118 = parts[local];
    let v119 = parts[local + 2u];
    parts[local] = vec4<f32>(f_maximum(v118.x, v119.x), f_maximum(v118.y, v119.y), f_maximum(v118.z, v119.z), f_maximum(v118.w, v119.w));
  }
  workgroupBarrier();
  if (v3 < 1u) {
    let v120 = parts[local];
    let v121 = parts[local + 1u];
    parts[local] = vec4<f32>(f_maximum(v120.x, v121.x), f_maximum(v120.y, v121.y), f_maximum(v120.z, v121.z), f_maximum(v120.w, v121.w));
  }
  workgroupBarrier();
  let v122 = parts[local - v3];
  v17 = v122.x;
  workgroupBarrier();
  let v123 = f_exp(v113 - v17);
  v19 = v19 * v123;
  v20 = v20 * v123;
  v21 = v21 * v123;
  v22 = v22 * v123;
  v18 = v18 * v123;
  parts[local] = vec4<f32>(v18, v19, v20, v21);
  workgroupBarrier();
  if (v3 < 8u) {
    let v124 = parts[local];
    let v125 = parts[local + 8u];
    parts[local] = vec4<f32>((v124.x + v125.x), (v124.y + v125.y), (v124.z + v125.z), (v124.w + v125.w));
  }
  workgroupBarrier();
  if (v3 < 4u) {
    let v126 = parts[local];
    let v127 = parts[local + 4u];
    parts[local] = vec4<f32>((v126.x + v127.x), (v126.y + v127.y), (v126.z + v127.z), (v126.w + v127.w));
  }
  workgroupBarrier();
  if (v3 < 2u) {
    let v128 = parts[local];
    let v129 = parts[local + 2u];
    parts[local] = vec4<f32>((v128.x + v129.x), (v128.y + v129.y), (v128.z + v129.z), (v128.w + v129.w));
  }
  workgroupBarrier();
  if (v3 < 1u) {
    let v130 = parts[local];
    let v131 = parts[local + 1u];
    parts[local] = vec4<f32>((v130.x + v131.x), (v130.y + v131.y), (v130.z + v131.z), (v130.w + v131.w));
  }
  workgroupBarrier();
  let v132 = parts[local - v3];
  v18 = v132.x;
  v19 = v132.y;
  v20 = v132.z;
  v21 = v132.w;
  workgroupBarrier();
  parts[local] = vec4<f32>(v22, 0.0f, 0.0f, 0.0f);
  workgroupBarrier();
  if (v3 < 8u) {
    let v133 = parts[local];
    let v134 = parts[local + 8u];
    parts[local] = vec4<f32>((v133.x + v134.x), (v133.y + v134.y), (v133.z + v134.z), (v133.w + v134.w));
  }
  workgroupBarrier();
  if (v3 < 4u) {
    let v135 = parts[local];
    let v136 = parts[local + 4u];
    parts[local] = vec4<f32>((v135.x + v136.x), (v135.y + v136.y), (v135.z + v136.z), (v135.w + v136.w));
  }
  workgroupBarrier();
  if (v3 < 2u) {
    let v137 = parts[local];
    let v138 = parts[local + 2u];
    parts[local] = vec4<f32>((v137.x + v138.x), (v137.y + v138.y), (v137.z + v138.z), (v137.w + v138.w));
  }
  workgroupBarrier();
  if (v3 < 1u) {
    let v139 = parts[local];
    let v140 = parts[local + 1u];
    parts[local] = vec4<f32>((v139.x + v140.x), (v139.y + v140.y), (v139.z + v140.z), (v139.w + v140.w));
  }
  workgroupBarrier();
  let v141 = parts[local - v3];
  v22 = v141.x;
  workgroupBarrier();
  let v142 = 1.0f / select(v18, 1.0f, v18 == 0.0f);
  let v143 = v19 * v142;
  let v144 = v20 * v142;
  let v145 = v21 * v142;
  let v146 = v22 * v142;
  if (v5) {
    let v147 = (p[2].w + (v6 * 4u));
    m0[(v147 / 4u)] = vec4<u32>(bitcast<u32>(v143), bitcast<u32>(v144), bitcast<u32>(v145), bitcast<u32>(v146));
  }
}
