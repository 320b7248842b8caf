@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 1>;
fn l_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn l_wide(a: u32, b: u32) -> vec2<u32> {
  let ll = (a & 0xffffu) * (b & 0xffffu);
  let lh = (a & 0xffffu) * (b >> 16u);
  let hl = (a >> 16u) * (b & 0xffffu);
  let hh = (a >> 16u) * (b >> 16u);
  let middle = (ll >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
  return vec2<u32>((ll & 0xffffu) | (middle << 16u), hh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u));
}
fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var i = 0u; i < 10u; i = i + 1u) {
    let a = l_wide(0xd2511f53u, c.x);
    let b = l_wide(0xcd9e8d57u, c.z);
    c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
    k = vec2<u32>(k.x + 0x9e3779b9u, k.y + 0xbb67ae85u);
  }
  return c;
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 256u + local;
  if (v1 >= 250u) {
    return;
  }
  let v2 = m0[p[0].y];
  let v3 = m0[(p[0].y + 1u)];
  let v4 = m0[(p[0].y + 2u)];
  let v5 = m0[(p[0].y + 3u)];
  let v6 = l_add(vec2<u32>(v4, v5), vec2<u32>(v1, 0u));
  let v7 = philox(vec4<u32>(v6.x, v6.y, 0u, 0u), vec2<u32>(v2, v3));
  let v8 = (v1 * 4u);
  let v9 = (p[0].z + v8);
  if (v8 < 1000u) {
    m0[v9] = v7.x;
  }
  if ((v8 + 1u) < 1000u) {
    m0[(v9 + 1u)] = v7.y;
  }
  if ((v8 + 2u) < 1000u) {
    m0[(v9 + 2u)] = v7.z;
  }
  if ((v8 + 3u) < 1000u) {
    m0[(v9 + 3u)] = v7.w;
  }
  if (v1 == 0u) {
    let v10 = l_add(vec2<u32>(v4, v5), vec2<u32>(250u, 0u));
    m0[p[0].w] = v2;
    m0[(p[0].w + 1u)] = v3;
    m0[(p[0].w + 2u)] = v10.x;
    m0[(p[0].w + 3u)] = v10.y;
  }
}
