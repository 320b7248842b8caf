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
FN f32 f_abs(f32 x) {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
FN f32 f_copysign(f32 x, f32 s) {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
FN bool f_is_nan(f32 x) {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
FN f32 f_tanh(f32 a) {
  let v1 = f_abs(a);
  let v2 = (a * a);
  let v5 = fma(-0.0064063007f, v2, 0.021194931f);
  let v7 = fma(v5, v2, -0.053889714f);
  let v9 = fma(v7, v2, 0.13333008f);
  let v11 = fma(v9, v2, -0.3333333f);
  let v12 = (v2 * v11);
  let v13 = fma(v1, v12, v1);
  let v15 = (9.1f < v1);
  let v16 = select(v1, 9.1f, v15);
  let v19 = fma(v16, 2.88539f, 12582912.0f);
  let v20 = (f_fence(v19) - 12582912.0f);
  let v22 = fma(v20, -0.3465736f, v16);
  let v25 = fma(0.08917536f, v22, 0.267813f);
  let v27 = fma(v25, v22, 0.66666347f);
  let v29 = fma(v27, v22, 1.3333204f);
  let v31 = fma(v29, v22, 2.0f);
  let v32 = fma(v31, v22, 2.0f);
  let v33 = bitcast<u32>(v19);
  let v34 = (v33 << 23u);
  let v36 = (v34 + 0x3f800000u);
  let v37 = bitcast<f32>(v36);
  let v39 = (v37 * v22);
  let v40 = (v37 + 1.0f);
  let v41 = fma(v39, v32, f_fence(v40));
  let v42 = (2.0f / v41);
  let v43 = (1.0f - v42);
  let v45 = (v1 < 0.58f);
  let v46 = select(v43, v13, v45);
  let v47 = f_copysign(v46, a);
  let v48 = f_is_nan(a);
  let v49 = select(v47, a, v48);
  return v49;
}
extern "C" __global__ void __launch_bounds__(256)
entry(u32* __restrict__ m0, const vec4<u32>* __restrict__ p) {
  const uint3 group = blockIdx;
  const uint3 groups = make_uint3(gridDim.x, gridDim.y, gridDim.z);
  const u32 local = threadIdx.x;
  __shared__ vec4<f32> ta[256];
  __shared__ vec4<f32> tb[256];
  const auto finish = [&](f32 x0, f32 x1, f32 x2, f32 x3, u32 place, u32 left) {
  let v1 = (p[0].y + place);
  if (0u < left) {
    m0[v1] = bitcast<u32>(x0);
  }
  if (1u < left) {
    m0[(v1 + 1u)] = bitcast<u32>(x1);
  }
  if (2u < left) {
    m0[(v1 + 2u)] = bitcast<u32>(x2);
  }
  if (3u < left) {
    m0[(v1 + 3u)] = bitcast<u32>(x3);
  }
  if (0u < left) {
    let v2 = (place % 90u);
    let v3 = (place / 90u);
    let v4 = (p[0].w + v2);
    let v5 = bitcast<f32>(m0[v4]);
    let v6 = (x0 + v5);
    let v7 = f_tanh(v6);
    m0[(p[1].x + place)] = bitcast<u32>(v7);
  }
  if (1u < left) {
    let v8 = (place + 1u);
    let v9 = (v8 % 90u);
    let v10 = (v8 / 90u);
    let v11 = (p[0].w + v9);
    let v12 = bitcast<f32>(m0[v11]);
    let v13 = (x1 + v12);
    let v14 = f_tanh(v13);
    m0[(p[1].x + v8)] = bitcast<u32>(v14);
  }
  if (2u < left) {
    let v15 = (place + 2u);
    let v16 = (v15 % 90u);
    let v17 = (v15 / 90u);
    let v18 = (p[0].w + v16);
    let v19 = bitcast<f32>(m0[v18]);
    let v20 = (x2 + v19);
    let v21 = f_tanh(v20);
    m0[(p[1].x + v15)] = bitcast<u32>(v21);
  }
  if (3u < left) {
    let v22 = (place + 3u);
    let v23 = (v22 % 90u);
    let v24 = (v22 / 90u);
    let v25 = (p[0].w + v23);
    let v26 = bitcast<f32>(m0[v25]);
    let v27 = (x3 + v26);
    let v28 = f_tanh(v27);
    m0[(p[1].x + v22)] = bitcast<u32>(v28);
  }
  };
  let v29 = (group.y * groups.x + group.x);
  let v30 = ((v29 % 2u) * 64u);
  let v31 = (v29 / 2u);
  let v32 = ((v31 % 2u) * 64u);
  let v33 = (v31 / 2u);
  let v34 = p[1].y;
  let v35 = p[1].z;
  let v36 = p[1].w;
  let v37 = local % 16u;
  let v38 = local / 16u;
  var v39 = 0.0f;
  var v40 = 0.0f;
  var v41 = 0.0f;
  var v42 = 0.0f;
  var v43 = 0.0f;
  var v44 = 0.0f;
  var v45 = 0.0f;
  var v46 = 0.0f;
  var v47 = 0.0f;
  var v48 = 0.0f;
  var v49 = 0.0f;
  var v50 = 0.0f;
  var v51 = 0.0f;
  var v52 = 0.0f;
  var v53 = 0.0f;
  var v54 = 0.0f;
  for (var v55 = 0u; v55 < 70u; v55 = v55 + 16u) {
    let v56 = local % 16u;
    let v57 = local / 16u;
    let v58 = (v32 + (v56 * 4u));
    let v59 = (v55 + v57);
    let v60 = min(v59, 70u - 1u);
    let v61 = min(v58, 100u - 1u);
    let v62 = ((v34 + (v61 * 70u)) + v60);
    let v63 = min((v58 + 1u), 100u - 1u);
    let v64 = ((v34 + (v63 * 70u)) + v60);
    let v65 = min((v58 + 2u), 100u - 1u);
    let v66 = ((v34 + (v65 * 70u)) + v60);
    let v67 = min((v58 + 3u), 100u - 1u);
    let v68 = ((v34 + (v67 * 70u)) + v60);
    ta[v57 * 16u + v56] = vec4<f32>(select(0.0f, bitcast<f32>(m0[v62]), v59 < 70u), select(0.0f, bitcast<f32>(m0[v64]), v59 < 70u), select(0.0f, bitcast<f32>(m0[v66]), v59 < 70u), select(0.0f, bitcast<f32>(m0[v68]), v59 < 70u));
    let v69 = local % 16u;
    let v70 = local / 16u;
    let v71 = (v30 + (v69 * 4u));
    let v72 = (v55 + v70);
    let v73 = min(v72, 70u - 1u);
    let v74 = min(v71, 90u - 1u);
    let v75 = ((v35 + v74) + (v73 * 90u));
    let v76 = min((v71 + 1u), 90u - 1u);
    let v77 = ((v35 + v76) + (v73 * 90u));
    let v78 = min((v71 + 2u), 90u - 1u);
    let v79 = ((v35 + v78) + (v73 * 90u));
    let v80 = min((v71 + 3u), 90u - 1u);
    let v81 = ((v35 + v80) + (v73 * 90u));
    tb[v70 * 16u + v69] = vec4<f32>(select(0.0f, bitcast<f32>(m0[v75]), v72 < 70u), select(0.0f, bitcast<f32>(m0[v77]), v72 < 70u), select(0.0f, bitcast<f32>(m0[v79]), v72 < 70u), select(0.0f, bitcast<f32>(m0[v81]), v72 < 70u));
    workgroupBarrier();
    for (var v82 = 0u; v82 < 16u; v82 = v82 + 1u) {
      let v83 = ta[v82 * 16u + v38 + 0u];
      let v84 = tb[v82 * 16u + v37 + 0u];
      v39 = fma(v83.x, v84.x, v39);
      v40 = fma(v83.x, v84.y, v40);
      v41 = fma(v83.x, v84.z, v41);
      v42 = fma(v83.x, v84.w, v42);
      v43 = fma(v83.y, v84.x, v43);
      v44 = fma(v83.y, v84.y, v44);
      v45 = fma(v83.y, v84.z, v45);
      v46 = fma(v83.y, v84.w, v46);
      v47 = fma(v83.z, v84.x, v47);
      v48 = fma(v83.z, v84.y, v48);
      v49 = fma(v83.z, v84.z, v49);
      v50 = fma(v83.z, v84.w, v50);
      v51 = fma(v83.w, v84.x, v51);
      v52 = fma(v83.w, v84.y, v52);
      v53 = fma(v83.w, v84.z, v53);
      v54 = fma(v83.w, v84.w, v54);
    }
    workgroupBarrier();
  }
  let v85 = v32 + v38 * 4u + 0u;
  if (v85 < 100u) {
    let v86 = v30 + v37 * 4u + 0u;
    if (v86 < 90u) {
      finish(v39, v40, v41, v42, ((v36 + (v85 * 90u)) + v86), 90u - v86);
    }
  }
  let v87 = v32 + v38 * 4u + 1u;
  if (v87 < 100u) {
    let v88 = v30 + v37 * 4u + 0u;
    if (v88 < 90u) {
      finish(v43, v44, v45, v46, ((v36 + (v87 * 90u)) + v88), 90u - v88);
    }
  }
  let v89 = v32 + v38 * 4u + 2u;
  if (v89 < 100u) {
    let v90 = v30 + v37 * 4u + 0u;
    if (v90 < 90u) {
      finish(v47, v48, v49, v50, ((v36 + (v89 * 90u)) + v90), 90u - v90);
    }
  }
  let v91 = v32 + v38 * 4u + 3u;
  if (v91 < 100u) {
    let v92 = v30 + v37 * 4u + 0u;
    if (v92 < 90u) {
      finish(v51, v52, v53, v54, ((v36 + (v91 * 90u)) + v92), 90u - v92);
    }
  }
}
