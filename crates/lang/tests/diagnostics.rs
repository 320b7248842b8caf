//! Compares the messages about invalid programs byte for byte. `GRADUS_BLESS=1` rewrites them; review the
//! changes.
//!
//! Programs named `note_…` are mistakes that are easily made. Some of them are legal: their first line says
//! so, and the text has their values.

use gradus_lang::{Program, Settings, Source};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the messages of loading and running a program, or its values.
fn said(name: &str, text: &str) -> String {
    let settings = Settings { rounds: 1000, ..Settings::default() };
    let done = Program::parse(Source::new(name, text)).and_then(|program| {
        let names = program.outputs();
        program.run(&BTreeMap::new(), &settings, &names)
    });
    match done {
        Ok(values) => values.iter().map(|(name, t)| format!("runs: {name} = {t}\n")).collect(),
        Err(faults) => format!("{faults}\n"),
    }
}

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "eq"));
    files.sort();
    files
}

#[test]
fn messages() {
    let bless = std::env::var_os("GRADUS_BLESS").is_some();
    let files = programs();
    assert!(files.len() >= 53, "{} programs", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let found = said(&name, &text);
        let legal = text.starts_with("# Legal here");
        assert_eq!(found.starts_with("runs: "), legal, "{name}: {found}");
        let beside = file.with_extension("txt");
        if bless {
            fs::write(&beside, &found).unwrap();
        } else if fs::read_to_string(&beside).unwrap_or_default() != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names that a diagnostic is about are data. Errors about names on a line that cannot be parsed are not reported,
/// because that line may define them.
#[test]
fn names_are_data() {
    let names = |text: &str| -> Vec<Vec<String>> {
        let faults = Program::parse(Source::new("names", text)).unwrap_err().faults;
        faults.iter().map(|d| d.names.iter().map(|n| n.to_string()).collect()).collect()
    };
    let none: &[&str] = &[];
    assert_eq!(names("Y = softmx(1)\nexport Z\nparam p = 1\np = 2\n"), [["softmx"], ["Z"], ["p"]]);
    assert_eq!(names("W = ) Q\nexport Q\nexport R\n"), [none, &["R"]]);
}
