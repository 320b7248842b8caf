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
FN f32 f_max_found(f32 a, f32 b) {
  return select(a, b, !f_is_nan(a) && ((a < b) || f_is_nan(b)));
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
  __shared__ f32 s0[256];
  let v1 = local % 32u;
  let v2 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v3 = min(v2, 40u - 1u);
  let v4 = v2 < 40u;
  var v5 = f_bits(0xff800000u);
  let v6 = (v1 * 4u) < 300u;
  let v7 = min((v1 * 4u), 300u - 4u);
  let v8 = (p[0].y + ((v3 * 300u) + v7));
  let v9 = m0[(v8 / 4u)];
  let v10 = bitcast<f32>(v9.x);
  let v11 = bitcast<f32>(v9.y);
  let v12 = bitcast<f32>(v9.z);
  let v13 = bitcast<f32>(v9.w);
  v5 = select(v5, f_max_found(v5, v10), v6);
  v5 = select(v5, f_max_found(v5, v11), v6);
  v5 = select(v5, f_max_found(v5, v12), v6);
  v5 = select(v5, f_max_found(v5, v13), v6);
  let v14 = ((v1 * 4u) + 128u) < 300u;
  let v15 = min(((v1 * 4u) + 128u), 300u - 4u);
  let v16 = (p[0].y + ((v3 * 300u) + v15));
  let v17 = m0[(v16 / 4u)];
  let v18 = bitcast<f32>(v17.x);
  let v19 = bitcast<f32>(v17.y);
  let v20 = bitcast<f32>(v17.z);
  let v21 = bitcast<f32>(v17.w);
  v5 = select(v5, f_max_found(v5, v18), v14);
  v5 = select(v5, f_max_found(v5, v19), v14);
  v5 = select(v5, f_max_found(v5, v20), v14);
  v5 = select(v5, f_max_found(v5, v21), v14);
  let v22 = ((v1 * 4u) + 256u) < 300u;
  let v23 = min(((v1 * 4u) + 256u), 300u - 4u);
  let v24 = (p[0].y + ((v3 * 300u) + v23));
  let v25 = m0[(v24 / 4u)];
  let v26 = bitcast<f32>(v25.x);
  let v27 = bitcast<f32>(v25.y);
  let v28 = bitcast<f32>(v25.z);
  let v29 = bitcast<f32>(v25.w);
  v5 = select(v5, f_max_found(v5, v26), v22);
  v5 = select(v5, f_max_found(v5, v27), v22);
  v5 = select(v5, f_max_found(v5, v28), v22);
  v5 = select(v5, f_max_found(v5, v29), v22);
  s0[local] = v5;
  workgroupBarrier();
  let v30 = (local / 32u) * 32u;
  if (v1 < 4u) {
    let v31 = s0[local];
    let v32 = f_max_found(v31, s0[local + 4u]);
    let v33 = f_max_found(v32, s0[local + 8u]);
    let v34 = f_max_found(v33, s0[local + 12u]);
    let v35 = f_max_found(v34, s0[local + 16u]);
    let v36 = f_max_found(v35, s0[local + 20u]);
    let v37 = f_max_found(v36, s0[local + 24u]);
    let v38 = f_max_found(v37, s0[local + 28u]);
    s0[local] = v38;
  }
  workgroupBarrier();
  let v39 = s0[v30 + 0u];
  let v40 = f_max_found(v39, s0[v30 + 1u]);
  let v41 = f_max_found(v40, s0[v30 + 2u]);
  let v42 = f_max_found(v41, s0[v30 + 3u]);
  workgroupBarrier();
  var v43 = f_bits(0x80000000u);
  let v44 = (v1 * 4u) < 300u;
  let v45 = (v10 - v42);
  let v46 = f_exp(v45);
  let v47 = (v11 - v42);
  let v48 = f_exp(v47);
  let v49 = (v12 - v42);
  let v50 = f_exp(v49);
  let v51 = (v13 - v42);
  let v52 = f_exp(v51);
  v43 = select(v43, (v43 + v46), v44);
  v43 = select(v43, (v43 + v48), v44);
  v43 = select(v43, (v43 + v50), v44);
  v43 = select(v43, (v43 + v52), v44);
  let v53 = ((v1 * 4u) + 128u) < 300u;
  let v54 = (v18 - v42);
  let v55 = f_exp(v54);
  let v56 = (v19 - v42);
  let v57 = f_exp(v56);
  let v58 = (v20 - v42);
  let v59 = f_exp(v58);
  let v60 = (v21 - v42);
  let v61 = f_exp(v60);
  v43 = select(v43, (v43 + v55), v53);
  v43 = select(v43, (v43 + v57), v53);
  v43 = select(v43, (v43 + v59), v53);
  v43 = select(v43, (v43 + v61), v53);
  let v62 = ((v1 * 4u) + 256u) < 300u;
  let v63 = (v26 - v42);
  let v64 = f_exp(v63);
  let v65 = (v27 - v42);
  let v66 = f_exp(v65);
  let v67 = (v28 - v42);
  let v68 = f_exp(v67);
  let v69 = (v29 - v42);
  let v70 = f_exp(v69);
  v43 = select(v43, (v43 + v64), v62);
  v43 = select(v43, (v43 + v66), v62);
  v43 = select(v43, (v43 + v68), v62);
  v43 = select(v43, (v43 + v70), v62);
  s0[local] = v43;
  workgroupBarrier();
  let v71 = (local / 32u) * 32u;
  if (v1 < 4u) {
    let v72 = s0[local];
    let v73 = (v72 + s0[local + 4u]);
    let v74 = (v73 + s0[local + 8u]);
    let v75 = (v74 + s0[local + 12u]);
    let v76 = (v75 + s0[local + 16u]);
    let v77 = (v76 + s0[local + 20u]);
    let v78 = (v77 + s0[local + 24u]);
    let v79 = (v78 + s0[local + 28u]);
    s0[local] = v79;
  }
  workgroupBarrier();
  let v80 = s0[v71 + 0u];
  let v81 = (v80 + s0[v71 + 1u]);
  let v82 = (v81 + s0[v71 + 2u]);
  let v83 = (v82 + s0[v71 + 3u]);
  workgroupBarrier();
  let v84 = (v1 * 4u) < 300u;
  let v85 = (v46 / v83);
  let v86 = (v48 / v83);
  let v87 = (v50 / v83);
  let v88 = (v52 / v83);
  if (v4 && v84) {
    m0[((p[0].z + ((v3 * 300u) + v7)) / 4u)] = vec4<u32>(bitcast<u32>(v85), bitcast<u32>(v86), bitcast<u32>(v87), bitcast<u32>(v88));
  }
  let v89 = ((v1 * 4u) + 128u) < 300u;
  let v90 = (v55 / v83);
  let v91 = (v57 / v83);
  let v92 = (v59 / v83);
  let v93 = (v61 / v83);
  if (v4 && v89) {
    m0[((p[0].z + ((v3 * 300u) + v15)) / 4u)] = vec4<u32>(bitcast<u32>(v90), bitcast<u32>(v91), bitcast<u32>(v92), bitcast<u32>(v93));
  }
  let v94 = ((v1 * 4u) + 256u) < 300u;
  let v95 = (v64 / v83);
  let v96 = (v66 / v83);
  let v97 = (v68 / v83);
  let v98 = (v70 / v83);
  if (v4 && v94) {
    m0[((p[0].z + ((v3 * 300u) + v23)) / 4u)] = vec4<u32>(bitcast<u32>(v95), bitcast<u32>(v96), bitcast<u32>(v97), bitcast<u32>(v98));
  }
}
