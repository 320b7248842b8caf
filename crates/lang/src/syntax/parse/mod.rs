//! The parser: tokens to syntax trees. A statement that cannot be parsed is reported and skipped, so that one run
//! shows all errors.

mod expression;
mod index;
pub(crate) use index::places_of;
mod statement;

use crate::syntax::ast::{Name, Statement};
use crate::syntax::diagnostic::{Diagnostic, Result};
use crate::syntax::source::{Source, Span};
use crate::syntax::token::{Spanned, Token, begins, tokens};
use std::collections::{HashMap, HashSet};

/// The most levels of nested parentheses, lists, blocks and function calls: more than any real program has, and few
/// enough for the stack.
pub(crate) const MAX_NESTED: usize = 100;
/// The longest text, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// The most errors that one run shows.
pub(crate) const MAX_FAULTS: usize = 50;

/// The byte range of a statement, and those of the statements inside it.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) inside: Vec<Extent>,
}

/// Parses the statements of a text.
pub(crate) fn parse(source: &Source, file: u32) -> Result<Vec<Statement>> {
    Ok(parse_with_extents(source, file)?.0)
}

/// Parses the statements of a text, with their byte ranges.
pub(crate) fn parse_with_extents(source: &Source, file: u32) -> Result<(Vec<Statement>, Vec<Extent>)> {
    let parsed = parse_all(source, file);
    if parsed.faults.is_empty() { Ok((parsed.statements, parsed.extents)) } else { Err(parsed.faults) }
}

/// The statements that could be parsed, and the errors in the others.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) statements: Vec<Statement>,
    pub(crate) extents: Vec<Extent>,
    pub(crate) faults: Vec<Diagnostic>,
    /// The names in statements that could not be parsed: nothing is known about them.
    pub(crate) skipped: HashSet<Name>,
}

/// Parses as much of a text as possible.
pub(crate) fn parse_all(source: &Source, file: u32) -> Parsed {
    let mut faults = Vec::new();
    if source.text.len() > MAX_BYTES {
        let span = Span { file, start: 0, end: 0 };
        let what = format!("the text has {} bytes, at most {MAX_BYTES} are read", source.text.len());
        return Parsed { faults: vec![Diagnostic::error(span, what)], ..Parsed::default() };
    }
    let tokens = tokens(&source.text, file, &mut faults);
    let mut parser = Parser::new(&source.text, tokens, 0, faults);
    let statements = parser.statements();
    parser.faults.sort_by_key(Diagnostic::span);
    parser.faults.truncate(MAX_FAULTS);
    Parsed { statements, extents: parser.inside, faults: parser.faults, skipped: parser.skipped }
}

/// Parses one expression, as in a query: `Anc(1, x)`. Refuses statements such as `export A`, which would parse as a
/// product of names.
pub fn parse_query(source: &Source) -> Result<crate::syntax::ast::Expr> {
    let mut words = source.text.split_whitespace();
    let statement = matches!(words.next(), Some("axis" | "export"));
    if statement && words.next().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    {
        let fault = Diagnostic::error(Span::NOWHERE, "this is a statement and has no value");
        return Err(vec![fault]);
    }
    parse_expression(source, 0)
}

/// Parses a text that is one expression.
pub(crate) fn parse_expression(source: &Source, file: u32) -> Result<crate::syntax::ast::Expr> {
    let mut faults = Vec::new();
    let tokens = tokens(&source.text, file, &mut faults);
    let mut parser = Parser::new(&source.text, tokens, 1, faults);
    let read = parser.expression();
    match read {
        Ok(e) if parser.faults.is_empty() && parser.peek() == Token::End => Ok(e),
        Ok(_) => {
            let fault = parser.expected("the end of the expression");
            Err(vec![fault])
        }
        Err(fault) => Err(vec![fault]),
    }
}

