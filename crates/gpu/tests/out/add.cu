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
  if (v1 >= 256u) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = (p[0].y + v2);
  let v4 = m0[(v3 / 4u)];
  let v5 = bitcast<f32>(v4.x);
  let v6 = bitcast<f32>(v4.y);
  let v7 = bitcast<f32>(v4.z);
  let v8 = bitcast<f32>(v4.w);
  let v9 = (p[0].z + v2);
  let v10 = m0[(v9 / 4u)];
  let v11 = bitcast<f32>(v10.x);
  let v12 = bitcast<f32>(v10.y);
  let v13 = bitcast<f32>(v10.z);
  let v14 = bitcast<f32>(v10.w);
  let v15 = (v5 + v11);
  let v16 = (v6 + v12);
  let v17 = (v7 + v13);
  let v18 = (v8 + v14);
  m0[((p[0].w + v2) / 4u)] = vec4<u32>(bitcast<u32>(v15), bitcast<u32>(v16), bitcast<u32>(v17), bitcast<u32>(v18));
}
