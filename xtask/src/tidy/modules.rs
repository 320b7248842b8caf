//! Rule: every file of tests is compiled. The tests of a crate are modules of `tests/main.rs`, or programs that its
//! manifest names; a file that neither mentions would be ignored silently.

use crate::tree::{Tree, Violation};

const MAIN: &str = "tests/main.rs";

/// Finds files next to a `tests/main.rs` that are neither its modules nor named by the manifest.
pub(crate) fn tests(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for main in tree.rust() {
        let Some(package) = main.path.strip_suffix(MAIN).filter(|p| p.is_empty() || p.ends_with('/')) else {
            continue;
        };
        let manifest = tree.file(&format!("{package}Cargo.toml")).map_or("", |file| &file.text);
        for file in tree.rust() {
            let name = file.path.strip_prefix(package).and_then(|rest| rest.strip_prefix("tests/"));
            let Some(name) =
                name.and_then(|rest| rest.strip_suffix(".rs")).filter(|name| !name.contains('/'))
            else {
                continue;
            };
            let is_module = main.code.lines().any(|line| line.trim() == format!("mod {name};"));
            let is_program = manifest.lines().any(|line| line == format!("name = \"{name}\""));
            if name != "main" && !is_module && !is_program {
                let what = format!("add `mod {name};` to {}: its tests are not compiled", main.path);
                found.push(file.violation(1, "test-modules", what));
            }
        }
    }
    found
}

#[cfg(test)]
mod cases {
    use super::*;

    #[test]
    fn every_file_of_tests_is_compiled() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", "[[test]]\nname = \"own\"\n"),
            ("a/tests/main.rs", "//! All.\nmod one;\n// mod two;\n"),
            ("a/tests/one.rs", ""),
            ("a/tests/one/part.rs", ""),
            ("a/tests/own.rs", ""),
            ("a/tests/two.rs", ""),
            ("b/tests/alone.rs", ""),
        ]);
        let what = "test-modules: add `mod two;` to a/tests/main.rs: its tests are not compiled";
        assert_eq!(tree.complaints(tests), [format!("a/tests/two.rs:1: {what}")]);
    }
}
