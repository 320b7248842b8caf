@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 1>;
var<workgroup> s0: array<f32, 256>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_max_found(a: f32, b: f32) -> f32 {
  return select(a, b, !f_is_nan(a) && ((a < b) || f_is_nan(b)));
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_exp(a: f32) -> f32 {
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
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
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
