//! Evaluates one term of one equation, from its expression to a tensor with named axes.

mod branch;
mod call;
mod positions;
mod reference;
mod sizes;

pub(crate) use call::NOW;
pub(crate) use positions::checked;
pub(crate) use reference::window;

use crate::builtin;
use crate::builtin::named::{Named, Writes, contracted, meeting, pointwise, union};
use crate::builtin::written::{Number, Written};
use crate::elaborate::Core;
use crate::elaborate::core::{Equation, Expr, Index, Kind, Origin};
use crate::elaborate::number;
use crate::elaborate::scope::{key, keys};
use crate::program::Program;
use crate::solve::{Options, failure};
use crate::syntax::ast::{Array, Comparison, Name, Projection};
use crate::syntax::diagnostic::{Diagnostic, indices, nearest};
use crate::syntax::indices::moving;
use crate::syntax::source::Span;
use branch::not;
use gradus_ir::{Error, Kind as ErrorKind};
use gradus_tensor::Tensor;
use std::cell::RefCell;
use std::collections::HashMap;

/// The reason why an expression has no value.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// An error at this expression.
    Shown(Box<Diagnostic>),
    /// Something it depends on has no value; the error was reported there.
    Silent,
}

impl From<Diagnostic> for Fault {
    fn from(d: Diagnostic) -> Fault {
        Fault::Shown(Box::new(d))
    }
}

pub(crate) type Eval<T> = std::result::Result<T, Fault>;

/// The value of a name. Axes that a call added come first, then the name's own axes in order.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) tensor: Tensor,
    pub(crate) batch: Vec<Name>,
    /// The time step of the first slice along the time axis, if there is one.
    pub(crate) start: i64,
    /// If true, only the last time step is stored, as for `axis t while Go`.
    pub(crate) ended: bool,
}

impl Value {
    pub(crate) fn new(tensor: Tensor) -> Value {
        Value { tensor, batch: Vec::new(), start: 0, ended: false }
    }
}

/// The values of names; `None` if the evaluation failed.
pub(crate) type Values = HashMap<Name, Option<Value>>;

/// The sizes of indices, each with the location that determined it.
pub(crate) type Sizes = HashMap<Name, (usize, Span)>;

/// The context in which a term is evaluated.
pub(crate) struct Term<'a> {
    pub(crate) core: &'a Core<'a>,
    pub(crate) options: &'a Options,
    pub(crate) values: &'a Values,
    /// Axes that a call added: they are kept in addition to those of the left side.
    pub(crate) batch: &'a [Name],
    /// Inside a time loop: values at the current step, by name and offset.
    pub(crate) moment: Option<&'a HashMap<(Name, i64), Value>>,
    pub(crate) equation: &'a Equation,
    left: Vec<Name>,
    pub(crate) sizes: Sizes,
    /// The sizes of the left side's indices, as far as other equations of the same name determine them.
    pub(crate) kept_by: Vec<Option<usize>>,
    /// For differentiation: the conditions under which the branch being evaluated is taken.
    masks: RefCell<Vec<Named>>,
}

/// Adds the literal to a value computed from literals, so that constants are folded without tensors. If not all
/// operands are literals, keeps the exact integers of those that are.
fn written(
    value: Named,
    of: &[Named],
    f: impl Fn(Number, Number) -> Number,
    whole: impl FnOnce(&[Named]) -> Option<Named>,
) -> Named {
    let literals: Option<Vec<Number>> = of.iter().map(Named::literal).collect();
    match literals {
        Some(all) => Named { written: all.into_iter().reduce(f).map(Written::One), ..value },
        None => value.of_no_kind(of, whole),
    }
}

/// Returns the product of factors, summed over all axes except `left`.
fn product(factors: &[Named], left: &[Name], span: Span) -> Eval<Named> {
    let value = contracted(factors, left).map_err(|x| fault(span, &x))?;
    let times = |x: Number, y| x.of(y, i64::checked_mul, |x, y| x * y);
    Ok(written(value, factors, times, |all| contracted(all, left).ok()))
}

