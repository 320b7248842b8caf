//! Rules: every file among the primitives is part of the catalog, and other code does not match on ops.

use super::mask::contains_word;
use crate::tree::{Tree, Violation};

const OPS: &str = "crates/ir/src/ops";

/// Code that may match on ops: their declarations, the graph that stores them, the simplifier's rules.
const READERS: &[&str] = &[OPS, "crates/ir/src/graph", "crates/compile/src/simplify"];

/// Finds files that no module declares: they are not compiled, so no other check would notice them.
pub(crate) fn unlisted(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.is_in(OPS)) {
        let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let module = path.strip_suffix("/mod").unwrap_or(path);
        let Some((parent, name)) = module.rsplit_once('/').filter(|_| module != OPS) else {
            continue;
        };
        let parents = [format!("{parent}/mod.rs"), format!("{parent}.rs")];
        let parent = parents.iter().find_map(|path| tree.file(path));
        if !parent.is_some_and(|parent| contains_word(&parent.code, &format!("mod {name}"))) {
            let what =
                format!("write `mod {name};` in {}", parent.map_or(&parents[0], |parent| &parent.path));
            found.push(file.violation(1, "unlisted", what));
        }
    }
    found
}

/// Finds matches on ops outside of the catalog. Such code should use the op's declaration, so that a new op
/// is one file.
pub(crate) fn matches(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| !READERS.iter().any(|folder| file.is_in(folder))) {
        for (index, line) in file.code.lines().enumerate() {
            let line = line.trim();
            if line.strip_prefix("| ").unwrap_or(line).starts_with("Op::") && line.contains("=>") {
                let what = "do not match on ops here: use the op's declaration";
                found.push(file.violation(index + 1, "op-matches", what));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_file_outside_the_catalog() {
        let tree = Tree::of(&[
            ("crates/ir/src/ops/mod.rs", "//! Ops: `mod sum;`\nmod dot;\nmod pointwise;\nmod sums;\n"),
            ("crates/ir/src/ops/dot.rs", ""),
            ("crates/ir/src/ops/sum.rs", ""),
            ("crates/ir/src/ops/pointwise/mod.rs", ""),
            ("crates/ir/src/ops/pointwise/exp.rs", ""),
            ("crates/ir/src/ops/lost/mod.rs", ""),
            ("crates/ir/src/ops/deep/sort.rs", ""),
        ]);
        let complaint = |file, name, parent| {
            format!("crates/ir/src/ops/{file}:1: unlisted: write `mod {name};` in crates/ir/src/ops/{parent}")
        };
        assert_eq!(
            tree.complaints(unlisted),
            [
                complaint("sum.rs", "sum", "mod.rs"),
                complaint("pointwise/exp.rs", "exp", "pointwise/mod.rs"),
                complaint("lost/mod.rs", "lost", "mod.rs"),
                complaint("deep/sort.rs", "sort", "deep/mod.rs"),
            ]
        );
    }

    #[test]
    fn accepts_listed_files_and_other_folders() {
        let tree = Tree::of(&[
            ("crates/ir/src/ops.rs", "pub mod dot;\n#[cfg(test)]\nmod tests;\nmod pointwise;\n"),
            ("crates/ir/src/ops/dot.rs", ""),
            ("crates/ir/src/ops/tests.rs", ""),
            ("crates/ir/src/ops/pointwise.rs", "mod exp;\n"),
            ("crates/ir/src/ops/pointwise/exp.rs", ""),
            ("crates/ir/src/ops/README.md", ""),
            ("crates/ir/src/opsy/a.rs", ""),
        ]);
        assert!(unlisted(&tree).is_empty());
    }

    #[test]
    fn refuses_a_match_outside_the_catalog() {
        let text = "//! A.\nmatch op {\n    Op::Sum(_) => 1,\n    Op::Dot(_)\n    | Op::Max(_) => 2,\n}\n";
        let what = "op-matches: do not match on ops here: use the op's declaration";
        assert_eq!(
            Tree::of(&[("crates/cpu/src/a.rs", text)]).complaints(matches),
            [3, 5].map(|line| format!("crates/cpu/src/a.rs:{line}: {what}"))
        );
    }

    #[test]
    fn accepts_matches_in_the_catalog_and_other_enums() {
        let text = "match op {\n    Op::Sum(_) => 1,\n}\n";
        let tree = Tree::of(&[
            ("crates/ir/src/ops/mod.rs", text),
            ("crates/ir/src/graph/print.rs", text),
            ("crates/compile/src/simplify.rs", text),
            ("crates/lang/src/parse.rs", "BinOp::Add => 1,\n// Op::Sum => 1\nOp::from(sum);\n"),
        ]);
        assert!(matches(&tree).is_empty());
    }
}
