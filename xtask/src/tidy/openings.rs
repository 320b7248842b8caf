//! Rule: a comment does not open with a question word. A function's comment opens with a verb ("Returns true
//! if …"), a field's or a type's with a noun or a condition ("If true, …").

use crate::tree::{Tree, Violation};

/// The words that a comment does not open with, and what to write instead.
const OPENINGS: &[(&str, &str)] = &[
    ("Whether ", "`Returns true if …` or `If true, …`"),
    ("True if ", "`Returns true if …` or `If true, …`"),
    ("How ", "a verb or a noun, such as `The number of …`"),
    ("What ", "a verb or a noun, such as `The result of …`"),
];

/// The marks that begin a comment, longer ones first.
const MARKS: &[&str] = &["///", "//!", "//", "/**", "\"\"\"", "#:"];

/// Finds comments in Rust, Python and TypeScript whose first sentence opens with a question word.
pub(crate) fn openings(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let checked = |path: &str| [".rs", ".py", ".ts", ".mjs"].iter().any(|end| path.ends_with(end));
    for file in tree.files.iter().filter(|file| checked(&file.path)) {
        let mut before = None;
        for (index, line) in file.text.lines().enumerate() {
            let comment = comment(line);
            let opens = before.is_none_or(str::is_empty);
            if let Some(text) = comment.filter(|_| opens) {
                let opening = OPENINGS.iter().find(|(word, _)| text.starts_with(word));
                if let Some((word, instead)) = opening {
                    let what = format!("`{}`: write {instead}", word.trim());
                    found.push(file.violation(index + 1, "comment-openings", what));
                }
            }
            before = comment;
        }
    }
    found
}

/// Returns the text of a line that is a comment, without its mark.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim();
    MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        openings(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn refuses_question_words_at_the_start_of_a_comment() {
        for (word, _) in OPENINGS {
            assert_eq!(lines("crates/ir/src/a.rs", &format!("//! A.\n\n    /// {word}it is.\n")), [3]);
            assert_eq!(lines("crates/ir/src/a.rs", &format!("/// A.\n///\n/// {word}it is.\n")), [3]);
            assert_eq!(lines("python/a.py", &format!("def f():\n    \"\"\"{word}it is.\"\"\"\n")), [2]);
            assert_eq!(lines("web/src/a.ts", &format!("/** {word}it is. */\n")), [1]);
        }
    }

    #[test]
    fn accepts_them_inside_sentences() {
        let text = "/// Says in short\n/// What it is.\n";
        assert_eq!(lines("crates/ir/src/a.rs", text), [0; 0]);
        assert_eq!(lines("docs/a.md", "// What it is.\n"), [0; 0]);
    }
}
