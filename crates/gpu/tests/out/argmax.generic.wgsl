@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn l_u32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local / 1u;
  let v2 = local % 1u;
  let v3 = min(v1, p[0].y - 1u);
  let v4 = (p[1].x + ((((v3 / p[0].w) * p[0].z) * p[0].w) + (v3 % p[0].w)));
  let v5 = min(v2, p[0].z - 1u);
  let v6 = (v4 + (v5 * p[0].w));
  let v7 = bitcast<f32>(m0[v6]);
  var v8 = v7;
  var v9 = v5;
  for (var v10 = v2 + 1u; v10 < p[0].z; v10 = v10 + 1u) {
    let v11 = (v4 + (v10 * p[0].w));
    let v12 = bitcast<f32>(m0[v11]);
    if ((!f_is_nan(v8) && (f_is_nan(v12) || v8 < v12))) {
      v8 = v12;
      v9 = v10;
    }
  }
  if (v2 == 0u && v1 < p[0].y) {
    let v13 = l_u32(v9);
    let v14 = (p[1].y + v1);
    let v15 = (v14 * 2u);
    m0[v15] = v13.x;
    m0[(v15 + 1u)] = v13.y;
  }
}
