@group(0) @binding(0) var<storage, read_write> m0: array<vec4<u32>>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
var<workgroup> ta: array<vec4<f32>, 256>;
var<workgroup> tb: array<vec4<f32>, 256>;
fn finish(x0: f32, x1: f32, x2: f32, x3: f32, place: u32, left: u32) {
  let v1 = (p[0].y + place);
  m0[(v1 / 4u)] = vec4<u32>(bitcast<u32>(x0), bitcast<u32>(x1), bitcast<u32>(x2), bitcast<u32>(x3));
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v2 = (group.y * groups.x + group.x);
  let v3 = ((v2 % 3u) * 64u);
  let v4 = (v2 / 3u);
  let v5 = ((v4 % 4u) * 64u);
  let v6 = (v4 / 4u);
  let v7 = p[0].z;
  let v8 = p[0].w;
  let v9 = p[1].x;
  let v10 = local % 16u;
  let v11 = local / 16u;
  var v12 = 0.0f;
  var v13 = 0.0f;
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
  for (var v28 = 0u; v28 < 128u; v28 = v28 + 16u) {
    if (local < 64u) {
      let v29 = local / 4u;
      let v30 = local % 4u;
      let v31 = (v5 + (v29 * 4u));
      let v32 = (v28 + (v30 * 4u));
      let v33 = ((v7 + (v31 * 128u)) + v32);
      let v34 = m0[(v33 / 4u)];
      let v35 = bitcast<f32>(v34.x);
      let v36 = bitcast<f32>(v34.y);
      let v37 = bitcast<f32>(v34.z);
      let v38 = bitcast<f32>(v34.w);
      let v39 = ((v7 + ((v31 + 1u) * 128u)) + v32);
      let v40 = m0[(v39 / 4u)];
      let v41 = bitcast<f32>(v40.x);
      let v42 = bitcast<f32>(v40.y);
      let v43 = bitcast<f32>(v40.z);
      let v44 = bitcast<f32>(v40.w);
      let v45 = ((v7 + ((v31 + 2u) * 128u)) + v32);
      let v46 = m0[(v45 / 4u)];
      let v47 = bitcast<f32>(v46.x);
      let v48 = bitcast<f32>(v46.y);
      let v49 = bitcast<f32>(v46.z);
      let v50 = bitcast<f32>(v46.w);
      let v51 = ((v7 + ((v31 + 3u) * 128u)) + v32);
      let v52 = m0[(v51 / 4u)];
      let v53 = bitcast<f32>(v52.x);
      let v54 = bitcast<f32>(v52.y);
      let v55 = bitcast<f32>(v52.z);
      let v56 = bitcast<f32>(v52.w);
      let v57 = v30 * 64u + (v29 ^ (v30 * 2u));
      ta[v57 + 0u] = vec4<f32>(v35, v41, v47, v53);
      ta[v57 + 16u] = vec4<f32>(v36, v42, v48, v54);
      ta[v57 + 32u] = vec4<f32>(v37, v43, v49, v55);
      ta[v57 + 48u] = vec4<f32>(v38, v44, v50, v56);
    }
    let v58 = local % 16u;
    let v59 = local / 16u;
    let v60 = (v3 + (v58 * 4u));
    let v61 = (v28 + v59);
    let v62 = ((v8 + v60) + (v61 * 192u));
    let v63 = m0[(v62 / 4u)];
    tb[v59 * 16u + v58] = vec4<f32>(bitcast<f32>(v63.x), bitcast<f32>(v63.y), bitcast<f32>(v63.z), bitcast<f32>(v63.w));
    workgroupBarrier();
    for (var v64 = 0u; v64 < 16u; v64 = v64 + 1u) {
      let v65 = ta[v64 * 16u + ((v11 + 0u) ^ (v64 / 4u * 2u))];
      let v66 = tb[v64 * 16u + v10 + 0u];
      v12 = fma(v65.x, v66.x, v12);
      v13 = fma(v65.x, v66.y, v13);
      v14 = fma(v65.x, v66.z, v14);
      v15 = fma(v65.x, v66.w, v15);
      v16 = fma(v65.y, v66.x, v16);
      v17 = fma(v65.y, v66.y, v17);
      v18 = fma(v65.y, v66.z, v18);
      v19 = fma(v65.y, v66.w, v19);
      v20 = fma(v65.z, v66.x, v20);
      v21 = fma(v65.z, v66.y, v21);
      v22 = fma(v65.z, v66.z, v22);
      v23 = fma(v65.z, v66.w, v23);
      v24 = fma(v65.w, v66.x, v24);
      v25 = fma(v65.w, v66.y, v25);
      v26 = fma(v65.w, v66.z, v26);
      v27 = fma(v65.w, v66.w, v27);
    }
    workgroupBarrier();
  }
  let v67 = v5 + v11 * 4u + 0u;
  if (v67 < 256u) {
    let v68 = v3 + v10 * 4u + 0u;
    if (v68 < 192u) {
      finish(v12, v13, v14, v15, ((v9 + (v67 * 192u)) + v68), 192u - v68);
    }
  }
  let v69 = v5 + v11 * 4u + 1u;
  if (v69 < 256u) {
    let v70 = v3 + v10 * 4u + 0u;
    if (v70 < 192u) {
      finish(v16, v17, v18, v19, ((v9 + (v69 * 192u)) + v70), 192u - v70);
    }
  }
  let v71 = v5 + v11 * 4u + 2u;
  if (v71 < 256u) {
    let v72 = v3 + v10 * 4u + 0u;
    if (v72 < 192u) {
      finish(v20, v21, v22, v23, ((v9 + (v71 * 192u)) + v72), 192u - v72);
    }
  }
  let v73 = v5 + v11 * 4u + 3u;
  if (v73 < 256u) {
    let v74 = v3 + v10 * 4u + 0u;
    if (v74 < 192u) {
      finish(v24, v25, v26, v27, ((v9 + (v73 * 192u)) + v74), 192u - v74);
    }
  }
}
