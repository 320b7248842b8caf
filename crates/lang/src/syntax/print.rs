//! The printer: syntax trees to text, in the one form that `fmt`, gradient programs and raised graphs use.

use crate::syntax::ast::{
    Affine, Array, Call, Equation, Expr, Function, Index, Inside, Kind, Place, Projection, Ref, Statement,
};
use std::fmt::{self, Display, Formatter, Write};

impl<E: Inside> Display for Index<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shifted = |f: &mut Formatter<'_>, by: i64| if by == 0 { Ok(()) } else { write!(f, "{by:+}") };
        match self {
            Index::Named(name, by) => {
                f.write_str(name)?;
                shifted(f, *by)
            }
            Index::Time(name, by) => {
                write!(f, "*{name}")?;
                shifted(f, *by)
            }
            Index::Step(at) => write!(f, "*{at}"),
            Index::At(at) => write!(f, "{at}"),
            Index::Symbol(name, _) => write!(f, "\"{name}\""),
            Index::Affine(sum) => affine(f, sum),
            Index::Computed(e) => f.write_str(&e.compact()),
            Index::Slice(name, range) => {
                let [start, stop, step] = &**range;
                if let Some(name) = name {
                    write!(f, "{name}=")?;
                }
                let bound = |f: &mut Formatter<'_>, b: &Option<i64>| b.map_or(Ok(()), |b| write!(f, "{b}"));
                bound(f, start)?;
                f.write_char(':')?;
                bound(f, stop)?;
                if step.is_some() {
                    f.write_char(':')?;
                    bound(f, step)?;
                }
                Ok(())
            }
        }
    }
}

/// Prints an expression between brackets. A name that would be read as an index there gets parentheses: `(n)+1`.
pub(crate) fn compact(e: &Expr) -> String {
    let bare = |e: &Expr| matches!(&e.kind, Kind::Ref(r) if r.places.is_empty() && !r.relation);
    let number = |e: &Expr| match &e.kind {
        Kind::Negative(one) => is_number(&one.kind),
        kind => is_number(kind),
    };
    match &e.kind {
        Kind::Sum(terms) if bare(&terms[0]) && terms[1..].iter().all(number) => {
            format!("({}){}", terms[0], &unspaced(e)[terms[0].to_string().len()..])
        }
        _ if bare(e) => format!("({e})"),
        _ => unspaced(e),
    }
}

/// Prints an expression without spaces around its operators: `2*i+k`.
fn unspaced(e: &Expr) -> String {
    let part = |e: &Expr| match &e.kind {
        Kind::Number(0.0..) | Kind::Ref(_) | Kind::Call(_) | Kind::Of(..) | Kind::Array(_) => e.to_string(),
        _ => format!("({})", unspaced(e)),
    };
    let term = |e: &Expr| if let Kind::Product(_) = e.kind { unspaced(e) } else { part(e) };
    match &e.kind {
        Kind::Sum(terms) => {
            let mut out = String::new();
            for (i, e) in terms.iter().enumerate() {
                match &e.kind {
                    Kind::Negative(e) => out.extend(["-", &term(e)]),
                    _ if i == 0 => out.push_str(&term(e)),
                    _ => out.extend(["+", &term(e)]),
                }
            }
            out
        }
        Kind::Product(factors) => factors.iter().map(part).collect::<Vec<_>>().join("*"),
        Kind::Negative(e) => format!("-{}", term(e)),
        _ => e.to_string(),
    }
}

/// Prints `2*i+k-1` so that it parses to the same form.
fn affine(f: &mut Formatter<'_>, sum: &Affine) -> fmt::Result {
    let is_single = |e: &Expr| matches!(e.kind, Kind::Ref(_) | Kind::Number(0.0..));
    for (i, (by, name)) in sum.terms.iter().enumerate() {
        let (minus, by) = match &by.kind {
            Kind::Number(x) if *x < 0.0 => (true, Kind::Number(-x).at(by.span)),
            _ => (false, by.clone()),
        };
        f.write_str(if minus {
            "-"
        } else if i > 0 {
            "+"
        } else {
            ""
        })?;
        match &by.kind {
            Kind::Number(1.0) => f.write_str(name)?,
            _ if is_single(&by) => write!(f, "{by}*{name}")?,
            _ => write!(f, "({by})*{name}")?,
        }
    }
    match &sum.offset.kind {
        Kind::Number(0.0) if !sum.terms.is_empty() => Ok(()),
        // Alone, a negative number would count from the end.
        Kind::Number(x) if *x < 0.0 && sum.terms.is_empty() => write!(f, "0-{}", -x),
        Kind::Number(x) if *x < 0.0 => write!(f, "-{}", -x),
        _ if sum.terms.is_empty() => f.write_str(&compact(&sum.offset)),
        _ if is_single(&sum.offset) => write!(f, "+{}", sum.offset),
        _ => write!(f, "+({})", sum.offset),
    }
}