type Read<T> = std::result::Result<T, Diagnostic>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Spanned>,
    at: usize,
    /// The number of open parentheses and brackets: inside them line ends are ignored.
    open: usize,
    nested: usize,
    faults: Vec<Diagnostic>,
    /// The byte ranges of the statements of the block that was parsed last.
    inside: Vec<Extent>,
    /// The opening token of the innermost bracket in which an error occurred.
    unclosed: Option<usize>,
    /// The names in statements that could not be read.
    skipped: HashSet<Name>,
    /// If true, the text ended inside a statement, which has been reported.
    cut_short: bool,
    /// Interned names: equal names share memory.
    names: HashMap<&'a str, Name>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: Vec<Spanned>, open: usize, faults: Vec<Diagnostic>) -> Parser<'a> {
        Parser {
            text,
            tokens,
            at: 0,
            open,
            nested: 0,
            faults,
            inside: Vec::new(),
            unclosed: None,
            skipped: HashSet::new(),
            cut_short: false,
            names: HashMap::new(),
        }
    }

    /// The current token.
    fn peek(&mut self) -> Token {
        if self.open > 0 {
            self.skip_lines();
        }
        self.tokens[self.at].0
    }

    /// Returns the token after the current one.
    fn peek_after(&mut self) -> Token {
        self.peek();
        let rest = &self.tokens[(self.at + 1).min(self.tokens.len() - 1)..];
        let mut after = rest.iter().filter(|t| self.open == 0 || t.0 != Token::Line);
        after.next().map_or(Token::End, |t| t.0)
    }

    fn span(&mut self) -> Span {
        self.peek();
        self.tokens[self.at].1
    }

    /// Returns the span of the token read last.
    fn last_span(&self) -> Span {
        self.tokens[..self.at].iter().rev().find(|t| t.0 != Token::Line).map(|t| t.1).unwrap_or_default()
    }

    fn next(&mut self) -> Spanned {
        self.peek();
        let token = self.tokens[self.at];
        if token.0 != Token::End {
            self.at += 1;
        }
        token
    }

    fn skip_lines(&mut self) {
        while self.tokens[self.at].0 == Token::Line {
            self.at += 1;
        }
    }

    fn is(&mut self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if s.len() == sign.len() && begins(s.as_bytes(), sign))
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        if is {
            self.at += 1;
        }
        is
    }

    fn need(&mut self, sign: &str, what: &str) -> Read<Span> {
        if self.is(sign) { Ok(self.next().1) } else { Err(self.expected(what)) }
    }

    /// Parses what follows an opening bracket that has just been read; `read` also consumes the closing one.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let opening = self.at.saturating_sub(1);
        self.open += 1;
        self.nested += 1;
        let result = if self.nested > MAX_NESTED {
            let span = self.span();
            // Text nested this deeply is not a real program, so the rest is skipped.
            self.at = self.tokens.len() - 1;
            Err(Diagnostic::error(span, format!("nested more than {MAX_NESTED} deep")))
        } else {
            read(self)
        };
        self.open -= 1;
        self.nested -= 1;
        if result.is_err() && self.unclosed.is_none() {
            self.unclosed = Some(opening);
        }
        result
    }

    fn is_word(&mut self, word: &str) -> bool {
        self.peek() == Token::Name && self.word() == word
    }

    /// Returns the text of the current token.
    fn word(&mut self) -> &'a str {
        let span = self.span();
        &self.text[span.start as usize..span.end as usize]
    }

    fn name(&mut self, what: &str) -> Read<(Name, Span)> {
        if self.peek() != Token::Name {
            return Err(self.expected(what));
        }
        let word = self.word();
        let name = self.names.entry(word).or_insert_with(|| word.into()).clone();
        Ok((name, self.next().1))
    }

    /// The current token's text without its quotes.
    fn quoted(&mut self, what: &str) -> Read<(std::sync::Arc<str>, Span)> {
        if self.peek() != Token::Text {
            return Err(self.expected(what));
        }
        let text = self.word().trim_matches('"').into();
        Ok((text, self.next().1))
    }

    fn whole(&mut self, what: &str) -> Read<i64> {
        let negative = self.eat("-");
        match self.peek() {
            Token::Number(x) if x.fract() == 0.0 && x < 9.0e15 => {
                self.next();
                Ok(if negative { -(x as i64) } else { x as i64 })
            }
            Token::Number(x) if x.fract() == 0.0 => {
                let text = self.word();
                let what = format!("{text} is too large: whole numbers here have at most 15 digits");
                Err(Diagnostic::error(self.span(), what))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Returns the error that `what` was expected, but something else found.
    fn expected(&mut self, what: &str) -> Diagnostic {
        let mut span = self.span();
        let found = match self.peek() {
            Token::Line => {
                // Mark the end of this line, not the start of the next.
                span.end = span.start;
                "the end of the line".into()
            }
            Token::End => "the end of the text".into(),
            _ => format!("`{}`", self.word()),
        };
        let fault = Diagnostic::error(span, format!("expected {what}, found {found}"));
        Diagnostic { unexpected: true, ..fault.here(format!("expected {what}")) }
    }
}
