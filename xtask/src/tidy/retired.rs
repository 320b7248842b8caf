//! Rule: words that the project no longer uses, because they have too many meanings, do not occur.
//! Takes every text file: comments, strings, identifiers and prose. Returns each use with its replacement.
//! Words that are only discouraged are left to reviews.

use crate::tree::{Tree, Violation};

/// The words and their replacements. They are concatenated from pieces, because this file is checked too.
const RETIRED: &[(&str, &str)] = &[
    (concat!("at ", "rest"), "converged"),
    (concat!("at ", "hand"), "current"),
    (concat!("be ", "had"), "available"),
    (concat!("by ", "hand"), "directly"),
    (concat!("men", "ded"), "fixed"),
    (concat!("rub", "bish"), "unspecified values"),
    (concat!("so ", "many"), "the name of the quantity"),
    (concat!("truth ", "value"), "boolean"),
    (concat!("truth ", "values"), "booleans"),
    (concat!("vou", "ch"), "the contract, in full"),
    (concat!("vou", "ched"), "the contract, in full"),
    (concat!("vou", "ches"), "the contract, in full"),
];

/// Files in which a word is used in another sense: path and word.
const EXCEPTIONS: &[(&str, &str)] = &[("examples/data/sonnets.txt", concat!("men", "ded"))];

/// Finds retired words. Words of a phrase may be separated by a line break, and may be parts of an
/// identifier.
pub(crate) fn retired(tree: &Tree) -> Vec<Violation> {
    retired_except(tree, EXCEPTIONS)
}

fn retired_except(tree: &Tree, exceptions: &[(&str, &str)]) -> Vec<Violation> {
    let phrases: Vec<Vec<&str>> = RETIRED.iter().map(|(phrase, _)| phrase.split(' ').collect()).collect();
    let mut found = Vec::new();
    for file in &tree.files {
        let words = words(&file.text);
        for (phrase, (text, instead)) in phrases.iter().zip(RETIRED) {
            if exceptions.contains(&(file.path.as_str(), text)) {
                continue;
            }
            let uses = words.windows(phrase.len()).filter(|words| is_use(words, phrase, &file.text));
            let what = format!("`{text}`: write {instead}");
            found.extend(uses.map(|words| file.violation(words[0].line, "retired-words", what.clone())));
        }
    }
    found
}

/// A run of letters and digits; identifiers such as `by_name` and `ByName` are two words.
#[derive(Debug)]
struct Word {
    /// In lower case.
    text: String,
    /// The line, from 1.
    line: usize,
    start: usize,
    end: usize,
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut line, mut before) = (1, ' ');
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() {
            let continues = before.is_alphanumeric() && !(before.is_lowercase() && c.is_uppercase());
            match words.last_mut().filter(|_| continues) {
                Some(word) => {
                    word.text.extend(c.to_lowercase());
                    word.end = at + c.len_utf8();
                }
                None => {
                    let text = c.to_lowercase().collect();
                    words.push(Word { text, line, start: at, end: at + c.len_utf8() });
                }
            }
        }
        line += usize::from(c == '\n');
        before = c;
    }
    words
}

/// Returns true if neighbouring words are those of a phrase, with nothing between them that ends a phrase.
fn is_use(words: &[Word], phrase: &[&str], text: &str) -> bool {
    let equal = words.iter().zip(phrase).all(|(word, part)| word.text == *part);
    equal && words.windows(2).all(|pair| joins(&text[pair[0].end..pair[1].start]))
}

/// Returns true if two words with the text `gap` between them can be parts of one phrase: spaces, a line
/// break with the marks of a comment, or a part of an identifier.
fn joins(gap: &str) -> bool {
    let marks = if gap.contains('\n') { "/!*#>_-" } else { "_-" };
    gap.chars().all(|c| c.is_whitespace() || marks.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines on which a text has a retired word.
    fn lines(text: &str) -> Vec<usize> {
        let tree = Tree::of(&[("crates/ir/src/a.rs", text)]);
        retired_except(&tree, &[]).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn refuses_every_word_in_comments_strings_and_identifiers() {
        for (phrase, instead) in RETIRED {
            let name = phrase.replace(' ', "_");
            let text = format!("//! A.\n// {phrase}.\nlet x = \"{phrase}\";\nfn {name}() {{}}\n");
            let tree = Tree::of(&[("crates/ir/src/a.rs", &text)]);
            let what = |line: usize| {
                format!("crates/ir/src/a.rs:{line}: retired-words: `{phrase}`: write {instead}")
            };
            assert_eq!(tree.complaints(retired), [what(2), what(3), what(4)]);
        }
    }

    #[test]
    fn finds_phrases_across_lines_and_in_types() {
        let (first, second) = RETIRED[0].0.split_once(' ').unwrap();
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        assert_eq!(lines(&format!("/// It is {first}\n    /// {second}.\n")), [1]);
        assert_eq!(lines(&format!("struct {}{};\n", capital(first), capital(second))), [1]);
        assert_eq!(lines(&format!("{} {second}\n", capital(first))), [1]);
    }

    #[test]
    fn accepts_parts_of_other_words_and_other_punctuation() {
        let (first, second) = RETIRED[0].0.split_once(' ').unwrap();
        assert_eq!(lines(&format!("that{first} {second} x{first} {second}s f({first}, {second})\n")), [0; 0]);
        assert_eq!(lines(&format!("{first}. {second}\n{first}({second})\n")), [0; 0]);
    }

    #[test]
    fn leaves_exceptions_alone() {
        let text = RETIRED[0].0;
        let tree = Tree::of(&[("crates/ir/src/a.rs", text), ("README.md", text)]);
        assert_eq!(retired_except(&tree, &[]).len(), 2);
        assert_eq!(retired_except(&tree, &[("README.md", text)]).len(), 1);
    }
}
