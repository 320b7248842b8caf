//! Parses the indices between the brackets of a tensor.

use super::{Parser, Read};
use crate::syntax::ast::{Expr, Index, Kind, Name, Place};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;
use crate::syntax::token::Token;

impl Parser<'_> {
    /// Parses indices after an opening bracket, including the closing one. Line ends are allowed after a comma, and
    /// before a comma or the closing bracket only, so that a missing bracket is reported on its line.
    pub(super) fn places(&mut self) -> Read<(Vec<Place>, Span)> {
        self.inside_lines(|p| {
            // Most tensors have two indices; the default capacity of four would waste memory.
            let mut places = Vec::with_capacity(2);
            p.skip_lines();
            while !p.is("]") {
                places.push(p.place()?);
                if !p.eat(",") {
                    break;
                }
                p.skip_lines();
            }
            p.need("]", "`,` or `]`")?;
            Ok((places, p.last_span()))
        })
    }

    /// Parses one index. If it is not one of the plain forms, it is an expression: `i+k`, `2*i`, `Idx[i]`.
    fn place(&mut self) -> Read<Place> {
        let (start, at, unclosed) = (self.span(), self.at, self.unclosed);
        let plain = self.plain_place();
        let ends = plain.is_ok() && self.place_ends();
        if ends || self.tokens[at].0 == Token::Sign("*") {
            return plain;
        }
        let (behind, mark) = (self.at, self.unclosed);
        (self.at, self.unclosed) = (at, unclosed);
        match self.inside_lines(Parser::expression) {
            // For a number that is not a valid position, the error of the plain form is better.
            Ok(e) if !matches!(e.kind, Kind::Number(_) | Kind::Array(_)) && self.place_ends() => {
                let index = Index::Computed(Box::new(e));
                Ok(Place { index, dotted: false, span: start.to(self.last_span()) })
            }
            _ => {
                (self.at, self.unclosed) = (behind, mark);
                plain
            }
        }
    }

    /// Returns true if a comma or the closing bracket follows, possibly on a later line.
    fn place_ends(&mut self) -> bool {
        let ahead = self.tokens[self.at..].iter().position(|t| t.0 != Token::Line).unwrap_or(0);
        let ends = matches!(self.tokens[self.at + ahead].0, Token::Sign("," | "]"));
        if ends {
            self.at += ahead;
        }
        ends
    }

    fn plain_place(&mut self) -> Read<Place> {
        let start = self.span();
        let index = if self.peek() == Token::Text {
            Index::Symbol(self.quoted("a symbol")?.0, -1)
        } else if self.eat("*") {
            match self.peek() {
                Token::Name => {
                    let (name, _) = self.name("the name of a time index")?;
                    Index::Time(name, self.offset()?)
                }
                _ => Index::Step(
                    self.whole("the name of a time index, as in `*t`, or a fixed step, as in `*0`")?,
                ),
            }
        } else if self.peek() == Token::Name {
            let (name, _) = self.name("an index")?;
            if self.range_follows() {
                self.next();
                self.range(Some(name))?
            } else {
                Index::Named(name, self.offset()?)
            }
        } else {
            self.range(None)?
        };
        let dotted = self.eat(".");
        Ok(Place { index, dotted, span: start.to(self.last_span()) })
    }

    fn offset(&mut self) -> Read<i64> {
        if self.eat("+") {
            return self.whole("a whole number");
        }
        if self.is("-") { self.whole("a whole number") } else { Ok(0) }
    }

    /// Returns true if `=1:3` follows a name; any other `=` means that the closing bracket is missing.
    fn range_follows(&mut self) -> bool {
        if !self.is("=") {
            return false;
        }
        let mut rest = self.tokens[self.at + 1..].iter().map(|t| t.0).peekable();
        rest.next_if_eq(&Token::Sign("-"));
        rest.next_if(|t| matches!(t, Token::Number(_)));
        matches!(rest.next(), Some(Token::Sign(":" | "::")))
    }

    /// Parses a range, with an optional name, or a single position.
    fn range(&mut self, name: Option<Name>) -> Read<Index> {
        if self.is(":") || self.is("::") {
            return self.slice(name, None);
        }
        let at = self.whole("an index, a whole number or a range")?;
        if self.is(":") || self.is("::") || name.is_some() {
            self.slice(name, Some(at))
        } else {
            Ok(Index::At(at))
        }
    }

    /// `:stop:step` after a start.
    fn slice(&mut self, name: Option<Name>, start: Option<i64>) -> Read<Index> {
        let bound = |p: &mut Self| match p.peek() {
            Token::Number(_) | Token::Sign("-") => p.whole("a whole number").map(Some),
            _ => Ok(None),
        };
        let (stop, step) = if self.eat("::") {
            (None, bound(self)?)
        } else {
            self.need(":", "`:`")?;
            let stop = bound(self)?;
            (stop, if self.eat(":") { bound(self)? } else { None })
        };
        if step == Some(0) {
            return Err(Diagnostic::error(self.last_span(), "the stride of a range cannot be 0"));
        }
        Ok(Index::Slice(name, Box::new([start, stop, step])))
    }
}

/// Returns the indices that arguments in parentheses represent, as in `Anc(x, y')`, `Anc(1, x)`, `Next(x+1)`.
pub(crate) fn places_of(args: &[Expr]) -> Option<Vec<Place>> {
    args.iter().map(place_of).collect()
}

fn place_of(arg: &Expr) -> Option<Place> {
    let index = match &arg.kind {
        Kind::Ref(r) if r.places.is_empty() && !r.relation => Index::Named(r.name.clone(), 0),
        Kind::Number(x) if x.fract() == 0.0 && x.abs() < 9.0e15 => Index::At(*x as i64),
        Kind::Text(symbol) => Index::Symbol(symbol.clone(), -1),
        Kind::Sum(terms) => {
            let [first, second] = &terms[..] else { return None };
            let Index::Named(name, 0) = place_of(first)?.index else { return None };
            let offset = match &second.kind {
                Kind::Number(x) if x.fract() == 0.0 => *x as i64,
                Kind::Negative(e) => match e.kind {
                    Kind::Number(x) if x.fract() == 0.0 => -(x as i64),
                    _ => return None,
                },
                _ => return None,
            };
            Index::Named(name, offset)
        }
        _ => return None,
    };
    Some(Place { index, dotted: false, span: arg.span })
}
