@group(0) @binding(0) var<storage, read> m0: array<u32>;
@group(0) @binding(1) var<storage, read_write> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 1>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 18u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = ((v1 / 3u) % 6u);
  let v4 = (v3 * 256u);
  let v5 = min(v4 + 256u, 1500u);
  var v6 = f_bits(0x80000000u);
  var v7 = 0.0f;
  for (var v8 = v4; v8 < v5; v8 = v8 + 1u) {
    let v9 = (p[0].y + ((v2 * 1500u) + v8));
    let v10 = bitcast<f32>(m0[v9]);
    let v11 = f_fence(v6 + v10);
    let v12 = f_fence(v11 - v6);
    let v13 = f_fence(v6 - f_fence(v11 - v12)) + f_fence(v10 - v12);
    v7 = select(v7, f_fence(v7 + v13), f_is_finite(v11));
    v6 = v11;
  }
  let v14 = ((p[0].z + (v3 * 3u)) + v2);
  m1[v14] = bitcast<u32>(v6);
  let v15 = ((p[0].w + (v3 * 3u)) + v2);
  m1[v15] = bitcast<u32>(v7);
}
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 3u) {
    return;
  }
  var v2 = f_bits(0x80000000u);
  var v3 = 0.0f;
  for (var v4 = 0u; v4 < 6u; v4 = v4 + 1u) {
    let v5 = ((p[0].y + (v4 * 3u)) + v1);
    let v6 = bitcast<f32>(m0[v5]);
    let v7 = ((p[0].z + (v4 * 3u)) + v1);
    let v8 = bitcast<f32>(m0[v7]);
    let v9 = ((p[0].w + (v4 * 3u)) + v1);
    m0[v9] = bitcast<u32>(v2);
    let v10 = ((p[1].x + (v4 * 3u)) + v1);
    m0[v10] = bitcast<u32>(v3);
    let v11 = f_fence(v2 + v6);
    let v12 = f_fence(v11 - v2);
    let v13 = f_fence(v2 - f_fence(v11 - v12)) + f_fence(v6 - v12);
    v3 = select(v3, f_fence(v3 + v13), f_is_finite(v11));
    v2 = v11;
    let v14 = f_fence(v2 + v8);
    let v15 = f_fence(v14 - v2);
    let v16 = f_fence(v2 - f_fence(v14 - v15)) + f_fence(v8 - v15);
    v3 = select(v3, f_fence(v3 + v16), f_is_finite(v14));
    v2 = v14;
  }
}
@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<storage, read> m1: array<u32>;
@group(0) @binding(2) var<uniform> p: array<vec4<u32>, 2>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 18u) {
    return;
  }
  let v2 = (v1 % 3u);
  let v3 = ((v1 / 3u) % 6u);
  let v4 = (v3 * 256u);
  let v5 = min(v4 + 256u, 1500u);
  var v6 = f_bits(0x80000000u);
  var v7 = 0.0f;
  let v8 = ((p[0].y + (v3 * 3u)) + v2);
  let v9 = bitcast<f32>(m1[v8]);
  let v10 = ((p[0].z + (v3 * 3u)) + v2);
  let v11 = bitcast<f32>(m1[v10]);
  let v12 = f_fence(v6 + v9);
  let v13 = f_fence(v12 - v6);
  let v14 = f_fence(v6 - f_fence(v12 - v13)) + f_fence(v9 - v13);
  v7 = select(v7, f_fence(v7 + v14), f_is_finite(v12));
  v6 = v12;
  let v15 = f_fence(v6 + v11);
  let v16 = f_fence(v15 - v6);
  let v17 = f_fence(v6 - f_fence(v15 - v16)) + f_fence(v11 - v16);
  v7 = select(v7, f_fence(v7 + v17), f_is_finite(v15));
  v6 = v15;
  for (var v18 = v4; v18 < v5; v18 = v18 + 1u) {
    let v19 = (p[0].w + ((v2 * 1500u) + v18));
    let v20 = bitcast<f32>(m0[v19]);
    let v21 = f_fence(v6 + v20);
    let v22 = f_fence(v21 - v6);
    let v23 = f_fence(v6 - f_fence(v21 - v22)) + f_fence(v20 - v22);
    v7 = select(v7, f_fence(v7 + v23), f_is_finite(v21));
    v6 = v21;
    let v24 = v6 + v7;
    let v25 = (p[1].x + ((v2 * 1500u) + v18));
    m0[v25] = bitcast<u32>(v24);
  }
}
