//! Rules about words: no unfinished code, no panics in libraries, no absolute paths of one machine.

use super::mask::contains_word;
use crate::tree::{File, Tree, Violation};

// The forbidden texts are concatenated from pieces, because this file is checked too.

const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("todo", "!"), "finish it or leave it out"),
    (concat!("unimplemented", "!"), "finish it or leave it out"),
    (concat!("dbg", "!"), "remove it"),
    (concat!("#[", "ignore"), "run the test or remove it"),
];

const MACHINE: &[&str] =
    &[concat!("/", "home/"), concat!("/", "root/"), concat!("/", "Users/"), concat!("/", "tmp/")];

const PANICS: &[&str] = &["panic!(", ".unwrap()", ".expect("];

/// The comment that excuses a panic; a reason must follow.
const EXCUSE: &str = "// tidy: ";

/// Checks that Rust files, including comments, contain nothing unfinished.
pub(crate) fn forbidden(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for (index, line) in file.text.lines().enumerate() {
            for (word, what) in FORBIDDEN.iter().filter(|(word, _)| contains_word(line, word)) {
                found.push(file.violation(index + 1, "forbidden", format!("`{word}`: {what}")));
            }
        }
    }
    found
}

/// Checks that libraries return errors; a possible panic needs a comment with the reason why it cannot occur.
pub(crate) fn panics(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| is_library(file)) {
        let text: Vec<&str> = file.text.lines().collect();
        for (index, line) in outside_tests(&file.code) {
            for word in PANICS.iter().filter(|word| contains_word(line, word)) {
                if !is_excused(&text, index) {
                    let what =
                        format!("`{word}`: return an error, or say why it cannot fail in `{EXCUSE}<reason>`");
                    found.push(file.violation(index + 1, "panics", what));
                }
            }
        }
    }
    found
}

/// Checks that no file contains a path that exists on one machine only.
pub(crate) fn machine_paths(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            for path in MACHINE.iter().filter(|path| has_absolute(line, path)) {
                let what = format!("`{path}`: use a relative path");
                found.push(file.violation(index + 1, "machine-paths", what));
            }
        }
    }
    found
}

fn is_library(file: &File) -> bool {
    let mut parts = file.path.split('/');
    let source = match parts.next() {
        Some("crates") => parts.next() != Some("testkit") && parts.next() == Some("src"),
        first => first == Some("src"),
    };
    source && !parts.any(|part| part == "tests" || part == "tests.rs")
}

/// Returns the lines of `code`, with their indices, that are not in an item under `#[cfg(test)]`. In
/// rustfmt's layout such an item ends with a brace that is indented like its first line.
fn outside_tests(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut marked = false;
    let mut end: Option<String> = None;
    code.lines().enumerate().filter(move |(_, line)| {
        let line = line.trim_end();
        if let Some(brace) = &end {
            if line == brace {
                end = None;
            }
            return false;
        }
        let body = line.trim_start();
        if marked && body.ends_with('{') && !body.starts_with('#') {
            end = Some(format!("{}}}", &line[..line.len() - body.len()]));
        }
        let attribute = body.starts_with("#[");
        marked =
            body.starts_with("#[cfg(test)]") || body.starts_with("#[cfg(all(test,") || marked && attribute;
        end.is_none()
    })
}

/// Returns true if the line, or a comment on the line above, gives the reason.
fn is_excused(text: &[&str], index: usize) -> bool {
    let reason = |line: &str| line.split_once(EXCUSE).is_some_and(|(_, reason)| !reason.trim().is_empty());
    reason(text[index])
        || index > 0 && text[index - 1].trim_start().starts_with("//") && reason(text[index - 1])
}

