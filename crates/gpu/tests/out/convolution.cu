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
  __shared__ vec4<f32> ta[256];
  __shared__ vec4<f32> tb[256];
  let v1 = (group.y * groups.x + group.x);
  let v2 = ((v1 % 3u) * 64u);
  let v3 = (v1 / 3u);
  let v4 = local % 16u;
  let v5 = local / 16u;
  let v6 = (local + 0u) % 16u;
  let v7 = (local + 0u) / 16u;
  let v8 = min(v2 + v6 * 4u + 0u, 162u - 1u);
  let v9 = (v8 / 81u);
  let v10 = (v8 % 81u);
  let v11 = (v10 % 9u);
  let v12 = (v10 / 9u);
  let v13 = (p[0].y + (v9 * 324u));
  let v14 = (v12 - 1u);
  let v15 = (v11 - 1u);
  let v16 = min(v2 + v6 * 4u + 1u, 162u - 1u);
  let v17 = (v16 / 81u);
  let v18 = (v16 % 81u);
  let v19 = (v18 % 9u);
  let v20 = (v18 / 9u);
  let v21 = (p[0].z + (v17 * 324u));
  let v22 = (v20 - 1u);
  let v23 = (v19 - 1u);
  let v24 = min(v2 + v6 * 4u + 2u, 162u - 1u);
  let v25 = (v24 / 81u);
  let v26 = (v24 % 81u);
  let v27 = (v26 % 9u);
  let v28 = (v26 / 9u);
  let v29 = (p[0].w + (v25 * 324u));
  let v30 = (v28 - 1u);
  let v31 = (v27 - 1u);
  let v32 = min(v2 + v6 * 4u + 3u, 162u - 1u);
  let v33 = (v32 / 81u);
  let v34 = (v32 % 81u);
  let v35 = (v34 % 9u);
  let v36 = (v34 / 9u);
  let v37 = (p[1].x + (v33 * 324u));
  let v38 = (v36 - 1u);
  let v39 = (v35 - 1u);
  let v40 = p[1].y;
  var v41 = 0.0f;
  var v42 = 0.0f;
  var v43 = 0.0f;
  var v44 = 0.0f;
  var v45 = 0.0f;
  var v46 = 0.0f;
  var v47 = 0.0f;
  var v48 = 0.0f;
  var v49 = 0.0f;
  var v50 = 0.0f;
  var v51 = 0.0f;
  var v52 = 0.0f;
  var v53 = 0.0f;
  var v54 = 0.0f;
  var v55 = 0.0f;
  var v56 = 0.0f;
  let v57 = (v3 * 48u);
  let v58 = min(v57 + 48u, 36u);
  for (var v59 = v57; v59 < v58; v59 = v59 + 16u) {
    let v60 = (local + 0u) / 16u;
    let v61 = (local + 0u) % 16u;
    let v62 = v59 + v61;
    let v63 = min(0u + v60 * 4u + 0u, 16u - 1u);
    let v64 = (v40 + (v63 * 36u + min(v62, 36u - 1u)));
    let v65 = min(0u + v60 * 4u + 1u, 16u - 1u);
    let v66 = (v40 + (v65 * 36u + min(v62, 36u - 1u)));
    let v67 = min(0u + v60 * 4u + 2u, 16u - 1u);
    let v68 = (v40 + (v67 * 36u + min(v62, 36u - 1u)));
    let v69 = min(0u + v60 * 4u + 3u, 16u - 1u);
    let v70 = (v40 + (v69 * 36u + min(v62, 36u - 1u)));
    ta[v61 * 16u + v60] = vec4<f32>(select(0.0f, bitcast<f32>(m0[v64]), v62 < v58), select(0.0f, bitcast<f32>(m0[v66]), v62 < v58), select(0.0f, bitcast<f32>(m0[v68]), v62 < v58), select(0.0f, bitcast<f32>(m0[v70]), v62 < v58));
    let v71 = v59 + v7;
    let v72 = (v71 % 3u);
    let v73 = (v71 / 3u);
    let v74 = (v73 % 3u);
    let v75 = (v73 / 3u);
    let v76 = (v14 + v74);
    let v77 = (v15 + v72);
    let v78 = v71 < v58 && v76 < 9u && v77 < 9u;
    let v79 = (v13 + select(0u, (((v75 * 81u) + (v76 * 9u)) + v77), v78));
    let v80 = (v22 + v74);
    let v81 = (v23 + v72);
    let v82 = v71 < v58 && v80 < 9u && v81 < 9u;
    let v83 = (v21 + select(0u, (((v75 * 81u) + (v80 * 9u)) + v81), v82));
    let v84 = (v30 + v74);
    let v85 = (v31 + v72);
    let v86 = v71 < v58 && v84 < 9u && v85 < 9u;
    let v87 = (v29 + select(0u, (((v75 * 81u) + (v84 * 9u)) + v85), v86));
    let v88 = (v38 + v74);
    let v89 = (v39 + v72);
    let v90 = v71 < v58 && v88 < 9u && v89 < 9u;
    let v91 = (v37 + select(0u, (((v75 * 81u) + (v88 * 9u)) + v89), v90));
    tb[v7 * 16u + v6] = vec4<f32>(select(0.0f, bitcast<f32>(m0[v79]), v78), select(0.0f, bitcast<f32>(m0[v83]), v82), select(0.0f, bitcast<f32>(m0[v87]), v86), select(0.0f, bitcast<f32>(m0[v91]), v90));
    workgroupBarrier();
    for (var v92 = 0u; v92 < 16u; v92 = v92 + 1u) {
      let v93 = ta[v92 * 16u + v5 + 0u];
      let v94 = tb[v92 * 16u + v4 + 0u];
      v41 = fma(v93.x, v94.x, v41);
      v42 = fma(v93.x, v94.y, v42);
      v43 = fma(v93.x, v94.z, v43);
      v44 = fma(v93.x, v94.w, v44);
      v45 = fma(v93.y, v94.x, v45);
      v46 = fma(v93.y, v94.y, v46);
      v47 = fma(v93.y, v94.z, v47);
      v48 = fma(v93.y, v94.w, v48);
      v49 = fma(v93.z, v94.x, v49);
      v50 = fma(v93.z, v94.y, v50);
      v51 = fma(v93.z, v94.z, v51);
      v52 = fma(v93.z, v94.w, v52);
      v53 = fma(v93.w, v94.x, v53);
      v54 = fma(v93.w, v94.y, v54);
      v55 = fma(v93.w, v94.z, v55);
      v56 = fma(v93.w, v94.w, v56);
    }
    workgroupBarrier();
  }
  let v95 = (p[1].z + (v3 * 2592u));
  let v96 = v2 + v4 * 4u + 0u;
  if (v96 < 162u) {
    let v97 = (v95 + ((((v96 / 81u) * 16u) * 81u) + (v96 % 81u)));
    let v98 = 0u + v5 * 4u + 0u;
    if (v98 < 16u) {
      let v99 = (v97 + (v98 * 81u));
      m0[v99] = bitcast<u32>(v41);
    }
    let v100 = 0u + v5 * 4u + 1u;
    if (v100 < 16u) {
      let v101 = (v97 + (v100 * 81u));
      m0[v101] = bitcast<u32>(v45);
    }
    let v102 = 0u + v5 * 4u + 2u;
    if (v102 < 16u) {
      let v103 = (v97 + (v102 * 81u));
      m0[v103] = bitcast<u32>(v49);
    }
    let v104 = 0u + v5 * 4u + 3u;
    if (v104 < 16u) {
      let v105 = (v97 + (v104 * 81u));
      m0[v105] = bitcast<u32>(v53);
    }
  }
  let v106 = v2 + v4 * 4u + 1u;
  if (v106 < 162u) {
    let v107 = (v95 + ((((v106 / 81u) * 16u) * 81u) + (v106 % 81u)));
    let v108 = 0u + v5 * 4u + 0u;
    if (v108 < 16u) {
      let v109 = (v107 + (v108 * 81u));
      m0[v109] = bitcast<u32>(v42);
    }
    let v110 = 0u + v5 * 4u + 1u;
    if (v110 < 16u) {
      let v111 = (v107 + (v110 * 81u));
      m0[v111] = bitcast<u32>(v46);
    }
    let v112 = 0u + v5 * 4u + 2u;
    if (v112 < 16u) {
      let v113 = (v107 + (v112 * 81u));
      m0[v113] = bitcast<u32>(v50);
    }
    let v114 = 0u + v5 * 4u + 3u;
    if (v114 < 16u) {
      let v115 = (v107 + (v114 * 81u));
      m0[v115] = bitcast<u32>(v54);
    }
  }
  let v116 = v2 + v4 * 4u + 2u;
  if (v116 < 162u) {
    let v117 = (v95 + ((((v116 / 81u) * 16u) * 81u) + (v116 % 81u)));
    let v118 = 0u + v5 * 4u + 0u;
    if (v118 < 16u) {
      let v119 = (v117 + (v118 * 81u));
      m0[v119] = bitcast<u32>(v43);
    }
    let v120 = 0u + v5 * 4u + 1u;
    if (v120 < 16u) {
      let v121 = (v117 + (v120 * 81u));
      m0[v121] = bitcast<u32>(v47);
    }
    let v122 = 0u + v5 * 4u + 2u;
    if (v122 < 16u) {
      let v123 = (v117 + (v122 * 81u));
      m0[v123] = bitcast<u32>(v51);
    }
    let v124 = 0u + v5 * 4u + 3u;
    if (v124 < 16u) {
      let v125 = (v117 + (v124 * 81u));
      m0[v125] = bitcast<u32>(v55);
    }
  }
  let v126 = v2 + v4 * 4u + 3u;
  if (v126 < 162u) {
    let v127 = (v95 + ((((v126 / 81u) * 16u) * 81u) + (v126 % 81u)));
    let v128 = 0u + v5 * 4u + 0u;
    if (v128 < 16u) {
      let v129 = (v127 + (v128 * 81u));
      m0[v129] = bitcast<u32>(v44);
    }
    let v130 = 0u + v5 * 4u + 1u;
    if (v130 < 16u) {
      let v131 = (v127 + (v130 * 81u));
      m0[v131] = bitcast<u32>(v48);
    }
    let v132 = 0u + v5 * 4u + 2u;
    if (v132 < 16u) {
      let v133 = (v127 + (v132 * 81u));
      m0[v133] = bitcast<u32>(v52);
    }
    let v134 = 0u + v5 * 4u + 3u;
    if (v134 < 16u) {
      let v135 = (v127 + (v134 * 81u));
      m0[v135] = bitcast<u32>(v56);
    }
  }
}
