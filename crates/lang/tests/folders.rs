//! Checks that each folder of the crate imports only earlier ones.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders in order.
const ORDER: [&str; 11] = [
    "syntax",
    "program",
    "rules",
    "builtin",
    "elaborate",
    "check",
    "differentiate",
    "solve",
    "lower",
    "raise",
    "run",
];

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        match entry.is_dir() {
            true => files(&entry, out),
            false => out.push(entry),
        }
    }
}

/// Returns the folders that a text names after `crate::`, also in braces.
fn imports(text: &str) -> Vec<&str> {
    let word = |t: &str| t.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(t.len());
    let mut out = Vec::new();
    for rest in text.split("crate::").skip(1) {
        match rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
            Some((inside, _)) => out.extend(inside.split(',').map(str::trim).map(|t| &t[..word(t)])),
            None => out.push(&rest[..word(rest)]),
        }
    }
    out
}

#[test]
fn folders_import_only_earlier_ones() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let place = |name: &str| ORDER.iter().position(|f| *f == name);
    let (mut all, mut seen) = (Vec::new(), [false; ORDER.len()]);
    files(&src, &mut all);
    for file in all.iter().filter(|f| f.file_name().is_some_and(|n| n != "lib.rs")) {
        let path = file.strip_prefix(&src).unwrap();
        let folder = path.components().next().unwrap().as_os_str().to_str().unwrap();
        let own = place(folder).unwrap_or_else(|| panic!("{} is in no folder", path.display()));
        seen[own] = true;
        for import in imports(&fs::read_to_string(file).unwrap()) {
            let other = place(import).unwrap_or_else(|| panic!("{}: crate::{import}", path.display()));
            assert!(other <= own, "{} imports `{import}`, a later folder", path.display());
        }
    }
    assert!(seen.iter().all(|s| *s), "{seen:?}");
}

#[test]
fn imports_are_found() {
    let text = "use crate::run::Options;\nuse crate::{lower, syntax::ast};\nfn f(x: &crate::solve::X) {}";
    assert_eq!(imports(text), ["run", "lower", "syntax", "solve"]);
}
