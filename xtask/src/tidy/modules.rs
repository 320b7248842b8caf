//! Rules: every test is compiled. The tests of a crate are modules of `tests/main.rs`, or programs that its
//! manifest names; a file that neither mentions would be ignored silently. The same holds for unit tests in a
//! library whose manifest says `test = false`, unless `tests/main.rs` compiles their module by its path.

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

/// Finds unit tests in libraries that are not compiled as tests.
pub(crate) fn unit_tests(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for manifest in &tree.files {
        let Some(package) = manifest.path.strip_suffix("Cargo.toml") else { continue };
        let library = manifest.text.split_once("\n[lib]\n").map_or("", |(_, rest)| rest);
        let library = library.split("\n[").next().unwrap_or_default();
        if !library.lines().any(|line| line == "test = false") {
            continue;
        }
        let main = tree.file(&format!("{package}{MAIN}")).map_or("", |file| &file.text);
        let compiled: Vec<&str> = main
            .lines()
            .filter_map(|line| line.strip_prefix("#[path = \"../src/")?.strip_suffix("\"]"))
            .collect();
        for file in tree.rust() {
            let Some(path) = file.path.strip_prefix(package).and_then(|rest| rest.strip_prefix("src/"))
            else {
                continue;
            };
            // A module `a/mod.rs` also compiles the files of its folder.
            let is_compiled = compiled.iter().any(|c| {
                *c == path || c.strip_suffix("mod.rs").is_some_and(|folder| path.starts_with(folder))
            });
            if let Some(line) =
                file.code.lines().position(|line| line.trim() == "#[test]").filter(|_| !is_compiled)
            {
                let what =
                    format!("move this test into {package}tests: the library is not compiled as a test");
                found.push(file.violation(line + 1, "unit-tests", what));
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

    #[test]
    fn unit_tests_are_compiled() {
        let test = "//! A.\n#[test]\nfn t() {}\n";
        let tree = Tree::of(&[
            ("a/Cargo.toml", "[package]\n\n[lib]\ntest = false\n\n[dependencies]\n"),
            (
                "a/tests/main.rs",
                "#[path = \"../src/one.rs\"]\nmod one;\n#[path = \"../src/two/mod.rs\"]\nmod two;\n",
            ),
            ("a/src/one.rs", test),
            ("a/src/two/tests.rs", test),
            ("a/src/three.rs", test),
            ("b/Cargo.toml", "[lib]\n\n[[bin]]\ntest = false\n"),
            ("b/src/four.rs", test),
        ]);
        let what = "unit-tests: move this test into a/tests: the library is not compiled as a test";
        assert_eq!(tree.complaints(unit_tests), [format!("a/src/three.rs:2: {what}")]);
    }
}
