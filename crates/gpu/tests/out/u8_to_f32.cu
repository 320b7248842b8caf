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
  let v1 = bitcast<f32>(p[0].z);
  let v2 = (group.y * groups.x + group.x) * 256u + local;
  if (v2 >= 84u) {
    return;
  }
  let v3 = (v2 * 4u);
  let v4 = min((v3 + 1u), 332u);
  let v5 = min((v3 + 2u), 332u);
  let v6 = min((v3 + 3u), 332u);
  let v7 = (p[0].y + v3);
  let v8 = (v7 / 4u);
  let v9 = m0[v8];
  let v10 = ((v9 >> 0u) & 0xffu);
  let v11 = ((v9 >> 8u) & 0xffu);
  let v12 = ((v9 >> 16u) & 0xffu);
  let v13 = ((v9 >> 24u) & 0xffu);
  let v14 = f32(v10);
  let v15 = (v14 * v1);
  let v16 = f32(v11);
  let v17 = (v16 * v1);
  let v18 = f32(v12);
  let v19 = (v18 * v1);
  let v20 = f32(v13);
  let v21 = (v20 * v1);
  m0[(p[0].w + v3)] = bitcast<u32>(v15);
  m0[((p[0].w + v3) + 1u)] = bitcast<u32>(v17);
  m0[((p[0].w + v3) + 2u)] = bitcast<u32>(v19);
  m0[((p[0].w + v3) + 3u)] = bitcast<u32>(v21);
}