/// Returns true if `line` contains `path` as an absolute path, not as a part of a longer path or an address.
fn has_absolute(line: &str, path: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "_-.~})*$%".contains(c);
    line.match_indices(path).any(|(start, _)| !line[..start].ends_with(continues))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_unfinished_code_even_in_comments() {
        let text = format!(
            "//! A.\nfn f() {{ {}() }}\n// {}\n{}]\n",
            FORBIDDEN[0].0, FORBIDDEN[2].0, FORBIDDEN[3].0
        );
        assert_eq!(
            Tree::of(&[("xtask/src/a.rs", &text), ("a.md", &text)]).complaints(forbidden),
            [
                concat!("xtask/src/a.rs:2: forbidden: `todo", "!`: finish it or leave it out"),
                concat!("xtask/src/a.rs:3: forbidden: `dbg", "!`: remove it"),
                concat!("xtask/src/a.rs:4: forbidden: `#[", "ignore`: run the test or remove it"),
            ]
        );
    }

    #[test]
    fn accepts_finished_code() {
        assert!(forbidden(&Tree::of(&[("src/a.rs", "//! A list of things to do!\n")])).is_empty());
    }

    #[test]
    fn refuses_a_panic_in_a_library() {
        let text = "//! A.\nfn f() { g().unwrap() }\n\
                    // tidy: \nfn h() { panic!(\"x\") }\n\
                    let x = y\n    .expect(\"z\");\n";
        let what =
            |word| format!("`{word}`: return an error, or say why it cannot fail in `// tidy: <reason>`");
        assert_eq!(
            Tree::of(&[("crates/ir/src/a.rs", text)]).complaints(panics),
            [
                format!("crates/ir/src/a.rs:2: panics: {}", what(".unwrap()")),
                format!("crates/ir/src/a.rs:4: panics: {}", what("panic!(")),
                format!("crates/ir/src/a.rs:6: panics: {}", what(".expect(")),
            ]
        );
        assert_eq!(panics(&Tree::of(&[("src/a.rs", text)])).len(), 3);
    }

    #[test]
    fn code_after_the_tests_is_library_code() {
        let text = "#[cfg(test)]\n#[rustfmt::skip]\n\
                    mod tests {\n    fn f() {\n        g().unwrap()\n    }\n}\n\
                    fn h() { g().unwrap() }\n";
        let tree = Tree::of(&[("src/a.rs", text)]);
        assert_eq!(panics(&tree).iter().map(|violation| violation.line).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn accepts_panics_elsewhere_or_with_a_reason() {
        let bare = "//! A.\nfn f() { g().unwrap() }\n";
        let excused = "//! `x.unwrap()`\n/// `x.unwrap()`\n\
                       fn f() { g().unwrap(); } // tidy: g is total\n\
                       // tidy: h is total\nfn i() { h().unwrap() }\n\
                       fn j() { k(\".unwrap()\") }\n";
        let tree = Tree::of(&[
            ("crates/ir/src/a.rs", excused),
            ("crates/ir/src/a/tests.rs", bare),
            ("crates/ir/tests/a.rs", bare),
            ("crates/testkit/src/a.rs", bare),
            ("examples/a.rs", bare),
            ("tests/a.rs", bare),
            ("xtask/src/a.rs", bare),
        ]);
        assert!(panics(&tree).is_empty());
    }

    #[test]
    fn an_excuse_covers_its_own_line() {
        let text = "//! A.\nfn f() {\n    g().unwrap(); // tidy: g is total\n    h().unwrap();\n}\n";
        let tree = Tree::of(&[("src/a.rs", text)]);
        assert_eq!(panics(&tree).iter().map(|violation| violation.line).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn refuses_a_path_of_a_machine() {
        for path in MACHINE {
            let tree = Tree::of(&[("notes.txt", &format!("\nsee `{path}a` or file://{path}b\n"))]);
            let what = format!("notes.txt:2: machine-paths: `{path}`: use a relative path");
            assert_eq!(tree.complaints(machine_paths), [what]);
        }
    }

    #[test]
    fn accepts_the_same_names_inside_longer_paths() {
        for path in MACHINE {
            let text = format!("docs{path}a https://example.org{path} ${{X}}{path} ..{path}\n");
            assert!(machine_paths(&Tree::of(&[("notes.txt", &text)])).is_empty());
        }
    }
}
