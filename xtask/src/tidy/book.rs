//! Rule: the book is complete. Every page of `docs/` is in the table of contents, and every block of code has
//! a language that tests know.

use crate::tree::{File, Tree, Violation};

const SUMMARY: &str = "docs/SUMMARY.md";

/// The file that makes Rust blocks documentation tests.
const DOCTESTS: &str = "src/guide.rs";

/// Languages of blocks: those that tests run or write to files, and plain text.
const KINDS: &[&str] = &["rust", "python", "eq", "sh", "output", "toml", "json", "csv", "tsv", "text"];

/// Checks pages, blocks and pictures of the book.
pub(crate) fn complete(tree: &Tree) -> Vec<Violation> {
    let Some(summary) = tree.file(SUMMARY) else { return Vec::new() };
    let doctests = tree.file(DOCTESTS).map_or("", |file| file.text.as_str());
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != SUMMARY && file.path.ends_with(".md")) {
        let Some(page) = file.path.strip_prefix("docs/") else { continue };
        if !summary.text.contains(&format!("]({page})")) {
            found.push(file.violation(1, "book", format!("add a line for `{page}` to {SUMMARY}")));
        }
        if file.text.contains("```rust") && !doctests.contains(&format!("\"{page}\"")) {
            found.push(file.violation(
                1,
                "book",
                format!("add `{page}` to {DOCTESTS}: its Rust blocks are not run"),
            ));
        }
        found.extend(blocks(file));
        for (index, line) in file.text.lines().enumerate() {
            let picture = line.strip_prefix("{{#picture ").and_then(|rest| rest.strip_suffix("}}"));
            let program = picture.and_then(|words| words.split(' ').next());
            if let Some(program) = program.filter(|program| tree.file(program).is_none()) {
                found.push(file.violation(index + 1, "book", format!("`{program}` does not exist")));
            }
        }
    }
    found
}

/// Finds blocks whose language is not in `KINDS`.
fn blocks(file: &File) -> Vec<Violation> {
    let (mut found, mut is_open) = (Vec::new(), false);
    for (index, line) in file.text.lines().enumerate() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        is_open = !is_open;
        let kind = info.split([' ', ',']).next().unwrap_or_default();
        if is_open && !KINDS.contains(&kind) {
            let what = format!("a block with the language `{kind}`: use one of {}", KINDS.join(" "));
            found.push(file.violation(index + 1, "book", what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_pages_and_blocks_that_nothing_reads() {
        let tree = Tree::of(&[
            (SUMMARY, "- [A](a.md)\n"),
            (DOCTESTS, "pages! { a = \"a.md\", }"),
            ("docs/a.md", "```rust\n```\n\n```\nx\n```\n{{#picture examples/x.eq gradient}}\n"),
            ("docs/b.md", "```rust\n```\n"),
        ]);
        assert_eq!(
            tree.complaints(complete),
            [
                "docs/a.md:4: book: a block with the language ``: use one of rust python eq sh output toml json csv tsv text",
                "docs/a.md:7: book: `examples/x.eq` does not exist",
                "docs/b.md:1: book: add a line for `b.md` to docs/SUMMARY.md",
                "docs/b.md:1: book: add `b.md` to src/guide.rs: its Rust blocks are not run",
            ]
        );
    }

    #[test]
    fn accepts_a_complete_book() {
        let tree = Tree::of(&[
            (SUMMARY, "- [A](a.md)\n"),
            ("docs/a.md", "```eq a.eq picture\n```\n{{#picture examples/x.eq}}\n"),
            ("examples/x.eq", ""),
        ]);
        assert!(complete(&tree).is_empty());
    }
}
