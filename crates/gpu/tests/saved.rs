//! Tests that a saved program with an invalid change is rejected when it is read.

use gradus_gpu::{Dialect, GpuProgram, Limits, program_of};
use gradus_ir::graph::Builder;
use gradus_ir::ops::index::Take;
use gradus_ir::{Aval, DType, Literal};
use serde_json::{Value, json};

/// Returns a program with a constant, a temporary, a check and an output.
fn saved() -> (Value, Vec<Literal>) {
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [64, 8]));
    let i = b.input("i", Aval::new(DType::I32, [5]));
    let table = b.constant(
        Literal::new(Aval::new(DType::F32, [8]), (1..9).map(f64::from).collect::<Vec<_>>())
            .expect("a literal"),
    );
    let taken = b.apply1(Take { axis: 0 }, &[x, i]);
    let y = taken * table.reshape([1, 8]).broadcast_to(&[5, 8].into());
    let graph = b.finish(&[y.sum(&[1]), x.sum(&[0])]).expect("a graph");
    let (_, program) = program_of(&graph, &Limits::WEBGPU, Dialect::Wgsl).expect("a program");
    program.to_json()
}

#[test]
fn a_saved_program_can_be_read() {
    let (value, constants) = saved();
    let program = GpuProgram::from_json(&value, &constants).expect("a program");
    assert_eq!(program.to_json().0, value);
    assert!(!program.checks.is_empty() && !program.commands.is_empty());
}

#[test]
fn a_file_can_be_read_by_a_device_with_the_same_limits() {
    let (value, constants) = saved();
    let program = GpuProgram::from_json(&value, &constants).expect("a program");
    let bytes = program.to_bytes(&Limits::WEBGPU).expect("a file");
    let read = GpuProgram::from_bytes(&bytes, &Limits::WEBGPU).expect("the program");
    assert_eq!(read.to_json(), (value, constants));
    let refused = |bytes: &[u8], limits: &Limits| {
        GpuProgram::from_bytes(bytes, limits).expect_err("an error").to_string()
    };
    let other = Limits { shared: 32 << 10, ..Limits::WEBGPU };
    assert!(refused(&bytes, &other).contains("compiled for a device with other limits"));
    // Any changed or missing byte of the program and its constants.
    let start = bytes.iter().position(|b| *b == b'\n').expect("a header") + 1;
    for at in (start..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(refused(&damaged, &Limits::WEBGPU).contains("is damaged"), "byte {at}");
    }
    assert!(refused(&bytes[..bytes.len() - 1], &Limits::WEBGPU).contains("is damaged"));
    assert!(refused(&bytes[..start / 2], &Limits::WEBGPU).contains("has no line of JSON"));
    assert!(refused(b"[1, 2\n", &Limits::WEBGPU).contains("is not valid JSON"));
    let text = String::from_utf8_lossy(&bytes[..start]).replace("\"version\":1", "\"version\":2");
    let later = [text.as_bytes(), &bytes[start..]].concat();
    assert!(refused(&later, &Limits::WEBGPU).contains("has version 2; this build reads version 1"));
}

#[test]
fn changed_programs_are_refused() {
    let (value, constants) = saved();
    let changes: [(&str, Value, &str); 14] = [
        ("/version", json!(2), "version 2"),
        ("/modules", json!(7), "lacks the list `modules`"),
        ("/modules/0/writable", json!([true]), "do not match"),
        ("/modules/0/group", json!([1, 2]), "2 numbers instead of 3"),
        ("/commands/0/module", json!(99), "do not match"),
        ("/commands/0/bindings/0", json!(0.5), "as an index or a size"),
        ("/commands/0/bindings/0", json!(-3), "do not match"),
        ("/page", json!(8), "multiple of 16 bytes"),
        ("/commands/0/parameters/0", json!([999, 0]), "do not match"),
        ("/commands/0/groups", json!([1, 1, 1_u64 << 40]), "an unsigned 32-bit integer"),
        ("/buffers/0/dtype", json!("f33"), "unknown dtype `f33`"),
        ("/inputs", json!([0, 77]), "that is not a buffer"),
        ("/arena", json!(0), "at a location that cannot contain it"),
        ("/donors", json!([9]), "that is not a buffer"),
    ];
    for (at, new, why) in changes {
        let mut changed = value.clone();
        *changed.pointer_mut(at).unwrap_or_else(|| panic!("no {at}")) = new;
        let error = GpuProgram::from_json(&changed, &constants).expect_err(at).to_string();
        assert!(error.contains(why), "{at}: {error}");
    }
    assert!(
        GpuProgram::from_json(&value, &[]).expect_err("no constants").to_string().contains("lacks constant")
    );
    assert!(GpuProgram::from_json(&json!({"version": 1}), &[]).is_err());
}
