//! `gradus export`.

use crate::common::{Folder, gradus, output, root};
use gradus::bundle::Bundle;
use gradus::files::safetensors::Reader;
use gradus::models::names::{self, Bengio};
use gradus::nn::{Forward, Module, checkpoint};
use gradus::{DType, Generator, Tensor, compile};
use serde_json::Value;
use std::path::Path;

const PROGRAM: &str = "Y[o] = tanh(W[o, i] X[i])\nLoss = (Y[o] - T[o]) (Y[o] - T[o])\nexport Y\n";

#[test]
fn export_writes_programs_and_weights() {
    let folder = Folder::new("export");
    let file = folder.file("net.eq", PROGRAM);
    let site = folder.0.join("site");
    let site_text = site.display().to_string();
    let given = ["--set", "W=[[0.5, -1.0], [2.0, 0.25]]", "--set", "X=[1.0, 2.0]", "--set", "T=[0.0, 1.0]"];
    let args =
        [&["export", &file, "--web", &site_text, "--feed", "X,T", "--train", "W"][..], &given].concat();
    let outcome = gradus(&args);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(site.join("plan.json")).unwrap()).unwrap();
    assert_eq!(manifest["name"], "net");
    let names = |program: &str, list: &str| -> Vec<String> {
        let all = manifest["programs"][program][list].as_array().unwrap();
        let kind = if list == "inputs" { "from" } else { "to" };
        all.iter().map(|f| format!("{} {}", f[kind].as_str().unwrap(), f["name"].as_str().unwrap())).collect()
    };
    assert_eq!(names("run", "inputs"), ["input X", "cell W"]);
    assert_eq!(names("run", "outputs"), ["output Y"]);
    let step = names("step", "inputs");
    for name in ["input X", "input T", "cell W", "cell optimizer.W.exp_avg", "table optimizer.numbers.0"] {
        assert!(step.iter().any(|n| n == name), "{name} is not in {step:?}");
    }
    let weights = Reader::open(site.join("weights.safetensors")).unwrap();
    assert_eq!(weights.tensor("W").unwrap().to_vec::<f32>().unwrap(), [0.5, -1.0, 2.0, 0.25]);
    assert!(site.join("gradus.js").is_file() && site.join("index.html").is_file());
}

/// A run folder of the model of names, after a few steps.
fn run_of_names(folder: &Folder) -> String {
    let data = root().join("examples/data/names.txt").display().to_string();
    let config = folder.file(
        "names.toml",
        &format!("model = \"names\"\ndata = {data:?}\nsteps = 3\nbatch = 16\nout = \"run\"\nseed = 7\n\n[sizes]\nwidth = 8\n"),
    );
    output("", &["train", &config]);
    folder.0.join("run").display().to_string()
}

#[test]
fn export_writes_a_trained_model() {
    let folder = Folder::new("export-model");
    let run = run_of_names(&folder);
    let site = folder.0.join("site");
    let text = output("", &["export", &run, "--web", &site.display().to_string()]);
    assert!(text.contains("serve this folder"), "{text}");
    let read = |folder: &Path| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join("plan.json")).unwrap()).unwrap()
    };
    let manifest = read(&site);
    assert_eq!(manifest["notes"]["model"], "names");
    assert_eq!(manifest["notes"]["characters"], ".abcdefghijklmnopqrstuvwxyz");
    // The files equal those of a bundle of the checkpoint's parameters, which `tests/bundle.rs` runs on a
    // GPU.
    let sizes = names::Sizes { width: 8, ..names::Sizes::default() };
    let model = Bengio::new(sizes, &Generator::new(1)).unwrap();
    let checkpoint = Path::new(&run).join("checkpoint.safetensors");
    checkpoint::load_as(&checkpoint, &model, |own| format!("model.{own}")).unwrap();
    let tokens = Tensor::zeros([1, sizes.context]).to_dtype(DType::I32);
    let compiled = compile(&[&tokens], |x| model.forward(&x[0])).unwrap();
    let own = Bundle::new("run").cells(model.parameters());
    own.program("run", &compiled, &["tokens"], &["logits"]).unwrap().write(folder.0.join("own")).unwrap();
    let other = read(&folder.0.join("own"));
    assert_eq!(manifest["programs"], other["programs"]);
    assert_eq!(manifest["cells"], other["cells"]);
    let weights = Reader::open(site.join("weights.safetensors")).unwrap();
    for (name, p) in model.parameters() {
        assert_eq!(
            weights.tensor(&name).unwrap().to_vec::<f32>().unwrap(),
            p.to_vec::<f32>().unwrap(),
            "{name}"
        );
    }
    let options = [
        ["--feed", "X"],
        ["--only", "X"],
        ["--params", "run"],
        ["--input", "X=x.npy"],
        ["--set", "x=1"],
        ["--temperature", "*=0"],
        ["--steps", "3"],
        ["--rounds", "3"],
        ["--tolerance", "0.1"],
        ["--allow-unconverged", ""],
        ["--f64", ""],
    ];
    for option in options {
        let given = option.iter().filter(|x| !x.is_empty());
        let refused = gradus(
            &[
                &["export", &run, "--web", &site.display().to_string()],
                &given.copied().collect::<Vec<_>>()[..],
            ]
            .concat(),
        );
        let why = format!("{} applies to programs of equations only", option[0]);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(&why), "{}", refused.err);
    }
    let empty = folder.0.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let missing = gradus(&["export", &empty.display().to_string(), "--web", "elsewhere"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("checkpoint.safetensors"), "{}", missing.err);
}

