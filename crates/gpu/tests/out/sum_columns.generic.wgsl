@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 3>;
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[2].y) {
    return;
  }
  var v2 = f_bits(0x80000000u);
  for (var v3 = 0u; v3 < p[2].z; v3 = v3 + 64u) {
    let v4 = min(v3 + 64u, p[2].z);
    var v5 = f_bits(0x80000000u);
    for (var v6 = v3; v6 < v4; v6 = v6 + 1u) {
      let v7 = (p[0].w + ((v1 * p[1].x) + (v6 * p[1].y)));
      let v8 = bitcast<f32>(m0[v7]);
      v5 = (v5 + v8);
    }
    v2 = (v2 + v5);
  }
  m0[(p[1].z + (v1 * p[1].w))] = bitcast<u32>(v2);
}
