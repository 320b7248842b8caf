@group(0) @binding(0) var<storage, read_write> m0: array<u32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 1>;
var<workgroup> best: array<f32, 256>;
var<workgroup> place: array<u32, 256>;
fn f_is_nan(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}
fn l_u32(x: u32) -> vec2<u32> {
  return vec2<u32>(x, 0u);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) groups: vec3<u32>) {
  let v1 = (group.y * groups.x + group.x) * 8u + local / 32u;
  let v2 = local % 32u;
  let v3 = min(v1, 30u - 1u);
  let v4 = (p[0].y + (v3 * 100u));
  let v5 = min(v2, 100u - 1u);
  let v6 = (v4 + v5);
  let v7 = bitcast<f32>(m0[v6]);
  var v8 = v7;
  var v9 = v5;
  for (var v10 = v2 + 32u; v10 < 100u; v10 = v10 + 32u) {
    let v11 = (v4 + v10);
    let v12 = bitcast<f32>(m0[v11]);
    if ((!f_is_nan(v8) && (f_is_nan(v12) || v8 < v12))) {
      v8 = v12;
      v9 = v10;
    }
  }
  best[local] = v8;
  place[local] = v9;
  workgroupBarrier();
  if (v2 < 16u) {
    let v13 = best[local + 16u];
    let v14 = best[local];
    let v15 = place[local + 16u];
    if ((!f_is_nan(v14) && (f_is_nan(v13) || v14 < v13)) || (!(!f_is_nan(v13) && (f_is_nan(v14) || v13 < v14)) && v15 < place[local])) {
      best[local] = v13;
      place[local] = v15;
    }
  }
  workgroupBarrier();
  if (v2 < 8u) {
    let v16 = best[local + 8u];
    let v17 = best[local];
    let v18 = place[local + 8u];
    if ((!f_is_nan(v17) && (f_is_nan(v16) || v17 < v16)) || (!(!f_is_nan(v16) && (f_is_nan(v17) || v16 < v17)) && v18 < place[local])) {
      best[local] = v16;
      place[local] = v18;
    }
  }
  workgroupBarrier();
  if (v2 < 4u) {
    let v19 = best[local + 4u];
    let v20 = best[local];
    let v21 = place[local + 4u];
    if ((!f_is_nan(v20) && (f_is_nan(v19) || v20 < v19)) || (!(!f_is_nan(v19) && (f_is_nan(v20) || v19 < v20)) && v21 < place[local])) {
      best[local] = v19;
      place[local] = v21;
    }
  }
  workgroupBarrier();
  if (v2 < 2u) {
    let v22 = best[local + 2u];
    let v23 = best[local];
    let v24 = place[local + 2u];
    if ((!f_is_nan(v23) && (f_is_nan(v22) || v23 < v22)) || (!(!f_is_nan(v22) && (f_is_nan(v23) || v22 < v23)) && v24 < place[local])) {
      best[local] = v22;
      place[local] = v24;
    }
  }
  workgroupBarrier();
  if (v2 < 1u) {
    let v25 = best[local + 1u];
    let v26 = best[local];
    let v27 = place[local + 1u];
    if ((!f_is_nan(v26) && (f_is_nan(v25) || v26 < v25)) || (!(!f_is_nan(v25) && (f_is_nan(v26) || v25 < v26)) && v27 < place[local])) {
      best[local] = v25;
      place[local] = v27;
    }
  }
  workgroupBarrier();
  v9 = place[local];
  if (v2 == 0u && v1 < 30u) {
    let v28 = l_u32(v9);
    let v29 = (p[0].z + v1);
    let v30 = (v29 * 2u);
    m0[v30] = v28.x;
    m0[(v30 + 1u)] = v28.y;
  }
}