#[test]
fn export_takes_weights_of_a_trained_program() {
    let folder = Folder::new("export-weights");
    let file = folder.file("net.eq", PROGRAM);
    folder.file("x.json", "[1.0, 2.0]");
    folder.file("t.json", "[0.0, 1.0]");
    let config = "model = \"program\"\nsteps = 4\nout = \"run\"\nseed = 7\n\n[program]\nfile = \"net.eq\"\nloss = \"Loss\"\n\n\
        [program.inputs]\nX = \"x.json\"\nT = \"t.json\"\n\n[program.parameters]\nW = { normal = 0.5, shape = [2, 2] }\n";
    output("", &["train", &folder.file("net.toml", config)]);
    let run = folder.0.join("run").display().to_string();
    let site = folder.0.join("site");
    let site_text = site.display().to_string();
    output(
        "",
        &["export", &file, "--web", &site_text, "--params", &run, "--set", "X=[1.0, 2.0]", "--feed", "X"],
    );
    let values = |path: &Path, name: &str| -> Vec<f32> {
        Reader::open(path).unwrap().tensor(name).unwrap().to_vec().unwrap()
    };
    let trained = values(&Path::new(&run).join("checkpoint.safetensors"), "model.W");
    assert_eq!(values(&site.join("weights.safetensors"), "W"), trained);
    // Every command reads the parameters of a run: all of them, or one by its name.
    let checkpoint = format!("W={run}/checkpoint.safetensors");
    let json =
        |more: &[&str]| output("", &[&["run", &file, "--json", "--set", "X=[1.0, 2.0]"][..], more].concat());
    let written = format!("W=[[{}, {}], [{}, {}]]", trained[0], trained[1], trained[2], trained[3]);
    let expected = json(&["--set", &written, "--set", "T=[0.0, 1.0]"]);
    assert_eq!(json(&["--params", &run, "--set", "T=[0.0, 1.0]"]), expected);
    assert_eq!(json(&["--input", &checkpoint, "--set", "T=[0.0, 1.0]"]), expected);
    let missing = gradus(&["run", &file, "--params", "no/such/run", "--set", "X=[1.0, 2.0]"]);
    assert!(missing.code == 2 && missing.err.contains("--params no/such/run"), "{}", missing.err);
    assert!(!missing.err.contains("`W` has no equation"), "{}", missing.err);
    // A parameter on the command line takes precedence.
    let given = "W=[[0.5, -1.0], [2.0, 0.25]]";
    let more = ["--set", "X=[1.0, 2.0]", "--set", given, "--feed", "X"];
    output("", &[&["export", &file, "--web", &site_text, "--params", &run][..], &more].concat());
    assert_eq!(values(&site.join("weights.safetensors"), "W"), [0.5, -1.0, 2.0, 0.25]);
    let other = folder.file("other.eq", "Y[i] = exp(Z[i])\n");
    let outcome = gradus(&["export", &other, "--web", &site_text, "--params", &run, "--set", "Z=[1.0]"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.err.contains("contains no parameter of the program; the inputs of the program are Z"),
        "{}",
        outcome.err
    );
}

#[test]
fn export_refuses_names_that_are_not_inputs() {
    let folder = Folder::new("export-names");
    let file = folder.file("net.eq", "Y[i] = exp(X[i])\n");
    let site = folder.0.join("site").display().to_string();
    let outcome = gradus(&["export", &file, "--web", &site, "--set", "X=[1.0]", "--feed", "Z"]);
    assert_eq!(outcome.code, 2, "{}", outcome.out);
    assert!(outcome.err.contains("the program has no input `Z`; its inputs are X"), "{}", outcome.err);
    assert!(!folder.0.join("site").exists());
}
