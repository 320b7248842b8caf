//! Writes the text of a WGSL kernel. Takes a `Frame`; returns declarations, functions and the entry point around its
//! body.

use super::{Frame, Unit};

pub(super) fn entry(frame: &Frame<'_>) -> String {
    let mut text = String::new();
    for (k, (unit, written)) in frame.bindings.iter().enumerate() {
        let element = match unit {
            Unit::Word => "u32",
            Unit::Four => "vec4<u32>",
            Unit::Atomic => "atomic<u32>",
        };
        let access = if *written { "read_write" } else { "read" };
        text += &format!("@group(0) @binding({k}) var<storage, {access}> m{k}: array<{element}>;\n");
    }
    let k = frame.bindings.len();
    text += &format!("@group(0) @binding({k}) var<uniform> p: array<vec4<u32>, {}>;\n", frame.parameters);
    for (name, element, length) in frame.shared {
        text += &format!("var<workgroup> {name}: array<{element}, {length}>;\n");
    }
    text += frame.functions;
    for (name, parameters, lines) in frame.local {
        text += &format!("fn {name}({parameters}) {{\n{lines}}}\n");
    }
    let [x, y, z] = frame.group;
    text += &format!("@compute @workgroup_size({x}, {y}, {z})\n");
    text += "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,\n";
    text += "    @builtin(num_workgroups) groups: vec3<u32>) {\n";
    text += frame.body;
    text + "}\n"
}
