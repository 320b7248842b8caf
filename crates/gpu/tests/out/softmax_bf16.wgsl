@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 1>;
var<workgroup> s0: array<f32, 256>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn h_from_bf16(h: u32) -> f32 {
  return bitcast<f32>(h << 16u);
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
fn h_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  return select((b + (0x7fffu + ((b >> 16u) & 1u))) >> 16u, (b >> 16u) | 0x40u, f_is_nan(x));
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = local % 32u;
  let v2 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v3 = min(v2, 40u - 1u);
  let v4 = v2 < 40u;
  var v5 = f_bits(0xff800000u);
  let v6 = (v1 * 4u) < 300u;
  let v7 = min((v1 * 4u), 300u - 4u);
  let v8 = (p[0].y + ((v3 * 300u) + v7));
  let v9 = (v8 / 2u);
  let v10 = m0[v9];
  let v11 = m0[(v9 + 1u)];
  let v12 = h_from_bf16((v10 >> 0u) & 0xffffu);
  let v13 = h_from_bf16((v10 >> 16u) & 0xffffu);
  let v14 = h_from_bf16((v11 >> 0u) & 0xffffu);
  let v15 = h_from_bf16((v11 >> 16u) & 0xffffu);
  v5 = select(v5, f_max_found(v5, v12), v6);
  v5 = select(v5, f_max_found(v5, v13), v6);
  v5 = select(v5, f_max_found(v5, v14), v6);
  v5 = select(v5, f_max_found(v5, v15), v6);
  let v16 = ((v1 * 4u) + 128u) < 300u;
  let v17 = min(((v1 * 4u) + 128u), 300u - 4u);
  let v18 = (p[0].y + ((v3 * 300u) + v17));
  let v19 = (v18 / 2u);
  let v20 = m0[v19];
  let v21 = m0[(v19 + 1u)];
  let v22 = h_from_bf16((v20 >> 0u) & 0xffffu);
  let v23 = h_from_bf16((v20 >> 16u) & 0xffffu);
  let v24 = h_from_bf16((v21 >> 0u) & 0xffffu);
  let v25 = h_from_bf16((v21 >> 16u) & 0xffffu);
  v5 = select(v5, f_max_found(v5, v22), v16);
  v5 = select(v5, f_max_found(v5, v23), v16);
  v5 = select(v5, f_max_found(v5, v24), v16);
  v5 = select(v5, f_max_found(v5, v25), v16);
  let v26 = ((v1 * 4u) + 256u) < 300u;
  let v27 = min(((v1 * 4u) + 256u), 300u - 4u);
  let v28 = (p[0].y + ((v3 * 300u) + v27));
  let v29 = (v28 / 2u);
  let v30 = m0[v29];
  let v31 = m0[(v29 + 1u)];
  let v32 = h_from_bf16((v30 >> 0u) & 0xffffu);
  let v33 = h_from_bf16((v30 >> 16u) & 0xffffu);
  let v34 = h_from_bf16((v31 >> 0u) & 0xffffu);
  let v35 = h_from_bf16((v31 >> 16u) & 0xffffu);
  v5 = select(v5, f_max_found(v5, v32), v26);
  v5 = select(v5, f_max_found(v5, v33), v26);
  v5 = select(v5, f_max_found(v5, v34), v26);
  v5 = select(v5, f_max_found(v5, v35), v26);
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
  let v36 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  var v37 = f_bits(0x80000000u);
  let v38 = (v1 * 4u) < 300u;
  let v39 = (v12 - v36);
  let v40 = f_exp(v39);
  let v41 = (v13 - v36);
  let v42 = f_exp(v41);
  let v43 = (v14 - v36);
  let v44 = f_exp(v43);
  let v45 = (v15 - v36);
  let v46 = f_exp(v45);
  v37 = select(v37, (v37 + v40), v38);
  v37 = select(v37, (v37 + v42), v38);
  v37 = select(v37, (v37 + v44), v38);
  v37 = select(v37, (v37 + v46), v38);
  let v47 = ((v1 * 4u) + 128u) < 300u;
  let v48 = (v22 - v36);
  let v49 = f_exp(v48);
  let v50 = (v23 - v36);
  let v51 = f_exp(v50);
  let v52 = (v24 - v36);
  let v53 = f_exp(v52);
  let v54 = (v25 - v36);
  let v55 = f_exp(v54);
  v37 = select(v37, (v37 + v49), v47);
  v37 = select(v37, (v37 + v51), v47);
  v37 = select(v37, (v37 + v53), v47);
  v37 = select(v37, (v37 + v55), v47);
  let v56 = ((v1 * 4u) + 256u) < 300u;
  let v57 = (v32 - v36);
  let v58 = f_exp(v57);
  let v59 = (v33 - v36);
  let v60 = f_exp(v59);
  let v61 = (v34 - v36);
  let v62 = f_exp(v61);
  let v63 = (v35 - v36);
  let v64 = f_exp(v63);
  v37 = select(v37, (v37 + v58), v56);
  v37 = select(v37, (v37 + v60), v56);
  v37 = select(v37, (v37 + v62), v56);
  v37 = select(v37, (v37 + v64), v56);
  s0[local] = v37;
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
  let v65 = s0[(local / 32u) * 32u];
  workgroupBarrier();
  let v66 = (v1 * 4u) < 300u;
  let v67 = (v40 / v65);
  let v68 = (v42 / v65);
  let v69 = (v44 / v65);
  let v70 = (v46 / v65);
  if (v4 && v66) {
    let v71 = ((p[0].z + ((v3 * 300u) + v7)) / 2u);
    m0[v71] = (h_to_bf16(v67) | (h_to_bf16(v68) << 16u));
    m0[(v71 + 1u)] = (h_to_bf16(v69) | (h_to_bf16(v70) << 16u));
  }
  let v72 = ((v1 * 4u) + 128u) < 300u;
  let v73 = (v49 / v65);
  let v74 = (v51 / v65);
  let v75 = (v53 / v65);
  let v76 = (v55 / v65);
  if (v4 && v72) {
    let v77 = ((p[0].z + ((v3 * 300u) + v17)) / 2u);
    m0[v77] = (h_to_bf16(v73) | (h_to_bf16(v74) << 16u));
    m0[(v77 + 1u)] = (h_to_bf16(v75) | (h_to_bf16(v76) << 16u));
  }
  let v78 = ((v1 * 4u) + 256u) < 300u;
  let v79 = (v58 / v65);
  let v80 = (v60 / v65);
  let v81 = (v62 / v65);
  let v82 = (v64 / v65);
  if (v4 && v78) {
    let v83 = ((p[0].z + ((v3 * 300u) + v27)) / 2u);
    m0[v83] = (h_to_bf16(v79) | (h_to_bf16(v80) << 16u));
    m0[(v83 + 1u)] = (h_to_bf16(v81) | (h_to_bf16(v82) << 16u));
  }
}