impl<E: Inside> Display for Place<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.index, if self.dotted { "." } else { "" })
    }
}

fn list<T: Display>(f: &mut Formatter<'_>, items: impl IntoIterator<Item = T>) -> fmt::Result {
    for (i, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl<E: Inside> Display for Ref<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.places.is_empty() && !self.relation {
            return Ok(());
        }
        let (open, close) = if self.relation { ('(', ')') } else { ('[', ']') };
        f.write_char(open)?;
        list(f, &self.places)?;
        f.write_char(close)
    }
}

impl Display for Array {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fn level<T>(
            f: &mut Formatter<'_>,
            shape: &[usize],
            numbers: &[T],
            one: &impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
        ) -> fmt::Result {
            let Some((n, inner)) = shape.split_first() else {
                return numbers.first().map_or(Ok(()), |x| one(f, x));
            };
            let each: usize = inner.iter().product();
            f.write_char('[')?;
            for i in 0..*n {
                f.write_str(if i == 0 { "" } else { ", " })?;
                level(f, inner, numbers.get(i * each..(i + 1) * each).unwrap_or_default(), one)?;
            }
            f.write_char(']')
        }
        match &self.whole {
            Some(whole) => level(f, &self.shape, whole, &|f, n| write!(f, "{n}")),
            None => level(f, &self.shape, &self.numbers, &|f, x| number(f, *x)),
        }
    }
}

/// Shortest text that reads back as the same number.
fn number(f: &mut Formatter<'_>, x: f64) -> fmt::Result {
    if x != 0.0 && x.is_finite() && !(1e-5..1e16).contains(&x.abs()) {
        write!(f, "{x:e}")
    } else {
        write!(f, "{x}")
    }
}

/// Returns true if the expression is a single number.
fn is_number(kind: &Kind) -> bool {
    matches!(kind, Kind::Number(_)) || matches!(kind, Kind::Array(a) if a.shape.is_empty())
}

/// Returns the precedence of an expression: higher binds tighter.
fn tightness(kind: &Kind) -> u8 {
    match kind {
        Kind::Choose(_) => 0,
        Kind::Or(_) => 1,
        Kind::And(_) => 2,
        Kind::Compare(..) => 3,
        Kind::Sum(_) => 4,
        Kind::Negative(_) => 5,
        // A sum in parentheses.
        Kind::Product(factors) if factors.len() == 1 => 9,
        Kind::Product(_) | Kind::Quotient(_) => 6,
        Kind::Not(_) => 7,
        Kind::Number(x) if *x < 0.0 => 7,
        Kind::Array(a) if a.shape.is_empty() && a.numbers.first().is_some_and(|x| *x < 0.0) => 7,
        Kind::Power(_) | Kind::Reduce(..) => 8,
        _ => 9,
    }
}

/// Prints an expression, in parentheses if its precedence is below the given one.
struct AtLeast<'a>(u8, &'a Expr);

