//! `--device` and the verb `devices`. Tests that need a GPU use the first adapter; in CI that is a software
//! driver.

use crate::common::model::model_of_width;
use crate::common::{Folder, gradus, output, root};
use gradus::Device;
use serde_json::Value;

/// Returns true if there is an adapter. Panics if there is none and `GRADUS_ORACLES=required`.
fn has_gpu() -> bool {
    let found = Device::list().iter().any(|d| d.name == "wgpu:0");
    let required = std::env::var("GRADUS_ORACLES").is_ok_and(|v| v == "required");
    assert!(found || !required, "GRADUS_ORACLES=required, but there is no wgpu adapter");
    if !found {
        eprintln!("skipped: no wgpu adapter");
    }
    found
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("a number, not {other}"))],
    }
}

fn close(found: &[f64], expected: &[f64], within: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= within * scale, "{what}: {a} is not {b}");
    }
}

#[test]
fn devices_are_listed() {
    let text = output("", &["devices"]);
    assert!(text.starts_with("cpu\n  threads "), "{text}");
    let all: Value = serde_json::from_str(&output("", &["devices", "--json"])).unwrap();
    assert_eq!(all[0]["name"], "cpu");
    if has_gpu() {
        assert_eq!(all[1]["name"], "wgpu:0");
        assert!(all[1]["adapter"].is_string() && all[1]["driver"].is_string(), "{all}");
        let number = |key: &str| all[1][key].as_str().and_then(|t| t.split(' ').next()?.parse::<u64>().ok());
        assert!(number("bindings").is_some_and(|n| n >= 8), "{all}");
        assert!(number("threads of a group").is_some_and(|n| n >= 256), "{all}");
        assert!(all[1]["memory"] == "unknown" || number("memory") >= number("largest tensor"), "{all}");
    }
}

#[test]
fn unknown_devices_are_refused() {
    let file = root().join("examples/equations/mlp.eq").display().to_string();
    for (name, why) in
        [("toaster", "not a kind of device"), ("wgpu:99", "device wgpu:99"), ("cpu:1", "one device")]
    {
        for verb in ["run", "grad", "check", "explain"] {
            let outcome = gradus(&[verb, &file, "--device", name]);
            assert!(outcome.code == 2 && outcome.err.contains(why), "{verb} {name}: {}", outcome.err);
            assert!(outcome.out.is_empty(), "{}", outcome.out);
        }
    }
}

/// Every program of the gallery has the same values as on the CPU.
#[test]
fn programs_run_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = root().join("examples/equations");
    for name in
        ["mlp", "attention", "convolution", "logistic_regression", "rnn", "transformer_block", "kalman"]
    {
        let file = folder.join(format!("{name}.eq")).display().to_string();
        let [expected, found] = ["cpu", "wgpu"].map(|device| {
            let text = output("", &["run", &file, "--json", "--device", device]);
            serde_json::from_str::<Value>(&text).unwrap()
        });
        for (tensor, value) in expected.as_object().unwrap() {
            let what = format!("{name}: {tensor}");
            assert_eq!(found[tensor]["shape"], value["shape"], "{what}");
            close(&numbers(&found[tensor]["data"]), &numbers(&value["data"]), 1e-4, &what);
        }
    }
}

/// The text names each dispatch and host step with its bytes, and with `--measure` their times and the peak rates.
#[test]
fn explain_shows_what_a_gpu_runs() {
    let program = "A[i,j] = const([[4, 1], [1, 3]])\nL[i,j] = cholesky(A[i,j])\nY[i] = tanh(L[i,j] A[j,k])";
    let on_cpu = output(program, &["explain", "-", "--measure"]);
    assert!(!on_cpu.contains("dispatch") && on_cpu.contains("peak rates: "), "{on_cpu}");
    if !has_gpu() {
        return;
    }
    let text = output(program, &["explain", "-", "--device", "wgpu"]);
    let (costs, commands) = text.split_once("\non wgpu:0: ").expect("a description of the commands");
    assert!(costs.contains("the program as one plan") && !costs.contains("dispatch"), "{text}");
    assert!(commands.contains(" dispatches of ") && commands.contains(", 1 host steps, arena of "), "{text}");
    assert!(
        commands.contains(": host: there is no kernel for cholesky (reads 16 B, uploads 16 B)"),
        "{text}"
    );
    let dispatch = |line: &&str| line.contains(": dispatch of kernel ") && line.ends_with(" B");
    assert!(commands.lines().filter(dispatch).count() >= 1, "{text}");
    assert!(!commands.contains("peak rates: "), "{text}");
    let measured = output(program, &["explain", "-", "--device", "wgpu", "--measure"]);
    let (_, report) = measured.split_once("; peak rates: ").expect("a report");
    assert!(report.contains("FLOP/s") && report.contains("cholesky"), "{measured}");
}

