//! Rules: unsafe code is confined to a few crates, and each unsafe block has a comment that says why it is
//! sound. The comment states the invariant and who guarantees it; a reference to some contract is not enough.

use super::mask::contains_word;
use crate::tree::{File, Tree, Violation};

/// The crates that touch memory, devices or another language.
const UNSAFE_CRATES: &[&str] = &[
    "crates/mem",
    "crates/cpu",
    "crates/wgpu",
    "crates/cuda",
    "crates/python",
    "crates/web",
    "crates/gpu/tests/nvrtc",
];

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Number of lines above, not counting comments, in which the reason is searched.
const REACH: usize = 3;

/// Phrases that refer to an invariant without stating it.
const BARE: &[&str] =
    &[concat!("the caller's", " contract"), concat!("the contract", " is the same"), concat!("as ", "above")];

/// Checks that unsafe code is only in the allowed crates, and that all other libraries forbid it.
pub(crate) fn confined(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| !UNSAFE_CRATES.iter().any(|folder| file.is_in(folder))) {
        for (index, line) in file.code.lines().enumerate() {
            if contains_word(line, "unsafe") {
                let what = format!("write it safely, or move it to one of {}", UNSAFE_CRATES.join(", "));
                found.push(file.violation(index + 1, "unsafe-crates", what));
            }
        }
        if is_library_root(file) && !file.code.contains(FORBID) {
            found.push(file.violation(1, "unsafe-crates", format!("add `{FORBID}`")));
        }
    }
    found
}

/// Checks that each unsafe block and implementation has a `// SAFETY:` comment.
pub(crate) fn reasons(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust() {
        let text: Vec<&str> = file.text.lines().collect();
        for (index, line) in file.code.lines().enumerate() {
            let claims = contains_word(line, "unsafe {") || contains_word(line, "unsafe impl");
            if claims && !has_reason(&text[..=index]) {
                found.push(file.violation(
                    index + 1,
                    "unsafe-reasons",
                    "say why it is sound in a `// SAFETY:` comment above",
                ));
            }
        }
    }
    found
}

/// Checks that each `// SAFETY:` comment states an invariant.
pub(crate) fn invariants(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust() {
        for (index, line) in file.text.lines().enumerate() {
            let Some((_, reason)) = line.split_once("// SAFETY:") else { continue };
            if let Some(phrase) = BARE.iter().find(|phrase| reason.contains(**phrase)) {
                let what = format!("`{phrase}`: state the invariant, and who guarantees it");
                found.push(file.violation(index + 1, "unsafe-invariants", what));
            }
        }
    }
    found
}

fn is_library_root(file: &File) -> bool {
    let parts: Vec<&str> = file.path.split('/').collect();
    matches!(parts[..], ["src", "lib.rs"] | ["crates", _, "src", "lib.rs"])
}

/// Returns true if the last line, or one within reach above it, gives a reason. A comment may have any
/// length.
fn has_reason(text: &[&str]) -> bool {
    let mut passed = 0;
    for line in text.iter().rev() {
        if line.contains("// SAFETY:") {
            return true;
        }
        if !line.trim_start().starts_with("//") {
            passed += 1;
        }
        if passed > REACH {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_unsafe_code_in_other_crates() {
        let tree = Tree::of(&[
            ("crates/ir/src/a.rs", "//! A.\n// unsafe\nunsafe fn f() {}\n"),
            ("crates/members/src/lib.rs", "//! A.\n"),
            ("src/lib.rs", "//! `#![forbid(unsafe_code)]`\n"),
        ]);
        let crates = UNSAFE_CRATES.join(", ");
        assert_eq!(
            tree.complaints(confined),
            [
                format!(
                    "crates/ir/src/a.rs:3: unsafe-crates: write it safely, or move it to one of {crates}"
                ),
                "crates/members/src/lib.rs:1: unsafe-crates: add `#![forbid(unsafe_code)]`".to_owned(),
                "src/lib.rs:1: unsafe-crates: add `#![forbid(unsafe_code)]`".to_owned(),
            ]
        );
    }

    #[test]
    fn accepts_unsafe_code_in_its_crates() {
        let tree = Tree::of(&[
            ("crates/ir/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]\n"),
            ("crates/mem/src/lib.rs", "//! A.\nunsafe fn f() {}\n"),
        ]);
        assert!(confined(&tree).is_empty());
    }

    #[test]
    fn wants_a_reason() {
        let text = "//! A.\nfn f() {\n    unsafe { g() }\n}\nunsafe impl Send for T {}\n\
                    // SAFETY: too far\n\n\n\nunsafe { g() }\n";
        let tree = Tree::of(&[("crates/mem/src/a.rs", text)]);
        let what = "unsafe-reasons: say why it is sound in a `// SAFETY:` comment above";
        assert_eq!(
            tree.complaints(reasons),
            [3, 5, 10].map(|line| format!("crates/mem/src/a.rs:{line}: {what}"))
        );
    }

    #[test]
    fn refuses_reasons_without_an_invariant() {
        for phrase in BARE {
            let text =
                format!("//! A.\n// {phrase}\n    // SAFETY: {phrase}; x.\n// SAFETY: `p` is valid.\n");
            let what = format!(
                "crates/mem/src/a.rs:3: unsafe-invariants: `{phrase}`: state the invariant, and who guarantees it"
            );
            assert_eq!(Tree::of(&[("crates/mem/src/a.rs", &text)]).complaints(invariants), [what]);
        }
    }

    #[test]
    fn accepts_a_reason_within_reach() {
        let near =
            "unsafe { g() } // SAFETY: g is total.\n\n\n// SAFETY: near.\n\n\nunsafe impl Send for T {}\n";
        let long = format!("// SAFETY: a long story,\n{}unsafe {{ g() }}\n", "// and on,\n".repeat(5));
        let tree = Tree::of(&[("crates/mem/src/a.rs", near), ("crates/cpu/src/a.rs", &long)]);
        assert!(reasons(&tree).is_empty());
    }
}
