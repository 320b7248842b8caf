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
  let v3 = min(v2, 50u - 1u);
  let v4 = v2 < 50u;
  var v5 = f_bits(0x80000000u);
  for (var v6 = (v1 * 4u); v6 < 600u; v6 = v6 + 128u) {
    let v7 = (p[0].y + ((v3 * 600u) + v6));
    let v8 = bitcast<f32>(m0[v7]);
    let v9 = bitcast<f32>(m0[(v7 + 1u)]);
    let v10 = bitcast<f32>(m0[(v7 + 2u)]);
    let v11 = bitcast<f32>(m0[(v7 + 3u)]);
    v5 = (v5 + v8);
    v5 = (v5 + v9);
    v5 = (v5 + v10);
    v5 = (v5 + v11);
  }
  s0[local] = v5;
  workgroupBarrier();
  let v12 = (local / 32u) * 32u;
  if (v1 < 4u) {
    let v13 = s0[local];
    let v14 = (v13 + s0[local + 4u]);
    let v15 = (v14 + s0[local + 8u]);
    let v16 = (v15 + s0[local + 12u]);
    let v17 = (v16 + s0[local + 16u]);
    let v18 = (v17 + s0[local + 20u]);
    let v19 = (v18 + s0[local + 24u]);
    let v20 = (v19 + s0[local + 28u]);
    s0[local] = v20;
  }
  workgroupBarrier();
  let v21 = s0[v12 + 0u];
  let v22 = (v21 + s0[v12 + 1u]);
  let v23 = (v22 + s0[v12 + 2u]);
  let v24 = (v23 + s0[v12 + 3u]);
  workgroupBarrier();
  if (v4 && v1 == 0u) {
    m0[(p[0].z + v3)] = bitcast<u32>(v24);
  }
}
