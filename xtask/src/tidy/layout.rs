//! Rules: every Rust file begins with module documentation, and no source file is too long.

use crate::tree::{Tree, Violation};

/// Largest number of lines of a source file.
const LIMIT: usize = 600;

/// Extensions of source files; generated and data files have no limit.
const SOURCES: &[&str] = &["rs", "py", "js", "html", "css", "sh", "wgsl", "cu", "eq"];

/// Files that may be longer for now. Entries are only removed.
const TOO_LONG: &[&str] = &[];

/// Checks that the first line of a Rust file is its module documentation.
pub(crate) fn module_docs(tree: &Tree) -> Vec<Violation> {
    let undocumented = tree.rust().filter(|file| !file.text.starts_with("//!"));
    undocumented
        .map(|file| file.violation(1, "module-docs", "begin the file with a `//!` line that says what it is"))
        .collect()
}

/// Checks the length of source files.
pub(crate) fn length(tree: &Tree) -> Vec<Violation> {
    length_except(tree, TOO_LONG)
}

fn length_except(tree: &Tree, excused: &[&str]) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in &tree.files {
        let is_source = file.path.rsplit_once('.').is_some_and(|(_, extension)| SOURCES.contains(&extension));
        let lines = file.text.lines().count();
        if is_source && lines > LIMIT && !excused.contains(&file.path.as_str()) {
            found.push(file.violation(
                LIMIT + 1,
                "length",
                format!("{lines} lines: split it into files of at most {LIMIT}"),
            ));
        }
    }
    for path in excused {
        if tree.file(path).is_none_or(|file| file.text.lines().count() <= LIMIT) {
            let what = format!("{path} needs no exception any more: remove it from TOO_LONG");
            found.push(Violation {
                path: "xtask/src/tidy/layout.rs".to_owned(),
                line: 1,
                rule: "length",
                what,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wants_module_docs_in_the_first_line() {
        let tree =
            Tree::of(&[("src/a.rs", "\n//! Late.\n"), ("examples/b.rs", "fn main() {}\n"), ("c.py", "")]);
        let what = "module-docs: begin the file with a `//!` line that says what it is";
        assert_eq!(
            tree.complaints(module_docs),
            [format!("src/a.rs:1: {what}"), format!("examples/b.rs:1: {what}")]
        );
    }

    #[test]
    fn accepts_module_docs() {
        assert!(module_docs(&Tree::of(&[("tests/a.rs", "//! Tests.\n")])).is_empty());
    }

    #[test]
    fn refuses_a_long_file() {
        let tree = Tree::of(&[("src/a.rs", &"\n".repeat(601)), ("src/b.rs", &"\n".repeat(600))]);
        let what = "src/a.rs:601: length: 601 lines: split it into files of at most 600";
        assert_eq!(tree.complaints(length), [what]);
    }

    #[test]
    fn leaves_generated_files_alone() {
        assert!(length(&Tree::of(&[("Cargo.lock", &"\n".repeat(5000))])).is_empty());
    }

    #[test]
    fn exceptions_only_shrink() {
        let tree = Tree::of(&[("src/a.rs", &"\n".repeat(601)), ("src/b.rs", "")]);
        assert!(length_except(&tree, &["src/a.rs"]).is_empty());
        assert_eq!(length_except(&tree, &["src/a.rs", "src/b.rs", "src/gone.rs"]).len(), 2);
    }
}
