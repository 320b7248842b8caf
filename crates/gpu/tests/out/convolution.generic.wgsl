@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 7>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[2].z);
  let v3 = (v1 / p[2].z);
  let v4 = (v3 % p[2].y);
  let v5 = (v3 / p[2].y);
  let v6 = (v5 % p[2].x);
  let v7 = (v5 / p[2].x);
  let v8 = (v7 % p[1].w);
  let v9 = (v7 / p[1].w);
  let v10 = (v9 % p[1].z);
  let v11 = (v9 / p[1].z);
  let v12 = (v11 % p[1].y);
  let v13 = (v11 / p[1].y);
  var v14 = 0.0f;
  let v15 = (((v4 * p[4].y) + (v8 * p[4].z)) + p[4].w);
  if (v15 < p[3].z) {
    let v16 = (((v2 * p[5].x) + (v6 * p[5].y)) + p[5].z);
    if (v16 < p[3].w) {
      let v17 = (p[4].x + (((((v13 * p[5].w) + (v12 * p[6].x)) + (v10 * p[6].y)) + (v15 * p[6].z)) + (v16 * p[6].w)));
      v14 = bitcast<f32>(m0[v17]);
    }
  }
  let v18 = (p[0].z + v1);
  m1[v18] = bitcast<u32>(v14);
}
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<storage, read> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 6>;
fn finish(x0: f32, x1: f32, x2: f32, x3: f32, place: u32, left: u32) {
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
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v2 = (group.y * groups.x + group.x) * 256u + local;
  if (v2 >= p[1].y) {
    return;
  }
  let v3 = ((v2 % p[1].w) * 4u);
  let v4 = (v2 / p[1].w);
  let v5 = ((v4 % p[1].z) * 4u);
  let v6 = (v4 / p[1].z);
  let v7 = (v6 % p[2].y);
  let v8 = (v6 / p[2].y);
  let v9 = ((p[2].z + (v8 * p[2].w)) + (v7 * p[3].x));
  let v10 = ((p[3].z + (v8 * p[3].w)) + (v7 * p[4].x));
  let v11 = ((p[4].w + (v8 * p[5].x)) + (v7 * p[5].y));
  let v12 = min((v3 + 1u), p[0].w - 1u);
  let v13 = min((v3 + 2u), p[0].w - 1u);
  let v14 = min((v3 + 3u), p[0].w - 1u);
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
  var v30 = 0.0f;
  for (var v31 = 0u; v31 < p[1].x; v31 = v31 + 4u) {
    let v32 = ((v9 + (v5 * p[3].y)) + v31);
    let v33 = bitcast<f32>(m0[v32]);
    let v34 = bitcast<f32>(m0[(v32 + 1u)]);
    let v35 = bitcast<f32>(m0[(v32 + 2u)]);
    let v36 = bitcast<f32>(m0[(v32 + 3u)]);
    let v37 = ((v9 + ((v5 + 1u) * p[3].y)) + v31);
    let v38 = bitcast<f32>(m0[v37]);
    let v39 = bitcast<f32>(m0[(v37 + 1u)]);
    let v40 = bitcast<f32>(m0[(v37 + 2u)]);
    let v41 = bitcast<f32>(m0[(v37 + 3u)]);
    let v42 = ((v9 + ((v5 + 2u) * p[3].y)) + v31);
    let v43 = bitcast<f32>(m0[v42]);
    let v44 = bitcast<f32>(m0[(v42 + 1u)]);
    let v45 = bitcast<f32>(m0[(v42 + 2u)]);
    let v46 = bitcast<f32>(m0[(v42 + 3u)]);
    let v47 = ((v9 + ((v5 + 3u) * p[3].y)) + v31);
    let v48 = bitcast<f32>(m0[v47]);
    let v49 = bitcast<f32>(m0[(v47 + 1u)]);
    let v50 = bitcast<f32>(m0[(v47 + 2u)]);
    let v51 = bitcast<f32>(m0[(v47 + 3u)]);
    let v52 = ((v10 + (v3 * p[4].y)) + (v31 * p[4].z));
    let v53 = bitcast<f32>(m1[v52]);
    let v54 = ((v10 + (v12 * p[4].y)) + (v31 * p[4].z));
    let v55 = bitcast<f32>(m1[v54]);
    let v56 = ((v10 + (v13 * p[4].y)) + (v31 * p[4].z));
    let v57 = bitcast<f32>(m1[v56]);
    let v58 = ((v10 + (v14 * p[4].y)) + (v31 * p[4].z));
    let v59 = bitcast<f32>(m1[v58]);
    let v60 = ((v10 + (v3 * p[4].y)) + ((v31 + 1u) * p[4].z));
    let v61 = bitcast<f32>(m1[v60]);
    let v62 = ((v10 + (v12 * p[4].y)) + ((v31 + 1u) * p[4].z));
    let v63 = bitcast<f32>(m1[v62]);
    let v64 = ((v10 + (v13 * p[4].y)) + ((v31 + 1u) * p[4].z));
    let v65 = bitcast<f32>(m1[v64]);
    let v66 = ((v10 + (v14 * p[4].y)) + ((v31 + 1u) * p[4].z));
    let v67 = bitcast<f32>(m1[v66]);
    let v68 = ((v10 + (v3 * p[4].y)) + ((v31 + 2u) * p[4].z));
    let v69 = bitcast<f32>(m1[v68]);
    let v70 = ((v10 + (v12 * p[4].y)) + ((v31 + 2u) * p[4].z));
    let v71 = bitcast<f32>(m1[v70]);
    let v72 = ((v10 + (v13 * p[4].y)) + ((v31 + 2u) * p[4].z));
    let v73 = bitcast<f32>(m1[v72]);
    let v74 = ((v10 + (v14 * p[4].y)) + ((v31 + 2u) * p[4].z));
    let v75 = bitcast<f32>(m1[v74]);
    let v76 = ((v10 + (v3 * p[4].y)) + ((v31 + 3u) * p[4].z));
    let v77 = bitcast<f32>(m1[v76]);
    let v78 = ((v10 + (v12 * p[4].y)) + ((v31 + 3u) * p[4].z));
    let v79 = bitcast<f32>(m1[v78]);
    let v80 = ((v10 + (v13 * p[4].y)) + ((v31 + 3u) * p[4].z));
    let v81 = bitcast<f32>(m1[v80]);
    let v82 = ((v10 + (v14 * p[4].y)) + ((v31 + 3u) * p[4].z));
    let v83 = bitcast<f32>(m1[v82]);
    v15 = fma(v33, v53, v15);
    v16 = fma(v33, v55, v16);
    v17 = fma(v33, v57, v17);
    v18 = fma(v33, v59, v18);
    v19 = fma(v38, v53, v19);
    v20 = fma(v38, v55, v20);
    v21 = fma(v38, v57, v21);
    v22 = fma(v38, v59, v22);
    v23 = fma(v43, v53, v23);
    v24 = fma(v43, v55, v24);
    v25 = fma(v43, v57, v25);
    v26 = fma(v43, v59, v26);
    v27 = fma(v48, v53, v27);
    v28 = fma(v48, v55, v28);
    v29 = fma(v48, v57, v29);
    v30 = fma(v48, v59, v30);
    v15 = fma(v34, v61, v15);
    v16 = fma(v34, v63, v16);
    v17 = fma(v34, v65, v17);
    v18 = fma(v34, v67, v18);
    v19 = fma(v39, v61, v19);
    v20 = fma(v39, v63, v20);
    v21 = fma(v39, v65, v21);
    v22 = fma(v39, v67, v22);
    v23 = fma(v44, v61, v23);
    v24 = fma(v44, v63, v24);
    v25 = fma(v44, v65, v25);
    v26 = fma(v44, v67, v26);
    v27 = fma(v49, v61, v27);
    v28 = fma(v49, v63, v28);
    v29 = fma(v49, v65, v29);
    v30 = fma(v49, v67, v30);
    v15 = fma(v35, v69, v15);
    v16 = fma(v35, v71, v16);
    v17 = fma(v35, v73, v17);
    v18 = fma(v35, v75, v18);
    v19 = fma(v40, v69, v19);
    v20 = fma(v40, v71, v20);
    v21 = fma(v40, v73, v21);
    v22 = fma(v40, v75, v22);
    v23 = fma(v45, v69, v23);
    v24 = fma(v45, v71, v24);
    v25 = fma(v45, v73, v25);
    v26 = fma(v45, v75, v26);
    v27 = fma(v50, v69, v27);
    v28 = fma(v50, v71, v28);
    v29 = fma(v50, v73, v29);
    v30 = fma(v50, v75, v30);
    v15 = fma(v36, v77, v15);
    v16 = fma(v36, v79, v16);
    v17 = fma(v36, v81, v17);
    v18 = fma(v36, v83, v18);
    v19 = fma(v41, v77, v19);
    v20 = fma(v41, v79, v20);
    v21 = fma(v41, v81, v21);
    v22 = fma(v41, v83, v22);
    v23 = fma(v46, v77, v23);
    v24 = fma(v46, v79, v24);
    v25 = fma(v46, v81, v25);
    v26 = fma(v46, v83, v26);
    v27 = fma(v51, v77, v27);
    v28 = fma(v51, v79, v28);
    v29 = fma(v51, v81, v29);
    v30 = fma(v51, v83, v30);
  }
  let v84 = p[0].w - v3;
  finish(v15, v16, v17, v18, ((v11 + (v5 * p[5].z)) + v3), v84);
  finish(v19, v20, v21, v22, ((v11 + ((v5 + 1u) * p[5].z)) + v3), v84);
  finish(v23, v24, v25, v26, ((v11 + ((v5 + 2u) * p[5].z)) + v3), v84);
  finish(v27, v28, v29, v30, ((v11 + ((v5 + 3u) * p[5].z)) + v3), v84);
}
