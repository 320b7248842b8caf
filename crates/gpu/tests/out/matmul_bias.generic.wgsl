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
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v29 = (group.y * groups.x + group.x) * 64u + local;
  if (v29 >= p[3].x) {
    return;
  }
  let v30 = ((v29 % p[3].z) * 8u);
  let v31 = (v29 / p[3].z);
  let v32 = ((v31 % p[3].y) * 8u);
  let v33 = (v31 / p[3].y);
  let v34 = p[3].w;
  let v35 = p[4].z;
  let v36 = p[5].y;
  let v37 = min((v32 + 1u), p[2].y - 1u);
  let v38 = min((v32 + 2u), p[2].y - 1u);
  let v39 = min((v32 + 3u), p[2].y - 1u);
  let v40 = min((v32 + 4u), p[2].y - 1u);
  let v41 = min((v32 + 5u), p[2].y - 1u);
  let v42 = min((v32 + 6u), p[2].y - 1u);
  let v43 = min((v32 + 7u), p[2].y - 1u);
  let v44 = min((v30 + 1u), p[2].z - 1u);
  let v45 = min((v30 + 2u), p[2].z - 1u);
  let v46 = min((v30 + 3u), p[2].z - 1u);
  let v47 = min((v30 + 4u), p[2].z - 1u);
  let v48 = min((v30 + 5u), p[2].z - 1u);
  let v49 = min((v30 + 6u), p[2].z - 1u);
  let v50 = min((v30 + 7u), p[2].z - 1u);
  var v51 = 0.0f;
  var v52 = 0.0f;
  var v53 = 0.0f;
  var v54 = 0.0f;
  var v55 = 0.0f;
  var v56 = 0.0f;
  var v57 = 0.0f;
  var v58 = 0.0f;
  var v59 = 0.0f;
  var v60 = 0.0f;
  var v61 = 0.0f;
  var v62 = 0.0f;
  var v63 = 0.0f;
  var v64 = 0.0f;
  var v65 = 0.0f;
  var v66 = 0.0f;
  var v67 = 0.0f;
  var v68 = 0.0f;
  var v69 = 0.0f;
  var v70 = 0.0f;
  var v71 = 0.0f;
  var v72 = 0.0f;
  var v73 = 0.0f;
  var v74 = 0.0f;
  var v75 = 0.0f;
  var v76 = 0.0f;
  var v77 = 0.0f;
  var v78 = 0.0f;
  var v79 = 0.0f;
  var v80 = 0.0f;
  var v81 = 0.0f;
  var v82 = 0.0f;
  var v83 = 0.0f;
  var v84 = 0.0f;
  var v85 = 0.0f;
  var v86 = 0.0f;
  var v87 = 0.0f;
  var v88 = 0.0f;
  var v89 = 0.0f;
  var v90 = 0.0f;
  var v91 = 0.0f;
  var v92 = 0.0f;
  var v93 = 0.0f;
  var v94 = 0.0f;
  var v95 = 0.0f;
  var v96 = 0.0f;
  var v97 = 0.0f;
  var v98 = 0.0f;
  var v99 = 0.0f;
  var v100 = 0.0f;
  var v101 = 0.0f;
  var v102 = 0.0f;
  var v103 = 0.0f;
  var v104 = 0.0f;
  var v105 = 0.0f;
  var v106 = 0.0f;
  var v107 = 0.0f;
  var v108 = 0.0f;
  var v109 = 0.0f;
  var v110 = 0.0f;
  var v111 = 0.0f;
  var v112 = 0.0f;
  var v113 = 0.0f;
  var v114 = 0.0f;
  for (var v115 = 0u; v115 < p[2].w; v115 = v115 + 1u) {
    let v116 = ((v34 + (v32 * p[4].x)) + (v115 * p[4].y));
    let v117 = bitcast<f32>(m0[v116]);
    let v118 = ((v34 + (v37 * p[4].x)) + (v115 * p[4].y));
    let v119 = bitcast<f32>(m0[v118]);
    let v120 = ((v34 + (v38 * p[4].x)) + (v115 * p[4].y));
    let v121 = bitcast<f32>(m0[v120]);
    let v122 = ((v34 + (v39 * p[4].x)) + (v115 * p[4].y));
    let v123 = bitcast<f32>(m0[v122]);
    let v124 = ((v34 + (v40 * p[4].x)) + (v115 * p[4].y));
    let v125 = bitcast<f32>(m0[v124]);
    let v126 = ((v34 + (v41 * p[4].x)) + (v115 * p[4].y));
    let v127 = bitcast<f32>(m0[v126]);
    let v128 = ((v34 + (v42 * p[4].x)) + (v115 * p[4].y));
    let v129 = bitcast<f32>(m0[v128]);
    let v130 = ((v34 + (v43 * p[4].x)) + (v115 * p[4].y));
    let v131 = bitcast<f32>(m0[v130]);
    let v132 = ((v35 + (v30 * p[4].w)) + (v115 * p[5].x));
    let v133 = bitcast<f32>(m0[v132]);
    let v134 = ((v35 + (v44 * p[4].w)) + (v115 * p[5].x));
    let v135 = bitcast<f32>(m0[v134]);
    let v136 = ((v35 + (v45 * p[4].w)) + (v115 * p[5].x));
    let v137 = bitcast<f32>(m0[v136]);
    let v138 = ((v35 + (v46 * p[4].w)) + (v115 * p[5].x));
    let v139 = bitcast<f32>(m0[v138]);
    let v140 = ((v35 + (v47 * p[4].w)) + (v115 * p[5].x));
    let v141 = bitcast<f32>(m0[v140]);
    let v142 = ((v35 + (v48 * p[4].w)) + (v115 * p[5].x));
    let v143 = bitcast<f32>(m0[v142]);
    let v144 = ((v35 + (v49 * p[4].w)) + (v115 * p[5].x));
    let v145 = bitcast<f32>(m0[v144]);
    let v146 = ((v35 + (v50 * p[4].w)) + (v115 * p[5].x));
    let v147 = bitcast<f32>(m0[v146]);
    v51 = fma(v117, v133, v51);
    v52 = fma(v117, v135, v52);
    v53 = fma(v117, v137, v53);
    v54 = fma(v117, v139, v54);
    v55 = fma(v117, v141, v55);
    v56 = fma(v117, v143, v56);
    v57 = fma(v117, v145, v57);
    v58 = fma(v117, v147, v58);
    v59 = fma(v119, v133, v59);
    v60 = fma(v119, v135, v60);
    v61 = fma(v119, v137, v61);
    v62 = fma(v119, v139, v62);
    v63 = fma(v119, v141, v63);
    v64 = fma(v119, v143, v64);
    v65 = fma(v119, v145, v65);
    v66 = fma(v119, v147, v66);
    v67 = fma(v121, v133, v67);
    v68 = fma(v121, v135, v68);
    v69 = fma(v121, v137, v69);
    v70 = fma(v121, v139, v70);
    v71 = fma(v121, v141, v71);
    v72 = fma(v121, v143, v72);
    v73 = fma(v121, v145, v73);
    v74 = fma(v121, v147, v74);
    v75 = fma(v123, v133, v75);
    v76 = fma(v123, v135, v76);
    v77 = fma(v123, v137, v77);
    v78 = fma(v123, v139, v78);
    v79 = fma(v123, v141, v79);
    v80 = fma(v123, v143, v80);
    v81 = fma(v123, v145, v81);
    v82 = fma(v123, v147, v82);
    v83 = fma(v125, v133, v83);
    v84 = fma(v125, v135, v84);
    v85 = fma(v125, v137, v85);
    v86 = fma(v125, v139, v86);
    v87 = fma(v125, v141, v87);
    v88 = fma(v125, v143, v88);
    v89 = fma(v125, v145, v89);
    v90 = fma(v125, v147, v90);
    v91 = fma(v127, v133, v91);
    v92 = fma(v127, v135, v92);
    v93 = fma(v127, v137, v93);
    v94 = fma(v127, v139, v94);
    v95 = fma(v127, v141, v95);
    v96 = fma(v127, v143, v96);
    v97 = fma(v127, v145, v97);
    v98 = fma(v127, v147, v98);
    v99 = fma(v129, v133, v99);
    v100 = fma(v129, v135, v100);
    v101 = fma(v129, v137, v101);
    v102 = fma(v129, v139, v102);
    v103 = fma(v129, v141, v103);
    v104 = fma(v129, v143, v104);
    v105 = fma(v129, v145, v105);
    v106 = fma(v129, v147, v106);
    v107 = fma(v131, v133, v107);
    v108 = fma(v131, v135, v108);
    v109 = fma(v131, v137, v109);
    v110 = fma(v131, v139, v110);
    v111 = fma(v131, v141, v111);
    v112 = fma(v131, v143, v112);
    v113 = fma(v131, v145, v113);
    v114 = fma(v131, v147, v114);
  }
  var v148 = array<f32, 64>(v51, v52, v53, v54, v55, v56, v57, v58, v59, v60, v61, v62, v63, v64, v65, v66, v67, v68, v69, v70, v71, v72, v73, v74, v75, v76, v77, v78, v79, v80, v81, v82, v83, v84, v85, v86, v87, v88, v89, v90, v91, v92, v93, v94, v95, v96, v97, v98, v99, v100, v101, v102, v103, v104, v105, v106, v107, v108, v109, v110, v111, v112, v113, v114);
  for (var v149 = 0u; v149 < 16u; v149 = v149 + 1u) {
    let v150 = v148[v149 * 4u + 0u];
    let v151 = v148[v149 * 4u + 1u];
    let v152 = v148[v149 * 4u + 2u];
    let v153 = v148[v149 * 4u + 3u];
    let v154 = (v32 + (v149 / 2u));
    let v155 = (v30 + ((v149 % 2u) * 4u));
    if (v154 < p[2].y && v155 < p[2].z) {
      finish(v150, v151, v152, v153, ((v36 + (v154 * p[5].z)) + v155), p[2].z - v155);
    }
  }
}
