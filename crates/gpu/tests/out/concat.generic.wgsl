@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 5>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[4].w) {
    return;
  }
  let v2 = (v1 % p[0].z);
  let v3 = (v1 / p[0].z);
  var v4 = 0.0f;
  if ((p[1].z + ((v3 * p[1].w) + (v2 * p[2].x))) < p[2].y) {
    let v5 = (p[0].w + ((v3 * p[1].x) + (v2 * p[1].y)));
    v4 = bitcast<f32>(m0[v5]);
  } else {
    if ((p[3].z + ((v3 * p[3].w) + (v2 * p[4].x))) < p[4].y) {
      let v6 = ((p[2].z + p[2].w) + ((v3 * p[3].x) + (v2 * p[3].y)));
      v4 = bitcast<f32>(m0[v6]);
    }
  }
  m0[(p[4].z + v1)] = bitcast<u32>(v4);
}
