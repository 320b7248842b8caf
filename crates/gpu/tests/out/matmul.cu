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
  const auto finish = [&](f32 x0, f32 x1, f32 x2, f32 x3, u32 place, u32 left) {
  let v1 = (p[0].y + place);
  m0[v1] = bitcast<u32>(x0);
  m0[(v1 + 1u)] = bitcast<u32>(x1);
  m0[(v1 + 2u)] = bitcast<u32>(x2);
  m0[(v1 + 3u)] = bitcast<u32>(x3);
  };
  let v2 = (group.y * groups.x + group.x);
  let v3 = ((v2 % 3u) * 64u);
  let v4 = (v2 / 3u);
  let v5 = ((v4 % 4u) * 64u);
  let v6 = (v4 / 4u);
  let v7 = p[0].z;
  let v8 = p[0].w;
  let v9 = p[1].x;
  let v10 = local % 16u;
  let v11 = local / 16u;
  var v12 = 0.0f;
  var v13 = 0.0f;
  var v14 = 0.0f;
  var v15 = 0.0f;
  var v16 = 0.0f;
  var v17 = 0.0f;
  var v18 = 0.0f;
  var v19 = 0.0f;
  var v20 = 0.0f;
  var v21 = 0.0f;
  var v22 = 0.0f;
  var v23 = 0.0f;
  var v24 = 0.0f;
  var v25 = 0.0f;
  var v26 = 0.0f;
  var v27 = 0.0f;
  for (var v28 = 0u; v28 < 128u; v28 = v28 + 16u) {
    let v29 = local / 16u;
    let v30 = local % 16u;
    let v31 = (v5 + (v29 * 4u));
    let v32 = (v28 + v30);
    let v33 = ((v7 + (v31 * 128u)) + v32);
    let v34 = ((v7 + ((v31 + 1u) * 128u)) + v32);
    let v35 = ((v7 + ((v31 + 2u) * 128u)) + v32);
    let v36 = ((v7 + ((v31 + 3u) * 128u)) + v32);
    ta[v30 * 16u + v29] = vec4<f32>(bitcast<f32>(m0[v33]), bitcast<f32>(m0[v34]), bitcast<f32>(m0[v35]), bitcast<f32>(m0[v36]));
    let v37 = local % 16u;
    let v38 = local / 16u;
    let v39 = (v3 + (v37 * 4u));
    let v40 = (v28 + v38);
    let v41 = ((v8 + v39) + (v40 * 192u));
    tb[v38 * 16u + v37] = vec4<f32>(bitcast<f32>(m0[v41]), bitcast<f32>(m0[(v41 + 1u)]), bitcast<f32>(m0[(v41 + 2u)]), bitcast<f32>(m0[(v41 + 3u)]));
    workgroupBarrier();
    for (var v42 = 0u; v42 < 16u; v42 = v42 + 1u) {
      let v43 = ta[v42 * 16u + v11 + 0u];
      let v44 = tb[v42 * 16u + v10 + 0u];
      v12 = fma(v43.x, v44.x, v12);
      v13 = fma(v43.x, v44.y, v13);
      v14 = fma(v43.x, v44.z, v14);
      v15 = fma(v43.x, v44.w, v15);
      v16 = fma(v43.y, v44.x, v16);
      v17 = fma(v43.y, v44.y, v17);
      v18 = fma(v43.y, v44.z, v18);
      v19 = fma(v43.y, v44.w, v19);
      v20 = fma(v43.z, v44.x, v20);
      v21 = fma(v43.z, v44.y, v21);
      v22 = fma(v43.z, v44.z, v22);
      v23 = fma(v43.z, v44.w, v23);
      v24 = fma(v43.w, v44.x, v24);
      v25 = fma(v43.w, v44.y, v25);
      v26 = fma(v43.w, v44.z, v26);
      v27 = fma(v43.w, v44.w, v27);
    }
    workgroupBarrier();
  }
  let v45 = v5 + v11 * 4u + 0u;
  if (v45 < 256u) {
    let v46 = v3 + v10 * 4u + 0u;
    if (v46 < 192u) {
      finish(v12, v13, v14, v15, ((v9 + (v45 * 192u)) + v46), 192u - v46);
    }
  }
  let v47 = v5 + v11 * 4u + 1u;
  if (v47 < 256u) {
    let v48 = v3 + v10 * 4u + 0u;
    if (v48 < 192u) {
      finish(v16, v17, v18, v19, ((v9 + (v47 * 192u)) + v48), 192u - v48);
    }
  }
  let v49 = v5 + v11 * 4u + 2u;
  if (v49 < 256u) {
    let v50 = v3 + v10 * 4u + 0u;
    if (v50 < 192u) {
      finish(v20, v21, v22, v23, ((v9 + (v49 * 192u)) + v50), 192u - v50);
    }
  }
  let v51 = v5 + v11 * 4u + 3u;
  if (v51 < 256u) {
    let v52 = v3 + v10 * 4u + 0u;
    if (v52 < 192u) {
      finish(v24, v25, v26, v27, ((v9 + (v51 * 192u)) + v52), 192u - v52);
    }
  }
}
