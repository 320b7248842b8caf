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
extern "C" __global__ void __launch_bounds__(128)
entry(vec4<u32>* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  __shared__ vec4<f32> ta[256];
  __shared__ vec4<f32> tb[128];
  __shared__ vec4<f32> weights[512];
  let v1 = bitcast<f32>(p[0].y);
  let v2 = (group.y * groups.x + group.x);
  let v3 = (v2 / 5u);
  let v4 = ((v2 % 5u) * 64u);
  let v5 = local % 8u;
  let v6 = local / 8u;
  let v7 = v4 + v6 * 4u + 0u;
  let v8 = v4 + v6 * 4u + 1u;
  let v9 = v4 + v6 * 4u + 2u;
  let v10 = v4 + v6 * 4u + 3u;
  let v11 = (p[0].z + ((v3 * 300u) * 4u));
  let v12 = (p[0].w + ((v3 * 300u) * 4u));
  let v13 = (p[1].x + ((v3 * 300u) * 4u));
  let v14 = 0u;
  let v15 = 300u;
  let v16 = 0u;
  let v17 = 300u;
  let v18 = 0u;
  let v19 = 300u;
  let v20 = 0u;
  let v21 = 300u;
  var v22 = -3.0e38f;
  var v23 = -3.0e38f;
  var v24 = -3.0e38f;
  var v25 = -3.0e38f;
  var v26 = 0.0f;
  var v27 = 0.0f;
  var v28 = 0.0f;
  var v29 = 0.0f;
  var v30 = 0.0f;
  var v31 = 0.0f;
  var v32 = 0.0f;
  var v33 = 0.0f;
  var v34 = 0.0f;
  var v35 = 0.0f;
  var v36 = 0.0f;
  var v37 = 0.0f;
  var v38 = 0.0f;
  var v39 = 0.0f;
  var v40 = 0.0f;
  var v41 = 0.0f;
  var v42 = 0.0f;
  var v43 = 0.0f;
  var v44 = 0.0f;
  var v45 = 0.0f;
  let v46 = min(v4 + 63u, 300u - 1u);
  let v47 = 0u;
  let v48 = 300u;
  let v49 = 0u;
  let v50 = 300u;
  for (var v51 = v47; v51 < v50; v51 = v51 + 32u) {
    var v52 = 0.0f;
    var v53 = 0.0f;
    var v54 = 0.0f;
    var v55 = 0.0f;
    var v56 = 0.0f;
    var v57 = 0.0f;
    var v58 = 0.0f;
    var v59 = 0.0f;
    var v60 = 0.0f;
    var v61 = 0.0f;
    var v62 = 0.0f;
    var v63 = 0.0f;
    var v64 = 0.0f;
    var v65 = 0.0f;
    var v66 = 0.0f;
    var v67 = 0.0f;
    for (var v68 = 0u; v68 < 4u; v68 = v68 + 16u) {
      if (local < 64u) {
        let v69 = local / 4u;
        let v70 = local % 4u;
        let v71 = (v4 + (v69 * 4u));
        let v72 = (v68 + (v70 * 4u));
        let v73 = min(v72, 4u - 4u);
        let v74 = min(v71, 300u - 1u);
        let v75 = ((v11 + (v74 * 4u)) + v73);
        let v76 = m0[(v75 / 4u)];
        let v77 = select(0.0f, bitcast<f32>(v76.x), v72 < 4u);
        let v78 = select(0.0f, bitcast<f32>(v76.y), v72 < 4u);
        let v79 = select(0.0f, bitcast<f32>(v76.z), v72 < 4u);
        let v80 = select(0.0f, bitcast<f32>(v76.w), v72 < 4u);
        let v81 = min((v71 + 1u), 300u - 1u);
        let v82 = ((v11 + (v81 * 4u)) + v73);
        let v83 = m0[(v82 / 4u)];
        let v84 = select(0.0f, bitcast<f32>(v83.x), v72 < 4u);
        let v85 = select(0.0f, bitcast<f32>(v83.y), v72 < 4u);
        let v86 = select(0.0f, bitcast<f32>(v83.z), v72 < 4u);
        let v87 = select(0.0f, bitcast<f32>(v83.w), v72 < 4u);
        let v88 = min((v71 + 2u), 300u - 1u);
        let v89 = ((v11 + (v88 * 4u)) + v73);
        let v90 = m0[(v89 / 4u)];
        let v91 = select(0.0f, bitcast<f32>(v90.x), v72 < 4u);
        let v92 = select(0.0f, bitcast<f32>(v90.y), v72 < 4u);
        let v93 = select(0.0f, bitcast<f32>(v90.z), v72 < 4u);
        let v94 = select(0.0f, bitcast<f32>(v90.w), v72 < 4u);
        let v95 = min((v71 + 3u), 300u - 1u);
        let v96 = ((v11 + (v95 * 4u)) + v73);
        let v97 = m0[(v96 / 4u)];
        let v98 = select(0.0f, bitcast<f32>(v97.x), v72 < 4u);
        let v99 = select(0.0f, bitcast<f32>(v97.y), v72 < 4u);
        let v100 = select(0.0f, bitcast<f32>(v97.z), v72 < 4u);
        let v101 = select(0.0f, bitcast<f32>(v97.w), v72 < 4u);
        let v102 = v70 * 64u + (v69 ^ (v70 * 2u));
        ta[v102 + 0u] = vec4<f32>(v77, v84, v91, v98);
        ta[v102 + 16u] = vec4<f32>(v78, v85, v92, v99);
        ta[v102 + 32u] = vec4<f32>(v79, v86, v93, v100);
        ta[v102 + 48u] = vec4<f32>(v80, v87, v94, v101);
      }
      if (local < 32u) {
        let v103 = local / 4u;
        let v104 = local % 4u;
        let v105 = (v51 + (v103 * 4u));
        let v106 = (v68 + (v104 * 4u));
        let v107 = min(v106, 4u - 4u);
        let v108 = min(v105, 300u - 1u);
        let v109 = ((v12 + (v108 * 4u)) + v107);
        let v110 = m0[(v109 / 4u)];
        let v111 = select(0.0f, bitcast<f32>(v110.x), v106 < 4u);
        let v112 = select(0.0f, bitcast<f32>(v110.y), v106 < 4u);
        let v113 = select(0.0f, bitcast<f32>(v110.z), v106 < 4u);
        let v114 = select(0.0f, bitcast<f32>(v110.w), v106 < 4u);
        let v115 = min((v105 + 1u), 300u - 1u);
        let v116 = ((v12 + (v115 * 4u)) + v107);
        let v117 = m0[(v116 / 4u)];
        let v118 = select(0.0f, bitcast<f32>(v117.x), v106 < 4u);
        let v119 = select(0.0f, bitcast<f32>(v117.y), v106 < 4u);
        let v120 = select(0.0f, bitcast<f32>(v117.z), v106 < 4u);
        let v121 = select(0.0f, bitcast<f32>(v117.w), v106 < 4u);
        let v122 = min((v105 + 2u), 300u - 1u);
        let v123 = ((v12 + (v122 * 4u)) + v107);
        let v124 = m0[(v123 / 4u)];
        let v125 = select(0.0f, bitcast<f32>(v124.x), v106 < 4u);
        let v126 = select(0.0f, bitcast<f32>(v124.y), v106 < 4u);
        let v127 = select(0.0f, bitcast<f32>(v124.z), v106 < 4u);
        let v128 = select(0.0f, bitcast<f32>(v124.w), v106 < 4u);
        let v129 = min((v105 + 3u), 300u - 1u);
        let v130 = ((v12 + (v129 * 4u)) + v107);
        let v131 = m0[(v130 / 4u)];
        let v132 = select(0.0f, bitcast<f32>(v131.x), v106 < 4u);
        let v133 = select(0.0f, bitcast<f32>(v131.y), v106 < 4u);
        let v134 = select(0.0f, bitcast<f32>(v131.z), v106 < 4u);
        let v135 = select(0.0f, bitcast<f32>(v131.w), v106 < 4u);
        let v136 = v104 * 32u + (v103 ^ (v104 * 2u));
        tb[v136 + 0u] = vec4<f32>(v111, v118, v125, v132);
        tb[v136 + 8u] = vec4<f32>(v112, v119, v126, v133);
        tb[v136 + 16u] = vec4<f32>(v113, v120, v127, v134);
        tb[v136 + 24u] = vec4<f32>(v114, v121, v128, v135);
      }
      workgroupBarrier();
      for (var v137 = 0u; v137 < 16u; v137 = v137 + 1u) {
        let v138 = ta[v137 * 16u + ((v6) ^ (v137 / 4u * 2u))];
        let v139 = tb[v137 * 8u + ((v5) ^ (v137 / 4u * 2u))];
        v52 = fma(v138.x, v139.x, v52);
        v53 = fma(v138.x, v139.y, v53);
        v54 = fma(v138.x, v139.z, v54);
        v55 = fma(v138.x, v139.w, v55);
        v56 = fma(v138.y, v139.x, v56);
        v57 = fma(v138.y, v139.y, v57);
        v58 = fma(v138.y, v139.z, v58);
        v59 = fma(v138.y, v139.w, v59);
        v60 = fma(v138.z, v139.x, v60);
        v61 = fma(v138.z, v139.y, v61);
        v62 = fma(v138.z, v139.z, v62);
        v63 = fma(v138.z, v139.w, v63);
        v64 = fma(v138.w, v139.x, v64);
        v65 = fma(v138.w, v139.y, v65);
        v66 = fma(v138.w, v139.z, v66);
        v67 = fma(v138.w, v139.w, v67);
      }
      workgroupBarrier();
    }
    let v140 = v51 + v5 * 4u + 0u;
    let v141 = v51 + v5 * 4u + 1u;
    let v142 = v51 + v5 * 4u + 2u;
    let v143 = v51 + v5 * 4u + 3u;
    let v144 = v140 >= v14 && v140 < v15;
    let v145 = v141 >= v14 && v141 < v15;
    let v146 = v142 >= v14 && v142 < v15;
    let v147 = v143 >= v14 && v143 < v15;
    let v148 = v140 >= v16 && v140 < v17;
    let v149 = v141 >= v16 && v141 < v17;
    let v150 = v142 >= v16 && v142 < v17;
    let v151 = v143 >= v16 && v143 < v17;
    let v152 = v140 >= v18 && v140 < v19;
    let v153 = v141 >= v18 && v141 < v19;
    let v154 = v142 >= v18 && v142 < v19;
    let v155 = v143 >= v18 && v143 < v19;
    let v156 = v140 >= v20 && v140 < v21;
    let v157 = v141 >= v20 && v141 < v21;
    let v158 = v142 >= v20 && v142 < v21;
    let v159 = v143 >= v20 && v143 < v21;
    let v160 = v52 * v1;
    let v161 = select(-3.0e38f, v160, v144);
    let v162 = v53 * v1;
    let v163 = select(-3.0e38f, v162, v145);
    let v164 = v54 * v1;
    let v165 = select(-3.0e38f, v164, v146);
    let v166 = v55 * v1;
    let v167 = select(-3.0e38f, v166, v147);
    let v168 = v56 * v1;
    let v169 = select(-3.0e38f, v168, v148);
    let v170 = v57 * v1;
    let v171 = select(-3.0e38f, v170, v149);
    let v172 = v58 * v1;
    let v173 = select(-3.0e38f, v172, v150);
    let v174 = v59 * v1;
    let v175 = select(-3.0e38f, v174, v151);
    let v176 = v60 * v1;
    let v177 = select(-3.0e38f, v176, v152);
    let v178 = v61 * v1;
    let v179 = select(-3.0e38f, v178, v153);
    let v180 = v62 * v1;
    let v181 = select(-3.0e38f, v180, v154);
    let v182 = v63 * v1;
    let v183 = select(-3.0e38f, v182, v155);
    let v184 = v64 * v1;
    let v185 = select(-3.0e38f, v184, v156);
    let v186 = v65 * v1;
    let v187 = select(-3.0e38f, v186, v157);
    let v188 = v66 * v1;
    let v189 = select(-3.0e38f, v188, v158);
    let v190 = v67 * v1;
    let v191 = select(-3.0e38f, v190, v159);
    let v192 = f_maximum(f_maximum(v161, v163), f_maximum(v165, v167));
    let v193 = f_maximum(f_maximum(v169, v171), f_maximum(v173, v175));
    let v194 = f_maximum(f_maximum(v177, v179), f_maximum(v181, v183));
    let v195 = f_maximum(f_maximum(v185, v187), f_maximum(v189, v191));
    tb[v6 * 8u + (v5 ^ (v6 & 7u))] = vec4<f32>(v192, v193, v194, v195);
    workgroupBarrier();
    let v196 = tb[v6 * 8u + (0u ^ (v6 & 7u))];
    let v197 = tb[v6 * 8u + (1u ^ (v6 & 7u))];
    let v198 = f_maximum(v196.x, v197.x);
    let v199 = f_maximum(v196.y, v197.y);
    let v200 = f_maximum(v196.z, v197.z);
    let v201 = f_maximum(v196.w, v197.w);
    let v202 = tb[v6 * 8u + (2u ^ (v6 & 7u))];
    let v203 = f_maximum(v198, v202.x);
    let v204 = f_maximum(v199, v202.y);
    let v205 = f_maximum(v200, v202.z);
    let v206 = f_maximum(v201, v202.w);
    let v207 = tb[v6 * 8u + (3u ^ (v6 & 7u))];
    let v208 = f_maximum(v203, v207.x);
    let v209 = f_maximum(v204, v207.y);
    let v210 = f_maximum(v205, v207.z);
    let v211 = f_maximum(v206, v207.w);
    let v212 = tb[v6 * 8u + (4u ^ (v6 & 7u))];
    let v213 = f_maximum(v208, v212.x);
    let v214 = f_maximum(v209, v212.y);
    let v215 = f_maximum(v210, v212.z);
    let v216 = f_maximum(v211, v212.w);
    let v217 = tb[v6 * 8u + (5u ^ (v6 & 7u))];
    let v218 = f_maximum(v213, v217.x);
    let v219 = f_maximum(v214, v217.y);
    let v220 = f_maximum(v215, v217.z);
    let v221 = f_maximum(v216, v217.w);
    let v222 = tb[v6 * 8u + (6u ^ (v6 & 7u))];
    let v223 = f_maximum(v218, v222.x);
    let v224 = f_maximum(v219, v222.y);
    let v225 = f_maximum(v220, v222.z);
    let v226 = f_maximum(v221, v222.w);
    let v227 = tb[v6 * 8u + (7u ^ (v6 & 7u))];
    let v228 = f_maximum(v223, v227.x);
    let v229 = f_maximum(v224, v227.y);
    let v230 = f_maximum(v225, v227.z);
    let v231 = f_maximum(v226, v227.w);
    workgroupBarrier();
    let v232 = f_maximum(v22, v228);
    let v233 = f_exp(v22 - v232);
    v22 = v232;
    let v234 = select(0.0f, f_exp(v161 - v232), v144);
    let v235 = select(0.0f, f_exp(v163 - v232), v145);
    let v236 = select(0.0f, f_exp(v165 - v232), v146);
    let v237 = select(0.0f, f_exp(v167 - v232), v147);
    v26 = v26 * v233 + ((v234 + v235) + (v236 + v237));
    v30 = v30 * v233;
    v31 = v31 * v233;
    v32 = v32 * v233;
    v33 = v33 * v233;
    let v238 = f_maximum(v23, v229);
    let v239 = f_exp(v23 - v238);
    v23 = v238;
    let v240 = select(0.0f, f_exp(v169 - v238), v148);
    let v241 = select(0.0f, f_exp(v171 - v238), v149);
    let v242 = select(0.0f, f_exp(v173 - v238), v150);
    let v243 = select(0.0f, f_exp(v175 - v238), v151);
    v27 = v27 * v239 + ((v240 + v241) + (v242 + v243));
    v34 = v34 * v239;
    v35 = v35 * v239;
    v36 = v36 * v239;
    v37 = v37 * v239;
    let v244 = f_maximum(v24, v230);
    let v245 = f_exp(v24 - v244);
    v24 = v244;
    let v246 = select(0.0f, f_exp(v177 - v244), v152);
    let v247 = select(0.0f, f_exp(v179 - v244), v153);
    let v248 = select(0.0f, f_exp(v181 - v244), v154);
    let v249 = select(0.0f, f_exp(v183 - v244), v155);
    v28 = v28 * v245 + ((v246 + v247) + (v248 + v249));
    v38 = v38 * v245;
    v39 = v39 * v245;
    v40 = v40 * v245;
    v41 = v41 * v245;
    let v250 = f_maximum(v25, v231);
    let v251 = f_exp(v25 - v250);
    v25 = v250;
    let v252 = select(0.0f, f_exp(v185 - v250), v156);
    let v253 = select(0.0f, f_exp(v187 - v250), v157);
    let v254 = select(0.0f, f_exp(v189 - v250), v158);
    let v255 = select(0.0f, f_exp(v191 - v250), v159);
    v29 = v29 * v251 + ((v252 + v253) + (v254 + v255));
    v42 = v42 * v251;
    v43 = v43 * v251;
    v44 = v44 * v251;
    v45 = v45 * v251;
    weights[(v5 * 4u + 0u) * 16u + (v6 ^ v5)] = vec4<f32>(v234, v240, v246, v252);
    weights[(v5 * 4u + 1u) * 16u + (v6 ^ v5)] = vec4<f32>(v235, v241, v247, v253);
    weights[(v5 * 4u + 2u) * 16u + (v6 ^ v5)] = vec4<f32>(v236, v242, v248, v254);
    weights[(v5 * 4u + 3u) * 16u + (v6 ^ v5)] = vec4<f32>(v237, v243, v249, v255);
    for (var v256 = 0u; v256 < 32u; v256 = v256 + 32u) {
      let v257 = (v51 + v256);
      if (local < 32u) {
        let v258 = local % 1u;
        let v259 = local / 1u;
        let v260 = (v258 * 4u);
        let v261 = (v257 + v259);
        let v262 = min(v261, 300u - 1u);
        let v263 = ((v13 + v260) + (v262 * 4u));
        let v264 = m0[(v263 / 4u)];
        ta[v259 * 1u + v258] = vec4<f32>(select(0.0f, bitcast<f32>(v264.x), v261 < 300u), select(0.0f, bitcast<f32>(v264.y), v261 < 300u), select(0.0f, bitcast<f32>(v264.z), v261 < 300u), select(0.0f, bitcast<f32>(v264.w), v261 < 300u));
      }
      workgroupBarrier();
      for (var v265 = 0u; v265 < 32u; v265 = v265 + 1u) {
        let v266 = v256 + v265;
        let v267 = weights[v266 * 16u + (v6 ^ (v266 / 4u))];
        let v268 = ta[v265 * 1u + min(v5 + 0u, 0u)];
        v30 = fma(v267.x, v268.x, v30);
        v31 = fma(v267.x, v268.y, v31);
        v32 = fma(v267.x, v268.z, v32);
        v33 = fma(v267.x, v268.w, v33);
        v34 = fma(v267.y, v268.x, v34);
        v35 = fma(v267.y, v268.y, v35);
        v36 = fma(v267.y, v268.z, v36);
        v37 = fma(v267.y, v268.w, v37);
        v38 = fma(v267.z, v268.x, v38);
        v39 = fma(v267.z, v268.y, v39);
        v40 = fma(v267.z, v268.z, v40);
        v41 = fma(v267.z, v268.w, v41);
        v42 = fma(v267.w, v268.x, v42);
        v43 = fma(v267.w, v268.y, v43);
        v44 = fma(v267.w, v268.z, v44);
        v45 = fma(v267.w, v268.w, v45);
      }
      workgroupBarrier();
    }
  }
  tb[v6 * 8u + (v5 ^ (v6 & 7u))] = vec4<f32>(v26, v27, v28, v29);
  workgroupBarrier();
  let v269 = tb[v6 * 8u + (0u ^ (v6 & 7u))];
  let v270 = tb[v6 * 8u + (1u ^ (v6 & 7u))];
  let v271 = (v269.x + v270.x);
  let v272 = (v269.y + v270.y);
  let v273 = (v269.z + v270.z);
  let v274 = (v269.w + v270.w);
  let v275 = tb[v6 * 8u + (2u ^ (v6 & 7u))];
  let v276 = (v271 + v275.x);
  let v277 = (v272 + v275.y);
  let v278 = (v273 + v275.z);
  let v279 = (v274 + v275.w);
  let v280 = tb[v6 * 8u + (3u ^ (v6 & 7u))];
  let v281 = (v276 + v280.x);
  let v282 = (v277 + v280.y);
  let v283 = (v278 + v280.z);
  let v284 = (v279 + v280.w);
  let v285 = tb[v6 * 8u + (4u ^ (v6 & 7u))];
  let v286 = (v281 + v285.x);
  let v287 = (v282 + v285.y);
  let v288 = (v283 + v285.z);
  let v289 = (v284 + v285.w);
  let v290 = tb[v6 * 8u + (5u ^ (v6 & 7u))];
  let v291 = (v286 + v290.x);
  let v292 = (v287 + v290.y);
  let v293 = (v288 + v290.z);
  let v294 = (v289 + v290.w);
  let v295 = tb[v6 * 8u + (6u ^ (v6 & 7u))];
  let v296 = (v291 + v295.x);
  let v297 = (v292 + v295.y);
  let v298 = (v293 + v295.z);
  let v299 = (v294 + v295.w);
  let v300 = tb[v6 * 8u + (7u ^ (v6 & 7u))];
  let v301 = (v296 + v300.x);
  let v302 = (v297 + v300.y);
  let v303 = (v298 + v300.z);
  let v304 = (v299 + v300.w);
  workgroupBarrier();
  let v305 = 1.0f / select(v301, 1.0f, v301 == 0.0f);
  let v306 = v30 * v305;
  let v307 = v31 * v305;
  let v308 = v32 * v305;
  let v309 = v33 * v305;
  let v310 = 1.0f / select(v302, 1.0f, v302 == 0.0f);
  let v311 = v34 * v310;
  let v312 = v35 * v310;
  let v313 = v36 * v310;
  let v314 = v37 * v310;
  let v315 = 1.0f / select(v303, 1.0f, v303 == 0.0f);
  let v316 = v38 * v315;
  let v317 = v39 * v315;
  let v318 = v40 * v315;
  let v319 = v41 * v315;
  let v320 = 1.0f / select(v304, 1.0f, v304 == 0.0f);
  let v321 = v42 * v320;
  let v322 = v43 * v320;
  let v323 = v44 * v320;
  let v324 = v45 * v320;
  let v325 = (p[1].y + ((v3 * 300u) * 4u));
  if (v7 < 300u) {
    let v326 = (v325 + (v7 * 4u));
    let v327 = v5 + 0u;
    if (v327 < 1u) {
      let v328 = (v326 + (v327 * 4u));
      m0[(v328 / 4u)] = vec4<u32>(bitcast<u32>(v306), bitcast<u32>(v307), bitcast<u32>(v308), bitcast<u32>(v309));
    }
  }
  if (v8 < 300u) {
    let v329 = (v325 + (v8 * 4u));
    let v330 = v5 + 0u;
    if (v330 < 1u) {
      let v331 = (v329 + (v330 * 4u));
      m0[(v331 / 4u)] = vec4<u32>(bitcast<u32>(v311), bitcast<u32>(v312), bitcast<u32>(v313), bitcast<u32>(v314));
    }
  }
  if (v9 < 300u) {
    let v332 = (v325 + (v9 * 4u));
    let v333 = v5 + 0u;
    if (v333 < 1u) {
      let v334 = (v332 + (v333 * 4u));
      m0[(v334 / 4u)] = vec4<u32>(bitcast<u32>(v316), bitcast<u32>(v317), bitcast<u32>(v318), bitcast<u32>(v319));
    }
  }
  if (v10 < 300u) {
    let v335 = (v325 + (v10 * 4u));
    let v336 = v5 + 0u;
    if (v336 < 1u) {
      let v337 = (v335 + (v336 * 4u));
      m0[(v337 / 4u)] = vec4<u32>(bitcast<u32>(v321), bitcast<u32>(v322), bitcast<u32>(v323), bitcast<u32>(v324));
    }
  }
}
