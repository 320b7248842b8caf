//! Tests errors: missing adapters, tensors that do not fit, dtypes without kernels, a lost device.

use crate::common::{arguments, gpu, load, multiply_add, options};
use gradus_compile::Text;
use gradus_cpu::Cpu;
use gradus_device::{Device, Request};
use gradus_ir::graph::Builder;
use gradus_ir::{Aval, DType, Error, Kind};
use gradus_wgpu::{adapter_named, adapters, open};
use std::sync::Arc;

/// Returns the message of a device's error, if it names the device.
fn about(error: &Error, device: &str) -> String {
    match error.kind() {
        Kind::Device { name, why } if name == device => why.clone(),
        other => panic!("{other:?} is not about {device}"),
    }
}

#[test]
fn an_adapter_that_does_not_exist() {
    let count = adapters().len();
    let Err(error) = open(count, 1, Arc::new(Cpu)) else { panic!("there are {count} adapters") };
    let why = about(&error, &format!("wgpu:{count}"));
    if count == 0 {
        assert!(why.contains("install a Vulkan driver"), "{why}");
    } else {
        assert!(why.contains("no such adapter") && why.contains("wgpu:0 is "), "{why}");
    }
}

#[test]
fn adapters_are_listed_by_preference() {
    let all = adapters();
    let order = ["discrete", "integrated", "virtual", "cpu", "other"];
    let ranks: Vec<_> = all.iter().map(|a| order.iter().position(|k| *k == a.kind)).collect();
    assert!(ranks.iter().all(Option::is_some) && ranks.is_sorted(), "{all:?}");
    assert!(all.iter().enumerate().all(|(i, a)| a.index == i && !a.name.is_empty() && a.binding > 0));
}

#[test]
fn adapters_are_found_by_name() {
    for a in adapters() {
        let first = adapters().iter().position(|b| b.name == a.name);
        assert_eq!(adapter_named(&a.name.to_uppercase()).ok(), first);
        let part = a.name.split_whitespace().next().unwrap_or_default();
        assert!(adapter_named(part).is_ok_and(|i| i <= a.index), "{part}");
    }
    for wrong in ["", "toaster"] {
        let why = about(&adapter_named(wrong).expect_err("no adapter"), &format!("wgpu:{wrong}"));
        assert!(why.contains(if adapters().is_empty() { "install" } else { "wgpu:0 is " }), "{why}");
    }
}

#[test]
fn facts_name_the_adapter() {
    let Some(gpu) = gpu(&options()) else { return };
    let facts = gpu.facts();
    let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, f)| f.as_str());
    assert!(adapters().iter().any(|a| fact("adapter") == Some(a.name.as_str())));
    let memory = fact("memory").and_then(|text| text.strip_suffix(" bytes")?.parse::<u64>().ok());
    assert!(memory.is_none_or(|bytes| bytes >= gpu.limits().binding), "{facts:?}");
    assert_eq!(fact("largest binding"), Some(format!("{} bytes", gpu.limits().binding).as_str()));
}

#[test]
fn a_tensor_larger_than_a_binding() {
    let Some(gpu) = gpu(&options()) else { return };
    let limit = gpu.limits().binding as usize;
    let why = about(&gpu.alloc(limit + 1).expect_err("too large"), "wgpu:0");
    assert!(why.contains(&(limit + 1).to_string()) && why.contains(&(limit / 16 * 16).to_string()), "{why}");
}

#[test]
fn wide_floats_are_refused_with_advice() {
    let Some(gpu) = gpu(&options()) else { return };
    for (dtype, advice) in [(DType::F64, DType::F32), (DType::C128, DType::C64)] {
        let b = Builder::new();
        let x = b.input("x", Aval::new(dtype, [3]));
        let graph = b.finish(&[x * x]).expect("a graph");
        let request = Request { layouts: &[], keeps: &[], text: Text::Generic };
        let error = gpu.program(&graph, &request).expect_err("no such dtype");
        let expected = Kind::Unsupported { device: "wgpu:0".into(), dtype, instead: advice };
        assert_eq!(*error.kind(), expected, "{error}");
    }
}

#[test]
fn uses_of_a_lost_device_are_errors() {
    let Some(gpu) = gpu(&options()) else { return };
    let storage = gpu.upload(&[1; 400]).expect("memory");
    let program = load(&gpu, multiply_add(100, 1.0, false), Text::Generic);
    let out = program.run(&mut arguments(&[&storage, &storage]), None).expect("a run").remove(0);
    gpu.destroy();
    let lost = |error: Error| {
        let why = about(&error, "wgpu:0");
        assert!(why.starts_with("was lost: "), "{why}");
    };
    lost(gpu.read(&[(&out, 0..4)]).wait().expect_err("lost"));
    lost(gpu.alloc(4).expect_err("lost"));
    lost(gpu.upload(&[1]).expect_err("lost"));
    lost(gpu.copy(&storage, 0..4).expect_err("lost"));
    lost(program.run(&mut arguments(&[&storage, &storage]), None).expect_err("lost"));
    lost(gpu.finish().wait().expect_err("lost"));
    lost(gpu.load(multiply_add(10, 1.0, false), Text::Special).expect_err("lost"));
    gpu.trim();
    drop((storage, out));
}
