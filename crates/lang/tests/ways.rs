//! Both ways of differentiating, on Core and on the surface tree, give the same lines.

use gradus_lang::{GradientOptions, Program, Source};
use std::fs;
use std::path::{Path, PathBuf};

/// The programs of the gallery, of the corpus, and those in the text of the tests of gradients.
fn programs() -> Vec<(String, String)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str, ext: &str| -> Vec<PathBuf> {
        let all = fs::read_dir(here.join(folder)).unwrap().map(|e| e.unwrap().path());
        let mut all: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|e| e == ext)).collect();
        all.sort();
        all
    };
    let mut out = Vec::new();
    for folder in ["tests/seed", "tests/corpus", "tests/programs", "../../examples/equations"] {
        let texts = files(folder, "eq").into_iter().map(|p| (p.display().to_string(), p));
        out.extend(texts.map(|(name, p)| (name, fs::read_to_string(p).unwrap())));
    }
    for file in files("tests", "rs").into_iter().chain(files("tests/gradients", "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let texts = text.split('"').filter(|t| t.contains(" = ")).map(|t| t.replace("\\n", "\n"));
        let name = file.file_name().unwrap().to_string_lossy().to_string();
        out.extend(texts.map(|t| (name.clone(), t)));
    }
    out
}

#[test]
fn core_and_surface_tree_give_the_same_lines() {
    let (mut compared, mut bad) = (0, Vec::new());
    for (name, text) in programs() {
        let Ok(first) = Program::parse(Source::new(&name, &text)) else { continue };
        let options = GradientOptions::default();
        let texts = |program: &Program, on_core: bool| {
            let found = match on_core {
                true => program.gradient(&options),
                false => program.gradient_of_surface(&options),
            };
            Some(found.ok()?.equations.iter().map(|e| e.to_string()).collect::<Vec<_>>())
        };
        let twice = first.gradient_of_surface(&options).ok();
        let twice = twice.and_then(|g| first.extended(&g.equations).ok());
        for program in [Some(first), twice].into_iter().flatten() {
            let (own, other) = (texts(&program, true), texts(&program, false));
            if own != other {
                let (own, other) = (own.unwrap_or_default(), other.unwrap_or_default());
                let differ = own.iter().zip(&other).find(|(a, b)| a != b);
                let differ = differ.map_or_else(
                    || format!("{} and {} lines", own.len(), other.len()),
                    |(a, b)| format!("core     {a}\n    surface  {b}"),
                );
                bad.push(format!("{name}: {}\n    {differ}", text.lines().last().unwrap_or_default()));
            }
            compared += 1;
        }
    }
    assert!(bad.is_empty(), "{} of {compared}\n{}", bad.len(), bad.join("\n"));
    assert!(compared > 200, "{compared}");
}
