//! Reduces Rust text to its code: comments and literals become blanks, line numbers stay.
//!
//! The rules need only this part of Rust's syntax: a word in a string or a comment is not code.

/// Blanks comments and the insides of literals.
pub(crate) fn code(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = masked.ends_with(is_word);
        if let Some(length) = opaque(rest, in_word) {
            let (blank, after) = rest.split_at(length);
            masked.extend(blank.chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = after;
        } else {
            masked.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    masked
}

/// Returns true if `line` contains `needle` as separate words, not as parts of longer ones.
pub(crate) fn contains_word(line: &str, needle: &str) -> bool {
    let joined = |left: &str, right: &str| left.ends_with(is_word) && right.starts_with(is_word);
    line.match_indices(needle).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + needle.len()..]);
        !joined(before, needle) && !joined(needle, after)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the comment or literal that `text` begins with, or `None` if it begins with other
/// code.
fn opaque(text: &str, in_word: bool) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    if let Some(body) = text.strip_prefix('"') {
        return Some(1 + quoted(body, '"'));
    }
    if let Some(body) = text.strip_prefix('\'') {
        // `'a'` and `'\n'` are characters, `'a` is a lifetime.
        let is_character = body.starts_with('\\') || body.chars().nth(1) == Some('\'');
        return is_character.then(|| 1 + quoted(body, '\''));
    }
    if in_word { None } else { raw_string(text) }
}

/// Returns the length of a block comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let step = &text.as_bytes()[at..];
        if step.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if step.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Returns the length up to and including the closing quote; handles backslashes.
fn quoted(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    body.len()
}

/// Returns the length of `r"…"`, `r#"…"#` and their byte and C forms.
fn raw_string(text: &str) -> Option<usize> {
    let body = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let body = body[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let opening = text.len() - body.len();
    Some(body.find(&closing).map_or(text.len(), |end| opening + end + closing.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        code(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn blanks_comments_and_literals() {
        assert_eq!(words("a // b\nc"), "a c");
        assert_eq!(words("a /* b /* c */ d */ e"), "a e");
        assert_eq!(words(r#"a "b \" // c" d"#), "a d");
        assert_eq!(words(r###"a r#"b " c"# br"\" d"###), "a d");
        assert_eq!(words(r"a '\'' '\\' '“' b"), "a b");
    }

    #[test]
    fn keeps_code_that_looks_like_a_literal() {
        assert_eq!(words("fn f<'a>(x: &'a str, y: &'static u8)"), "fn f<'a>(x: &'a str, y: &'static u8)");
        assert_eq!(words("r#type = for_r"), "r#type = for_r");
    }

    #[test]
    fn keeps_line_numbers() {
        assert_eq!(code("a\n/* b\n c */ d\n\"e\n\" f\n").lines().count(), 5);
    }

    #[test]
    fn survives_an_unfinished_literal() {
        for text in ["\"a", "/* a", "r#\"a", "'\\", "'"] {
            assert_eq!(code(text).chars().count(), text.chars().count());
        }
    }

    #[test]
    fn words_have_edges() {
        assert!(contains_word("unsafe { x }", "unsafe"));
        assert!(!contains_word("forbid(unsafe_code)", "unsafe"));
        assert!(contains_word("x.unwrap()?", ".unwrap()"));
        assert!(!contains_word("not_dbg!(x)", concat!("dbg", "!")));
    }
}
