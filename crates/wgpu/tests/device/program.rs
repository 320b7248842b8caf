//! Tests programs written directly: operands at any offset, results that overwrite operands, rejected kernels.

use crate::common::{arguments, as_floats, floats, gpu, load, multiply_add, options, read};
use gradus_compile::Text;
use gradus_device::{Argument, Device, Executable, Request};
use gradus_gpu::SMALL;
use gradus_ir::graph::Builder;
use gradus_ir::{Aval, DType, Kind, Literal};
use gradus_mem::Storage;
use gradus_wgpu::Options;

/// A saved program gives the values of the compiled one. Damaged files and those for other limits are rejected.
#[test]
fn saved_programs_run() {
    let Some(gpu) = gpu(&options()) else { return };
    let b = Builder::new();
    let x = b.input("x", Aval::new(DType::F32, [100]));
    let table = Literal::floats(DType::F32, [100], (0..100).map(f64::from).collect()).expect("a constant");
    let graph = b.finish(&[(x * b.constant(table)).tanh().sum(&[0]), x + x]).expect("a graph");
    let run = |program: &dyn Executable| -> Vec<Vec<u8>> {
        let input = gpu.upload(&floats(&counted(100, 0.01))).expect("memory");
        let outputs = program.run(&mut arguments(&[&input]), None).expect("a run");
        outputs.iter().map(|out| read(&*gpu, out)).collect()
    };
    let request = Request { layouts: &[], keeps: &[], text: Text::Special };
    let expected = run(&*gpu.program(&graph, &request).expect("a program"));
    let bytes = gpu.save(&graph).expect("a file");
    let loaded = gpu.load_saved(&bytes).expect("the program");
    assert_eq!(run(&*loaded), expected);
    assert_eq!(as_floats(&expected[1]), counted(100, 0.02));
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 4;
    let error = gpu.load_saved(&damaged).expect_err("damage").to_string();
    assert!(error.contains("its checksum does not match"), "{error}");
    let Some(other) = crate::common::gpu(&Options { binding: 1 << 20, ..options() }) else { return };
    let error = other.load_saved(&bytes).expect_err("another device").to_string();
    assert!(error.contains("compiled for a device with other limits"), "{error}");
}

fn counted(n: usize, by: f32) -> Vec<f32> {
    (0..n).map(|i| i as f32 * by).collect()
}

#[test]
fn small_and_large_operands() {
    let Some(gpu) = gpu(&options()) else { return };
    for text in [Text::Generic, Text::Special] {
        for n in [1, 2, 63, 64, 65, 1000, SMALL / 4, SMALL / 4 + 1, SMALL / 2] {
            let program = load(&gpu, multiply_add(n, 3.0, false), text);
            let (x, y) = (counted(n, 1.0), counted(n, 0.25));
            let (a, b) = (gpu.upload(&floats(&x)).expect("memory"), gpu.upload(&floats(&y)).expect("memory"));
            let out = program.run(&mut arguments(&[&a, &b]), None).expect("a run");
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x * 3.0 + y).collect();
            assert!(as_floats(&read(&*gpu, &out[0])) == expected, "{n}");
            // Uses the same storage for both operands.
            let out = program.run(&mut arguments(&[&a, &a]), None).expect("a run");
            assert!(as_floats(&read(&*gpu, &out[0])) == counted(n, 4.0), "{n}");
            assert!(as_floats(&read(&*gpu, &a)) == x);
        }
    }
}

#[test]
fn operands_at_any_offset() {
    let Some(gpu) = gpu(&options()) else { return };
    let n = 100;
    let program = load(&gpu, multiply_add(n, 2.0, false), Text::Generic);
    // Uses parts of a small tensor, and of a tensor that has its own buffer.
    for all in [4 * n, SMALL / 4 + 1000] {
        let values = counted(all, 1.0);
        let storage = gpu.upload(&floats(&values)).expect("memory");
        for first in [0, 1, 2, 3, 4, 8, 97, all - n] {
            let part = Argument { storage: storage.clone(), offset: 4 * first };
            let out = program.run(&mut vec![part.clone(), part], None).expect("a run");
            let expected: Vec<f32> = values[first..first + n].iter().map(|v| 3.0 * v).collect();
            assert!(as_floats(&read(&*gpu, &out[0])) == expected, "{first} of {all}");
        }
        let beyond = Argument { storage: storage.clone(), offset: 4 * (all - n + 1) };
        assert!(
            matches!(program.run(&mut vec![beyond.clone(), beyond], None), Err(e) if matches!(e.kind(), Kind::Value { .. }))
        );
        let odd = Argument { storage, offset: 2 };
        assert!(program.run(&mut vec![odd.clone(), odd], None).is_err());
    }
}

