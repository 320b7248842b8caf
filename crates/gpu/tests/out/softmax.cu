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
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  __shared__ f32 s0[256];
  let v1 = local % 32u;
  let v2 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v3 = min(v2, 40u - 1u);
  let v4 = v2 < 40u;
  var v5 = f_bits(0xff800000u);
  for (var v6 = v1; v6 < 300u; v6 = v6 + 32u) {
    let v7 = (p[0].y + ((v3 * 300u) + v6));
    let v8 = bitcast<f32>(m0[v7]);
    v5 = f_max_found(v5, v8);
  }
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
  let v9 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  var v10 = f_bits(0x80000000u);
  for (var v11 = v1; v11 < 300u; v11 = v11 + 32u) {
    let v12 = (p[0].y + ((v3 * 300u) + v11));
    let v13 = bitcast<f32>(m0[v12]);
    let v14 = (v13 - v9);
    let v15 = f_exp(v14);
    v10 = (v10 + v15);
  }
  s0[local] = v10;
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
  let v16 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  for (var v17 = v1; v17 < 300u; v17 = v17 + 32u) {
    let v18 = (p[0].y + ((v3 * 300u) + v17));
    let v19 = bitcast<f32>(m0[v18]);
    let v20 = (v19 - v9);
    let v21 = f_exp(v20);
    let v22 = (v21 / v16);
    if (v4) {
      m0[(p[0].z + ((v3 * 300u) + v17))] = bitcast<u32>(v22);
    }
  }
}
