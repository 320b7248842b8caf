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
  return v44;
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
  if (v1 < 16u) {
    s0[local] = f_max_found(s0[local], s0[local + 16u]);
  }
  workgroupBarrier();
  if (v1 < 8u) {
    s0[local] = f_max_found(s0[local], s0[local + 8u]);
  }
  workgroupBarrier();
  if (v1 < 4u) {
    s0[local] = f_max_found(s0[local], s0[local + 4u]);
  }
  workgroupBarrier();
  if (v1 < 2u) {
    s0[local] = f_max_found(s0[local], s0[local + 2u]);
  }
  workgroupBarrier();
  if (v1 < 1u) {
    s0[local] = f_max_found(s0[local], s0[local + 1u]);
  }
  workgroupBarrier();
  let v30 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  var v31 = f_bits(0x80000000u);
  let v32 = (v1 * 4u) < 300u;
  let v33 = (v10 - v30);
  let v34 = f_exp(v33);
  let v35 = (v11 - v30);
  let v36 = f_exp(v35);
  let v37 = (v12 - v30);
  let v38 = f_exp(v37);
  let v39 = (v13 - v30);
  let v40 = f_exp(v39);
  v31 = select(v31, (v31 + v34), v32);
  v31 = select(v31, (v31 + v36), v32);
  v31 = select(v31, (v31 + v38), v32);
  v31 = select(v31, (v31 + v40), v32);
  let v41 = ((v1 * 4u) + 128u) < 300u;
  let v42 = (v18 - v30);
  let v43 = f_exp(v42);
  let v44 = (v19 - v30);
  let v45 = f_exp(v44);
  let v46 = (v20 - v30);
  let v47 = f_exp(v46);
  let v48 = (v21 - v30);
  let v49 = f_exp(v48);
  v31 = select(v31, (v31 + v43), v41);
  v31 = select(v31, (v31 + v45), v41);
  v31 = select(v31, (v31 + v47), v41);
  v31 = select(v31, (v31 + v49), v41);
  let v50 = ((v1 * 4u) + 256u) < 300u;
  let v51 = (v26 - v30);
  let v52 = f_exp(v51);
  let v53 = (v27 - v30);
  let v54 = f_exp(v53);
  let v55 = (v28 - v30);
  let v56 = f_exp(v55);
  let v57 = (v29 - v30);
  let v58 = f_exp(v57);
  v31 = select(v31, (v31 + v52), v50);
  v31 = select(v31, (v31 + v54), v50);
  v31 = select(v31, (v31 + v56), v50);
  v31 = select(v31, (v31 + v58), v50);
  s0[local] = v31;
  workgroupBarrier();
  if (v1 < 16u) {
    s0[local] = (s0[local] + s0[local + 16u]);
  }
  workgroupBarrier();
  if (v1 < 8u) {
    s0[local] = (s0[local] + s0[local + 8u]);
  }
  workgroupBarrier();
  if (v1 < 4u) {
    s0[local] = (s0[local] + s0[local + 4u]);
  }
  workgroupBarrier();
  if (v1 < 2u) {
    s0[local] = (s0[local] + s0[local + 2u]);
  }
  workgroupBarrier();
  if (v1 < 1u) {
    s0[local] = (s0[local] + s0[local + 1u]);
  }
  workgroupBarrier();
  let v59 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  let v60 = (v1 * 4u) < 300u;
  let v61 = (v34 / v59);
  let v62 = (v36 / v59);
  let v63 = (v38 / v59);
  let v64 = (v40 / v59);
  if (v4 && v60) {
    m0[((p[0].z + ((v3 * 300u) + v7)) / 4u)] = vec4<u32>(bitcast<u32>(v61), bitcast<u32>(v62), bitcast<u32>(v63), bitcast<u32>(v64));
  }
  let v65 = ((v1 * 4u) + 128u) < 300u;
  let v66 = (v43 / v59);
  let v67 = (v45 / v59);
  let v68 = (v47 / v59);
  let v69 = (v49 / v59);
  if (v4 && v65) {
    m0[((p[0].z + ((v3 * 300u) + v15)) / 4u)] = vec4<u32>(bitcast<u32>(v66), bitcast<u32>(v67), bitcast<u32>(v68), bitcast<u32>(v69));
  }
  let v70 = ((v1 * 4u) + 256u) < 300u;
  let v71 = (v52 / v59);
  let v72 = (v54 / v59);
  let v73 = (v56 / v59);
  let v74 = (v58 / v59);
  if (v4 && v70) {
    m0[((p[0].z + ((v3 * 300u) + v23)) / 4u)] = vec4<u32>(bitcast<u32>(v71), bitcast<u32>(v72), bitcast<u32>(v73), bitcast<u32>(v74));
  }
}
