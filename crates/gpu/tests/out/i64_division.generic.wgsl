@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
fn l_zero(a: vec2<u32>) -> bool {
  return (a.x | a.y) == 0u;
}
fn l_below(a: vec2<u32>, b: vec2<u32>) -> bool {
  return (a.y < b.y) || (a.y == b.y && a.x < b.x);
}
fn l_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
fn l_divide(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  if (a.y == 0u && b.y == 0u) {
    return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u);
  }
  var q = vec2<u32>(0u, 0u);
  var r = vec2<u32>(0u, 0u);
  for (var i = 0u; i < 64u; i = i + 1u) {
    let word = select(a.x, a.y, i < 32u);
    let carry = r.y >> 31u;
    r = vec2<u32>((r.x << 1u) | ((word >> (31u - (i & 31u))) & 1u), (r.y << 1u) | (r.x >> 31u));
    q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
    if (carry == 1u || !l_below(r, b)) {
      r = l_sub(r, b);
      q.x = q.x | 1u;
    }
  }
  return vec4<u32>(q.x, q.y, r.x, r.y);
}
fn l_neg(a: vec2<u32>) -> vec2<u32> {
  return l_sub(vec2<u32>(0u, 0u), a);
}
fn l_negative(a: vec2<u32>) -> bool {
  return (a.y >> 31u) == 1u;
}
fn l_abs(a: vec2<u32>) -> vec2<u32> {
  return select(a, l_neg(a), l_negative(a));
}
fn l_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (l_zero(b)) {
    return vec2<u32>(0u, 0u);
  }
  let d = l_divide(l_abs(a), l_abs(b));
  let q = vec2<u32>(d.x, d.y);
  return select(q, l_neg(q), l_negative(a) != l_negative(b));
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[1].y) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = (p[0].z + v2);
  let v4 = vec2<u32>(m0[(v3 * 2u)], m0[((v3 * 2u) + 1u)]);
  let v5 = (p[0].w + v2);
  let v6 = vec2<u32>(m0[(v5 * 2u)], m0[((v5 * 2u) + 1u)]);
  let v7 = l_div(v4, v6);
  let v8 = (p[0].z + (v2 + 1u));
  let v9 = vec2<u32>(m0[(v8 * 2u)], m0[((v8 * 2u) + 1u)]);
  let v10 = (p[0].w + (v2 + 1u));
  let v11 = vec2<u32>(m0[(v10 * 2u)], m0[((v10 * 2u) + 1u)]);
  let v12 = l_div(v9, v11);
  let v13 = (p[0].z + (v2 + 2u));
  let v14 = vec2<u32>(m0[(v13 * 2u)], m0[((v13 * 2u) + 1u)]);
  let v15 = (p[0].w + (v2 + 2u));
  let v16 = vec2<u32>(m0[(v15 * 2u)], m0[((v15 * 2u) + 1u)]);
  let v17 = l_div(v14, v16);
  let v18 = (p[0].z + (v2 + 3u));
  let v19 = vec2<u32>(m0[(v18 * 2u)], m0[((v18 * 2u) + 1u)]);
  let v20 = (p[0].w + (v2 + 3u));
  let v21 = vec2<u32>(m0[(v20 * 2u)], m0[((v20 * 2u) + 1u)]);
  let v22 = l_div(v19, v21);
  let v23 = ((p[1].x + v2) * 2u);
  m0[v23] = v7.x;
  m0[(v23 + 1u)] = v7.y;
  let v24 = (((p[1].x + v2) + 1u) * 2u);
  m0[v24] = v12.x;
  m0[(v24 + 1u)] = v12.y;
  let v25 = (((p[1].x + v2) + 2u) * 2u);
  m0[v25] = v17.x;
  m0[(v25 + 1u)] = v17.y;
  let v26 = (((p[1].x + v2) + 3u) * 2u);
  m0[v26] = v22.x;
  m0[(v26 + 1u)] = v22.y;
}
