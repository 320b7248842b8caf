@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 64u) {
    return;
  }
  let v2 = (v1 % 8u);
  let v3 = (v1 / 8u);
  var v4 = 0.0f;
  if (v2 < 3u) {
    let v5 = (p[0].y + ((v3 * 3u) + v2));
    v4 = bitcast<f32>(m0[v5]);
  } else {
    if ((4294967293u + v2) < 5u) {
      let v6 = ((p[0].z + p[0].w) + ((v3 * 5u) + v2));
      v4 = bitcast<f32>(m0[v6]);
    }
  }
  m0[(p[1].x + v1)] = bitcast<u32>(v4);
}
