@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
fn h_from_bf16(h: u32) -> f32 {
  return bitcast<f32>(h << 16u);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= p[1].x) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = (p[0].z + v2);
  let v4 = (v3 / 2u);
  let v5 = m0[v4];
  let v6 = m0[(v4 + 1u)];
  let v7 = h_from_bf16((v5 >> 0u) & 0xffffu);
  let v8 = h_from_bf16((v5 >> 16u) & 0xffffu);
  let v9 = h_from_bf16((v6 >> 0u) & 0xffffu);
  let v10 = h_from_bf16((v6 >> 16u) & 0xffffu);
  let v11 = v7;
  let v12 = v8;
  let v13 = v9;
  let v14 = v10;
  m1[((p[0].w + v2) / 4u)] = vec4<u32>(bitcast<u32>(v11), bitcast<u32>(v12), bitcast<u32>(v13), bitcast<u32>(v14));
}
@group(0) @binding(0) var<storage, read> m0: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 4>;
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn h_to_bf16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  return select((b + (0x7fffu + ((b >> 16u) & 1u))) >> 16u, (b >> 16u) | 0x40u, f_is_nan(x));
}
fn finish(x0: f32, x1: f32, x2: f32, x3: f32, place: u32, left: u32) {
  let v1 = x0;
  let v2 = x1;
  let v3 = x2;
  let v4 = x3;
  let v5 = ((p[0].w + place) / 2u);
  m1[v5] = (h_to_bf16(v1) | (h_to_bf16(v2) << 16u));
  m1[(v5 + 1u)] = (h_to_bf16(v3) | (h_to_bf16(v4) << 16u));
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v6 = (group.y * groups.x + group.x) * 256u + local;
  if (v6 >= p[1].w) {
    return;
  }
  let v7 = ((v6 % p[2].y) * 4u);
  let v8 = (v6 / p[2].y);
  let v9 = ((v8 % p[2].x) * 4u);
  let v10 = (v8 / p[2].x);
  let v11 = p[2].z;
  let v12 = p[3].x;
  let v13 = p[3].z;
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
  var v28 = 0.0f;
  var v29 = 0.0f;
  for (var v30 = 0u; v30 < p[1].z; v30 = v30 + 4u) {
    let v31 = ((v11 + (v9 * p[2].w)) + v30);
    let v32 = m0[(v31 / 4u)];
    let v33 = bitcast<f32>(v32.x);
    let v34 = bitcast<f32>(v32.y);
    let v35 = bitcast<f32>(v32.z);
    let v36 = bitcast<f32>(v32.w);
    let v37 = ((v11 + ((v9 + 1u) * p[2].w)) + v30);
    let v38 = m0[(v37 / 4u)];
    let v39 = bitcast<f32>(v38.x);
    let v40 = bitcast<f32>(v38.y);
    let v41 = bitcast<f32>(v38.z);
    let v42 = bitcast<f32>(v38.w);
    let v43 = ((v11 + ((v9 + 2u) * p[2].w)) + v30);
    let v44 = m0[(v43 / 4u)];
    let v45 = bitcast<f32>(v44.x);
    let v46 = bitcast<f32>(v44.y);
    let v47 = bitcast<f32>(v44.z);
    let v48 = bitcast<f32>(v44.w);
    let v49 = ((v11 + ((v9 + 3u) * p[2].w)) + v30);
    let v50 = m0[(v49 / 4u)];
    let v51 = bitcast<f32>(v50.x);
    let v52 = bitcast<f32>(v50.y);
    let v53 = bitcast<f32>(v50.z);
    let v54 = bitcast<f32>(v50.w);
    let v55 = ((v12 + v7) + (v30 * p[3].y));
    let v56 = m0[(v55 / 4u)];
    let v57 = bitcast<f32>(v56.x);
    let v58 = bitcast<f32>(v56.y);
    let v59 = bitcast<f32>(v56.z);
    let v60 = bitcast<f32>(v56.w);
    let v61 = ((v12 + v7) + ((v30 + 1u) * p[3].y));
    let v62 = m0[(v61 / 4u)];
    let v63 = bitcast<f32>(v62.x);
    let v64 = bitcast<f32>(v62.y);
    let v65 = bitcast<f32>(v62.z);
    let v66 = bitcast<f32>(v62.w);
    let v67 = ((v12 + v7) + ((v30 + 2u) * p[3].y));
    let v68 = m0[(v67 / 4u)];
    let v69 = bitcast<f32>(v68.x);
    let v70 = bitcast<f32>(v68.y);
    let v71 = bitcast<f32>(v68.z);
    let v72 = bitcast<f32>(v68.w);
    let v73 = ((v12 + v7) + ((v30 + 3u) * p[3].y));
    let v74 = m0[(v73 / 4u)];
    let v75 = bitcast<f32>(v74.x);
    let v76 = bitcast<f32>(v74.y);
    let v77 = bitcast<f32>(v74.z);
    let v78 = bitcast<f32>(v74.w);
    v14 = fma(v33, v57, v14);
    v15 = fma(v33, v58, v15);
    v16 = fma(v33, v59, v16);
    v17 = fma(v33, v60, v17);
    v18 = fma(v39, v57, v18);
    v19 = fma(v39, v58, v19);
    v20 = fma(v39, v59, v20);
    v21 = fma(v39, v60, v21);
    v22 = fma(v45, v57, v22);
    v23 = fma(v45, v58, v23);
    v24 = fma(v45, v59, v24);
    v25 = fma(v45, v60, v25);
    v26 = fma(v51, v57, v26);
    v27 = fma(v51, v58, v27);
    v28 = fma(v51, v59, v28);
    v29 = fma(v51, v60, v29);
    v14 = fma(v34, v63, v14);
    v15 = fma(v34, v64, v15);
    v16 = fma(v34, v65, v16);
    v17 = fma(v34, v66, v17);
    v18 = fma(v40, v63, v18);
    v19 = fma(v40, v64, v19);
    v20 = fma(v40, v65, v20);
    v21 = fma(v40, v66, v21);
    v22 = fma(v46, v63, v22);
    v23 = fma(v46, v64, v23);
    v24 = fma(v46, v65, v24);
    v25 = fma(v46, v66, v25);
    v26 = fma(v52, v63, v26);
    v27 = fma(v52, v64, v27);
    v28 = fma(v52, v65, v28);
    v29 = fma(v52, v66, v29);
    v14 = fma(v35, v69, v14);
    v15 = fma(v35, v70, v15);
    v16 = fma(v35, v71, v16);
    v17 = fma(v35, v72, v17);
    v18 = fma(v41, v69, v18);
    v19 = fma(v41, v70, v19);
    v20 = fma(v41, v71, v20);
    v21 = fma(v41, v72, v21);
    v22 = fma(v47, v69, v22);
    v23 = fma(v47, v70, v23);
    v24 = fma(v47, v71, v24);
    v25 = fma(v47, v72, v25);
    v26 = fma(v53, v69, v26);
    v27 = fma(v53, v70, v27);
    v28 = fma(v53, v71, v28);
    v29 = fma(v53, v72, v29);
    v14 = fma(v36, v75, v14);
    v15 = fma(v36, v76, v15);
    v16 = fma(v36, v77, v16);
    v17 = fma(v36, v78, v17);
    v18 = fma(v42, v75, v18);
    v19 = fma(v42, v76, v19);
    v20 = fma(v42, v77, v20);
    v21 = fma(v42, v78, v21);
    v22 = fma(v48, v75, v22);
    v23 = fma(v48, v76, v23);
    v24 = fma(v48, v77, v24);
    v25 = fma(v48, v78, v25);
    v26 = fma(v54, v75, v26);
    v27 = fma(v54, v76, v27);
    v28 = fma(v54, v77, v28);
    v29 = fma(v54, v78, v29);
  }
  let v79 = p[1].y - v7;
  finish(v14, v15, v16, v17, ((v13 + (v9 * p[3].w)) + v7), v79);
  finish(v18, v19, v20, v21, ((v13 + ((v9 + 1u) * p[3].w)) + v7), v79);
  finish(v22, v23, v24, v25, ((v13 + ((v9 + 2u) * p[3].w)) + v7), v79);
  finish(v26, v27, v28, v29, ((v13 + ((v9 + 3u) * p[3].w)) + v7), v79);
}
