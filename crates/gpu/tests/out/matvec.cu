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
  __shared__ f32 s0[256];
  let v1 = local % 32u;
  let v2 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v3 = min(v2, 300u - 1u);
  let v4 = v2 < 300u;
  let v5 = (v3 % 300u);
  let v6 = (v3 / 300u);
  var v7 = f_bits(0x80000000u);
  let v8 = (v1 * 4u) < 500u;
  let v9 = min((v1 * 4u), 500u - 4u);
  let v10 = (p[0].y + v9);
  let v11 = bitcast<f32>(m0[v10]);
  let v12 = bitcast<f32>(m0[(v10 + 1u)]);
  let v13 = bitcast<f32>(m0[(v10 + 2u)]);
  let v14 = bitcast<f32>(m0[(v10 + 3u)]);
  let v15 = (p[0].z + ((v5 * 500u) + v9));
  let v16 = bitcast<f32>(m0[v15]);
  let v17 = bitcast<f32>(m0[(v15 + 1u)]);
  let v18 = bitcast<f32>(m0[(v15 + 2u)]);
  let v19 = bitcast<f32>(m0[(v15 + 3u)]);
  let v20 = (v11 * v16);
  let v21 = (v12 * v17);
  let v22 = (v13 * v18);
  let v23 = (v14 * v19);
  v7 = select(v7, (v7 + v20), v8);
  v7 = select(v7, (v7 + v21), v8);
  v7 = select(v7, (v7 + v22), v8);
  v7 = select(v7, (v7 + v23), v8);
  let v24 = ((v1 * 4u) + 128u) < 500u;
  let v25 = min(((v1 * 4u) + 128u), 500u - 4u);
  let v26 = (p[0].y + v25);
  let v27 = bitcast<f32>(m0[v26]);
  let v28 = bitcast<f32>(m0[(v26 + 1u)]);
  let v29 = bitcast<f32>(m0[(v26 + 2u)]);
  let v30 = bitcast<f32>(m0[(v26 + 3u)]);
  let v31 = (p[0].z + ((v5 * 500u) + v25));
  let v32 = bitcast<f32>(m0[v31]);
  let v33 = bitcast<f32>(m0[(v31 + 1u)]);
  let v34 = bitcast<f32>(m0[(v31 + 2u)]);
  let v35 = bitcast<f32>(m0[(v31 + 3u)]);
  let v36 = (v27 * v32);
  let v37 = (v28 * v33);
  let v38 = (v29 * v34);
  let v39 = (v30 * v35);
  v7 = select(v7, (v7 + v36), v24);
  v7 = select(v7, (v7 + v37), v24);
  v7 = select(v7, (v7 + v38), v24);
  v7 = select(v7, (v7 + v39), v24);
  let v40 = ((v1 * 4u) + 256u) < 500u;
  let v41 = min(((v1 * 4u) + 256u), 500u - 4u);
  let v42 = (p[0].y + v41);
  let v43 = bitcast<f32>(m0[v42]);
  let v44 = bitcast<f32>(m0[(v42 + 1u)]);
  let v45 = bitcast<f32>(m0[(v42 + 2u)]);
  let v46 = bitcast<f32>(m0[(v42 + 3u)]);
  let v47 = (p[0].z + ((v5 * 500u) + v41));
  let v48 = bitcast<f32>(m0[v47]);
  let v49 = bitcast<f32>(m0[(v47 + 1u)]);
  let v50 = bitcast<f32>(m0[(v47 + 2u)]);
  let v51 = bitcast<f32>(m0[(v47 + 3u)]);
  let v52 = (v43 * v48);
  let v53 = (v44 * v49);
  let v54 = (v45 * v50);
  let v55 = (v46 * v51);
  v7 = select(v7, (v7 + v52), v40);
  v7 = select(v7, (v7 + v53), v40);
  v7 = select(v7, (v7 + v54), v40);
  v7 = select(v7, (v7 + v55), v40);
  let v56 = ((v1 * 4u) + 384u) < 500u;
  let v57 = min(((v1 * 4u) + 384u), 500u - 4u);
  let v58 = (p[0].y + v57);
  let v59 = bitcast<f32>(m0[v58]);
  let v60 = bitcast<f32>(m0[(v58 + 1u)]);
  let v61 = bitcast<f32>(m0[(v58 + 2u)]);
  let v62 = bitcast<f32>(m0[(v58 + 3u)]);
  let v63 = (p[0].z + ((v5 * 500u) + v57));
  let v64 = bitcast<f32>(m0[v63]);
  let v65 = bitcast<f32>(m0[(v63 + 1u)]);
  let v66 = bitcast<f32>(m0[(v63 + 2u)]);
  let v67 = bitcast<f32>(m0[(v63 + 3u)]);
  let v68 = (v59 * v64);
  let v69 = (v60 * v65);
  let v70 = (v61 * v66);
  let v71 = (v62 * v67);
  v7 = select(v7, (v7 + v68), v56);
  v7 = select(v7, (v7 + v69), v56);
  v7 = select(v7, (v7 + v70), v56);
  v7 = select(v7, (v7 + v71), v56);
  s0[local] = v7;
  workgroupBarrier();
  let v72 = (local / 32u) * 32u;
  if (v1 < 4u) {
    let v73 = s0[local];
    let v74 = (v73 + s0[local + 4u]);
    let v75 = (v74 + s0[local + 8u]);
    let v76 = (v75 + s0[local + 12u]);
    let v77 = (v76 + s0[local + 16u]);
    let v78 = (v77 + s0[local + 20u]);
    let v79 = (v78 + s0[local + 24u]);
    let v80 = (v79 + s0[local + 28u]);
    s0[local] = v80;
  }
  workgroupBarrier();
  let v81 = s0[v72 + 0u];
  let v82 = (v81 + s0[v72 + 1u]);
  let v83 = (v82 + s0[v72 + 2u]);
  let v84 = (v83 + s0[v72 + 3u]);
  workgroupBarrier();
  if (v4 && v1 == 0u) {
    m0[(p[0].w + v5)] = bitcast<u32>(v84);
  }
}
