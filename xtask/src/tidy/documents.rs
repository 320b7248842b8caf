//! Rules: the documents that a reader expects exist, and links between documents are valid.

use crate::tree::{Tree, Violation};

const REQUIRED: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

const CHANGELOG: &str = "CHANGELOG.md";

/// Checks that the documents exist, and that the changelog has a section for the next change.
pub(crate) fn present(tree: &Tree) -> Vec<Violation> {
    let violation = |path: &str, what: &str| Violation {
        path: path.to_owned(),
        line: 1,
        rule: "documents",
        what: what.to_owned(),
    };
    let missing = REQUIRED.iter().filter(|path| tree.file(path).is_none());
    let mut found: Vec<Violation> = missing.map(|path| violation(path, "write this file")).collect();
    if let Some(changelog) = tree.file(CHANGELOG) {
        let is_open = |line: &str| line.starts_with('#') && line.contains("Unreleased");
        if !changelog.text.lines().any(is_open) {
            found.push(violation(CHANGELOG, "add an \"Unreleased\" heading"));
        }
    }
    found
}

/// Checks that relative links in markdown point to files or folders of the tree.
pub(crate) fn links(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in targets(&file.text) {
            let target_exists = resolve(folder, &target).is_some_and(|path| exists(tree, &path));
            if !target_exists {
                found.push(file.violation(line, "links", format!("`{target}` does not exist: fix the link")));
            }
        }
    }
    found
}

/// Returns the relative link targets of a markdown text outside of code, with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        let definition = prose.strip_prefix('[').filter(|rest| !rest.starts_with('^'));
        let definition = definition.and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
        let inline = prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or(rest));
        for target in inline.chain(definition) {
            let target = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((index + 1, target.to_owned()));
            }
        }
    }
    found
}

/// Resolves `target`, written in `folder`, to a path from the root; `None` if it leaves the tree.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut path: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

fn exists(tree: &Tree, path: &str) -> bool {
    path.is_empty()
        || tree.files.iter().any(|file| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wants_the_documents() {
        let tree =
            Tree::of(&[("README.md", ""), ("CHANGELOG.md", "# Changes\nUnreleased\n"), ("LICENSE-MIT", "")]);
        assert_eq!(
            tree.complaints(present),
            [
                "ARCHITECTURE.md:1: documents: write this file",
                "CONTRIBUTING.md:1: documents: write this file",
                "LICENSE-APACHE:1: documents: write this file",
                "CHANGELOG.md:1: documents: add an \"Unreleased\" heading",
            ]
        );
    }

    #[test]
    fn accepts_the_documents() {
        let tree = Tree::of(&[
            ("README.md", ""),
            ("ARCHITECTURE.md", ""),
            ("CONTRIBUTING.md", ""),
            ("CHANGELOG.md", "# Changes\n\n## [Unreleased]\n"),
            ("LICENSE-MIT", ""),
            ("LICENSE-APACHE", ""),
        ]);
        assert!(present(&tree).is_empty());
    }

    #[test]
    fn refuses_a_link_to_nowhere() {
        let text = "[a](b.md) and [c](../d.md#e \"title\")\n\n[f]: g.md\n![h](../../up.png)\n";
        let tree = Tree::of(&[("docs/a.md", text)]);
        let what = |line, target| format!("docs/a.md:{line}: links: `{target}` does not exist: fix the link");
        assert_eq!(
            tree.complaints(links),
            [what(1, "b.md"), what(1, "../d.md"), what(3, "g.md"), what(4, "../../up.png")]
        );
    }

    #[test]
    fn accepts_links_that_lead_somewhere() {
        let text = "[`a`](b.md#c) [d](../src/) [e](..) [f](#here)\n\
                    [g](https://example.org) [h](mailto:a@b.c)\n\
                    `x[0](y)` [^1]: note\n```rust\na[0](b)\n```\n[i]: <../src/lib.rs>\n[^1]: note\n";
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", ""), ("src/lib.rs", "")]);
        assert!(links(&tree).is_empty());
    }
}