impl Display for AtLeast<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if tightness(&self.1.kind) < self.0 { write!(f, "({})", self.1) } else { write!(f, "{}", self.1) }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Printed with a decimal point: a constant is a float.
        if let ("const", [Expr { kind: Kind::Number(x), .. }]) = (&*self.function, &self.args[..]) {
            return write!(f, "const({x:?})");
        }
        write!(f, "{}(", self.function)?;
        list(f, &self.args)?;
        for (i, (name, value)) in self.named.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 && self.args.is_empty() { "" } else { ", " })?;
        }
        f.write_char(')')
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Number(x) => number(f, *x),
            Kind::Text(t) => write!(f, "\"{t}\""),
            Kind::Array(a) => write!(f, "{a}"),
            Kind::List(parts) => {
                f.write_char('[')?;
                list(f, parts)?;
                f.write_char(']')
            }
            Kind::Ref(r) => write!(f, "{r}"),
            Kind::Call(call) => write!(f, "{call}"),
            Kind::Of(function, index) => write!(f, "{function}({index})"),
            Kind::Product(factors) => {
                let mut bare = false;
                for (i, factor) in factors.iter().enumerate() {
                    let least = if i == 0 && !matches!(factor.kind, Kind::Product(_)) { 6 } else { 8 };
                    let text = AtLeast(least, factor).to_string();
                    // Directly after another factor, `[` would begin its indices, `(` after a name would be a
                    // call, and a text is not a factor.
                    match text.chars().next() {
                        _ if i == 0 => {}
                        Some('[' | '"') => f.write_str(" * ")?,
                        Some('(') if bare => f.write_str(" * ")?,
                        _ => f.write_char(' ')?,
                    }
                    f.write_str(&text)?;
                    bare = text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
                }
                Ok(())
            }
            Kind::Quotient(two) => write!(f, "{} / {}", AtLeast(6, &two[0]), AtLeast(8, &two[1])),
            Kind::Sum(terms) => {
                for (i, term) in terms.iter().enumerate() {
                    match &term.kind {
                        Kind::Negative(e) if i > 0 => write!(f, " - {}", AtLeast(6, e))?,
                        Kind::Sum(_) => write!(f, "{}({term})", if i > 0 { " + " } else { "" })?,
                        _ => write!(f, "{}{}", if i > 0 { " + " } else { "" }, AtLeast(4, term))?,
                    }
                }
                Ok(())
            }
            Kind::Negative(e) => {
                // `-2` would parse as a number.
                let number =
                    is_number(&e.kind) || matches!(&e.kind, Kind::Product(p) if is_number(&p[0].kind));
                if number { write!(f, "-({e})") } else { write!(f, "-{}", AtLeast(6, e)) }
            }
            Kind::Power(two) => write!(f, "{} ** {}", AtLeast(9, &two[0]), AtLeast(7, &two[1])),
            Kind::Compare(c, two) => {
                write!(f, "{} {} {}", AtLeast(4, &two[0]), c.sign(), AtLeast(4, &two[1]))
            }
            Kind::And(two) => write!(f, "{} && {}", AtLeast(2, &two[0]), AtLeast(3, &two[1])),
            Kind::Or(two) => write!(f, "{} || {}", AtLeast(1, &two[0]), AtLeast(2, &two[1])),
            Kind::Not(e) => write!(f, "!{}", AtLeast(7, e)),
            Kind::Choose(p) => write!(f, "{} ? {} : {}", AtLeast(1, &p[0]), p[1], p[2]),
            Kind::Case(cases, otherwise) => {
                f.write_str("case { ")?;
                for (i, [c, v]) in cases.iter().enumerate() {
                    write!(f, "{}{c} -> {v}", if i == 0 { "" } else { ", " })?;
                }
                if let Some(e) = otherwise {
                    write!(f, "{}default -> {e}", if cases.is_empty() { "" } else { ", " })?;
                }
                f.write_str(" }")
            }
            Kind::Reduce(how, axes, body) => {
                write!(f, "reduce({}, ", how.word())?;
                list(f, axes)?;
                write!(f, ") {}", AtLeast(7, body))
            }
        }
    }
}

impl Display for Equation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.local { "let " } else { "" }, self.target)?;
        if let Some(guard) = &self.guard {
            write!(f, " when {guard}")?;
        }
        let holds = matches!(&self.value.kind, Kind::Ref(r) if &*r.name == "true" && r.places.is_empty());
        let constant = self.target.places.iter().all(|p| p.index.constant().is_some());
        if self.target.relation && self.guard.is_none() && holds && constant && !self.target.places.is_empty()
        {
            // A fact.
            return Ok(());
        }
        match self.projection {
            Projection::Sum if !self.spelled => f.write_str(" = ")?,
            other => write!(f, " {}= ", other.word())?,
        }
        write!(f, "{}", self.value)
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "fn {}(", self.name)?;
        list(f, &self.params)?;
        writeln!(f, ") -> {} {{", self.result)?;
        for equation in &self.body {
            writeln!(f, "    {equation}")?;
        }
        f.write_char('}')
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Equation(e) => write!(f, "{e}"),
            Statement::Sink(path, value, _) => write!(f, "\"{path}\" = {value}"),
            Statement::Export(names) => {
                f.write_str("export ")?;
                list(f, names.iter().map(|n| &n.0))
            }
            Statement::While(name, None, go, _) => write!(f, "axis {name} while {go}"),
            Statement::While(name, Some(most), go, _) => write!(f, "axis {name} = {most} while {go}"),
            Statement::Axis(name, size, _) => write!(f, "axis {name} = {size}"),
            Statement::Param { name, whole, fixed, value, .. } => {
                let kind = if *whole { ": int" } else { "" };
                write!(f, "{} {name}{kind} = {value}", if *fixed { "const" } else { "param" })
            }
            Statement::Function(function) => write!(f, "{function}"),
            Statement::Import(path, alias, _) => {
                write!(f, "import \"{path}\"")?;
                alias.as_ref().map_or(Ok(()), |a| write!(f, " as {a}"))
            }
            Statement::Block(inside, _) => {
                f.write_str("{\n")?;
                for statement in inside {
                    for line in statement.to_string().lines() {
                        writeln!(f, "    {line}")?;
                    }
                }
                f.write_char('}')
            }
        }
    }
}
