@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
var<workgroup> s0: array<u32, 256>;
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
fn u_minimum(a: u32, b: u32) -> u32 {
  return select(a, b, b < a);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = vec2<u32>(p[0].z, p[0].w);
  let v2 = vec2<u32>(p[1].x, p[1].y);
  let v3 = p[1].z;
  let v4 = local % 32u;
  let v5 = (group.y * groups.x + group.x) * 8u + (local / 32u);
  let v6 = min(v5, 1u - 1u);
  let v7 = v5 < 1u;
  var v8 = 0xffffffffu;
  let v9 = v4 < 41u;
  let v10 = min(v4, 41u - 1u);
  let v11 = (p[0].y + v10);
  let v12 = vec2<u32>(m0[(v11 * 2u)], m0[((v11 * 2u) + 1u)]);
  let v13 = v12;
  let v14 = !l_less(v13, v1);
  let v15 = l_less(v13, v2);
  let v16 = (v14 && v15);
  let v17 = bitcast<i32>(v10);
  let v18 = bitcast<u32>(v17);
  let v19 = select(v18, v3, v16);
  v8 = select(v8, u_minimum(v8, v19), v9);
  let v20 = (v4 + 32u) < 41u;
  let v21 = min((v4 + 32u), 41u - 1u);
  let v22 = (p[0].y + v21);
  let v23 = vec2<u32>(m0[(v22 * 2u)], m0[((v22 * 2u) + 1u)]);
  let v24 = v23;
  let v25 = !l_less(v24, v1);
  let v26 = l_less(v24, v2);
  let v27 = (v25 && v26);
  let v28 = bitcast<i32>(v21);
  let v29 = bitcast<u32>(v28);
  let v30 = select(v29, v3, v27);
  v8 = select(v8, u_minimum(v8, v30), v20);
  s0[local] = v8;
  workgroupBarrier();
  let v31 = (local / 32u) * 32u;
  if (v4 < 4u) {
    let v32 = s0[local];
    let v33 = u_minimum(v32, s0[local + 4u]);
    let v34 = u_minimum(v33, s0[local + 8u]);
    let v35 = u_minimum(v34, s0[local + 12u]);
    let v36 = u_minimum(v35, s0[local + 16u]);
    let v37 = u_minimum(v36, s0[local + 20u]);
    let v38 = u_minimum(v37, s0[local + 24u]);
    let v39 = u_minimum(v38, s0[local + 28u]);
    s0[local] = v39;
  }
  workgroupBarrier();
  let v40 = s0[v31 + 0u];
  let v41 = u_minimum(v40, s0[v31 + 1u]);
  let v42 = u_minimum(v41, s0[v31 + 2u]);
  let v43 = u_minimum(v42, s0[v31 + 3u]);
  workgroupBarrier();
  if (v7 && v4 == 0u) {
    m1[p[1].w] = v43;
  }
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 1>;
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 41u) {
    return;
  }
  let v2 = (v1 % 41u);
  let v3 = (v1 / 41u);
  let v4 = (v3 * 41u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = vec2<u32>(m0[(v5 * 2u)], m0[((v5 * 2u) + 1u)]);
  let v7 = (v2 / p[0].y);
  let v8 = (v7 & 1u) == 1u;
  let v9 = ((v7 & ~1u) * p[0].y);
  let v10 = select(v9 + p[0].y, v9, v8);
  var v11 = min(v10, 41u);
  var v12 = min(v10 + p[0].y, 41u);
  let v13 = v11;
  while (v11 < v12) {
    let v14 = (v11 + v12) / 2u;
    let v15 = ((p[0].z + v4) + v14);
    let v16 = vec2<u32>(m0[(v15 * 2u)], m0[((v15 * 2u) + 1u)]);
    if (select(l_less(v16, v6), !l_less(v6, v16), v8)) {
      v11 = v14 + 1u;
    } else {
      v12 = v14;
    }
  }
  let v17 = v2 - select(v9, v9 + p[0].y, v8);
  let v18 = v9 + v17 + (v11 - v13);
  let v19 = ((p[0].w + v4) + v18);
  m1[v19] = v2;
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 41u) {
    return;
  }
  let v2 = (v1 % 41u);
  let v3 = (v1 / 41u);
  let v4 = (v3 * 41u);
  let v5 = ((p[0].w + v4) + v2);
  let v6 = m1[v5];
  let v7 = ((p[0].z + v4) + v6);
  let v8 = vec2<u32>(m0[(v7 * 2u)], m0[((v7 * 2u) + 1u)]);
  let v9 = (v2 / p[0].y);
  let v10 = (v9 & 1u) == 1u;
  let v11 = ((v9 & ~1u) * p[0].y);
  let v12 = select(v11 + p[0].y, v11, v10);
  var v13 = min(v12, 41u);
  var v14 = min(v12 + p[0].y, 41u);
  let v15 = v13;
  while (v13 < v14) {
    let v16 = (v13 + v14) / 2u;
    let v17 = ((p[0].w + v4) + v16);
    let v18 = m1[v17];
    let v19 = ((p[0].z + v4) + v18);
    let v20 = vec2<u32>(m0[(v19 * 2u)], m0[((v19 * 2u) + 1u)]);
    if (select(l_less(v20, v8), !l_less(v8, v20), v10)) {
      v13 = v16 + 1u;
    } else {
      v14 = v16;
    }
  }
  let v21 = v2 - select(v11, v11 + p[0].y, v10);
  let v22 = v11 + v21 + (v13 - v15);
  let v23 = ((p[1].x + v4) + v22);
  m1[v23] = v6;
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 1>;
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
fn l_u32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 11u) {
    return;
  }
  var v2 = 0u;
  var v3 = 41u;
  while (v2 < v3) {
    let v4 = (v2 + v3) / 2u;
    let v5 = m1[(p[0].z + v4)];
    let v6 = vec2<u32>(m0[((p[0].w + v5) * 2u)], m0[(((p[0].w + v5) * 2u) + 1u)]);
    if (l_less(v6, l_u32(v1))) {
      v2 = v4 + 1u;
    } else {
      v3 = v4;
    }
  }
  let v7 = (p[0].y + v1);
  m1[v7] = v2;
}
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<storage, read> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 60u) {
    return;
  }
  let v2 = (v1 % 6u);
  let v3 = (v1 / 6u);
  let v4 = (v3 % 10u);
  let v5 = (v3 / 10u);
  let v6 = (p[0].z + v1);
  var v7 = bitcast<f32>(m0[v6]);
  let v8 = (p[1].y + v4);
  let v9 = m1[(v8 + 1u)];
  for (var v10 = m1[v8]; v10 < v9; v10 = v10 + 1u) {
    let v11 = m1[(p[0].w + v10)];
    let v12 = (p[1].x + ((((v5 * 41u) + v11) * 6u) + v2));
    let v13 = bitcast<f32>(m0[v12]);
    v7 = (v7 + v13);
  }
  let v14 = (p[0].y + v1);
  m0[v14] = bitcast<u32>(v7);
}
