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
entry(vec4<u32>* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  __shared__ f32 s0[256];
  let v1 = bitcast<f32>(p[0].z);
  let v2 = bitcast<f32>(p[0].w);
  let v3 = local % 32u;
  let v4 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v5 = min(v4, 40u - 1u);
  let v6 = v4 < 40u;
  var v7 = f_bits(0x80000000u);
  let v8 = (v3 * 4u);
  let v9 = (p[0].y + ((v5 * 256u) + v8));
  let v10 = m0[(v9 / 4u)];
  let v11 = bitcast<f32>(v10.x);
  let v12 = bitcast<f32>(v10.y);
  let v13 = bitcast<f32>(v10.z);
  let v14 = bitcast<f32>(v10.w);
  v7 = (v7 + v11);
  v7 = (v7 + v12);
  v7 = (v7 + v13);
  v7 = (v7 + v14);
  let v15 = ((v3 * 4u) + 128u);
  let v16 = (p[0].y + ((v5 * 256u) + v15));
  let v17 = m0[(v16 / 4u)];
  let v18 = bitcast<f32>(v17.x);
  let v19 = bitcast<f32>(v17.y);
  let v20 = bitcast<f32>(v17.z);
  let v21 = bitcast<f32>(v17.w);
  v7 = (v7 + v18);
  v7 = (v7 + v19);
  v7 = (v7 + v20);
  v7 = (v7 + v21);
  s0[local] = v7;
  workgroupBarrier();
  let v22 = (local / 32u) * 32u;
  if (v3 < 4u) {
    let v23 = s0[local];
    let v24 = (v23 + s0[local + 4u]);
    let v25 = (v24 + s0[local + 8u]);
    let v26 = (v25 + s0[local + 12u]);
    let v27 = (v26 + s0[local + 16u]);
    let v28 = (v27 + s0[local + 20u]);
    let v29 = (v28 + s0[local + 24u]);
    let v30 = (v29 + s0[local + 28u]);
    s0[local] = v30;
  }
  workgroupBarrier();
  let v31 = s0[v22 + 0u];
  let v32 = (v31 + s0[v22 + 1u]);
  let v33 = (v32 + s0[v22 + 2u]);
  let v34 = (v33 + s0[v22 + 3u]);
  workgroupBarrier();
  let v35 = (v34 * v1);
  var v36 = f_bits(0x80000000u);
  let v37 = (v11 - f_fence(v35));
  let v38 = (v37 * v37);
  let v39 = (v12 - f_fence(v35));
  let v40 = (v39 * v39);
  let v41 = (v13 - f_fence(v35));
  let v42 = (v41 * v41);
  let v43 = (v14 - f_fence(v35));
  let v44 = (v43 * v43);
  v36 = (v36 + v38);
  v36 = (v36 + v40);
  v36 = (v36 + v42);
  v36 = (v36 + v44);
  let v45 = (v18 - f_fence(v35));
  let v46 = (v45 * v45);
  let v47 = (v19 - f_fence(v35));
  let v48 = (v47 * v47);
  let v49 = (v20 - f_fence(v35));
  let v50 = (v49 * v49);
  let v51 = (v21 - f_fence(v35));
  let v52 = (v51 * v51);
  v36 = (v36 + v46);
  v36 = (v36 + v48);
  v36 = (v36 + v50);
  v36 = (v36 + v52);
  s0[local] = v36;
  workgroupBarrier();
  let v53 = (local / 32u) * 32u;
  if (v3 < 4u) {
    let v54 = s0[local];
    let v55 = (v54 + s0[local + 4u]);
    let v56 = (v55 + s0[local + 8u]);
    let v57 = (v56 + s0[local + 12u]);
    let v58 = (v57 + s0[local + 16u]);
    let v59 = (v58 + s0[local + 20u]);
    let v60 = (v59 + s0[local + 24u]);
    let v61 = (v60 + s0[local + 28u]);
    s0[local] = v61;
  }
  workgroupBarrier();
  let v62 = s0[v53 + 0u];
  let v63 = (v62 + s0[v53 + 1u]);
  let v64 = (v63 + s0[v53 + 2u]);
  let v65 = (v64 + s0[v53 + 3u]);
  workgroupBarrier();
  let v66 = (v65 * v1);
  let v67 = (f_fence(v66) + v2);
  let v68 = sqrt(v67);
  let v69 = (v37 / v68);
  let v70 = (v39 / v68);
  let v71 = (v41 / v68);
  let v72 = (v43 / v68);
  if (v6) {
    m0[((p[1].x + ((v5 * 256u) + v8)) / 4u)] = vec4<u32>(bitcast<u32>(v69), bitcast<u32>(v70), bitcast<u32>(v71), bitcast<u32>(v72));
  }
  let v73 = (v45 / v68);
  let v74 = (v47 / v68);
  let v75 = (v49 / v68);
  let v76 = (v51 / v68);
  if (v6) {
    m0[((p[1].x + ((v5 * 256u) + v15)) / 4u)] = vec4<u32>(bitcast<u32>(v73), bitcast<u32>(v74), bitcast<u32>(v75), bitcast<u32>(v76));
  }
}
