//! The tokenizer.

use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::parse::MAX_FAULTS;
use crate::syntax::source::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name: letters, digits, underscores, then primes.
    Name,
    /// A number.
    Number(f64),
    /// Text between double quotes; the span includes them.
    Text,
    /// A sign of one or two characters.
    Sign(&'static str),
    /// The end of a line.
    Line,
    /// The end of the text.
    End,
}

/// The signs of two characters, and those of one.
const PAIRS: &[&str] = &["**", "->", "::", "+=", "==", "!=", "<=", ">=", "&&", "||"];
const SINGLE: &[&str] =
    &["[", "]", ",", "(", ")", "=", "+", "-", "*", "/", ".", ":", "<", ">", "!", "?", "{", "}", ";", "@"];

/// A token and its location.
pub(crate) type Spanned = (Token, Span);

/// Returns the tokens of a text without comments, ending in `End`; characters that form no token are reported
/// and skipped.
pub(crate) fn tokens(text: &str, file: u32, faults: &mut Vec<Diagnostic>) -> Vec<Spanned> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(text.len() / 3 + 1);
    let mut at = 0;
    let span = |a: usize, b: usize| Span { file, start: a as u32, end: b as u32 };
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        let token = match byte {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += bytes[at..].iter().take_while(|b| **b != b'\n').count();
                continue;
            }
            b'\n' => {
                at += 1;
                Token::Line
            }
            b'0'..=b'9' => {
                at = number_end(bytes, at);
                number(text, span(start, at), faults)
            }
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                at = number_end(bytes, at);
                number(text, span(start, at), faults)
            }
            b'"' => {
                let inside = bytes[at + 1..].iter().take_while(|b| **b != b'"' && **b != b'\n').count();
                at += 1 + inside;
                if bytes.get(at) == Some(&b'"') {
                    at += 1;
                } else {
                    faults.push(Diagnostic::error(
                        span(start, at),
                        "this text has no closing `\"` on its line",
                    ));
                }
                Token::Text
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at += bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                at += bytes[at..].iter().take_while(|b| **b == b'\'').count();
                Token::Name
            }
            _ => match sign(&bytes[at..]) {
                Some(sign) => {
                    at += sign.len();
                    Token::Sign(sign)
                }
                None => {
                    let width = text[at..].chars().next().map_or(1, char::len_utf8);
                    at += width;
                    let shown: String = match byte {
                        b'\'' => "'".into(),
                        _ => text[start..at].escape_debug().collect(),
                    };
                    let what = format!("unexpected character `{shown}`");
                    let mut fault = Diagnostic::error(span(start, at), what);
                    match byte {
                        b'\'' => fault = fault.help("write texts in double quotes: \"o\""),
                        b'^' => fault = fault.help("write a power as x ** 2"),
                        _ => {}
                    }
                    if faults.len() < MAX_FAULTS {
                        faults.push(fault);
                    }
                    continue;
                }
            },
        };
        out.push((token, span(start, at)));
    }
    out.push((Token::End, span(bytes.len(), bytes.len())));
    out
}

/// Returns the longest sign that bytes begin with.
fn sign(bytes: &[u8]) -> Option<&'static str> {
    let among = |signs: &'static [&'static str]| signs.iter().find(|s| begins(bytes, s)).copied();
    // Fast path: most signs are not followed by another sign.
    let pair = matches!(bytes.get(1), Some(b'*' | b'>' | b':' | b'=' | b'&' | b'|'));
    pair.then(|| among(PAIRS)).flatten().or_else(|| among(SINGLE))
}

/// Returns true if bytes begin with a sign; faster than a string comparison, since signs have one or two characters.
pub(crate) fn begins(bytes: &[u8], sign: &str) -> bool {
    match sign.as_bytes() {
        [a] => bytes.first() == Some(a),
        [a, b] => bytes.first() == Some(a) && bytes.get(1) == Some(b),
        _ => false,
    }
}

/// Parses a number; reports an error if it is invalid or too large.
fn number(text: &str, span: Span, faults: &mut Vec<Diagnostic>) -> Token {
    let written = &text[span.start as usize..span.end as usize];
    let what = match written.parse::<f64>() {
        Ok(x) if x.is_finite() => return Token::Number(x),
        Ok(_) => format!("{written} is beyond the largest number, which is about 1.8e308"),
        Err(_) => format!("{written} is not a number"),
    };
    if faults.len() < MAX_FAULTS {
        faults.push(Diagnostic::error(span, what));
    }
    Token::Number(0.0)
}

/// Returns the end of a number: digits, a point with optional digits, an exponent. Further points with digits
/// are included, so that `1.2.3` is reported as one invalid number.
fn number_end(bytes: &[u8], mut at: usize) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    at += digits(at);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        at += digits(at);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits((at + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    while bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        at += 1 + digits(at + 1);
    }
    at
}