/// Converts a tensor error to a diagnostic at a location.
pub(crate) fn fault(span: Span, e: &Error) -> Fault {
    if let Some(fault) = located(e, None) {
        return fault.into();
    }
    Diagnostic::error(span, in_words(e, None)).into()
}

/// Returns the message of a tensor error, in terms of the language if it is about an index out of range.
pub(crate) fn in_words(e: &Error, called: Option<&str>) -> String {
    index_fault(e, called).unwrap_or_else(|| e.message())
}

/// Returns the error of a routine that failed in a run, at its line of the program. `None` if the error has
/// no line.
pub(crate) fn located(e: &Error, called: Option<&str>) -> Option<Diagnostic> {
    let (span, step) = failure(e)?;
    let told = in_words(e, called);
    let told = step.map_or_else(|| told.clone(), |step| format!("{told} (at step {step})"));
    Some(Diagnostic::error(span, told))
}

/// Describes an error about an index out of range in terms of the language; `None` for other errors.
fn index_fault(e: &Error, called: Option<&str>) -> Option<String> {
    let ErrorKind::Index { index, extent: places @ 1.., .. } = e.kind() else { return None };
    let no_program = Program::default();
    // The name of the op is mentioned only if it is also a builtin.
    let op = e.ops().first().map(String::as_str);
    let who = match called.or(op.filter(|op| builtin::find(op, &no_program).is_some())) {
        Some(function) => format!("`{function}` is given"),
        None => "this reads".into(),
    };
    let there = if *places == 1 { "is 1 position".into() } else { format!("are {places} positions") };
    Some(format!("{who} position {index}, but there {there}, counted from 0"))
}

/// Returns an error if the value is complex.
pub(crate) fn real(value: Named, span: Span, why: &str) -> Eval<Named> {
    if !value.tensor.dtype().is_complex() {
        return Ok(value);
    }
    let fault = Diagnostic::error(span, format!("a complex number {why}")).here("complex");
    Err(fault.help("use its parts, real(…) and imag(…), or its magnitude, abs(…)").into())
}

