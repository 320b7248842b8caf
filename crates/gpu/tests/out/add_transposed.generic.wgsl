@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 3>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[2].x) {
    return;
  }
  let v2 = (v1 % p[0].z);
  let v3 = (v1 / p[0].z);
  let v4 = (p[0].w + v1);
  let v5 = bitcast<f32>(m0[v4]);
  let v6 = (p[1].x + ((v3 * p[1].y) + (v2 * p[1].z)));
  let v7 = bitcast<f32>(m0[v6]);
  let v8 = (v5 + v7);
  m0[(p[1].w + v1)] = bitcast<u32>(v8);
}
