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
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 16u) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = min((v2 + 1u), 62u);
  let v4 = min((v2 + 2u), 62u);
  let v5 = min((v2 + 3u), 62u);
  let v6 = (p[0].y + v2);
  let v7 = m0[(v6 / 4u)];
  let v8 = bitcast<f32>(v7.x);
  let v9 = bitcast<f32>(v7.y);
  let v10 = bitcast<f32>(v7.z);
  let v11 = bitcast<f32>(v7.w);
  let v12 = (p[0].z + v2);
  let v13 = m0[(v12 / 4u)];
  let v14 = bitcast<f32>(v13.x);
  let v15 = bitcast<f32>(v13.y);
  let v16 = bitcast<f32>(v13.z);
  let v17 = bitcast<f32>(v13.w);
  let v18 = (v8 < v14);
  let v19 = select(v14, v8, v18);
  let v20 = (v9 < v15);
  let v21 = select(v15, v9, v20);
  let v22 = (v10 < v16);
  let v23 = select(v16, v10, v22);
  let v24 = (v11 < v17);
  let v25 = select(v17, v11, v24);
  m0[((p[0].w + v2) / 4u)] = vec4<u32>(bitcast<u32>(v19), bitcast<u32>(v21), bitcast<u32>(v23), bitcast<u32>(v25));
}