impl<'a> Term<'a> {
    /// Makes the context of an equation and checks that the sizes of its indices agree.
    pub(crate) fn new(
        core: &'a Core<'a>,
        options: &'a Options,
        values: &'a Values,
        batch: &'a [Name],
        moment: Option<&'a HashMap<(Name, i64), Value>>,
        equation: &'a Equation,
    ) -> Eval<Term<'a>> {
        let mut left = keys(&equation.target);
        if moment.is_some() {
            let times = equation.target.places.iter().filter(|p| matches!(p.index, Index::Time(..)));
            let times: Vec<Name> = times.filter_map(key).collect();
            left.retain(|k| !times.contains(k));
        }
        let mut term = Term {
            core,
            options,
            values,
            batch,
            moment,
            equation,
            left,
            sizes: Sizes::new(),
            kept_by: Vec::new(),
            masks: Default::default(),
        };
        let mut sizes = Sizes::new();
        let left = equation.target.computed();
        for part in [&equation.value].into_iter().chain(&equation.guard).chain(left) {
            term.note_sizes(part, &mut sizes)?;
        }
        term.sizes = sizes;
        Ok(term)
    }

    /// Evaluates the term under a condition; elsewhere it receives no gradient.
    pub(crate) fn evaluate_where(&self, condition: Option<&Expr>) -> Eval<Named> {
        let Some(condition) = condition else { return self.evaluate() };
        let mask = self.eval(condition)?.truth();
        self.taken(&[mask], || self.evaluate())
    }

    /// Evaluates the term, reduced to the axes of the left side and those that a call added.
    pub(crate) fn evaluate(&self) -> Eval<Named> {
        let e = self.equation;
        if let Kind::Sum(terms) = &e.value.kind
            && e.target.relation
        {
            return self.sum_of_a_rule(terms);
        }
        let mut wanted: Vec<Name> = self.batch.to_vec();
        wanted.extend(self.left.iter().filter(|l| !self.batch.contains(l)).cloned());
        let sums = e.projection == Projection::Sum;
        let scatters = e.target.places.iter().any(|p| p.index.is_arithmetic());
        // A mean over elements written to one position is their sum divided by their count.
        let mut count = None;
        let how = if scatters && e.projection == Projection::Avg { Projection::Sum } else { e.projection };
        let mut value = match (&e.value.kind, &e.guard) {
            (Kind::Product(factors), None) if sums => {
                product(&self.factors(factors)?, &wanted, e.value.span)?
            }
            _ => {
                let guard = match &e.guard {
                    Some(guard) => Some(real(self.eval(guard)?, guard.span, "is not a boolean")?.truth()),
                    None => None,
                };
                let mut value = self.taken(guard.as_slice(), || self.eval(&e.value))?;
                if let Some(truth) = guard {
                    // Where the guard does not hold, the term contributes nothing.
                    let float = self.options.float;
                    let number = if sums { value.number(float) } else { value.float(float) };
                    let or = |other: f64| {
                        pointwise(&[truth.clone(), number.clone()], |t| {
                            t[0].select(t[1], &Tensor::full([], other).to_dtype(t[1].dtype()))
                        })
                    };
                    value = match e.projection {
                        Projection::Avg if scatters => {
                            let held = pointwise(&[truth.clone(), number.clone()], |t| {
                                t[0].to_dtype(t[1].dtype()) + t[1].zeros_like()
                            });
                            count = Some(held.projected(&wanted, Projection::Sum));
                            or(0.0)
                        }
                        Projection::Avg => {
                            let held = pointwise(&[truth.clone(), number.clone()], |t| {
                                t[0].to_dtype(t[1].dtype()) + t[1].zeros_like()
                            });
                            let [sum, count] = [or(0.0), held].map(|v| v.projected(&wanted, Projection::Sum));
                            return Ok(pointwise(&[sum, count], |t| t[0] / t[1]));
                        }
                        how => or(how.of_nothing()),
                    };
                }
                if matches!(e.projection, Projection::Max | Projection::Min) {
                    value = real(value, e.value.span, "has no order")?;
                }
                let numbers = if value.axes.iter().all(|a| wanted.contains(a)) {
                    value
                } else {
                    self.reducible(&value, e.projection)
                };
                if scatters && e.projection == Projection::Avg && count.is_none() {
                    let ones = numbers.float(self.options.float);
                    count = Some(ones.with(ones.tensor.ones_like()).projected(&wanted, Projection::Sum));
                }
                numbers.projected(&wanted, how)
            }
        };
        value.tensor.check().map_err(|x| fault(e.value.span, &x))?;
        if scatters {
            let places = e.target.places.iter().enumerate().filter(|(_, p)| p.index.is_arithmetic());
            let at = places.map(|(i, p)| Ok((i, self.positions(p)?))).collect::<Eval<_>>()?;
            value.writes = Some(Box::new(Writes { at, count }));
        }
        Ok(value)
    }

    /// Evaluates a sum on the right of a relation as the same equation of a tensor would be: term by term.
    fn sum_of_a_rule(&self, terms: &[Expr]) -> Eval<Named> {
        let mut sum = Named::scalar(0.0, self.options.float);
        for term in terms {
            let e = Equation { value: term.clone(), ..self.equation.clone() };
            let mut own = Term::new(self.core, self.options, self.values, self.batch, self.moment, &e)?;
            own.infer_sizes()?;
            sum = self.two(sum, own.evaluate()?, |a, b| a + b);
        }
        sum.tensor.check().map_err(|x| fault(self.equation.value.span, &x))?;
        Ok(sum)
    }

    /// Evaluates factors as numbers of one dtype.
    fn factors(&self, factors: &[Expr]) -> Eval<Vec<Named>> {
        let values: Vec<Named> = factors.iter().map(|f| self.eval(f)).collect::<Eval<_>>()?;
        Ok(meeting(&values, self.options.float))
    }

    /// Converts to a dtype that the reduction accepts: a mean needs floats.
    fn reducible(&self, value: &Named, how: Projection) -> Named {
        let float = self.options.float;
        if how == Projection::Avg { value.float(float) } else { value.number(float) }
    }

    fn two(&self, a: Named, b: Named, f: impl FnOnce(&Tensor, &Tensor) -> Tensor) -> Named {
        pointwise(&meeting(&[a, b], self.options.float), |t| f(t[0], t[1]))
    }

    fn quotient(&self, over: &Named, under: &Named) -> Named {
        let both = [over, under].map(|v| v.float(self.options.float));
        let value = self.two(both[0].clone(), both[1].clone(), |a, b| a / b);
        written(value, &both, |x, y| (x.float() / y.float()).into(), |_| None)
    }

    fn negative(&self, value: &Named) -> Named {
        let number = value.number(self.options.float);
        let negative = |n: &Named| n.with(-&n.tensor);
        let zero = Named::scalar(0.0, self.options.float);
        written(
            negative(&number),
            &[zero, number],
            |x, y| x.of(y, i64::checked_sub, |_, y| -y),
            |all| all.last().map(negative),
        )
    }

    /// Evaluates an expression, with all its free indices.
    pub(crate) fn eval(&self, e: &Expr) -> Eval<Named> {
        let float = self.options.float;
        let part = |i: usize, parts: &[Expr]| self.eval(&parts[i]);
        let truth = |i: usize, parts: &[Expr]| {
            Ok::<_, Fault>(real(part(i, parts)?, parts[i].span, "is not a boolean")?.truth())
        };
        let value = match &e.kind {
            Kind::Number(x) => Named::scalar(*x, float),
            Kind::Invalid(Some(what), _) => return Err(Diagnostic::error(e.span, *what).into()),
            Kind::Invalid(None, _) => return Err(Fault::Silent),
            Kind::Known(known) => Named::scalar(number(known, &self.options.numbers)?, float),
            Kind::Array(array, _) => self.array(array, e.span)?,
            Kind::Ref(r) => self.reference(r)?,
            Kind::Of(function, callee, index) => self.of_index(function, callee, index, e.span)?,
            Kind::Call(call) => self.options.located(e.span, || self.call(call, e.span))?,
            Kind::Product(factors) => {
                let values = self.factors(factors)?;
                product(&values, &union(&values), e.span)?
            }
            // The sum of a product is one contraction.
            Kind::Reduce(_, axes, body, Origin::Product) => {
                let Kind::Product(factors) = &body.kind else { return Err(Fault::Silent) };
                let values = self.factors(factors)?;
                let left: Vec<Name> = union(&values).into_iter().filter(|a| !axes.contains(a)).collect();
                product(&values, &left, e.span)?
            }
            Kind::Quotient(two) => self.quotient(&part(0, &two[..])?, &part(1, &two[..])?),
            Kind::Sum(terms) => {
                let values: Vec<Named> = terms.iter().map(|t| self.eval(t)).collect::<Eval<_>>()?;
                let add = |all: &[Named]| all.iter().cloned().reduce(|a, b| self.two(a, b, |a, b| a + b));
                let sum = add(&meeting(&values, float)).unwrap_or_else(|| Named::scalar(0.0, float));
                written(sum, &values, |x, y| x.of(y, i64::checked_add, |x, y| x + y), add)
            }
            Kind::Negative(one) => self.negative(&self.eval(one)?),
            Kind::Power(two) => {
                let base = part(0, &two[..])?.float(float);
                let value = match two[1].kind {
                    Kind::Number(2.0) => base.with(base.tensor.square()),
                    _ => self.two(base.clone(), part(1, &two[..])?.float(float), |a, b| a.pow(b)),
                };
                match two[1].kind {
                    Kind::Number(n) => {
                        let exponent = Named::scalar(n, float);
                        let power = |x: Number, y: Number| x.float().powf(y.float()).into();
                        written(value, &[base, exponent], power, |_| None)
                    }
                    _ => value,
                }
            }
            Kind::Compare(c, two) => {
                let [mut a, mut b] = [part(0, &two[..])?, part(1, &two[..])?];
                if !matches!(c, Comparison::Eq | Comparison::Ne) {
                    a = real(a, two[0].span, "has no order")?;
                    b = real(b, two[1].span, "has no order")?;
                }
                self.two(a, b, |a, b| match c {
                    Comparison::Eq => a.eq(b),
                    Comparison::Ne => a.ne(b),
                    Comparison::Lt => a.lt(b),
                    Comparison::Le => a.le(b),
                    Comparison::Gt => a.gt(b),
                    Comparison::Ge => a.ge(b),
                })
            }
            Kind::And(two) => {
                let both = [truth(0, &two[..])?, truth(1, &two[..])?];
                pointwise(&both, |t| t[0].logical_and(t[1]))
            }
            Kind::Or(two) => {
                let both = [truth(0, &two[..])?, truth(1, &two[..])?];
                pointwise(&both, |t| t[0].logical_or(t[1]))
            }
            Kind::Not(one) => not(&real(self.eval(one)?, one.span, "is not a boolean")?.truth()),
            Kind::Choose(cases, otherwise) => self.cases(e, cases, otherwise.as_deref())?,
            Kind::Reduce(how, axes, body, Origin::Written) => {
                let body = || self.eval(body);
                let mut value = self.reducible(&self.brought_together(|a| axes.contains(a), body)?, *how);
                if matches!(how, Projection::Max | Projection::Min) {
                    value = real(value, e.span, "has no order")?;
                }
                for axis in axes {
                    self.has(&value, axis, e.span)?;
                }
                let left: Vec<Name> = value.axes.iter().filter(|a| !axes.contains(a)).cloned().collect();
                value.projected(&left, *how)
            }
        };
        value.tensor.check().map_err(|x| fault(e.span, &x))?;
        Ok(value)
    }

    fn has(&self, value: &Named, axis: &str, span: Span) -> Eval<usize> {
        value.position(axis).ok_or_else(|| {
            let moves = moving(&self.equation.target.places).filter(|t| &**t.0 == axis);
            if let Some((time, _)) = moves.filter(|_| self.moment.is_some()) {
                let what = format!(
                    "time is not an axis in a line with `*{time}` on its left: it is evaluated step by step"
                );
                let help =
                    format!("to work along time, define a name with `{time}` on its left, not `*{time}`");
                return Diagnostic::error(span, what).help(help).into();
            }
            let what = format!("there is no index `{axis}` here");
            let fault = Diagnostic::error(span, what);
            let names: Vec<&str> = value.axes.iter().map(|a| &**a).collect();
            let fault = match nearest(axis, names.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None if names.is_empty() => fault.help("it has no indices"),
                None => fault.help(format!("the indices are {}", names.join(", "))),
            };
            fault.into()
        })
    }

    fn array(&self, array: &Array, span: Span) -> Eval<Named> {
        let tensor = Tensor::from_slice(&array.numbers, array.shape.clone()).to_dtype(self.options.float);
        tensor.check().map_err(|x| fault(span, &x))?;
        let written = match (array.shape.is_empty(), &array.whole) {
            (true, Some(whole)) => Written::One(Number::Whole(whole.first().copied().unwrap_or(0))),
            _ => Written::List(array.clone()),
        };
        Ok(Named { written: Some(written), ..self.by_left(tensor, span)? })
    }

    /// Names the axes of a value after the left side.
    fn by_left(&self, tensor: Tensor, span: Span) -> Eval<Named> {
        if tensor.rank() == self.left.len() || tensor.rank() == 0 {
            let axes = if tensor.rank() == 0 { Vec::new() } else { self.left.clone() };
            return Ok(Named::new(tensor, axes));
        }
        let what =
            format!("this has shape {}, but the left side has {}", tensor.shape(), indices(self.left.len()));
        let fault = Diagnostic::error(span, what).and(self.equation.target.span, "the left side");
        if !self.left.is_empty() || tensor.rank() > 4 {
            return Err(fault.into());
        }
        let indices = ["i", "j", "k", "l"][..tensor.rank()].join(", ");
        Err(fault.help(format!("name its axes: {}[{indices}] = …", self.equation.target.name)).into())
    }
}
