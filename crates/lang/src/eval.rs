//! One term of one equation: from its expression to a tensor with named axes.

use crate::ast::{Array, Call, Comparison, Equation, Expr, Function, Index, Kind, Name, Projection, Ref};
use crate::builtin::{self, Around, Setting, Settings, Shape};
use crate::diagnostic::{Diagnostic, nearest};
use crate::named::{Named, contracted, pointwise, union};
use crate::program::{Program, number};
use crate::run::Options;
use crate::scope::{Names, beside, bound_by, in_order, key, keys, occurrences};
use crate::source::Span;
use gradus_ir::Error;
use gradus_tensor::{Ix, Tensor};
use std::collections::HashMap;

/// Why something has no value.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Something is wrong here.
    Shown(Box<Diagnostic>),
    /// Something it needs has no value, which was reported there.
    Silent,
}

impl From<Diagnostic> for Fault {
    fn from(d: Diagnostic) -> Fault {
        Fault::Shown(Box::new(d))
    }
}

pub(crate) type Eval<T> = std::result::Result<T, Fault>;

/// What a name stands for: axes that a call brought along first, then its own by place.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) tensor: Tensor,
    pub(crate) batch: Vec<Name>,
    /// The moment of the first slice along the time axis, where there is one.
    pub(crate) start: i64,
}

impl Value {
    pub(crate) fn new(tensor: Tensor) -> Value {
        Value { tensor, batch: Vec::new(), start: 0 }
    }
}

/// What names stand for; `None` where that failed.
pub(crate) type Values = HashMap<Name, Option<Value>>;

/// What is around a term.
pub(crate) struct Term<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options,
    pub(crate) values: &'a Values,
    /// Axes that a call brought along: they stay whatever the left side says.
    pub(crate) batch: &'a [Name],
    /// Values at the moment at hand, by name and offset, inside of a loop over time.
    pub(crate) moment: Option<&'a HashMap<(Name, i64), Value>>,
    pub(crate) equation: &'a Equation,
    left: Vec<Name>,
    sizes: HashMap<Name, (usize, Span)>,
}

/// A tensor error at a place in the program.
pub(crate) fn fault(span: Span, e: &Error) -> Fault {
    let whole = e.to_string();
    // Places in our own source say nothing to the writer of a program.
    let text = whole.split("\n").next().unwrap_or_default();
    Diagnostic::error(span, text.to_string()).into()
}

impl<'a> Term<'a> {
    /// The context of an equation; sizes of its indices are checked here.
    pub(crate) fn new(
        program: &'a Program,
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
        let mut term = Term { program, options, values, batch, moment, equation, left, sizes: HashMap::new() };
        for r in equation.reads() {
            term.note_sizes(r)?;
        }
        Ok(term)
    }

    /// The sizes that a tensor gives to its indices; they must agree with those seen before.
    fn note_sizes(&mut self, r: &Ref) -> Eval<()> {
        if self.options.numbers.contains_key(&r.name) && r.places.is_empty() {
            return Ok(());
        }
        let value = self.value(r)?.clone();
        let timed = self.timed(r);
        let own = value.tensor.rank() - value.batch.len();
        let indices = r.places.len() - usize::from(timed);
        if own != indices {
            let count = |n: usize, of: &str| if n == 1 { format!("1 {of}is") } else { format!("{n} {of}es") };
            let what = format!("`{}` has shape {}: {} for {indices} indices", r.name, value.tensor.shape(), count(own, "ax"));
            return Err(Diagnostic::error(r.span, what.replace("1 axis", "one axis")).into());
        }
        let mut axis = value.batch.len();
        for place in &r.places {
            if timed && matches!(place.index, Index::Time(..) | Index::Moment(_)) {
                continue;
            }
            let n = value.tensor.dim(axis as isize);
            axis += 1;
            let Index::Named(name, _) = &place.index else { continue };
            let declared = self.options.axes.get(name);
            if let Some((size, span)) = declared.filter(|(size, _)| *size != n) {
                let what = format!("index `{name}` has size {size}, but `{}` has {n} there", r.name);
                return Err(Diagnostic::error(place.span, what).here(format!("{n} here")).and(*span, "declared here").into());
            }
            match self.sizes.get(name) {
                Some((before, span)) if *before != n => {
                    let what = format!("index `{name}` has size {n} in `{}`, but {before} elsewhere", r.name);
                    let fault = Diagnostic::error(place.span, what).here(format!("{n} here"));
                    return Err(fault.and(*span, format!("{before} here")).into());
                }
                Some(_) => {}
                None => {
                    self.sizes.insert(name.clone(), (n, place.span));
                }
            }
        }
        Ok(())
    }