#[test]
fn a_result_overwrites_an_operand_without_other_owners() {
    let Some(gpu) = gpu(&options()) else { return };
    for n in [100, SMALL / 4 + 1] {
        let program = load(&gpu, multiply_add(n, 2.0, true), Text::Special);
        let (x, y) = (counted(n, 1.0), counted(n, 1.0));
        let y = gpu.upload(&floats(&y)).expect("memory");
        let mut given = arguments(&[&gpu.upload(&floats(&x)).expect("memory"), &y]);
        let used = gpu.memory().used;
        let out = program.run(&mut given, None).expect("a run").remove(0);
        assert_eq!((gpu.memory().used, given.len()), (used, 0));
        assert!(as_floats(&read(&*gpu, &out)) == counted(n, 3.0));
        // The test still holds the operand, so it is copied and stays unchanged.
        let held = gpu.upload(&floats(&x)).expect("memory");
        let out = program.run(&mut arguments(&[&held, &y]), None).expect("a run").remove(0);
        assert!(as_floats(&read(&*gpu, &out)) == counted(n, 3.0));
        assert!(as_floats(&read(&*gpu, &held)) == x);
        // A part of a larger storage is copied too, even if nothing else uses the storage.
        let longer = gpu.upload(&floats(&counted(n + 4, 1.0))).expect("memory");
        let mut given = arguments(&[&y, &y]);
        given[0] = Argument { storage: longer, offset: 0 };
        let out = program.run(&mut given, None).expect("a run").remove(0);
        assert_eq!(out.len_bytes(), 4 * n);
        assert!(as_floats(&read(&*gpu, &out)) == counted(n, 3.0));
    }
}

#[test]
fn operands_on_the_host_may_have_16_bytes() {
    let Some(gpu) = gpu(&options()) else { return };
    let host = |values: &[f32]| Storage::from_slice(values).expect("memory");
    let four = load(&gpu, multiply_add(4, 2.0, false), Text::Generic);
    let out =
        four.run(&mut arguments(&[&host(&[1.0, 2.0, 3.0, 4.0]), &host(&[1.0; 4])]), None).expect("a run");
    assert_eq!(as_floats(&read(&*gpu, &out[0])), [3.0, 5.0, 7.0, 9.0]);
    let five = load(&gpu, multiply_add(5, 2.0, false), Text::Generic);
    let error = five.run(&mut arguments(&[&host(&[1.0; 5]), &host(&[1.0; 5])]), None).expect_err("20 bytes");
    assert!(matches!(error.kind(), Kind::Device { .. }), "{error}");
    // Uses a storage of another device.
    if let Some(other) = crate::common::gpu(&options()) {
        let foreign = other.upload(&[0; 16]).expect("memory");
        assert!(four.run(&mut arguments(&[&foreign, &foreign]), None).is_err());
        assert!(gpu.read(&[(&foreign, 0..4)]).wait().is_err());
    }
}

#[test]
fn a_refused_kernel_is_an_error() {
    let Some(gpu) = gpu(&options()) else { return };
    let x = gpu.upload(&floats(&counted(10, 1.0))).expect("memory");
    let good = load(&gpu, multiply_add(10, 1.0, false), Text::Generic);
    let mut program = multiply_add(10, 1.0, false);
    program.modules[0].text = program.modules[0].text.replace("p.factor", "p.nothing");
    // A compiled function reports a rejected kernel when it runs.
    let bad = load(&gpu, program.clone(), Text::Special);
    let error = bad.run(&mut arguments(&[&x, &x]), None).expect_err("refused");
    let text = error.to_string();
    assert!(matches!(error.kind(), Kind::Device { name, .. } if name == "wgpu:0"), "{text}");
    assert!(text.contains("nothing"), "{text}");
    // An eager call reports a rejected kernel when its result is read. Commands that were queued before are not affected.
    let before = good.run(&mut arguments(&[&x, &x]), None).expect("a run").remove(0);
    let bad = load(&gpu, program, Text::Generic);
    let failed = bad.run(&mut arguments(&[&x, &x]), None).expect("queued").remove(0);
    let built_on_it = good.run(&mut arguments(&[&failed, &x]), None).expect("queued").remove(0);
    for storage in [&failed, &built_on_it] {
        let error = gpu.read(&[(storage, 0..40)]).wait().expect_err("refused");
        assert!(error.to_string().contains("nothing"), "{error}");
    }
    assert!(good.run(&mut arguments(&[&failed, &x]), None).is_err());
    assert_eq!(as_floats(&read(&*gpu, &before)), counted(10, 2.0));
    let after = good.run(&mut arguments(&[&x, &x]), None).expect("a run").remove(0);
    assert_eq!(as_floats(&read(&*gpu, &after)), counted(10, 2.0));
}

#[test]
fn a_run_that_is_waited_for_is_one_submission() {
    let Some(gpu) = gpu(&options()) else { return };
    let n = SMALL / 2;
    let program = load(&gpu, multiply_add(n, 3.0, false), Text::Special);
    let (x, y) = (counted(n, 1.0), counted(n, 0.25));
    let (a, b) = (gpu.upload(&floats(&x)).expect("memory"), gpu.upload(&floats(&y)).expect("memory"));
    gpu.finish().wait().expect("a wait");
    let mut counts = Vec::new();
    for read_it in [false, true, false] {
        let before = gpu.submissions();
        let out = program.run(&mut arguments(&[&a, &b]), None).expect("a run");
        if read_it {
            let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x * 3.0 + y).collect();
            assert!(as_floats(&read(&*gpu, &out[0])) == expected);
        } else {
            gpu.finish().wait().expect("a wait");
        }
        counts.push(gpu.submissions() - before);
    }
    assert_eq!(counts, [1, 1, 1]);
    // A wait without queued commands submits nothing.
    let before = gpu.submissions();
    gpu.finish().wait().expect("a wait");
    assert_eq!(gpu.submissions(), before);
}
