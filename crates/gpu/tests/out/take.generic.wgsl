@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 4>;
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
fn u_minimum(a: u32, b: u32) -> u32 {
  return select(a, b, b < a);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = vec2<u32>(p[1].x, p[1].y);
  let v2 = vec2<u32>(p[1].z, p[1].w);
  let v3 = p[2].x;
  let v4 = (group.y * groups.x + group.x) * 64u + local;
  if (v4 >= p[3].x) {
    return;
  }
  var v5 = 0xffffffffu;
  let v6 = p[0].z;
  let v7 = vec2<u32>(m0[(v6 * 2u)], m0[((v6 * 2u) + 1u)]);
  let v8 = v7;
  let v9 = !l_less(v8, v1);
  let v10 = l_less(v8, v2);
  let v11 = (v9 && v10);
  let v12 = bitcast<i32>(p[2].y);
  let v13 = bitcast<u32>(v12);
  let v14 = select(v13, v3, v11);
  v5 = u_minimum(v5, v14);
  let v15 = (p[0].z + p[0].w);
  let v16 = vec2<u32>(m0[(v15 * 2u)], m0[((v15 * 2u) + 1u)]);
  let v17 = v16;
  let v18 = !l_less(v17, v1);
  let v19 = l_less(v17, v2);
  let v20 = (v18 && v19);
  let v21 = bitcast<i32>((p[2].y + p[2].z));
  let v22 = bitcast<u32>(v21);
  let v23 = select(v22, v3, v20);
  v5 = u_minimum(v5, v23);
  let v24 = (p[0].z + (2u * p[0].w));
  let v25 = vec2<u32>(m0[(v24 * 2u)], m0[((v24 * 2u) + 1u)]);
  let v26 = v25;
  let v27 = !l_less(v26, v1);
  let v28 = l_less(v26, v2);
  let v29 = (v27 && v28);
  let v30 = bitcast<i32>((p[2].y + (2u * p[2].z)));
  let v31 = bitcast<u32>(v30);
  let v32 = select(v31, v3, v29);
  v5 = u_minimum(v5, v32);
  let v33 = (p[0].z + (3u * p[0].w));
  let v34 = vec2<u32>(m0[(v33 * 2u)], m0[((v33 * 2u) + 1u)]);
  let v35 = v34;
  let v36 = !l_less(v35, v1);
  let v37 = l_less(v35, v2);
  let v38 = (v36 && v37);
  let v39 = bitcast<i32>((p[2].y + (3u * p[2].z)));
  let v40 = bitcast<u32>(v39);
  let v41 = select(v40, v3, v38);
  v5 = u_minimum(v5, v41);
  let v42 = (p[0].z + (4u * p[0].w));
  let v43 = vec2<u32>(m0[(v42 * 2u)], m0[((v42 * 2u) + 1u)]);
  let v44 = v43;
  let v45 = !l_less(v44, v1);
  let v46 = l_less(v44, v2);
  let v47 = (v45 && v46);
  let v48 = bitcast<i32>((p[2].y + (4u * p[2].z)));
  let v49 = bitcast<u32>(v48);
  let v50 = select(v49, v3, v47);
  v5 = u_minimum(v5, v50);
  let v51 = (p[0].z + (5u * p[0].w));
  let v52 = vec2<u32>(m0[(v51 * 2u)], m0[((v51 * 2u) + 1u)]);
  let v53 = v52;
  let v54 = !l_less(v53, v1);
  let v55 = l_less(v53, v2);
  let v56 = (v54 && v55);
  let v57 = bitcast<i32>((p[2].y + (5u * p[2].z)));
  let v58 = bitcast<u32>(v57);
  let v59 = select(v58, v3, v56);
  v5 = u_minimum(v5, v59);
  let v60 = (p[0].z + (6u * p[0].w));
  let v61 = vec2<u32>(m0[(v60 * 2u)], m0[((v60 * 2u) + 1u)]);
  let v62 = v61;
  let v63 = !l_less(v62, v1);
  let v64 = l_less(v62, v2);
  let v65 = (v63 && v64);
  let v66 = bitcast<i32>((p[2].y + (6u * p[2].z)));
  let v67 = bitcast<u32>(v66);
  let v68 = select(v67, v3, v65);
  v5 = u_minimum(v5, v68);
  let v69 = (p[0].z + (7u * p[0].w));
  let v70 = vec2<u32>(m0[(v69 * 2u)], m0[((v69 * 2u) + 1u)]);
  let v71 = v70;
  let v72 = !l_less(v71, v1);
  let v73 = l_less(v71, v2);
  let v74 = (v72 && v73);
  let v75 = bitcast<i32>((p[2].y + (7u * p[2].z)));
  let v76 = bitcast<u32>(v75);
  let v77 = select(v76, v3, v74);
  v5 = u_minimum(v5, v77);
  let v78 = (p[0].z + (8u * p[0].w));
  let v79 = vec2<u32>(m0[(v78 * 2u)], m0[((v78 * 2u) + 1u)]);
  let v80 = v79;
  let v81 = !l_less(v80, v1);
  let v82 = l_less(v80, v2);
  let v83 = (v81 && v82);
  let v84 = bitcast<i32>((p[2].y + (8u * p[2].z)));
  let v85 = bitcast<u32>(v84);
  let v86 = select(v85, v3, v83);
  v5 = u_minimum(v5, v86);
  m1[p[2].w] = v5;
}
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 3>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[1].y);
  let v3 = (v1 / p[1].y);
  let v4 = (v3 % p[1].z);
  let v5 = (v3 / p[1].z);
  let v6 = (p[1].w + v4);
  let v7 = vec2<u32>(m0[(v6 * 2u)], m0[((v6 * 2u) + 1u)]);
  let v8 = select(0u, v7.x, (v7.y == 0u && v7.x < p[1].x));
  let v9 = (p[2].x + ((((v5 * p[1].x) + v8) * p[1].y) + v2));
  let v10 = bitcast<f32>(m0[v9]);
  let v11 = (p[0].z + v1);
  m0[v11] = bitcast<u32>(v10);
}
