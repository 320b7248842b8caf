@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
var<workgroup> ta: array<vec4<f32>, 256>;
var<workgroup> tb: array<vec4<f32>, 256>;
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn h_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  return select((b + (0x7fffu + ((b >> 16u) & 1u))) >> 16u, (b >> 16u) | 0x40u, f_is_nan(x));
}
fn h_from_bf16(h: u32) -> f32 {
  return bitcast<f32>(h << 16u);
}
fn finish(x0: f32, x1: f32, x2: f32, x3: f32, place: u32, left: u32) {
  let v1 = x0;
  let v2 = x1;
  let v3 = x2;
  let v4 = x3;
  let v5 = ((p[0].z + place) / 2u);
  m0[v5] = (h_to_bf16(v1) | (h_to_bf16(v2) << 16u));
  m0[(v5 + 1u)] = (h_to_bf16(v3) | (h_to_bf16(v4) << 16u));
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v6 = (group.y * groups.x + group.x);
  let v7 = ((v6 % 2u) * 64u);
  let v8 = (v6 / 2u);
  let v9 = ((v8 % 2u) * 64u);
  let v10 = (v8 / 2u);
  let v11 = p[0].w;
  let v12 = p[1].x;
  let v13 = p[1].y;
  let v14 = local % 16u;
  let v15 = local / 16u;
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
  var v28 = 0.0f;
  var v29 = 0.0f;
  var v30 = 0.0f;
  var v31 = 0.0f;
  for (var v32 = 0u; v32 < 64u; v32 = v32 + 16u) {
    if (local < 64u) {
      let v33 = local / 4u;
      let v34 = local % 4u;
      let v35 = (v9 + (v33 * 4u));
      let v36 = (v32 + (v34 * 4u));
      let v37 = ((v11 + (v35 * 64u)) + v36);
      let v38 = (v37 / 2u);
      let v39 = m0[v38];
      let v40 = m0[(v38 + 1u)];
      let v41 = h_from_bf16((v39 >> 0u) & 0xffffu);
      let v42 = h_from_bf16((v39 >> 16u) & 0xffffu);
      let v43 = h_from_bf16((v40 >> 0u) & 0xffffu);
      let v44 = h_from_bf16((v40 >> 16u) & 0xffffu);
      let v45 = ((v11 + ((v35 + 1u) * 64u)) + v36);
      let v46 = (v45 / 2u);
      let v47 = m0[v46];
      let v48 = m0[(v46 + 1u)];
      let v49 = h_from_bf16((v47 >> 0u) & 0xffffu);
      let v50 = h_from_bf16((v47 >> 16u) & 0xffffu);
      let v51 = h_from_bf16((v48 >> 0u) & 0xffffu);
      let v52 = h_from_bf16((v48 >> 16u) & 0xffffu);
      let v53 = ((v11 + ((v35 + 2u) * 64u)) + v36);
      let v54 = (v53 / 2u);
      let v55 = m0[v54];
      let v56 = m0[(v54 + 1u)];
      let v57 = h_from_bf16((v55 >> 0u) & 0xffffu);
      let v58 = h_from_bf16((v55 >> 16u) & 0xffffu);
      let v59 = h_from_bf16((v56 >> 0u) & 0xffffu);
      let v60 = h_from_bf16((v56 >> 16u) & 0xffffu);
      let v61 = ((v11 + ((v35 + 3u) * 64u)) + v36);
      let v62 = (v61 / 2u);
      let v63 = m0[v62];
      let v64 = m0[(v62 + 1u)];
      let v65 = h_from_bf16((v63 >> 0u) & 0xffffu);
      let v66 = h_from_bf16((v63 >> 16u) & 0xffffu);
      let v67 = h_from_bf16((v64 >> 0u) & 0xffffu);
      let v68 = h_from_bf16((v64 >> 16u) & 0xffffu);
      let v69 = v34 * 64u + (v33 ^ (v34 * 2u));
      ta[v69 + 0u] = vec4<f32>(v41, v49, v57, v65);
      ta[v69 + 16u] = vec4<f32>(v42, v50, v58, v66);
      ta[v69 + 32u] = vec4<f32>(v43, v51, v59, v67);
      ta[v69 + 48u] = vec4<f32>(v44, v52, v60, v68);
    }
    let v70 = local % 16u;
    let v71 = local / 16u;
    let v72 = (v7 + (v70 * 4u));
    let v73 = (v32 + v71);
    let v74 = ((v12 + v72) + (v73 * 128u));
    let v75 = (v74 / 2u);
    let v76 = m0[v75];
    let v77 = m0[(v75 + 1u)];
    tb[v71 * 16u + v70] = vec4<f32>(h_from_bf16((v76 >> 0u) & 0xffffu), h_from_bf16((v76 >> 16u) & 0xffffu), h_from_bf16((v77 >> 0u) & 0xffffu), h_from_bf16((v77 >> 16u) & 0xffffu));
    workgroupBarrier();
    for (var v78 = 0u; v78 < 16u; v78 = v78 + 1u) {
      let v79 = ta[v78 * 16u + ((v15 + 0u) ^ (v78 / 4u * 2u))];
      let v80 = tb[v78 * 16u + v14 + 0u];
      v16 = fma(v79.x, v80.x, v16);
      v17 = fma(v79.x, v80.y, v17);
      v18 = fma(v79.x, v80.z, v18);
      v19 = fma(v79.x, v80.w, v19);
      v20 = fma(v79.y, v80.x, v20);
      v21 = fma(v79.y, v80.y, v21);
      v22 = fma(v79.y, v80.z, v22);
      v23 = fma(v79.y, v80.w, v23);
      v24 = fma(v79.z, v80.x, v24);
      v25 = fma(v79.z, v80.y, v25);
      v26 = fma(v79.z, v80.z, v26);
      v27 = fma(v79.z, v80.w, v27);
      v28 = fma(v79.w, v80.x, v28);
      v29 = fma(v79.w, v80.y, v29);
      v30 = fma(v79.w, v80.z, v30);
      v31 = fma(v79.w, v80.w, v31);
    }
    workgroupBarrier();
  }
  let v81 = v9 + v15 * 4u + 0u;
  if (v81 < 128u) {
    let v82 = v7 + v14 * 4u + 0u;
    if (v82 < 128u) {
      finish(v16, v17, v18, v19, ((v13 + (v81 * 128u)) + v82), 128u - v82);
    }
  }
  let v83 = v9 + v15 * 4u + 1u;
  if (v83 < 128u) {
    let v84 = v7 + v14 * 4u + 0u;
    if (v84 < 128u) {
      finish(v20, v21, v22, v23, ((v13 + (v83 * 128u)) + v84), 128u - v84);
    }
  }
  let v85 = v9 + v15 * 4u + 2u;
  if (v85 < 128u) {
    let v86 = v7 + v14 * 4u + 0u;
    if (v86 < 128u) {
      finish(v24, v25, v26, v27, ((v13 + (v85 * 128u)) + v86), 128u - v86);
    }
  }
  let v87 = v9 + v15 * 4u + 3u;
  if (v87 < 128u) {
    let v88 = v7 + v14 * 4u + 0u;
    if (v88 < 128u) {
      finish(v28, v29, v30, v31, ((v13 + (v87 * 128u)) + v88), 128u - v88);
    }
  }
}