    /// Whether a tensor is looked up at the moment at hand, without its time axis.
    fn timed(&self, r: &Ref) -> bool {
        self.moment.is_some() && r.places.iter().any(|p| matches!(p.index, Index::Time(..)))
    }

    fn value(&self, r: &Ref) -> Eval<&'a Value> {
        if let Some(moment) = self.moment
            && let Some(offset) = r.places.iter().find_map(|p| match &p.index {
                Index::Time(_, by) => Some(*by),
                _ => None,
            })
        {
            return moment.get(&(r.name.clone(), offset)).ok_or(Fault::Silent);
        }
        match self.values.get(&r.name) {
            Some(Some(value)) => Ok(value),
            Some(None) => Err(Fault::Silent),
            None => Err(Diagnostic::error(r.span, format!("`{}` has no value", r.name)).into()),
        }
    }

    /// The term, with the axes of the left side only (and those a call brought along).
    pub(crate) fn evaluate(&self) -> Eval<Named> {
        let e = self.equation;
        let mut keep: Names = self.left.iter().cloned().collect();
        keep.extend(self.batch.iter().cloned());
        let mut wanted: Vec<Name> = self.batch.to_vec();
        wanted.extend(self.left.iter().filter(|l| !self.batch.contains(l)).cloned());
        let sums = e.projection == Projection::Sum;
        let value = match (&e.value.kind, &e.guard) {
            (Kind::Product(factors), None) if sums => {
                let factors = self.factors(factors, &keep)?;
                contracted(&factors, &wanted).map_err(|x| fault(e.value.span, &x))?
            }
            _ => {
                let around = e.guard.as_ref().map(occurrences).unwrap_or_default();
                let beside: Names = keep.union(&around).cloned().collect();
                let mut value = self.spine(&e.value, &beside, !sums)?;
                if let Some(guard) = &e.guard {
                    let truth = self.eval(guard, &keep.union(&occurrences(&e.value)).cloned().collect())?.truth();
                    let number = value.float(self.options.float);
                    value = pointwise(&[truth, number], |t| t[0].select(t[1], 0.0));
                }
                let numbers = if value.axes.iter().all(|a| wanted.contains(a)) { value } else { value.float(self.options.float) };
                numbers.projected(&wanted, e.projection)
            }
        };
        value.tensor.check().map_err(|x| fault(e.value.span, &x))?;
        Ok(value)
    }

    /// Factors as numbers, each keeping what the others use.
    fn factors(&self, factors: &[Expr], keep: &Names) -> Eval<Vec<Named>> {
        let one = |f: &Expr| Ok(self.eval(f, &beside(keep, factors, f))?.float(self.options.float));
        factors.iter().map(one).collect()
    }

    /// The outermost part of a term. Where indices go away by something else than a sum, products leave them to it.
    fn spine(&self, e: &Expr, keep: &Names, whole: bool) -> Eval<Named> {
        match &e.kind {
            Kind::Product(factors) if whole => {
                let factors = self.factors(factors, keep)?;
                let all = union(&factors);
                contracted(&factors, &all).map_err(|x| fault(e.span, &x))
            }
            Kind::Negative(one) => {
                let one = self.spine(one, keep, whole)?.float(self.options.float);
                Ok(Named { tensor: -&one.tensor, ..one })
            }
            Kind::Quotient(two) => {
                let over = self.spine(&two[0], &beside(keep, &two[..], &two[0]), whole)?;
                let under = self.eval(&two[1], &beside(keep, &two[..], &two[1]))?;
                Ok(self.two(over, under, |a, b| a / b))
            }
            _ => self.eval(e, keep),
        }
    }

    fn two(&self, a: Named, b: Named, f: impl FnOnce(&Tensor, &Tensor) -> Tensor) -> Named {
        let float = self.options.float;
        pointwise(&[a.float(float), b.float(float)], |t| f(t[0], t[1]))
    }

    /// An expression's value: every index of it that appears once, or that something outside uses.
    pub(crate) fn eval(&self, e: &Expr, keep: &Names) -> Eval<Named> {
        let float = self.options.float;
        let part = |i: usize, parts: &[Expr]| self.eval(&parts[i], &beside(keep, parts, &parts[i]));
        let value = match &e.kind {
            Kind::Number(x) => Named::scalar(*x, float),
            Kind::Text(_) => return Err(Diagnostic::error(e.span, "a text is no value here").into()),
            Kind::List(_) => return Err(Diagnostic::error(e.span, "a list of names is no value").into()),
            Kind::Array(array) => self.array(array, e.span)?,
            Kind::Ref(r) => self.reference(r)?,
            Kind::Of(function, index) => self.of_index(function, index, e.span)?,
            Kind::Call(call) => self.call(call, e.span, keep)?,
            Kind::Product(factors) => {
                let values = self.factors(factors, keep)?;
                let times = |a: &Name| values.iter().filter(|v| v.axes.contains(a)).count();
                let left: Vec<Name> =
                    union(&values).into_iter().filter(|a| keep.contains(a) || times(a) < 2).collect();
                contracted(&values, &left).map_err(|x| fault(e.span, &x))?
            }
            Kind::Quotient(two) => self.two(part(0, &two[..])?, part(1, &two[..])?, |a, b| a / b),
            Kind::Sum(terms) => {
                let mut sum: Option<Named> = None;
                for (i, _) in terms.iter().enumerate() {
                    let term = part(i, terms)?.float(float);
                    sum = Some(match sum {
                        Some(before) => self.two(before, term, |a, b| a + b),
                        None => term,
                    });
                }
                sum.unwrap_or_else(|| Named::scalar(0.0, float))
            }
            Kind::Negative(one) => {
                let one = self.eval(one, keep)?.float(float);
                Named { tensor: -&one.tensor, ..one }
            }
            Kind::Power(two) => match two[1].kind {
                Kind::Number(2.0) => {
                    let one = part(0, &two[..])?.float(float);
                    Named { tensor: one.tensor.square(), ..one }
                }
                _ => self.two(part(0, &two[..])?, part(1, &two[..])?, |a, b| a.pow(b)),
            },
            Kind::Compare(c, two) => self.two(part(0, &two[..])?, part(1, &two[..])?, |a, b| match c {
                Comparison::Eq => a.eq(b),
                Comparison::Ne => a.ne(b),
                Comparison::Lt => a.lt(b),
                Comparison::Le => a.le(b),
                Comparison::Gt => a.gt(b),
                Comparison::Ge => a.ge(b),
            }),
            Kind::And(two) => {
                let both = [part(0, &two[..])?.truth(), part(1, &two[..])?.truth()];
                pointwise(&both, |t| t[0].logical_and(t[1]))
            }
            Kind::Or(two) => {
                let both = [part(0, &two[..])?.truth(), part(1, &two[..])?.truth()];
                pointwise(&both, |t| t[0].logical_or(t[1]))
            }
            Kind::Not(one) => {
                let one = self.eval(one, keep)?.truth();
                Named { tensor: one.tensor.logical_not(), ..one }
            }
            Kind::Choose(three) => {
                let condition = part(0, &three[..])?.truth();
                let (yes, no) = (part(1, &three[..])?.float(float), part(2, &three[..])?.float(float));
                pointwise(&[condition, yes, no], |t| t[0].select(t[1], t[2]))
            }
            Kind::Case(cases, otherwise) => {
                let parts: Vec<&Expr> = e.parts();
                let one = |p: &Expr| {
                    let mut around = keep.clone();
                    parts.iter().filter(|q| !std::ptr::eq(**q, p)).for_each(|q| around.extend(occurrences(q)));
                    self.eval(p, &around)
                };
                let mut below = match otherwise {
                    Some(e) => one(e)?.float(float),
                    None => Named::scalar(0.0, float),
                };
                for [condition, value] in cases.iter().rev() {
                    let (c, v) = (one(condition)?.truth(), one(value)?.float(float));
                    below = pointwise(&[c, v, below], |t| t[0].select(t[1], t[2]));
                }
                below
            }
            Kind::Reduce(how, axes, body) => {
                let mut around = keep.clone();
                around.extend(axes.iter().cloned());
                let value = self.eval(body, &around)?.float(float);
                for axis in axes {
                    self.has(&value, axis, body.span)?;
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
            let what = format!("there is no index `{axis}` here");
            let fault = Diagnostic::error(span, what);
            let names: Vec<&str> = value.axes.iter().map(|a| &**a).collect();
            let fault = match nearest(axis, names.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.help(format!("the indices are {}", names.join(", "))),
            };
            fault.into()
        })
    }

    fn array(&self, array: &Array, span: Span) -> Eval<Named> {
        let tensor = Tensor::from_slice(&array.numbers, array.shape.clone()).to_dtype(self.options.float);
        tensor.check().map_err(|x| fault(span, &x))?;
        self.by_left(tensor, span)
    }

    /// A value without names takes those of the left side.
    fn by_left(&self, tensor: Tensor, span: Span) -> Eval<Named> {
        if tensor.rank() == self.left.len() || tensor.rank() == 0 {
            let axes = if tensor.rank() == 0 { Vec::new() } else { self.left.clone() };
            return Ok(Named::new(tensor, axes));
        }
        let what = format!("this has shape {}, but the left side has {} indices", tensor.shape(), self.left.len());
        Err(Diagnostic::error(span, what).and(self.equation.target.span, "the left side").into())
    }

    fn of_index(&self, function: &Name, index: &Name, span: Span) -> Eval<Named> {
        let declared = self.options.axes.get(index).map(|a| a.0);
        let Some(n) = self.sizes.get(index).map(|s| s.0).or(declared) else {
            let what = format!("the size of index `{index}` is not known here");
            return Err(Diagnostic::error(span, what).help(format!("declare it: axis {index} = 4")).into());
        };
        let places = Named::new(Tensor::iota(self.options.float, [n], 0), vec![index.clone()]);
        let Some(callee) = builtin::find(function, self.program) else { return Err(Fault::Silent) };
        let settings = self.settings(&[], Vec::new());
        let around = Around { left: &self.left, own: &|_, _| Err(Error::verify("no function of an index")) };
        let value = callee.apply(&[places], &settings, &around).map_err(|x| fault(span, &x))?;
        Ok(if value.tensor.rank() == 0 { Named::new(value.tensor, Vec::new()) } else { value })
    }

    fn settings(&self, given: &[(Name, Setting)], axes: Vec<isize>) -> Settings {
        let by_name = self.options.temperatures.get(&self.equation.target.name);
        let temperature = by_name.or_else(|| self.options.temperatures.get("*")).copied();
        Settings { given: given.to_vec(), axes, float: self.options.float, temperature }
    }

    fn call(&self, call: &Call, span: Span, keep: &Names) -> Eval<Named> {
        if &*call.function == "const" {
            return self.constant(call, span);
        }
        let Some(callee) = builtin::find(&call.function, self.program) else { return Err(Fault::Silent) };
        let mut given = Vec::new();
        for (k, value) in &call.named {
            given.push((k.clone(), self.setting(value)?));
        }
        let mut around = keep.clone();
        around.extend(bound_by(call));
        let params = callee.params();
        let mut args = Vec::with_capacity(call.args.len());
        for (i, arg) in call.args.iter().enumerate() {
            let mut value = self.eval(arg, &beside(&around, &call.args, arg))?;
            if !matches!(arg.kind, Kind::Ref(_)) {
                // What is computed on the way has its indices as the left side has them.
                let order = in_order(arg, &self.left, &value.axes.iter().cloned().collect());
                if order.len() == value.axes.len() {
                    value = Named::new(value.aligned(&order), order);
                }
            }
            let raw = matches!(params.get(i).map(String::as_str), Some("ids" | "target"));
            args.push(if raw { value } else { value.float(self.options.float) });
        }
        let axes = match (callee.shape(), args.first()) {
            (Shape::Along | Shape::Reduce, Some(first)) => self.axes(&given, &callee, first, call)?,
            (Shape::Positional, Some(first)) if given.iter().any(|(k, _)| &**k == "axis") => {
                self.axes(&given, &callee, first, call)?
            }
            _ => vec![-1],
        };
        let settings = self.settings(&given, axes);
        let inner = std::cell::RefCell::new(None);
        let own = |f: &Function, args: &[Named]| {
            self.own(f, args).map_err(|e| {
                *inner.borrow_mut() = Some(e);
                Error::value(f.name.to_string(), "failed")
            })
        };
        let result = callee.apply(&args, &settings, &Around { left: &self.left, own: &own });
        match (inner.take(), result) {
            (Some(Fault::Shown(d)), _) => Err(d.and(span, "called here").into()),
            (Some(Fault::Silent), _) => Err(Fault::Silent),
            (None, result) => result.map_err(|x| fault(span, &x)),
        }
    }

    fn constant(&self, call: &Call, span: Span) -> Eval<Named> {
        match call.args.first().map(|a| (&a.kind, a)) {
            Some((Kind::Array(array), _)) => self.array(array, span),
            Some((_, other)) => {
                let x = number(other, &self.options.numbers)?;
                Ok(Named::scalar(x, self.options.float))
            }
            None => Err(Diagnostic::error(span, "`const` needs a number or a list of numbers").into()),
        }
    }

    fn setting(&self, e: &Expr) -> Eval<Setting> {
        Ok(match &e.kind {
            Kind::Text(t) => Setting::Word(t.clone()),
            Kind::List(parts) => Setting::List(parts.iter().map(|p| self.setting(p)).collect::<Eval<_>>()?),
            Kind::Array(a) => Setting::List(a.numbers.iter().map(|x| Setting::Number(*x)).collect()),
            _ => Setting::Number(number(e, &self.options.numbers)?),
        })
    }

    /// The axes of a call as places in its first argument: as given, else the dotted index, else the last; a
    /// reduction without any goes over all of them.
    fn axes(&self, given: &[(Name, Setting)], callee: &builtin::Callee, first: &Named, call: &Call) -> Eval<Vec<isize>> {
        let span = call.named.iter().find(|(k, _)| &**k == "axis").map(|(_, v)| v.span);
        let span = span.or(call.args.first().map(|a| a.span)).unwrap_or_default();
        let one = |s: &Setting| match s {
            Setting::Word(w) => self.has(first, w, span).map(|p| p as isize),
            Setting::Number(x) if x.fract() == 0.0 && x.abs() <= first.axes.len() as f64 => Ok(*x as isize),
            _ => Err(Diagnostic::error(span, "an axis is the name of an index or its place").into()),
        };
        if let Some((_, s)) = given.iter().find(|(k, _)| &**k == "axis") {
            return match s {
                Setting::List(each) => each.iter().map(one).collect(),
                s => Ok(vec![one(s)?]),
            };
        }
        let dotted = self.equation.target.places.iter().find(|p| p.dotted).and_then(key);
        if let Some(at) = dotted.and_then(|d| first.position(&d)) {
            return Ok(vec![at as isize]);
        }
        if first.axes.is_empty() {
            return Err(Diagnostic::error(span, format!("`{}` needs an index to work along", call.function)).into());
        }
        let last = first.axes.len() as isize - 1;
        let single = matches!(&*callee.name(), "argmax" | "argmin" | "cross_entropy");
        if callee.shape() == Shape::Reduce && !single {
            return Ok((0..=last).collect());
        }
        Ok(vec![last])
    }

    /// A function of the program's own: its parameters take the last axes of the arguments, axes before those stay.
    fn own(&self, f: &Function, args: &[Named]) -> Eval<Named> {
        let mut values = Values::new();
        let mut names: HashMap<Name, Name> = HashMap::new();
        let mut batch: Vec<Name> = Vec::new();
        let outer = |a: &Name| Name::from(format!("^{a}"));
        for (param, arg) in f.params.iter().zip(args) {
            let Some(spare) = arg.axes.len().checked_sub(param.places.len()) else {
                let what = format!("`{}` of `{}` has {} indices, the argument has {}", param.name, f.name, param.places.len(), arg.axes.len());
                return Err(Diagnostic::error(param.span, what).into());
            };
            let brought: Vec<Name> = arg.axes[..spare].iter().map(outer).collect();
            for b in &brought {
                if !batch.contains(b) {
                    batch.push(b.clone());
                }
            }
            for (place, actual) in param.places.iter().zip(&arg.axes[spare..]) {
                if let Index::Named(formal, 0) = &place.index {
                    names.entry(formal.clone()).or_insert_with(|| actual.clone());
                }
            }
            values.insert(param.name.clone(), Some(Value { tensor: arg.tensor.clone(), batch: brought, start: 0 }));
        }
        let mut solver = crate::solve::Solver::new(self.program, self.options, &f.body, values, batch);
        solver.solve();
        if let Some(d) = solver.faults.into_iter().next() {
            return Err(d.into());
        }
        let Some(Some(value)) = solver.values.remove(&f.result.name) else { return Err(Fault::Silent) };
        let mut axes: Vec<Name> = value.batch.iter().map(|b| b.trim_start_matches('^').into()).collect();
        let own = keys(&f.result);
        let known = own.iter().all(|k| names.contains_key(k));
        if !known && axes.len() + own.len() == self.left.len() {
            axes = self.left.clone();
        } else {
            axes.extend(own.iter().map(|k| names.get(k).unwrap_or(k).clone()));
        }
        Ok(Named::new(value.tensor, axes).diagonal())
    }

    /// A tensor at its indices.
    fn reference(&self, r: &Ref) -> Eval<Named> {
        if let Some(x) = self.options.numbers.get(&r.name).filter(|_| r.places.is_empty()) {
            return Ok(Named::scalar(*x, self.options.float));
        }
        let value = self.value(r)?;
        let timed = self.timed(r);
        let places = r.places.iter().filter(|p| !(timed && matches!(p.index, Index::Time(..))));
        let mut parts = vec![Ix::Range(None, None, 1); value.batch.len()];
        let mut axes: Vec<(Name, i64, bool)> = value.batch.iter().map(|b| (b.clone(), 0, false)).collect();
        for (i, place) in places.enumerate() {
            let n = value.tensor.dim((value.batch.len() + i) as isize) as i64;
            let within = |at: i64| {
                let from_front = if at < 0 { at + n } else { at };
                if (0..n).contains(&from_front) {
                    return Ok(Ix::At(from_front as isize));
                }
                let what = format!("place {at} is outside of `{}`, which has {n} places there", r.name);
                Err(Fault::from(Diagnostic::error(place.span, what)))
            };
            let named = key(place);
            match &place.index {
                Index::Named(_, by) => axes.extend(named.map(|k| (k, *by, false))),
                Index::Time(_, by) => axes.extend(named.map(|k| (k, *by - value.start, true))),
                Index::Slice(..) => axes.extend(named.map(|k| (k, 0, false))),
                Index::At(_) | Index::Moment(_) => {}
            }
            parts.push(match &place.index {
                Index::At(at) => within(*at)?,
                Index::Moment(at) => within(if *at < 0 { *at } else { at - value.start })?,
                Index::Slice(_, a, b, by) => {
                    let bound = |x: &Option<i64>| x.map(|x| x as isize);
                    Ix::Range(bound(a), bound(b), bound(by).unwrap_or(1))
                }
                _ => Ix::Range(None, None, 1),
            });
        }
        let plain = parts.iter().all(|p| matches!(p, Ix::Range(None, None, 1)));
        let mut tensor = if plain { value.tensor.clone() } else { value.tensor.at(parts) };
        for (axis, (_, by, time)) in axes.iter().enumerate() {
            let n = tensor.dim(axis as isize);
            let len = if *time { self.options.steps } else { n };
            if *by != 0 || len != n {
                tensor = window(&tensor, axis, *by, len);
            }
        }
        tensor.check().map_err(|x| fault(r.span, &x))?;
        Ok(Named::new(tensor, axes.into_iter().map(|a| a.0).collect()).diagonal())
    }
}

/// Elements `from..from + len` along an axis; 0 where there are none.
pub(crate) fn window(t: &Tensor, axis: usize, from: i64, len: usize) -> Tensor {
    let (n, len) = (t.dim(axis as isize) as i64, len as i64);
    let (first, last) = (from.clamp(0, n), (from + len).clamp(0, n));
    let inside = t.narrow(axis as isize, first as usize, (last - first).max(0) as usize);
    let mut padding = vec![(0, 0); t.rank()];
    let before = (-from).clamp(0, len);
    padding[axis] = (before, len - before - (last - first).max(0));
    if padding[axis] == (0, 0) { inside } else { inside.pad_zeros(&padding) }
}

