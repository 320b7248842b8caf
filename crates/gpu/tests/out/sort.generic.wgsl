@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_before(a: f32, b: f32) -> bool {
  return (a < b) || (!f_is_nan(a) && f_is_nan(b));
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
  let v8 = bitcast<f32>(m0[v7]);
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
    let v18 = bitcast<f32>(m0[v17]);
    if (select(f_before(v18, v8), !f_before(v8, v18), v10)) {
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
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn f_before(a: f32, b: f32) -> bool {
  return (a < b) || (!f_is_nan(a) && f_is_nan(b));
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
  let v10 = bitcast<f32>(m0[v9]);
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
    let v22 = bitcast<f32>(m0[v21]);
    if (select(f_before(v22, v10), !f_before(v10, v22), v12)) {
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
  let v4 = (v3 % p[1].z);
  let v5 = (v3 / p[1].z);
  let v6 = (((v5 * p[1].x) * p[1].y) + v2);
  let v7 = ((p[1].w + v6) + (v4 * p[1].y));
  let v8 = m1[v7];
  let v9 = ((p[2].x + v6) + (v8 * p[1].y));
  let v10 = bitcast<f32>(m0[v9]);
  let v11 = (p[0].z + v1);
  m0[v11] = bitcast<u32>(v10);
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
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
  let v2 = (v1 % p[1].y);
  let v3 = (v1 / p[1].y);
  let v4 = (v3 % p[1].z);
  let v5 = (v3 / p[1].z);
  let v6 = (((v5 * p[1].x) * p[1].y) + v2);
  let v7 = ((p[1].w + v6) + (v4 * p[1].y));
  let v8 = m0[v7];
  let v9 = l_u32(v8);
  let v10 = (p[0].z + v1);
  let v11 = (v10 * 2u);
  m1[v11] = v9.x;
  m1[(v11 + 1u)] = v9.y;
}
