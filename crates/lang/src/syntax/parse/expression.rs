//! Expressions. From loose to tight: `? :`, `||`, `&&`, comparisons, `+ -`, factors (`*`, `/`, side by side), unary
//! minus and `!`, `**`.

use super::{Parser, Read};
use crate::syntax::ast::{Array, Call, Comparison, Expr, Kind, Name, Projection, Ref, WHOLE_FLOATS};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::token::Token;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Read<Expr> {
        let condition = self.either()?;
        if !self.eat("?") {
            return Ok(condition);
        }
        self.inside_lines(|p| {
            let yes = p.expression()?;
            p.need(":", "`:` and the value otherwise")?;
            let no = p.expression()?;
            let span = condition.span.to(no.span);
            Ok(Kind::Choose(Box::new([condition, yes, no])).at(span))
        })
    }

    /// Nests one level deeper without changing the meaning of line ends.
    pub(super) fn inside_lines<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let open = self.open;
        self.inside(|p| {
            p.open = open;
            let result = read(p);
            p.open = open + 1;
            result
        })
    }

    fn either(&mut self) -> Read<Expr> {
        let mut left = self.both()?;
        while self.eat_operator("||") {
            let right = self.both()?;
            let span = left.span.to(right.span);
            left = Kind::Or(Box::new([left, right])).at(span);
        }
        Ok(left)
    }

    fn both(&mut self) -> Read<Expr> {
        let mut left = self.comparison()?;
        while self.eat_operator("&&") {
            let right = self.comparison()?;
            let span = left.span.to(right.span);
            left = Kind::And(Box::new([left, right])).at(span);
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Read<Expr> {
        let left = self.sum()?;
        for (comparison, sign) in Comparison::SIGNS {
            if self.eat_operator(sign) {
                let right = self.sum()?;
                let span = left.span.to(right.span);
                return Ok(Kind::Compare(comparison, Box::new([left, right])).at(span));
            }
        }
        Ok(left)
    }

    /// Consumes an operator; the line may end after it.
    fn eat_operator(&mut self, sign: &str) -> bool {
        let eaten = self.eat(sign);
        if eaten {
            self.skip_lines();
        }
        eaten
    }

    fn sum(&mut self) -> Read<Expr> {
        let start = self.span();
        let first = self.term()?;
        if !self.is("+") && !self.is("-") {
            return Ok(first);
        }
        let mut terms = Vec::with_capacity(2);
        terms.push(first);
        loop {
            if self.eat_operator("+") {
                terms.push(self.term()?);
            } else if self.is("-") {
                let minus = self.next().1;
                self.skip_lines();
                let term = self.term()?;
                let span = minus.to(term.span);
                terms.push(Kind::Negative(Box::new(term)).at(span));
            } else {
                break;
            }
        }
        Ok(Kind::Sum(terms).at(start.to(self.last_span())))
    }

    /// Returns true if a factor can begin here, next to the one before.
    fn factor_begins(&mut self) -> bool {
        match self.peek() {
            // The `max` of `max=` is not a factor.
            Token::Name => {
                let joins =
                    self.peek_after() == Token::Sign("=") && Projection::from_word(self.word()).is_some();
                !joins && !self.is_word("when") && !self.is_word("while") && !self.is_default()
            }
            Token::Number(_) | Token::Sign("(" | "[" | "@" | "!") => true,
            _ => false,
        }
    }

    fn term(&mut self) -> Read<Expr> {
        let start = self.span();
        // A minus before a term negates the entire term, but a minus before a number belongs to the number.
        if self.is("-") && !self.negative_number() {
            self.next();
            let term = self.inside_lines(Self::term)?;
            let span = start.to(term.span);
            return Ok(Kind::Negative(Box::new(term)).at(span));
        }
        let first = self.unary()?;
        if !self.is("*") && !self.is("/") && !self.factor_begins() {
            return Ok(first);
        }
        let mut factors = Vec::with_capacity(2);
        factors.push(first);
        loop {
            if self.eat_operator("*") {
                factors.push(self.unary()?);
            } else if self.eat_operator("/") {
                let over = product(std::mem::take(&mut factors), start.to(self.last_span()));
                let under = self.unary()?;
                let span = start.to(under.span);
                factors.push(Kind::Quotient(Box::new([over, under])).at(span));
            } else if self.factor_begins() {
                factors.push(self.unary()?);
            } else {
                break;
            }
        }
        Ok(product(factors, start.to(self.last_span())))
    }

    /// `-2`, unless a power follows: `-2**2` is minus four.
    fn negative_number(&mut self) -> bool {
        if !matches!(self.peek_after(), Token::Number(_)) {
            return false;
        }
        !matches!(self.tokens.get(self.at + 2), Some((Token::Sign("**"), _)))
    }

    fn unary(&mut self) -> Read<Expr> {
        let start = self.span();
        if self.is("-") {
            if self.negative_number() {
                self.next();
                let Token::Number(x) = self.peek() else { return Err(self.expected("a number")) };
                let vast = self.vast(x, true);
                self.next();
                return Ok(number(-x, vast).at(start.to(self.last_span())));
            }
            self.next();
            let e = self.inside_lines(Self::unary)?;
            let span = start.to(e.span);
            return Ok(Kind::Negative(Box::new(e)).at(span));
        }
        if self.eat("!") {
            let e = self.inside_lines(Self::unary)?;
            let span = start.to(e.span);
            return Ok(Kind::Not(Box::new(e)).at(span));
        }
        let base = self.primary()?;
        if !self.eat_operator("**") {
            return Ok(base);
        }
        let exponent = self.inside_lines(Self::unary)?;
        let span = start.to(exponent.span);
        Ok(Kind::Power(Box::new([base, exponent])).at(span))
    }

    fn primary(&mut self) -> Read<Expr> {
        let start = self.span();
        match self.peek() {
            Token::Number(x) => {
                let vast = self.vast(x, false);
                self.next();
                Ok(number(x, vast).at(start))
            }
            Token::Text => {
                let (text, span) = self.quoted("a text")?;
                Ok(Kind::Text(text).at(span))
            }
            Token::Sign("(") => {
                self.next();
                let e = self.inside(|p| {
                    let e = p.expression()?;
                    p.need(")", "`)`")?;
                    Ok(e)
                })?;
                let span = start.to(self.last_span());
                // A sum in parentheses is one factor: it is not split into terms.
                Ok(match e.kind {
                    Kind::Sum(_) => Kind::Product(vec![e]).at(span),
                    kind => kind.at(span),
                })
            }
            Token::Sign("[") => self.list(),
            Token::Sign("@") => {
                self.next();
                let (name, _) = self.name("the name of a function")?;
                if !self.is("(") {
                    let what = "`@` is not a product of matrices here";
                    return Err(Diagnostic::error(start, what).help("write Y[i,j] = A[i,k] B[k,j]"));
                }
                self.need("(", "`(`")?;
                self.call(name, start)
            }
            Token::Name if self.is_word("reduce") && self.peek_after() == Token::Sign("(") => self.reduce(),
            Token::Name if self.is_word("case") && self.peek_after() == Token::Sign("{") => self.cases(),
            Token::Name => self.named(),
            _ => Err(self.expected("a tensor, a number, a call or `(`")),
        }
    }

    /// `A`, `A[i,j]`, `f(…)`, `lib::f(…)`, `lib::K`.
    fn named(&mut self) -> Read<Expr> {
        let (mut name, mut span) = self.name("a name")?;
        while self.eat("::") {
            let (inner, at) = self.name("the name of a function or a number")?;
            name = format!("{name}::{inner}").into();
            span = span.to(at);
        }
        if self.is(".") && self.peek_after() == Token::Name {
            return Err(self.attribute(&name));
        }
        if self.eat("(") {
            return self.call(name, span);
        }
        let (places, all) = if self.eat("[") { self.places()? } else { (Vec::new(), span) };
        Ok(Kind::Ref(Ref { name, places, relation: false, span }).at(span.to(all)))
    }

    /// Returns the error for `A.T` and `np.exp`.
    fn attribute(&mut self, name: &str) -> Diagnostic {
        let dot = self.next().1;
        let word = self.word();
        let fault = Diagnostic::error(dot, format!("`{name}.{word}`: names have no attributes"));
        match (name, word) {
            ("np" | "numpy" | "jnp" | "torch" | "tf", "array" | "asarray" | "tensor" | "constant") => {
                fault.help("write the numbers in a constant: A[i] = const([1, 2])")
            }
            ("np" | "numpy" | "jnp" | "torch" | "math" | "tf" | "F", _) => {
                fault.help(format!("functions have no module prefix: write {word}(…)"))
            }
            (_, "T") => fault.help(format!("order the indices on the left side: Y[i,j] = {name}[j,i]")),
            _ => fault,
        }
    }

    fn call(&mut self, function: Name, start: crate::syntax::source::Span) -> Read<Expr> {
        self.inside(|p| {
            let (mut args, mut named): (Vec<Expr>, Vec<(Name, Expr)>) = (Vec::with_capacity(1), Vec::new());
            while !p.is(")") {
                if p.peek() == Token::Name && p.peek_after() == Token::Sign("=") {
                    let (key, span) = p.name("a keyword")?;
                    p.next();
                    if named.iter().any(|(k, _)| *k == key) {
                        return Err(Diagnostic::error(span, format!("`{key}` is given twice")));
                    }
                    named.push((key, p.expression()?));
                } else if let Some((key, _)) = named.last() {
                    let key = key.clone();
                    let span = p.span();
                    return Err(Diagnostic::error(
                        span,
                        format!("arguments without a keyword must be before `{key}=`"),
                    ));
                } else {
                    args.push(p.expression()?);
                }
                if !p.eat(",") {
                    break;
                }
            }
            p.need(")", "`,` or `)`")?;
            let span = start.to(p.last_span());
            Ok(Kind::Call(Box::new(Call { function, args, named })).at(span))
        })
    }

    /// `reduce(max, j) A[i,j]`; binds tighter than a product.
    fn reduce(&mut self) -> Read<Expr> {
        let start = self.next().1;
        self.next();
        let (how, axes) = self.inside(|p| {
            let (word, span) = p.name("sum, max, min, avg or prod")?;
            let how = Projection::from_word(&word).ok_or_else(|| {
                Diagnostic::error(span, format!("expected sum, max, min, avg or prod, found `{word}`"))
            })?;
            let mut axes = Vec::new();
            while p.eat(",") {
                axes.push(p.name("an index")?.0);
            }
            p.need(")", "`,` or `)`")?;
            Ok((how, axes))
        })?;
        if axes.is_empty() {
            return Err(Diagnostic::error(
                start.to(self.last_span()),
                "`reduce` needs the indices to reduce",
            )
            .help("write reduce(sum, j) A[i,j]"));
        }
        let body = self.inside_lines(Self::unary)?;
        let span = start.to(body.span);
        Ok(Kind::Reduce(how, axes, Box::new(body)).at(span))
    }

    /// Returns true if the `default` case begins here.
    fn is_default(&mut self) -> bool {
        self.is_word("default") && self.peek_after() == Token::Sign("->")
    }

    /// `case { C -> A, default -> B }`.
    fn cases(&mut self) -> Read<Expr> {
        let start = self.next().1;
        self.next();
        self.inside(|p| {
            let (mut cases, mut otherwise) = (Vec::new(), None);
            while !p.is("}") {
                if p.is_default() {
                    p.next();
                    p.next();
                    otherwise = Some(Box::new(p.expression()?));
                } else {
                    let condition = p.expression()?;
                    p.need("->", "`->`")?;
                    cases.push([condition, p.expression()?]);
                }
                if p.is("->") {
                    let span = p.span();
                    return Err(Diagnostic::error(span, "expected `,` between one case and the next")
                        .help("write case { C -> A, D -> B, default -> E }"));
                }
                while p.eat(",") || p.eat(";") {}
            }
            p.need("}", "`}`")?;
            Ok(Kind::Case(cases, otherwise).at(start.to(p.last_span())))
        })
    }

    /// `[[1, 2], [3, 4]]`, or `["i", "j"]`.
    fn list(&mut self) -> Read<Expr> {
        let start = self.next().1;
        self.inside(|p| {
            let names = p.peek() == Token::Name && p.truth().is_none();
            if names || p.peek() == Token::Text {
                let mut parts = Vec::new();
                while !p.is("]") {
                    parts.push(p.primary()?);
                    if !p.eat(",") {
                        break;
                    }
                }
                p.need("]", "`,` or `]`")?;
                return Ok(Kind::List(parts).at(start.to(p.last_span())));
            }
            let (mut numbers, mut vast) = (Vec::new(), Vec::new());
            let shape = p.rows(&mut numbers, &mut vast)?;
            let array = Array::with_digits(shape, numbers, &vast);
            Ok(Kind::Array(array).at(start.to(p.last_span())))
        })
    }

    /// Returns the value of `true`, `false` or `inf`.
    fn truth(&mut self) -> Option<f64> {
        let known = [("true", 1.0), ("false", 0.0), ("inf", f64::INFINITY)]
            .into_iter()
            .find(|(word, _)| self.is_word(word));
        known.map(|(_, x)| x)
    }

    /// Returns the exact value of the number at the current token, if it is an integer that `f64` may not
    /// represent.
    fn vast(&mut self, x: f64, negative: bool) -> Option<i64> {
        if x < WHOLE_FLOATS {
            return None;
        }
        let digits = self.word();
        if negative { format!("-{digits}").parse().ok() } else { digits.parse().ok() }
    }

    /// Parses the rest of a nested list of numbers. `vast` gets the integers that `f64` may not represent, with their
    /// positions. Returns the shape.
    fn rows(&mut self, numbers: &mut Vec<f64>, vast: &mut Vec<(usize, i64)>) -> Read<Vec<usize>> {
        let mut inner: Option<Vec<usize>> = None;
        let mut count = 0;
        while !self.is("]") {
            let span = self.span();
            let shape = if self.eat("[") {
                self.inside(|p| p.rows(numbers, vast))?
            } else {
                let negative = self.eat("-");
                let truth = self.truth().map_or(self.peek(), Token::Number);
                let Token::Number(x) = truth else {
                    return Err(self.expected("a number or a list of numbers"));
                };
                vast.extend(self.vast(x, negative).map(|n| (numbers.len(), n)));
                self.next();
                numbers.push(if negative { -x } else { x });
                Vec::new()
            };
            // Fast path: most items are numbers, which have no shape to compare.
            if let Some(before) = &inner
                && (before.len() != shape.len() || !shape.is_empty() && *before != shape)
            {
                let describe = |s: &[usize]| match s {
                    [] => "a number".to_string(),
                    [n, ..] => format!("a list of {n}"),
                };
                let what =
                    format!("the list is ragged: here {}, before {}", describe(&shape), describe(before));
                return Err(Diagnostic::error(span.to(self.last_span()), what));
            }
            inner = Some(shape);
            count += 1;
            if !self.eat(",") {
                break;
            }
        }
        self.need("]", "`,` or `]`")?;
        Ok([count].into_iter().chain(inner.unwrap_or_default()).collect())
    }
}

/// Returns a number; exact if it is an integer that `f64` may not represent.
fn number(x: f64, vast: Option<i64>) -> Kind {
    vast.map_or(Kind::Number(x), |n| Kind::Array(Array::with_digits(Vec::new(), vec![x], &[(0, n)])))
}

fn product(mut factors: Vec<Expr>, span: crate::syntax::source::Span) -> Expr {
    match factors.len() {
        1 => factors.remove(0),
        _ => {
            // (A B) C is A B C.
            let flat = factors.into_iter().flat_map(|f| match f.kind {
                Kind::Product(inner) => inner,
                _ => vec![f],
            });
            Kind::Product(flat.collect()).at(span)
        }
    }
}
