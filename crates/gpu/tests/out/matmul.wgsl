@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
var<workgroup> ta: array<vec4<f32>, 256>;
var<workgroup> tb: array<vec4<f32>, 256>;
fn finish(x0: f32, x1: f32, x2: f32, x3: f32, place: u32, left: u32) {
  let v1 = (p[0].y + place);
  m0[v1] = bitcast<u32>(x0);
  m0[(v1 + 1u)] = bitcast<u32>(x1);
  m0[(v1 + 2u)] = bitcast<u32>(x2);
  m0[(v1 + 3u)] = bitcast<u32>(x3);
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
    let v29 = local / 16u;
    let v30 = local % 16u;
    let v31 = (v5 + (v29 * 4u));
    let v32 = (v28 + v30);
    let v33 = ((v7 + (v31 * 128u)) + v32);
    let v34 = ((v7 + ((v31 + 1u) * 128u)) + v32);
    let v35 = ((v7 + ((v31 + 2u) * 128u)) + v32);
    let v36 = ((v7 + ((v31 + 3u) * 128u)) + v32);
    ta[v30 * 16u + v29] = vec4<f32>(bitcast<f32>(m0[v33]), bitcast<f32>(m0[v34]), bitcast<f32>(m0[v35]), bitcast<f32>(m0[v36]));
    let v37 = local % 16u;
    let v38 = local / 16u;
    let v39 = (v3 + (v37 * 4u));
    let v40 = (v28 + v38);
    let v41 = ((v8 + v39) + (v40 * 192u));
    tb[v38 * 16u + v37] = vec4<f32>(bitcast<f32>(m0[v41]), bitcast<f32>(m0[(v41 + 1u)]), bitcast<f32>(m0[(v41 + 2u)]), bitcast<f32>(m0[(v41 + 3u)]));
    workgroupBarrier();
    for (var v42 = 0u; v42 < 16u; v42 = v42 + 1u) {
      let v43 = ta[v42 * 16u + v11 + 0u];
      let v44 = tb[v42 * 16u + v10 + 0u];
      v12 = fma(v43.x, v44.x, v12);
      v13 = fma(v43.x, v44.y, v13);
      v14 = fma(v43.x, v44.z, v14);
      v15 = fma(v43.x, v44.w, v15);
      v16 = fma(v43.y, v44.x, v16);
      v17 = fma(v43.y, v44.y, v17);
      v18 = fma(v43.y, v44.z, v18);
      v19 = fma(v43.y, v44.w, v19);
      v20 = fma(v43.z, v44.x, v20);
      v21 = fma(v43.z, v44.y, v21);
      v22 = fma(v43.z, v44.z, v22);
      v23 = fma(v43.z, v44.w, v23);
      v24 = fma(v43.w, v44.x, v24);
      v25 = fma(v43.w, v44.y, v25);
      v26 = fma(v43.w, v44.z, v26);
      v27 = fma(v43.w, v44.w, v27);
    }
    workgroupBarrier();
  }
  let v45 = v5 + v11 * 4u + 0u;
  if (v45 < 256u) {
    let v46 = v3 + v10 * 4u + 0u;
    if (v46 < 192u) {
      finish(v12, v13, v14, v15, ((v9 + (v45 * 192u)) + v46), 192u - v46);
    }
  }
  let v47 = v5 + v11 * 4u + 1u;
  if (v47 < 256u) {
    let v48 = v3 + v10 * 4u + 0u;
    if (v48 < 192u) {
      finish(v16, v17, v18, v19, ((v9 + (v47 * 192u)) + v48), 192u - v48);
    }
  }
  let v49 = v5 + v11 * 4u + 2u;
  if (v49 < 256u) {
    let v50 = v3 + v10 * 4u + 0u;
    if (v50 < 192u) {
      finish(v20, v21, v22, v23, ((v9 + (v49 * 192u)) + v50), 192u - v50);
    }
  }
  let v51 = v5 + v11 * 4u + 3u;
  if (v51 < 256u) {
    let v52 = v3 + v10 * 4u + 0u;
    if (v52 < 192u) {
      finish(v24, v25, v26, v27, ((v9 + (v51 * 192u)) + v52), 192u - v52);
    }
  }
}
