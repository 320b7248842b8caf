@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 14>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[1].w);
  let v3 = (v1 / p[1].w);
  let v4 = (v3 % p[1].z);
  let v5 = (v3 / p[1].z);
  let v6 = (v5 % p[1].y);
  let v7 = (v5 / p[1].y);
  let v8 = (v7 % p[1].x);
  let v9 = (v7 / p[1].x);
  let v10 = (v9 % p[0].w);
  let v11 = (v9 / p[0].w);
  let v12 = (v6 * 4u);
  let v13 = (v2 * 4u);
  let v14 = ((v4 * p[2].x) + p[3].x);
  let v15 = ((v13 * p[2].y) + p[3].y);
  let v16 = (p[5].x + (((v10 * p[4].z) + (v8 * p[4].w)) * p[4].y));
  let v17 = (p[5].w + (((v8 * p[5].y) + v12) * p[5].z));
  let v18 = min((v12 + 1u), p[5].y - 1u);
  let v19 = (p[5].w + (((v8 * p[5].y) + v18) * p[5].z));
  let v20 = min((v12 + 2u), p[5].y - 1u);
  let v21 = (p[5].w + (((v8 * p[5].y) + v20) * p[5].z));
  let v22 = min((v12 + 3u), p[5].y - 1u);
  let v23 = (p[5].w + (((v8 * p[5].y) + v22) * p[5].z));
  var v24 = 0.0f;
  var v25 = 0.0f;
  var v26 = 0.0f;
  var v27 = 0.0f;
  var v28 = 0.0f;
  var v29 = 0.0f;
  var v30 = 0.0f;
  var v31 = 0.0f;
  var v32 = 0.0f;
  var v33 = 0.0f;
  var v34 = 0.0f;
  var v35 = 0.0f;
  var v36 = 0.0f;
  var v37 = 0.0f;
  var v38 = 0.0f;
  var v39 = 0.0f;
  let v40 = (v11 * p[6].x);
  let v41 = min(v40 + p[6].x, p[6].y);
  for (var v42 = v40; v42 < v41; v42 = v42 + 1u) {
    let v43 = (v42 % p[7].x);
    let v44 = (v42 / p[7].x);
    let v45 = (v44 % p[6].w);
    let v46 = (v44 / p[6].w);
    let v47 = (v14 + (v45 * p[2].z));
    let v48 = v47 < p[3].w;
    let v49 = (v16 + (((v46 * p[7].y) + (min(v47, p[3].w - 1u) * p[7].z)) * p[4].x));
    let v50 = (((v46 * p[7].w) + (v45 * p[8].x)) + (v43 * p[8].y));
    let v51 = (v15 + (v43 * p[2].w));
    let v52 = (v49 + min(v51, p[4].x - 1u));
    let v53 = select(0.0f, bitcast<f32>(m0[v52]), v48 && v51 < p[4].x);
    let v54 = (v51 + p[2].y);
    let v55 = (v49 + min(v54, p[4].x - 1u));
    let v56 = select(0.0f, bitcast<f32>(m0[v55]), v48 && v54 < p[4].x);
    let v57 = (v51 + (2u * p[2].y));
    let v58 = (v49 + min(v57, p[4].x - 1u));
    let v59 = select(0.0f, bitcast<f32>(m0[v58]), v48 && v57 < p[4].x);
    let v60 = (v51 + (3u * p[2].y));
    let v61 = (v49 + min(v60, p[4].x - 1u));
    let v62 = select(0.0f, bitcast<f32>(m0[v61]), v48 && v60 < p[4].x);
    let v63 = (v17 + v50);
    let v64 = bitcast<f32>(m0[v63]);
    v24 = fma(v53, v64, v24);
    v25 = fma(v56, v64, v25);
    v26 = fma(v59, v64, v26);
    v27 = fma(v62, v64, v27);
    let v65 = (v19 + v50);
    let v66 = bitcast<f32>(m0[v65]);
    v28 = fma(v53, v66, v28);
    v29 = fma(v56, v66, v29);
    v30 = fma(v59, v66, v30);
    v31 = fma(v62, v66, v31);
    let v67 = (v21 + v50);
    let v68 = bitcast<f32>(m0[v67]);
    v32 = fma(v53, v68, v32);
    v33 = fma(v56, v68, v33);
    v34 = fma(v59, v68, v34);
    v35 = fma(v62, v68, v35);
    let v69 = (v23 + v50);
    let v70 = bitcast<f32>(m0[v69]);
    v36 = fma(v53, v70, v36);
    v37 = fma(v56, v70, v37);
    v38 = fma(v59, v70, v38);
    v39 = fma(v62, v70, v39);
  }
  let v71 = (p[9].y + (v11 * p[9].x));
  let v72 = (v71 + (((((v10 * p[9].z) + (v8 * p[9].w)) + (v12 * p[10].x)) + (v4 * p[10].y)) * p[8].w));
  m0[(v72 + v13)] = bitcast<u32>(v24);
  if ((v13 + 1u) < p[8].w) {
    m0[(v72 + (v13 + 1u))] = bitcast<u32>(v25);
  }
  if ((v13 + 2u) < p[8].w) {
    m0[(v72 + (v13 + 2u))] = bitcast<u32>(v26);
  }
  if ((v13 + 3u) < p[8].w) {
    m0[(v72 + (v13 + 3u))] = bitcast<u32>(v27);
  }
  let v73 = (v12 + 1u);
  if (v73 < p[8].z) {
    let v74 = (v71 + (((((v10 * p[10].z) + (v8 * p[10].w)) + (v73 * p[11].x)) + (v4 * p[11].y)) * p[8].w));
    m0[(v74 + v13)] = bitcast<u32>(v28);
    if ((v13 + 1u) < p[8].w) {
      m0[(v74 + (v13 + 1u))] = bitcast<u32>(v29);
    }
    if ((v13 + 2u) < p[8].w) {
      m0[(v74 + (v13 + 2u))] = bitcast<u32>(v30);
    }
    if ((v13 + 3u) < p[8].w) {
      m0[(v74 + (v13 + 3u))] = bitcast<u32>(v31);
    }
  }
  let v75 = (v12 + 2u);
  if (v75 < p[8].z) {
    let v76 = (v71 + (((((v10 * p[11].z) + (v8 * p[11].w)) + (v75 * p[12].x)) + (v4 * p[12].y)) * p[8].w));
    m0[(v76 + v13)] = bitcast<u32>(v32);
    if ((v13 + 1u) < p[8].w) {
      m0[(v76 + (v13 + 1u))] = bitcast<u32>(v33);
    }
    if ((v13 + 2u) < p[8].w) {
      m0[(v76 + (v13 + 2u))] = bitcast<u32>(v34);
    }
    if ((v13 + 3u) < p[8].w) {
      m0[(v76 + (v13 + 3u))] = bitcast<u32>(v35);
    }
  }
  let v77 = (v12 + 3u);
  if (v77 < p[8].z) {
    let v78 = (v71 + (((((v10 * p[12].z) + (v8 * p[12].w)) + (v77 * p[13].x)) + (v4 * p[13].y)) * p[8].w));
    m0[(v78 + v13)] = bitcast<u32>(v36);
    if ((v13 + 1u) < p[8].w) {
      m0[(v78 + (v13 + 1u))] = bitcast<u32>(v37);
    }
    if ((v13 + 2u) < p[8].w) {
      m0[(v78 + (v13 + 2u))] = bitcast<u32>(v38);
    }
    if ((v13 + 3u) < p[8].w) {
      m0[(v78 + (v13 + 3u))] = bitcast<u32>(v39);
    }
  }
}
