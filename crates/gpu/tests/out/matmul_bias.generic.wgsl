@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 6>;
fn f_abs(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_copysign(x: f32, s: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_tanh(a: f32) -> f32 {
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
  if (0u < left) {
    let v2 = (place % p[0].w);
    let v3 = (place / p[0].w);
    let v4 = (p[1].y + ((v3 * p[1].z) + (v2 * p[1].w)));
    let v5 = bitcast<f32>(m0[v4]);
    let v6 = (x0 + v5);
    let v7 = f_tanh(v6);
    m0[(p[2].x + place)] = bitcast<u32>(v7);
  }
  if (1u < left) {
    let v8 = (place + 1u);
    let v9 = (v8 % p[0].w);
    let v10 = (v8 / p[0].w);
    let v11 = (p[1].y + ((v10 * p[1].z) + (v9 * p[1].w)));
    let v12 = bitcast<f32>(m0[v11]);
    let v13 = (x1 + v12);
    let v14 = f_tanh(v13);
    m0[(p[2].x + v8)] = bitcast<u32>(v14);
  }
  if (2u < left) {
    let v15 = (place + 2u);
    let v16 = (v15 % p[0].w);
    let v17 = (v15 / p[0].w);
    let v18 = (p[1].y + ((v17 * p[1].z) + (v16 * p[1].w)));
    let v19 = bitcast<f32>(m0[v18]);
    let v20 = (x2 + v19);
    let v21 = f_tanh(v20);
    m0[(p[2].x + v15)] = bitcast<u32>(v21);
  }
  if (3u < left) {
    let v22 = (place + 3u);
    let v23 = (v22 % p[0].w);
    let v24 = (v22 / p[0].w);
    let v25 = (p[1].y + ((v24 * p[1].z) + (v23 * p[1].w)));
    let v26 = bitcast<f32>(m0[v25]);
    let v27 = (x3 + v26);
    let v28 = f_tanh(v27);
    m0[(p[2].x + v22)] = bitcast<u32>(v28);
  }
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v29 = (group.y * groups.x + group.x) * 256u + local;
  if (v29 >= p[3].x) {
    return;
  }
  let v30 = ((v29 % p[3].z) * 4u);
  let v31 = (v29 / p[3].z);
  let v32 = ((v31 % p[3].y) * 4u);
  let v33 = (v31 / p[3].y);
  let v34 = p[3].w;
  let v35 = p[4].z;
  let v36 = p[5].y;
  let v37 = min((v30 + 1u), p[2].z - 1u);
  let v38 = min((v30 + 2u), p[2].z - 1u);
  let v39 = min((v30 + 3u), p[2].z - 1u);
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
  var v55 = 0.0f;
  for (var v56 = 0u; v56 < p[2].w; v56 = v56 + 1u) {
    let v57 = ((v34 + (v32 * p[4].x)) + (v56 * p[4].y));
    let v58 = bitcast<f32>(m0[v57]);
    let v59 = ((v34 + ((v32 + 1u) * p[4].x)) + (v56 * p[4].y));
    let v60 = bitcast<f32>(m0[v59]);
    let v61 = ((v34 + ((v32 + 2u) * p[4].x)) + (v56 * p[4].y));
    let v62 = bitcast<f32>(m0[v61]);
    let v63 = ((v34 + ((v32 + 3u) * p[4].x)) + (v56 * p[4].y));
    let v64 = bitcast<f32>(m0[v63]);
    let v65 = ((v35 + (v30 * p[4].w)) + (v56 * p[5].x));
    let v66 = bitcast<f32>(m0[v65]);
    let v67 = ((v35 + (v37 * p[4].w)) + (v56 * p[5].x));
    let v68 = bitcast<f32>(m0[v67]);
    let v69 = ((v35 + (v38 * p[4].w)) + (v56 * p[5].x));
    let v70 = bitcast<f32>(m0[v69]);
    let v71 = ((v35 + (v39 * p[4].w)) + (v56 * p[5].x));
    let v72 = bitcast<f32>(m0[v71]);
    v40 = fma(v58, v66, v40);
    v41 = fma(v58, v68, v41);
    v42 = fma(v58, v70, v42);
    v43 = fma(v58, v72, v43);
    v44 = fma(v60, v66, v44);
    v45 = fma(v60, v68, v45);
    v46 = fma(v60, v70, v46);
    v47 = fma(v60, v72, v47);
    v48 = fma(v62, v66, v48);
    v49 = fma(v62, v68, v49);
    v50 = fma(v62, v70, v50);
    v51 = fma(v62, v72, v51);
    v52 = fma(v64, v66, v52);
    v53 = fma(v64, v68, v53);
    v54 = fma(v64, v70, v54);
    v55 = fma(v64, v72, v55);
  }
  let v73 = p[2].z - v30;
  finish(v40, v41, v42, v43, ((v36 + (v32 * p[5].z)) + v30), v73);
  finish(v44, v45, v46, v47, ((v36 + ((v32 + 1u) * p[5].z)) + v30), v73);
  finish(v48, v49, v50, v51, ((v36 + ((v32 + 2u) * p[5].z)) + v30), v73);
  finish(v52, v53, v54, v55, ((v36 + ((v32 + 3u) * p[5].z)) + v30), v73);
}
