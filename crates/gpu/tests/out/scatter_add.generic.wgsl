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
  for (var v6 = 0u; v6 < p[3].y; v6 = v6 + 1u) {
    let v7 = (p[0].z + (v6 * p[0].w));
    let v8 = vec2<u32>(m0[(v7 * 2u)], m0[((v7 * 2u) + 1u)]);
    let v9 = v8;
    let v10 = !l_less(v9, v1);
    let v11 = l_less(v9, v2);
    let v12 = (v10 && v11);
    let v13 = bitcast<i32>((p[2].y + (v6 * p[2].z)));
    let v14 = bitcast<u32>(v13);
    let v15 = select(v14, v3, v12);
    v5 = u_minimum(v5, v15);
  }
  m1[p[2].w] = v5;
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
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[0].w);
  let v3 = (v1 / p[0].w);
  let v4 = (v3 % p[0].z);
  let v5 = (v3 / p[0].z);
  let v6 = (((v5 * p[0].z) * p[0].w) + v2);
  let v7 = ((p[1].y + v6) + (v4 * p[0].w));
  let v8 = vec2<u32>(m0[(v7 * 2u)], m0[((v7 * 2u) + 1u)]);
  let v9 = (v4 / p[1].x);
  let v10 = (v9 & 1u) == 1u;
  let v11 = ((v9 & ~1u) * p[1].x);
  let v12 = select(v11 + p[1].x, v11, v10);
  var v13 = min(v12, p[0].z);
  var v14 = min(v12 + p[1].x, p[0].z);
  let v15 = v13;
  while (v13 < v14) {
    let v16 = (v13 + v14) / 2u;
    let v17 = ((p[1].y + v6) + (v16 * p[0].w));
    let v18 = vec2<u32>(m0[(v17 * 2u)], m0[((v17 * 2u) + 1u)]);
    if (select(l_less(v18, v8), !l_less(v8, v18), v10)) {
      v13 = v16 + 1u;
    } else {
      v14 = v16;
    }
  }
  let v19 = v4 - select(v11, v11 + p[1].x, v10);
  let v20 = v11 + v19 + (v13 - v15);
  let v21 = ((p[1].z + v6) + (v20 * p[0].w));
  m1[v21] = v4;
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
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[0].w);
  let v3 = (v1 / p[0].w);
  let v4 = (v3 % p[0].z);
  let v5 = (v3 / p[0].z);
  let v6 = (((v5 * p[0].z) * p[0].w) + v2);
  let v7 = ((p[1].z + v6) + (v4 * p[0].w));
  let v8 = m1[v7];
  let v9 = ((p[1].y + v6) + (v8 * p[0].w));
  let v10 = vec2<u32>(m0[(v9 * 2u)], m0[((v9 * 2u) + 1u)]);
  let v11 = (v4 / p[1].x);
  let v12 = (v11 & 1u) == 1u;
  let v13 = ((v11 & ~1u) * p[1].x);
  let v14 = select(v13 + p[1].x, v13, v12);
  var v15 = min(v14, p[0].z);
  var v16 = min(v14 + p[1].x, p[0].z);
  let v17 = v15;
  while (v15 < v16) {
    let v18 = (v15 + v16) / 2u;
    let v19 = ((p[1].z + v6) + (v18 * p[0].w));
    let v20 = m1[v19];
    let v21 = ((p[1].y + v6) + (v20 * p[0].w));
    let v22 = vec2<u32>(m0[(v21 * 2u)], m0[((v21 * 2u) + 1u)]);
    if (select(l_less(v22, v10), !l_less(v10, v22), v12)) {
      v15 = v18 + 1u;
    } else {
      v16 = v18;
    }
  }
  let v23 = v4 - select(v13, v13 + p[1].x, v12);
  let v24 = v13 + v23 + (v15 - v17);
  let v25 = ((p[1].w + v6) + (v24 * p[0].w));
  m1[v25] = v8;
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
fn l_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (bitcast<i32>(a.y) < bitcast<i32>(b.y)) || (a.y == b.y && a.x < b.x);
}
fn l_u32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[0].y) {
    return;
  }
  var v2 = 0u;
  var v3 = p[1].x;
  while (v2 < v3) {
    let v4 = (v2 + v3) / 2u;
    let v5 = m1[(p[1].y + v4)];
    let v6 = vec2<u32>(m0[((p[1].z + v5) * 2u)], m0[(((p[1].z + v5) * 2u) + 1u)]);
    if (l_less(v6, l_u32(v1))) {
      v2 = v4 + 1u;
    } else {
      v3 = v4;
    }
  }
  let v7 = (p[0].z + v1);
  m1[v7] = v2;
}
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<storage, read> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 3>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[0].y) {
    return;
  }
  let v2 = (v1 % p[1].y);
  let v3 = (v1 / p[1].y);
  let v4 = (v3 % p[1].x);
  let v5 = (v3 / p[1].x);
  let v6 = (p[1].w + v1);
  var v7 = bitcast<f32>(m0[v6]);
  let v8 = (p[2].z + v4);
  let v9 = m1[(v8 + 1u)];
  for (var v10 = m1[v8]; v10 < v9; v10 = v10 + 1u) {
    let v11 = m1[(p[2].x + v10)];
    let v12 = (p[2].y + ((((v5 * p[1].z) + v11) * p[1].y) + v2));
    let v13 = bitcast<f32>(m0[v12]);
    v7 = (v7 + v13);
  }
  let v14 = (p[0].z + v1);
  m0[v14] = bitcast<u32>(v7);
}
