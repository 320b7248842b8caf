@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
fn h_from_f16(h: u32) -> f32 {
  let sign = (h & 0x8000u) << 16u;
  let top = h & 0x7c00u;
  let low = h & 0x3ffu;
  if (top == 0u) {
    return bitcast<f32>(bitcast<u32>(f32(low) * 5.9604644775390625e-8f) | sign);
  }
  return bitcast<f32>(sign | (((h & 0x7fffu) << 13u) + select(0x38000000u, 0x70000000u, top == 0x7c00u)));
}
fn h_to_f16(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let sign = (b >> 16u) & 0x8000u;
  let a = b & 0x7fffffffu;
  if (a > 0x7f800000u) {
    return sign | 0x7e00u;
  }
  if (a >= 0x477ff000u) {
    return sign | 0x7c00u;
  }
  if (a < 0x33000000u) {
    return sign;
  }
  if (a < 0x38800000u) {
    let m = (a & 0x7fffffu) | 0x800000u;
    let drop = 126u - (a >> 23u);
    let kept = m >> drop;
    let rest = m & ((1u << drop) - 1u);
    let half = 1u << (drop - 1u);
    return sign | (kept + select(0u, 1u, rest > half || (rest == half && (kept & 1u) == 1u)));
  }
  return sign | ((a - 0x38000000u + (0xfffu + ((a >> 13u) & 1u))) >> 13u);
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 64u + local;
  if (v1 >= p[1].y) {
    return;
  }
  let v2 = (v1 * 4u);
  let v3 = min((v2 + 1u), p[1].z);
  let v4 = min((v2 + 2u), p[1].z);
  let v5 = min((v2 + 3u), p[1].z);
  let v6 = (p[0].z + v2);
  let v7 = (v6 / 2u);
  let v8 = m0[v7];
  let v9 = m0[(v7 + 1u)];
  let v10 = h_from_f16((v8 >> 0u) & 0xffffu);
  let v11 = h_from_f16((v8 >> 16u) & 0xffffu);
  let v12 = h_from_f16((v9 >> 0u) & 0xffffu);
  let v13 = h_from_f16((v9 >> 16u) & 0xffffu);
  let v14 = (p[0].w + v2);
  let v15 = (v14 / 2u);
  let v16 = m0[v15];
  let v17 = m0[(v15 + 1u)];
  let v18 = h_from_f16((v16 >> 0u) & 0xffffu);
  let v19 = h_from_f16((v16 >> 16u) & 0xffffu);
  let v20 = h_from_f16((v17 >> 0u) & 0xffffu);
  let v21 = h_from_f16((v17 >> 16u) & 0xffffu);
  let v22 = (v10 + v18);
  let v23 = (v11 + v19);
  let v24 = (v12 + v20);
  let v25 = (v13 + v21);
  let v26 = ((p[1].x + v2) / 2u);
  m0[v26] = (h_to_f16(v22) | (h_to_f16(v23) << 16u));
  m0[(v26 + 1u)] = (h_to_f16(v24) | (h_to_f16(v25) << 16u));
}
