//! Parses statements.

use super::index::places_of;
use super::{Extent, MAX_FAULTS, Parser, Read};
use crate::syntax::ast::{Equation, Function, Kind, Projection, Ref, Statement};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::source::Span;
use crate::syntax::token::Token;

impl Parser<'_> {
    /// Parses all statements up to the end of the text, or to `}` inside a block.
    pub(super) fn statements(&mut self) -> Vec<Statement> {
        let (mut out, mut extents) = (Vec::new(), Vec::new());
        loop {
            while matches!(self.peek(), Token::Line | Token::Sign(";")) {
                self.next();
            }
            if self.peek() == Token::End || (self.nested > 0 && self.is("}")) {
                self.inside = extents;
                return out;
            }
            let start = self.span().start as usize;
            let first = self.at;
            self.inside.clear();
            self.unclosed = None;
            match self.statement().and_then(|s| self.ended().map(|()| s)) {
                Ok(statement) => {
                    let end = self.last_span().end as usize;
                    extents.push(Extent { start, end, inside: std::mem::take(&mut self.inside) });
                    out.push(statement);
                }
                Err(fault) => {
                    let unclosed = if fault.unexpected { self.not_closed() } else { None };
                    let fault = unclosed.unwrap_or(fault);
                    if !self.cut_short {
                        self.faults.push(fault);
                    }
                    // Blocks around an unclosed one are unclosed too; that is reported once.
                    self.cut_short |= self.tokens[self.at].0 == Token::End;
                    self.recover();
                    let names = self.tokens[first..self.at].iter().filter(|t| t.0 == Token::Name);
                    let text = |t: &crate::syntax::token::Spanned| {
                        self.text[t.1.start as usize..t.1.end as usize].into()
                    };
                    self.skipped.extend(names.map(text));
                }
            }
        }
    }

    fn ended(&mut self) -> Read<()> {
        match self.peek() {
            Token::Line | Token::End | Token::Sign(";") => Ok(()),
            Token::Sign("}") if self.nested > 0 => Ok(()),
            // `{ … }` ends itself.
            _ if matches!(self.tokens[self.at.saturating_sub(1)].0, Token::Sign("}")) => Ok(()),
            _ => Err(self.expected("the end of the equation")),
        }
    }

    /// If the error is due to a bracket on an earlier line that is never closed, returns that error and goes back to
    /// the bracket's line, since the following lines are separate statements.
    fn not_closed(&mut self) -> Option<Diagnostic> {
        let opening = self.unclosed.take()?;
        let sign = match self.tokens.get(opening)?.0 {
            Token::Sign(sign @ ("(" | "[" | "{")) => sign,
            _ => return None,
        };
        let before = self.tokens.get(opening..self.at)?.iter().any(|t| t.0 == Token::Line);
        let mut depth = 0usize;
        let closed = self.tokens[opening..].iter().any(|t| {
            match t.0 {
                Token::Sign("(" | "[" | "{") => depth += 1,
                Token::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        });
        if closed || (!before && self.tokens[self.at].0 != Token::End) {
            return None;
        }
        // The statements of a block have been parsed already.
        if sign != "{" {
            self.at = opening;
        }
        Some(Diagnostic::error(self.tokens[opening].1, format!("this `{sign}` is never closed")))
    }

    /// Skips to the end of the line or statement; to the end of the text if there are more errors than are shown.
    fn recover(&mut self) {
        self.open = 0;
        if self.faults.len() >= MAX_FAULTS {
            self.at = self.tokens.len() - 1;
        }
        loop {
            match self.tokens[self.at].0 {
                Token::End | Token::Line | Token::Sign(";") => return,
                _ => self.at += 1,
            }
        }
    }

    fn statement(&mut self) -> Read<Statement> {
        let start = self.span();
        match self.peek() {
            Token::Text => {
                let (path, _) = self.quoted("a file name")?;
                self.need("=", "`=`")?;
                self.skip_lines();
                let value = self.expression()?;
                let span = start.to(value.span);
                return Ok(Statement::Sink(path, value, span));
            }
            Token::Sign("{") => return self.block(),
            Token::Name => {}
            Token::Sign("/") => {
                return Err(self.expected("an equation or a statement").help("# begins a comment"));
            }
            _ => return Err(self.expected("an equation or a statement")),
        }
        let next = self.peek_after();
        match (self.word(), next) {
            ("export", Token::Name) => self.export(),
            ("axis", Token::Name) => {
                self.next();
                let (name, _) = self.name("an index")?;
                if matches!(self.peek(), Token::Name) && self.word() == "while" {
                    self.next();
                    let (go, end) = self.name("the name of a condition")?;
                    return Ok(Statement::While(name, None, go, start.to(end)));
                }
                self.need("=", "`=` and a size")?;
                let value = self.expression()?;
                if self.is_word("while") {
                    self.next();
                    let (go, end) = self.name("the name of a condition")?;
                    return Ok(Statement::While(name, Some(value), go, start.to(end)));
                }
                let span = start.to(value.span);
                Ok(Statement::Axis(name, value, span))
            }
            ("param", Token::Name) => self.parameter(false),
            ("const", Token::Name) => self.parameter(true),
            ("let", Token::Name) => {
                self.next();
                Ok(Statement::Equation(Equation { local: true, ..self.equation(start)? }))
            }
            ("fn", Token::Name) => self.function(),
            ("def", Token::Name) => {
                let what = "`def` does not begin a function here";
                Err(Diagnostic::error(start, what).help("write fn f(a[i], b) -> y[i] { y[i] = … }"))
            }
            ("import", Token::Text) => {
                self.next();
                let (path, mut span) = self.quoted("a file name")?;
                let alias = if self.is_word("as") {
                    self.next();
                    let (name, at) = self.name("a name for the import")?;
                    span = span.to(at);
                    Some(name)
                } else {
                    None
                };
                Ok(Statement::Import(path, alias, start.to(span)))
            }
            _ => Ok(Statement::Equation(self.equation(start)?)),
        }
    }

    fn block(&mut self) -> Read<Statement> {
        let start = self.next().1;
        let inside = self.inside_block()?;
        Ok(Statement::Block(inside, start.to(self.last_span())))
    }

    /// Parses statements up to and including `}`.
    fn inside_block(&mut self) -> Read<Vec<Statement>> {
        self.inside(|p| {
            // Line ends separate statements in a block, even inside open brackets.
            let open = std::mem::take(&mut p.open);
            let statements = p.statements();
            p.open = open;
            p.need("}", "`}`")?;
            Ok(statements)
        })
    }

    fn export(&mut self) -> Read<Statement> {
        self.next();
        let mut names = Vec::new();
        loop {
            names.push(self.name("a name")?);
            // Indices after an exported name are allowed and ignored.
            if self.eat("[") {
                self.places()?;
            }
            if !self.eat(",") {
                return Ok(Statement::Export(names));
            }
            self.skip_lines();
        }
    }

    fn parameter(&mut self, fixed: bool) -> Read<Statement> {
        let start = self.next().1;
        let (name, _) = self.name("a name")?;
        let mut whole = false;
        if self.eat(":") {
            let (kind, span) = self.name("int or float")?;
            whole = match &*kind {
                "int" => true,
                "float" => false,
                other => {
                    return Err(Diagnostic::error(span, format!("expected int or float, found `{other}`")));
                }
            };
        }
        self.need("=", "`=` and a value")?;
        self.skip_lines();
        let value = self.expression()?;
        let span = start.to(value.span);
        Ok(Statement::Param { name, whole, fixed, value, span })
    }

    fn function(&mut self) -> Read<Statement> {
        let start = self.next().1;
        let (name, _) = self.name("the name of the function")?;
        self.need("(", "`(`")?;
        let params = self.inside(|p| {
            let mut params = Vec::new();
            while !p.is(")") {
                params.push(p.target()?);
                if !p.eat(",") {
                    break;
                }
            }
            p.need(")", "`,` or `)`")?;
            Ok(params)
        })?;
        self.need("->", "`->` and the result of the function")?;
        let result = self.target()?;
        let span = start.to(self.last_span());
        self.need("{", "`{`")?;
        let mut body = Vec::new();
        for statement in self.inside_block()? {
            match statement {
                Statement::Equation(e) => body.push(e),
                other => {
                    return Err(Diagnostic::error(other.span(), "a function may contain only equations"));
                }
            }
        }
        Ok(Statement::Function(Function { name, params, result, body, span }))
    }

    /// `Y`, `Y[i,j]`, `Y(x,y)`.
    fn target(&mut self) -> Read<Ref> {
        let (name, span) = self.name("the name of a tensor")?;
        if self.eat("[") {
            return Ok(Ref { name, places: self.places()?.0, relation: false, span });
        }
        if !self.eat("(") {
            return Ok(Ref { name, places: Vec::new(), relation: false, span });
        }
        let args = self.inside(|p| {
            let mut args = Vec::new();
            while !p.is(")") {
                args.push(p.expression()?);
                if !p.eat(",") {
                    break;
                }
            }
            p.need(")", "`,` or `)`")?;
            Ok(args)
        })?;
        let places = places_of(&args).ok_or_else(|| {
            let all = args.first().map_or(span, |a| a.span.to(self.last_span()));
            Diagnostic::error(all, "the arguments of a relation must be indices")
                .help("on the left, write Name(x, y) for a relation, Name[i, j] for a tensor")
        })?;
        Ok(Ref { name, places, relation: true, span })
    }

    fn equation(&mut self, start: Span) -> Read<Equation> {
        let target = self.target()?;
        let guard = if self.is_word("when") {
            self.next();
            Some(self.expression()?)
        } else {
            None
        };
        let ends = matches!(self.peek(), Token::Line | Token::End | Token::Sign(";" | "}"));
        if ends
            && guard.is_none()
            && target.relation
            && !target.places.is_empty()
            && target.places.iter().all(|p| p.index.constant().is_some())
        {
            // A fact: `Parent("ann", "bob")`.
            let span = start.to(self.last_span());
            let holds = Ref { name: "true".into(), places: Vec::new(), relation: false, span };
            let value = Kind::Ref(holds).at(span);
            let (projection, spelled, local) = (Projection::Sum, false, false);
            return Ok(Equation { target, guard, projection, spelled, value, local, span });
        }
        let (projection, spelled) = self.projection()?;
        self.skip_lines();
        let value = self.expression()?;
        let guard = match guard {
            None if self.is_word("when") => {
                self.next();
                Some(self.expression()?)
            }
            guard => guard,
        };
        if let (Kind::List(_), span) = (&value.kind, value.span) {
            return Err(Diagnostic::error(span, "a list of names is not a value"));
        }
        let span = start.to(self.last_span());
        Ok(Equation { target, guard, projection, spelled, value, local: false, span })
    }

    /// Parses `=`, `+=`, `max=` and the like. Returns the reduction and whether it is written as a word.
    fn projection(&mut self) -> Read<(Projection, bool)> {
        if self.eat("=") || self.eat("+=") {
            return Ok((Projection::Sum, false));
        }
        if self.is(":") && self.peek_after() == Token::Sign("=") {
            let span = self.span();
            return Err(Diagnostic::error(span, "`:=` does not begin a right side").help("write ="));
        }
        if self.peek() == Token::Name && self.peek_after() == Token::Sign("=") {
            let word = self.word();
            if let Some(projection) = Projection::from_word(word) {
                self.next();
                self.next();
                return Ok((projection, true));
            }
            let span = self.span();
            return Err(Diagnostic::error(span, format!("`{word}=` is not a reduction"))
                .help("write =, +=, max=, min=, avg= or prod="));
        }
        Err(self.expected("`=`"))
    }
}
