//! `gradus export`.

mod common;

use common::{Folder, gradus};
use serde_json::Value;

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
    let weights = gradus::files::safetensors::Reader::open(site.join("weights.safetensors")).unwrap();
    assert_eq!(weights.tensor("W").unwrap().to_vec::<f32>().unwrap(), [0.5, -1.0, 2.0, 0.25]);
    assert!(site.join("gradus.js").is_file() && site.join("index.html").is_file());
}

#[test]
fn export_refuses_names_that_are_no_inputs() {
    let folder = Folder::new("export-names");
    let file = folder.file("net.eq", "Y[i] = exp(X[i])\n");
    let site = folder.0.join("site").display().to_string();
    let outcome = gradus(&["export", &file, "--web", &site, "--set", "X=[1.0]", "--feed", "Z"]);
    assert_eq!(outcome.code, 2, "{}", outcome.out);
    assert!(outcome.err.contains("no input is called `Z`; there are X"), "{}", outcome.err);
    assert!(!folder.0.join("site").exists());
}
