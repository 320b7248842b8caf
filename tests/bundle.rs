//! Runs the files of bundles natively on WebGPU, and compares the values with those of the training step that
//! the bundle was made from.

use gradus::bundle::Bundle;
use gradus::files::safetensors::Reader;
use gradus::gpu::GpuProgram;
use gradus::models::{gpt, gpt::Gpt, names, names::Bengio};
use gradus::nn::optim::Adam;
use gradus::nn::{Forward, Linear, Module, Optimizer, compile_training, module};
use gradus::{All, Generator, Literal, Reduction, Tensor, compile, mse_loss};
use gradus_cpu::Cpu;
use gradus_device::{Argument, Device, Executable};
use gradus_mem::Storage;
use gradus_wgpu::{Gpu, Options, adapters, open_gpu};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Mlp {
    hidden: Linear,
    out: Linear,
}
module!(Mlp { hidden, out });

impl Forward for Mlp {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.out.forward(&self.hidden.forward(x).tanh())
    }
}

/// A bundle that was read from its files, on an adapter.
struct Replay {
    gpu: Arc<Gpu>,
    programs: HashMap<String, (Arc<dyn Executable>, Value)>,
    cells: HashMap<String, Storage>,
    weights: Reader,
    runs: usize,
}

impl Replay {
    fn open(folder: &Path, gpu: Arc<Gpu>) -> Replay {
        let text = std::fs::read_to_string(folder.join("plan.json")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let weights = Reader::open(folder.join("weights.safetensors")).unwrap();
        let upload = |name: &str| gpu.upload(&weights.tensor(name).unwrap().to_bytes().unwrap()).unwrap();
        let cells = manifest["cells"].as_object().unwrap().iter();
        let cells = cells.map(|(name, stored)| (name.clone(), upload(stored.as_str().unwrap()))).collect();
        let mut programs = HashMap::new();
        for (name, entry) in manifest["programs"].as_object().unwrap() {
            let names = entry["constants"].as_array().unwrap().iter().map(|n| n.as_str().unwrap());
            let constants: Vec<Literal> =
                names.map(|n| weights.tensor(n).unwrap().to_literal().unwrap()).collect();
            let program = GpuProgram::from_json(&entry["plan"], &constants).unwrap();
            let loaded = gpu.load(program, gradus_device::Text::Special).unwrap();
            programs.insert(name.clone(), (loaded, entry.clone()));
        }
        Replay { gpu, programs, cells, weights, runs: 0 }
    }

    /// Runs a program on tensors by name; returns its outputs by name.
    fn run(&mut self, name: &str, fed: &[(&str, &Tensor)]) -> HashMap<String, Vec<f32>> {
        let (program, entry) = self.programs[name].clone();
        let mut arguments = Vec::new();
        for source in entry["inputs"].as_array().unwrap() {
            let name = source["name"].as_str().unwrap();
            let storage = match source["from"].as_str().unwrap() {
                "cell" => self.cells.remove(name).unwrap_or_else(|| panic!("no cell {name}")),
                "table" => {
                    let row = self.weights.tensor(name).unwrap().at(self.runs as isize);
                    self.gpu.upload(&row.to_bytes().unwrap()).unwrap()
                }
                _ => {
                    let (_, t) = fed.iter().find(|(n, _)| *n == name).unwrap();
                    self.gpu.upload(&t.to_bytes().unwrap()).unwrap()
                }
            };
            arguments.push(Argument { storage, offset: 0 });
        }
        let kept: Vec<Storage> = arguments.iter().map(|a| a.storage.clone()).collect();
        let outs = program.run(&mut arguments, None).unwrap();
        for (source, storage) in entry["inputs"].as_array().unwrap().iter().zip(kept) {
            if source["from"] == "cell" {
                self.cells.insert(source["name"].as_str().unwrap().to_string(), storage);
            }
        }
        let mut results = HashMap::new();
        for (sink, storage) in entry["outputs"].as_array().unwrap().iter().zip(outs) {
            let name = sink["name"].as_str().unwrap().to_string();
            if sink["to"] == "cell" {
                self.cells.insert(name, storage);
            } else {
                let all = self.gpu.read(&[(&storage, 0..storage.len_bytes())]).wait().unwrap();
                results.insert(name, all[0].host::<f32>().unwrap().to_vec());
            }
        }
        self.runs += 1;
        results
    }
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gradus-bundle-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_training_step_runs_from_its_files() {
    if adapters().is_empty() {
        assert!(std::env::var("GRADUS_ORACLES").is_err(), "there is no wgpu adapter");
        println!("skipped: no wgpu adapter");
        return;
    }
    let g = Generator::new(3);
    let model = Mlp { hidden: Linear::new(1, 16, &g), out: Linear::new(16, 1, &g) };
    let x = Tensor::linspace(-3.0, 3.0, 32).reshape([32isize, 1]);
    let y = x.sin();
    let adam = Optimizer::new(model.parameters(), Adam { rate: 0.02, ..Adam::default() });
    let loss = |m: &Mlp, b: &[Tensor]| mse_loss(&m.forward(&b[0]), &b[1], Reduction::Mean);
    let mut step = compile_training(&model, loss, adam, &[&x, &y]).unwrap();
    let run = compile(&[&x], |x| model.forward(&x[0])).unwrap();
    let path = folder("training");
    let bundle = Bundle::new("mlp").training(&mut step, &[&x, &y], &["x", "y"], &["loss"], 40).unwrap();
    bundle.program("run", &run, &["x"], &["y"]).unwrap().write(&path).unwrap();

    let runtime = std::fs::metadata(path.join("gradus.js")).unwrap().len();
    assert!(runtime > 1000 && runtime <= 20_000, "{runtime} bytes");
    let gpu = open_gpu(0, 1, Arc::new(Cpu), &Options::default()).unwrap();
    let mut replay = Replay::open(&path, gpu);
    for i in 0..40 {
        let expected = step.run(&[&x, &y]).unwrap().loss.item::<f32>().unwrap();
        let found = replay.run("step", &[("x", &x), ("y", &y)])["loss"][0];
        assert!((found - expected).abs() <= 1e-4 * expected, "step {i}: {found}, expected {expected}");
    }
    let expected = run.run(&[&x]).unwrap()[0].clone();
    let found = replay.run("run", &[("x", &x)]).remove("y").unwrap();
    let off = (&Tensor::from_slice(&found, [32, 1]) - &expected).abs().max(All).item::<f32>().unwrap();
    assert!(off < 1e-4, "{off}");
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn language_models_run_from_their_files() {
    if adapters().is_empty() {
        assert!(std::env::var("GRADUS_ORACLES").is_err(), "there is no wgpu adapter");
        println!("skipped: no wgpu adapter");
        return;
    }
    let g = Generator::new(5);
    let names = Bengio::new(names::Sizes { width: 24, ..names::Sizes::default() }, &g).unwrap();
    let gpt = Gpt::new(30, gpt::Sizes { context: 16, width: 16, heads: 2, layers: 2 }, &g).unwrap();
    let tokens = |n: usize, most: i32| {
        Tensor::from_slice(&(0..n as i32).map(|i| (i * 7 + 3) % most).collect::<Vec<_>>(), [1, n])
    };
    let of_names = compile(&[&tokens(3, 27)], |x| names.forward(&x[0])).unwrap();
    let of_gpt = compile(&[&tokens(16, 30)], |x| gpt.logits(&x[0], &[])).unwrap();
    let path = folder("language");
    let cells = |prefix: &str, all: Vec<(String, Tensor)>| {
        all.into_iter().map(|(n, t)| (format!("{prefix}.{n}"), t)).collect::<Vec<_>>()
    };
    let bundle = Bundle::new("language")
        .cells(cells("names", names.parameters()))
        .cells(cells("gpt", gpt.parameters()));
    let bundle =
        bundle.note("characters", ".abc").program("names", &of_names, &["tokens"], &["logits"]).unwrap();
    bundle.program("gpt", &of_gpt, &["tokens"], &["logits"]).unwrap().write(&path).unwrap();
    let gpu = open_gpu(0, 1, Arc::new(Cpu), &Options::default()).unwrap();
    let mut replay = Replay::open(&path, gpu);
    for (name, compiled, tokens) in [("names", of_names, tokens(3, 27)), ("gpt", of_gpt, tokens(16, 30))] {
        let expected = compiled.run(&[&tokens]).unwrap()[0].to_vec::<f32>().unwrap();
        let found = replay.run(name, &[("tokens", &tokens)]).remove("logits").unwrap();
        assert_eq!(found.len(), expected.len());
        for (x, y) in found.iter().zip(&expected) {
            assert!((x - y).abs() <= 1e-4 * y.abs().max(1.0), "{name}: {x}, expected {y}");
        }
    }
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn what_cannot_run_in_a_page_is_refused() {
    let x = Tensor::from([[2.0f64, 0.0], [0.0, 2.0]]);
    let wide = compile(&[&x], |x| x[0].exp()).unwrap();
    let error = Bundle::new("x").program("run", &wide, &["x"], &["y"]).err().unwrap().to_string();
    assert!(error.contains("only 32-bit floats"), "{error}");
    let x = Tensor::from([[2.0f32, 0.0], [0.0, 2.0]]);
    let host = compile(&[&x], |x| x[0].cholesky()).unwrap();
    let error = Bundle::new("x").program("run", &host, &["x"], &["y"]).err().unwrap().to_string();
    assert!(error.contains("steps without a kernel"), "{error}");
    let named = compile(&[&x], |x| x[0].exp()).unwrap();
    let error = Bundle::new("x").program("run", &named, &[], &["y"]).err().unwrap().to_string();
    assert!(error.contains("1 arguments"), "{error}");
    let cell = Tensor::from([1.0f32]).cell();
    let unnamed = compile(&[], |_| &cell + 1.0).unwrap();
    let error = Bundle::new("x").program("run", &unnamed, &[], &["y"]).err().unwrap().to_string();
    assert!(error.contains("has no name"), "{error}");
}