#[test]
fn check_compares_a_gpu_with_the_cpu() {
    if !has_gpu() {
        return;
    }
    let file = root().join("examples/equations/mlp.eq").display().to_string();
    let text = output("", &["check", &file, "--device", "wgpu"]);
    let (_, table) = text.split_once("on wgpu:0, compared with the CPU:").expect("a table");
    assert!(table.contains("Grad_W1") && table.contains("Loss") && !table.contains("WRONG"), "{table}");
}

/// Language models generate the same text as on the CPU, from floats and from quantised weights.
#[test]
fn language_models_run_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let (folder, floats) = model_of_width("devices-model", 64, 32);
    let quantized = folder.0.join("model.gguf").display().to_string();
    output("", &["convert", &floats, &quantized, "--type", "Q8_0"]);
    for model in [&floats, &quantized] {
        let [expected, found] = ["cpu", "wgpu"]
            .map(|device| output("", &["generate", model, "Hello", "--tokens", "8", "--device", device]));
        assert_eq!(found, expected);
    }
    let outcome = gradus(&["generate", &floats, "Hello", "--device", "wgpu", "--cache", "q8"]);
    assert!(outcome.code == 1 && outcome.err.contains("cannot be stored as q8"), "{}", outcome.err);
}

/// A run on a GPU has the same losses as a run on the CPU, and its checkpoint can be sampled on both devices.
#[test]
fn training_runs_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new("devices-train");
    let data = root().join("examples/data/names.txt").display().to_string();
    let losses = |device: &str| {
        let config = format!(
            "model = \"names\"\ndata = {data:?}\nsteps = 12\nbatch = 32\nout = {device:?}\nseed = 7\nlog_every = 1\n\n\
             [optimizer]\nname = \"adam\"\nrate = 5e-3\n\n[sizes]\nwidth = 16\n"
        );
        let file = folder.file(&format!("{device}.toml"), &config);
        output("", &["train", &file, "--device", device]);
        let log = folder.read(&format!("{device}/log.jsonl"));
        let loss = |line: &str| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64();
        log.lines().filter_map(loss).collect::<Vec<f64>>()
    };
    let (expected, found) = (losses("cpu"), losses("wgpu"));
    let config = folder.0.join("wgpu.toml").display().to_string();
    let checkpoint = folder.0.join("wgpu/checkpoint.safetensors");
    let before = std::fs::read(&checkpoint).unwrap();
    let trace = folder.0.join("trace.json").display().to_string();
    output("", &["train", &config, "--device", "wgpu", "--resume", "--profile", &trace]);
    let trace: Value = serde_json::from_str(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events[0]["args"]["name"], "wgpu:0");
    // Each of the three layers has a product in the forward pass and two in the backward pass.
    let of = |what: &str| events.iter().filter(|e| e["name"].as_str().unwrap().contains(what)).count();
    assert_eq!(of("product"), 9, "{trace}");
    assert!(events.iter().filter(|e| e["ph"] == "X").all(|e| e["dur"].as_f64().unwrap() >= 0.0), "{trace}");
    assert!(before == std::fs::read(&checkpoint).unwrap(), "the profiled step is part of the checkpoint");
    assert!(expected.len() == 12 && expected[11] < expected[0], "{expected:?}");
    close(&found, &expected, 1e-4, "losses");
    let run = folder.0.join("wgpu").display().to_string();
    let [a, b] = ["cpu", "wgpu"].map(|d| output("", &["sample", &run, "--count", "3", "--device", d]));
    assert_eq!(a, b);
}
