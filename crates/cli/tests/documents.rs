//! Programs that state their results: the gallery in `examples/equations` and the examples of
//! `docs/language.md`.
//!
//! `# expect Name = value` (followed by `within 1e-6` if 1e-9 is too strict) and
//! `# fails: part of a message`.

use crate::common::{Folder, gradus_with, root, stated};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

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
        "belief_network",
        "convolution",
        "edit_distance",
        "embedding_reasoning",
        "graph_network",
        "heat",
        "hmm",
        "kalman",
        "kernel_machine",
        "logistic_regression",
        "mlp",
        "pagerank",
        "perceptron",
        "pooling",
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
            "{name} is not formatted as by `gradus fmt`"
        );
        assert!(stated(name, &fs::read_to_string(file).unwrap(), &work.0) > 0, "{name} states nothing");
    }
}

/// Checks the gradients of all programs of the gallery that have a loss.
#[test]
fn gallery_gradients() {
    for name in [
        "attention",
        "belief_network",
        "convolution",
        "embedding_reasoning",
        "graph_network",
        "heat",
        "hmm",
        "kernel_machine",
        "logistic_regression",
        "mlp",
        "pagerank",
        "perceptron",
        "pooling",
        "rnn",
        "transformer_block",
    ] {
        let file = root().join(format!("examples/equations/{name}.eq")).display().to_string();
        let outcome = gradus_with("", &["check", &file]);
        assert_eq!(outcome.code, 0, "{name}\n{}{}", outcome.out, outcome.err);
        assert!(outcome.out.contains("  ok"), "{name}\n{}", outcome.out);
    }
}

/// Runs `explain` on all programs of the gallery and on their gradients.
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
    let (mut program, mut inside, mut count) = (String::new(), false, 0);
    for (i, line) in text.lines().enumerate() {
        match (line.trim(), inside) {
            ("```eq", false) => inside = true,
            ("```", true) => {
                inside = false;
                let own = stated(&format!("docs/language.md, before line {}", i + 1), &program, &folder.0);
                assert!(own > 0, "the example before line {} states nothing", i + 1);
                count += own;
                program.clear();
            }
            (_, true) => program.extend([line, "\n"]),
            _ => {}
        }
    }
    assert!(!inside && count >= 60, "{count} values stated");
}
