@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 1>;
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
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = bitcast<f32>(m0[v5]);
  let v7 = (v2 / p[0].y);
  let v8 = (v7 & 1u) == 1u;
  let v9 = ((v7 & ~1u) * p[0].y);
  let v10 = select(v9 + p[0].y, v9, v8);
  var v11 = min(v10, 64u);
  var v12 = min(v10 + p[0].y, 64u);
  let v13 = v11;
  while (v11 < v12) {
    let v14 = (v11 + v12) / 2u;
    let v15 = ((p[0].z + v4) + v14);
    let v16 = bitcast<f32>(m0[v15]);
    if (select(f_before(v16, v6), !f_before(v6, v16), v8)) {
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
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].w + v4) + v2);
  let v6 = m1[v5];
  let v7 = ((p[0].z + v4) + v6);
  let v8 = bitcast<f32>(m0[v7]);
  let v9 = (v2 / p[0].y);
  let v10 = (v9 & 1u) == 1u;
  let v11 = ((v9 & ~1u) * p[0].y);
  let v12 = select(v11 + p[0].y, v11, v10);
  var v13 = min(v12, 64u);
  var v14 = min(v12 + p[0].y, 64u);
  let v15 = v13;
  while (v13 < v14) {
    let v16 = (v13 + v14) / 2u;
    let v17 = ((p[0].w + v4) + v16);
    let v18 = m1[v17];
    let v19 = ((p[0].z + v4) + v18);
    let v20 = bitcast<f32>(m0[v19]);
    if (select(f_before(v20, v8), !f_before(v8, v20), v10)) {
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
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<storage, read> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 1>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = m1[v5];
  let v7 = ((p[0].w + v4) + v6);
  let v8 = bitcast<f32>(m0[v7]);
  let v9 = (p[0].y + v1);
  m0[v9] = bitcast<u32>(v8);
}
@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 1>;
fn l_u32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 192u) {
    return;
  }
  let v2 = (v1 % 64u);
  let v3 = (v1 / 64u);
  let v4 = (v3 * 64u);
  let v5 = ((p[0].z + v4) + v2);
  let v6 = m0[v5];
  let v7 = l_u32(v6);
  let v8 = (p[0].y + v1);
  let v9 = (v8 * 2u);
  m1[v9] = v7.x;
  m1[(v9 + 1u)] = v7.y;
}
