//! Programs that state what they give: the gallery in `examples/equations` and the examples of `docs/language.md`.
//!
//! `# expect Name = value` (`within 1e-6` behind it, if 1e-9 is too near) and `# fails: part of a message`.

mod common;

use common::{Folder, gradus_with, root};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// How far two values are apart, relative to their size; infinite if they are not of one form.
fn distance(a: &Value, b: &Value) -> f64 {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| distance(a, b)).fold(0.0, f64::max)
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() / b.abs().max(1.0)
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            let far = |(key, a): (&String, &Value)| b.get(key).map_or(f64::INFINITY, |b| distance(a, b));
            a.iter().map(far).fold(0.0, f64::max)
        }
        (a, b) if a == b => 0.0,
        _ => f64::INFINITY,
    }
}

/// Runs a program and compares it with what it states; gives how much that is.
fn hold(name: &str, text: &str, folder: &Path) -> usize {
    let mut expected = Vec::new();
    for line in text.lines().filter_map(|l| l.trim().strip_prefix("# expect ")) {
        let (name, value) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
        let (value, within) = value.split_once(" within ").unwrap_or((value, "1e-9"));
        let value: Value = serde_json::from_str(value).unwrap_or_else(|e| panic!("{name}: {e}: {value}"));
        expected.push((name, value, within.trim().parse::<f64>().unwrap()));
    }
    let path = folder.join(".example.eq");
    fs::write(&path, text).unwrap();
    let mut args = vec!["run".to_string(), path.display().to_string(), "--json".into(), "--f64".into()];
    if !expected.is_empty() {
        args.extend(["--only".into(), expected.iter().map(|e| e.0).collect::<Vec<_>>().join(",")]);
    }
    let outcome = gradus_with("", &args.iter().map(String::as_str).collect::<Vec<_>>());
    fs::remove_file(&path).unwrap();
    if let Some(fault) = text.lines().find_map(|l| l.trim().strip_prefix("# fails: ")) {
        assert!(outcome.code == 1 && outcome.err.contains(fault.trim()), "{name}: {text}\n{}", outcome.err);
        return 1;
    }
    assert_eq!(outcome.code, 0, "{name}: {text}\n{}", outcome.err);
    let found: Value = serde_json::from_str(&outcome.out).unwrap();
    for (n, value, within) in &expected {
        // What symbols index is a list of rows.
        let data = if found[n].is_array() { &found[n] } else { &found[n]["data"] };
        assert!(distance(data, value) <= *within, "{name}: {n} is {data}, not {value}\n{text}");
    }
    expected.len()
}

#[test]
fn gallery() {
    let folder = root().join("examples/equations");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "eq") && !p.ends_with(".example.eq"));
    files.sort();
    let names: Vec<String> =
        files.iter().map(|p| p.file_stem().unwrap().to_string_lossy().to_string()).collect();
    for needed in [
        "ancestors",
        "attention",
        "convolution",
        "hmm",
        "kalman",
        "logistic_regression",
        "mlp",
        "pagerank",
        "rnn",
        "transformer_block",
    ] {
        assert!(names.iter().any(|n| n == needed), "{needed}");
    }
    let work = Folder::new("gallery");
    for file in fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
        fs::copy(&file, work.0.join(file.file_name().unwrap())).unwrap();
    }
    for (file, name) in files.iter().zip(&names) {
        let source = gradus::lang::Source::new(name, fs::read_to_string(file).unwrap());
        assert_eq!(
            gradus::lang::format(&source).unwrap(),
            *source.text,
            "{name} is not as `gradus fmt` has it"
        );
        assert!(hold(name, &fs::read_to_string(file).unwrap(), &work.0) > 0, "{name} states nothing");
    }
}

/// Gradients of everything in the gallery that has a loss are right.
#[test]
fn gallery_gradients() {
    for name in [
        "attention",
        "convolution",
        "hmm",
        "logistic_regression",
        "mlp",
        "pagerank",
        "rnn",
        "transformer_block",
    ] {
        let file = root().join(format!("examples/equations/{name}.eq")).display().to_string();
        let outcome = gradus_with("", &["check", &file]);
        assert_eq!(outcome.code, 0, "{name}\n{}{}", outcome.out, outcome.err);
        assert!(outcome.out.contains("  ok"), "{name}\n{}", outcome.out);
    }
}

/// Everything in the gallery can be explained, and so can its gradient.
#[test]
fn gallery_explained() {
    let folder = root().join("examples/equations");
    for file in fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
        if file.extension().is_none_or(|e| e != "eq") || file.ends_with(".example.eq") {
            continue;
        }
        let path = file.display().to_string();
        let outcome = gradus_with("", &["explain", &path, "--json"]);
        assert_eq!(outcome.code, 0, "{path}\n{}", outcome.err);
        let found: Value = serde_json::from_str(&outcome.out).unwrap();
        assert!(!found["equations"].as_array().unwrap().is_empty(), "{path}");
        let gradient = gradus_with("", &["grad", &path]);
        if gradient.code == 0 {
            let outcome = gradus_with(&gradient.out, &["explain", "-"]);
            assert_eq!(outcome.code, 0, "{path}\n{}", outcome.err);
        }
    }
}

#[test]
fn the_language_as_written() {
    let text = fs::read_to_string(root().join("docs/language.md")).unwrap();
    let folder = Folder::new("language");
    folder.file("facts.tsv", "0\t1\n1\t2\n");
    folder.file(
        "library.eq",
        "const K = 2\nfn double(a) -> y { y = K a }\nfn twice(a) -> y { y = double(double(a)) }\n",
    );
    let (mut program, mut inside, mut stated) = (String::new(), false, 0);
    for (i, line) in text.lines().enumerate() {
        match (line.trim(), inside) {
            ("```eq", false) => inside = true,
            ("```", true) => {
                inside = false;
                let own = hold(&format!("docs/language.md, before line {}", i + 1), &program, &folder.0);
                assert!(own > 0, "the example before line {} states nothing", i + 1);
                stated += own;
                program.clear();
            }
            (_, true) => program.extend([line, "\n"]),
            _ => {}
        }
    }
    assert!(!inside && stated >= 60, "{stated} values stated");
}
