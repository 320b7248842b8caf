//! Compares programs with values from PyTorch: those in `corpus`, whose references and expectations `make.py`
//! writes, and random ones in `programs`. `# expect Y = …` is a value in `f64`, `# grad Loss X = …` a
//! gradient, `# grad2 Loss X = …` the gradient of the sum of its squares, `# fails: …` a part of the message.

use gradus_ir::DType;
use gradus_lang::ast::Name;
use gradus_lang::{GradientOptions, Program, Settings, Source};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn settings() -> Settings {
    Settings { float: DType::F64, ..Settings::default() }
}

fn numbers(text: &str) -> Vec<f64> {
    let plain = text.replace(['[', ']'], " ");
    let number = |x: &str| x.trim().parse().unwrap_or_else(|_| panic!("`{x}` is no number"));
    plain.split(',').filter(|x| !x.trim().is_empty()).map(number).collect()
}

fn value(text: &str, name: &str) -> Result<Vec<f64>, String> {
    let program = Program::parse(Source::new("corpus", text)).map_err(|f| f.to_string())?;
    let run = program.run(&BTreeMap::new(), &settings(), &[name.into()]).map_err(|f| f.to_string())?;
    let value = &run[&Name::from(name)];
    value.to_dtype(DType::F64).to_vec::<f64>().map_err(|e| e.to_string())
}

/// Returns a program and its gradient, printed and read again.
fn with_gradient(text: &str, loss: &str, wrt: &str) -> Result<(String, Name), String> {
    let program = Program::parse(Source::new("corpus", text)).map_err(|f| f.to_string())?;
    let options = GradientOptions { loss: Some(loss.into()), wrt: vec![wrt.into()], ..Default::default() };
    let gradient = program.gradient(&options).map_err(|f| f.to_string())?;
    let name = gradient.names.get(wrt).cloned().ok_or(format!("`{wrt}` has no gradient"))?;
    Ok((format!("{}\n{}", program.open_text(), gradient.text()), name))
}

fn near(found: &[f64], expected: &[f64]) -> bool {
    let close =
        |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    found.len() == expected.len() && found.iter().zip(expected).all(close)
}

fn check(text: &str, line: &str) -> Result<(), String> {
    let compare = |found: Vec<f64>, expected: &str, of: &str| {
        let expected = numbers(expected);
        near(&found, &expected).then_some(()).ok_or(format!("{of}: {found:?} instead of {expected:?}"))
    };
    let program: String = text.lines().filter(|l| !l.starts_with("# ")).map(|l| format!("{l}\n")).collect();
    if let Some(message) = line.strip_prefix("# fails: ") {
        let names = Program::parse(Source::new("corpus", &*program)).map(|p| (p.outputs(), p));
        let found = match names {
            Err(f) => f.to_string(),
            Ok((names, p)) => match p.run(&BTreeMap::new(), &settings(), &names) {
                Err(f) => f.to_string(),
                Ok(_) => return Err(format!("no error, but `{message}`")),
            },
        };
        return found.contains(message).then_some(()).ok_or(format!("{found} does not say `{message}`"));
    }
    let Some((what, expected)) = line.split_once(" = ") else { return Err(format!("what is {line}")) };
    let words: Vec<&str> = what.split(' ').skip(1).collect();
    match words[..] {
        ["expect", name] => compare(value(&program, name)?, expected, name),
        ["grad", loss, wrt] => {
            let (text, name) = with_gradient(&program, loss, wrt)?;
            compare(value(&text, &name).map_err(|e| format!("{e}\n{text}"))?, expected, &name)
        }
        ["grad2", loss, wrt] => {
            let (text, name) = with_gradient(&program, loss, wrt)?;
            let places = Program::parse(Source::new("corpus", &*text)).map_err(|f| f.to_string())?;
            let rank = places.definition(&name).map_or(0, |d| d.places.len());
            let own: String = ["x1", "x2", "x3", "x4"][..rank].join(", ");
            let read = if rank > 0 { format!("{name}[{own}]") } else { name.to_string() };
            let text = format!("{text}\nSquares = {read} {read}\n");
            let (text, name) = with_gradient(&text, "Squares", wrt)?;
            compare(value(&text, &name).map_err(|e| format!("{e}\n{text}"))?, expected, &name)
        }
        _ => Err(format!("what is {line}")),
    }
}

/// Checks all programs of a folder; a file may hold several, with `# ----` between them.
fn check_folder(folder: &str) {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "eq"));
    files.sort();
    let (wrong, checked, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let all = std::fs::read_to_string(file).unwrap();
            for (number, text) in all.split("# ----\n").enumerate() {
                for line in text.lines().filter(|l| l.starts_with("# ") && !l.starts_with("# about")) {
                    checked.fetch_add(1, Ordering::Relaxed);
                    let found = std::panic::catch_unwind(|| check(text, line));
                    if let Err(why) = found.unwrap_or_else(|_| Err(format!("{line}: panics"))) {
                        let name = file.file_name().unwrap().to_string_lossy();
                        wrong.lock().unwrap().push(format!("{name} {number}: {why}"));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let (mut wrong, checked) = (wrong.into_inner().unwrap(), checked.into_inner());
    wrong.sort();
    assert!(checked >= files.len() && !files.is_empty(), "{checked} lines in {} files", files.len());
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn programs_have_the_values_of_their_references() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    check_folder(&std::env::var("GRADUS_CORPUS").unwrap_or(folder.into()));
}

/// Random programs in several spellings, with values from loops: `programs/random_programs.py` writes them.
#[test]
fn random_programs_have_the_values_of_loops() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    check_folder(&std::env::var("GRADUS_PROGRAMS").unwrap_or(folder.into()));
}
