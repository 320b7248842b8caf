//! Evaluates calls: their arguments, settings and axes, and functions of the program.

use super::{Eval, Fault, Term, Value, Values, fault, in_words, index_fault, real};
use crate::builtin::named::{Named, meeting};
use crate::builtin::written::Written;
use crate::builtin::{self, Around, AtStep, Base, Callee, Param, Setting, Settings, Shape, Takes};
use crate::elaborate::core::{Arg, Call, Equation, Kind};
use crate::elaborate::number;
use crate::elaborate::scope::{key, keys};
use crate::syntax::ast::{self, Function, Index, Name};
use crate::syntax::diagnostic::{Diagnostic, indices};
use crate::syntax::indices::moving;
use crate::syntax::limit::{MAX_CALLS, bounded};
use crate::syntax::source::Span;
use gradus_ir::{Class, DType, Error, Kind as ErrorKind, Message};
use gradus_tensor::Tensor;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// The key of the current time step among the values at that step; not a name that a program can write.
pub(crate) const NOW: &str = "*";

/// Returns the error for a function that does not accept complex numbers.
fn no_complex(function: &Name, span: Span) -> Fault {
    let what = format!("`{function}` is not defined for complex numbers");
    let fault = Diagnostic::error(span, what).here("complex");
    fault.help("use its parts, real(…) and imag(…), or its magnitude, abs(…)").into()
}

/// Returns the error of a builtin, with the builtin's name and its arguments instead of the op and its
/// operands.
fn refused(function: &str, args: &[Named], span: Span, e: &Error) -> Fault {
    if let Some(what) = index_fault(e, Some(function)) {
        return Diagnostic::error(span, what).into();
    }
    // An op inside of the function that was called keeps its name.
    let inner = e.ops().get(1..).unwrap_or_default();
    let what = match e.kind() {
        ErrorKind::Shape { what, why } | ErrorKind::Value { what, why }
            if inner.is_empty() && *what == Message::from(function) =>
        {
            format!("`{function}` {why}")
        }
        kind => {
            let parts = inner.iter().cloned().chain([kind.to_string()]);
            format!("`{function}`: {}", parts.collect::<Vec<_>>().join(": "))
        }
    };
    let name = |a: &Name| if a.contains(' ') { "?".to_string() } else { a.to_string() };
    let one = |a: &Named| match a.axes.is_empty() {
        true => "a number".to_string(),
        false => {
            let names: Vec<String> = a.axes.iter().map(name).collect();
            format!("[{}] of shape {}", names.join(", "), a.tensor.shape())
        }
    };
    let given: Vec<String> = args.iter().map(one).collect();
    let fault = Diagnostic::error(span, what);
    match given.is_empty() {
        true => fault.into(),
        false => fault.help(format!("the arguments are {}", given.join(" and "))).into(),
    }
}

/// Returns the axes `own` in the order of `names`, unless some are named by the left side only.
fn in_order(names: &[Name], own: Vec<Name>) -> Vec<Name> {
    let out: Vec<Name> = names.iter().filter(|n| own.contains(n)).cloned().collect();
    if out.len() == own.len() { out } else { own }
}

impl Term<'_> {
    pub(super) fn of_index(&self, function: &Name, callee: &Callee, index: &Name, span: Span) -> Eval<Named> {
        if let Some(moment) = self.current_step(index).filter(|_| &**function != "size") {
            let moment = moment.to_dtype(DType::I64).reshape([1]);
            let value = self.of_places(callee, moment, index, span)?.in_full();
            return Ok(Named::whole(&value.first().tensor, Vec::new(), self.options.float));
        }
        if let Some((go, at)) = self.core.program.times.get(index) {
            let what =
                format!("the number of steps of `{index}` is not known: time ends when `{go}` does not hold");
            return Err(Diagnostic::error(span, what).and(*at, "declared here").into());
        }
        let time = |name: &str| {
            let is_time = |e: &Equation| {
                let mut all = e.reads().into_iter().chain([&e.target]);
                all.any(|r| moving(&r.places).is_some_and(|t| **t.0 == *name))
            };
            let own = is_time(self.equation) || self.core.equations.iter().any(is_time);
            own.then_some(self.options.steps)
        };
        let left = self.equation.target.places.iter().position(|p| key(p).as_ref() == Some(index));
        let kept_by = left.and_then(|p| self.kept_by.get(p).copied().flatten());
        let declared = |name: &str| self.options.axes.get(name).map(|a| a.0);
        let said = self.sizes.get(index).map(|s| s.0).or_else(|| time(index)).or(declared(index)).or(kept_by);
        // A primed index without a size has the size of the time, or the declared size, of its name without primes.
        let stem = index.trim_end_matches('\'');
        let Some(n) = said.or_else(|| declared(stem).or_else(|| time(stem))) else {
            // If a term that would determine the size has failed, the error was reported there.
            let failed =
                |e: &&Equation| e.reads().iter().any(|r| matches!(self.values.get(&r.name), Some(None)));
            let kept_by = self.core.equations.iter().filter(|e| e.target.name == self.equation.target.name);
            if left.is_some() && kept_by.into_iter().any(|e| failed(&e)) {
                return Err(Fault::Silent);
            }
            let what = format!("the size of index `{index}` is not known here");
            let help = format!("declare it (axis {index} = …)");
            return Err(Diagnostic::error(span, what).help(help).into());
        };
        let places = bounded(&[n], || Tensor::iota(DType::I64, [n], 0));
        self.of_places(callee, places, index, span)
    }

    /// Returns the number of the current time step.
    pub(super) fn step(&self) -> Option<&Tensor> {
        self.moment?.get(&(NOW.into(), 0)).map(|v| &v.tensor)
    }

    /// Returns the time step at which the line is computed, if it has time.
    pub(super) fn at_step(&self) -> Option<AtStep> {
        let time = || moving(&self.equation.target.places).map(|t| AtStep::Axis(t.0.clone()));
        self.step().cloned().map(AtStep::Now).or_else(time)
    }

    /// Returns the number of the current time step, if `index` is the time of this line.
    pub(super) fn current_step(&self, index: &Name) -> Option<&Tensor> {
        moving(&self.equation.target.places).filter(|t| t.0 == index)?;
        self.step()
    }

    fn of_places(&self, callee: &Callee, places: Tensor, index: &Name, span: Span) -> Eval<Named> {
        let places = Named::new(places, vec![index.clone()]);
        let settings = self.settings(&[], Vec::new(), &self.equation.target.name);
        let own = |_: &Function, _: &[Named], _: &[Name]| Err(Error::verify("no function of an index"));
        let around = Around { left: &self.left, whole: false, own: &own };
        let value = callee.apply(&[places], &settings, &around).map_err(|x| fault(span, &x))?;
        let axes = if value.tensor.rank() == 0 { Vec::new() } else { value.axes };
        Ok(Named::whole(&value.tensor, axes, self.options.float))
    }

    fn settings(&self, given: &[(Name, Setting)], axes: Vec<isize>, like: &Name) -> Settings {
        let by_name = self.options.temperatures.get(like);
        let temperature = by_name.or_else(|| self.options.temperatures.get("*")).copied();
        Settings { given: given.to_vec(), axes, float: self.options.float, temperature }
    }

    pub(super) fn call(&self, call: &Call, span: Span) -> Eval<Named> {
        let callee = &call.callee;
        let mut given = Vec::new();
        for (k, value) in &call.settings {
            given.push((k.clone(), self.setting(value)?));
        }
        let pulled = given.iter().any(|(k, _)| &**k == "wrt");
        let params = callee.bound(call.args.len(), pulled);
        let mut args = Vec::with_capacity(call.args.len());
        for (i, Arg { value: arg, names }) in call.args.iter().enumerate() {
            let mut value = self.mixed(call, || self.eval(arg))?;
            if !matches!(arg.kind, Kind::Ref(_)) && value.axes.len() > 1 {
                // The axes of a computed argument are in the order in which its indices are written. Axes that a call
                // or branch added come first, because a function's own axes are the last.
                let brought = |a: &Name| {
                    let by_branch = || self.masks.borrow().iter().any(|m| m.axes.contains(a));
                    !arg.has_index(a) && (self.batch.contains(a) || by_branch())
                };
                let (mut order, said): (Vec<Name>, Vec<Name>) = value.axes.iter().cloned().partition(brought);
                order.extend(in_order(names, said));
                if order != value.axes {
                    value = Named::new(value.aligned(&order), order);
                }
            }
            let takes = params.get(i).map(|p| p.takes);
            if let Some(judged) = callee.judges(i, takes, value.tensor.dtype().class(), &given) {
                self.options.watch(judged, callee.name(), arg.span, &value, self.at_step().as_ref());
            }
            if &*call.function == "cast"
                && let Some(x) = value.written.as_ref().and_then(Written::beyond)
                && let Some((_, Setting::Word(to))) = given.iter().find(|(k, _)| &**k == "to")
                && DType::parse(to).is_some_and(|d| d.class() == Class::Int)
            {
                let what = format!("{x} is too large for a 64-bit integer");
                return Err(Diagnostic::error(arg.span, what).into());
            }
            if takes == Some(Takes::Mask) && value.tensor.dtype() != DType::Bool {
                let what = format!("the mask of `{}` must be a condition, not numbers", call.function);
                let help = format!(
                    "write a condition that is true for keys to attend to, as in `{} != 0`; masks that are added to the scores are not supported",
                    arg.surface()
                );
                return Err(Diagnostic::error(arg.span, what).help(help).into());
            }
            if let Some(Takes::Ids | Takes::Truth | Takes::Classes) = takes {
                value = real(value, arg.span, "is not a position, class or boolean")?;
            }
            args.push(value);
        }
        let is_complex = |(_, v): &(&Arg, &Named)| v.tensor.dtype().is_complex();
        let complex = call.args.iter().zip(&args).find(is_complex).map(|(a, _)| a.value.span);
        // Arguments next to complex ones become complex; the cotangent of a real argument is made real again.
        let real_again = call.by.and_then(|at| args.get(at)).is_some_and(|x| !x.tensor.dtype().is_complex());
        let args = self.meeting(callee, &params, &args);
        let axes = match (callee.shape(), args.first()) {
            (_, Some(first)) if call.axes.is_some() => {
                let one = |axis: &Name| self.has(first, axis, call.axes_at).map(|p| p as isize);
                call.axes.iter().flatten().map(one).collect::<Eval<_>>()?
            }
            (shape, Some(first)) if shape.has_axes() => self.axes(&given, first, call)?,
            (Shape::Positional, Some(first)) if given.iter().any(|(k, _)| &**k == "axis") => {
                self.axes(&given, first, call)?
            }
            _ => vec![-1],
        };
        let settings = self.settings(&given, axes, &call.like);
        let inner = std::cell::RefCell::new(None);
        let own = |f: &Function, args: &[Named], left: &[Name]| {
            self.own(f, args, left).map_err(|e| {
                *inner.borrow_mut() = Some(e);
                Error::value(f.name.to_string(), "failed")
            })
        };
        let around = Around { left: &self.left, whole: call.whole, own: &own };
        let apply = || callee.apply(&args, &settings, &around);
        let result = if callee.order == 0 { apply() } else { self.options.derived(apply) };
        let result = result.map(|value| match real_again && value.tensor.dtype().is_complex() {
            true => value.with(value.tensor.real()),
            false => value,
        });
        // Functions that take integers as they are return integers, except `div` and `pow`.
        let closed = callee.order == 0 && !matches!(&*call.function, "div" | "pow");
        let is_number = |i: &usize| params.get(*i).is_some_and(|p| p.takes == Takes::Any);
        let numbers: Vec<usize> = (0..args.len()).filter(is_number).collect();
        let result = result.map(|value| match closed && !numbers.is_empty() {
            true => value.of_no_kind(&numbers.iter().map(|i| args[*i].clone()).collect::<Vec<_>>(), |full| {
                let mut args = args.clone();
                numbers.iter().zip(full).for_each(|(i, n)| args[*i] = n.clone());
                callee.apply(&args, &settings, &around).ok()
            }),
            false => value,
        });
        match (inner.take(), result) {
            (Some(Fault::Shown(d)), _) => Err(d.and(span, "called here").into()),
            (Some(Fault::Silent), _) => Err(Fault::Silent),
            (None, result) => result.map_err(|x| match (complex, x.kind()) {
                (Some(at), ErrorKind::DType { .. }) => no_complex(&call.function, at),
                // Positions and the tensor they index are easily confused, so the error shows the signature.
                _ if params.iter().any(|p| p.takes == Takes::Ids) => {
                    let what = in_words(&x, Some(&call.function));
                    let help = format!("the signature is {}", callee.signature().text(&call.function));
                    Diagnostic::error(span, what).help(help).into()
                }
                _ if matches!(callee.base, Base::Table(_)) => refused(&call.function, &args, span, &x),
                _ => fault(span, &x),
            }),
        }
    }

    /// Converts arguments to the dtypes that a function takes: numbers to a common dtype, others unchanged. The
    /// program's own functions take each number in its own dtype.
    fn meeting(&self, callee: &builtin::Callee, params: &[Param<Name>], args: &[Named]) -> Vec<Named> {
        let float = self.options.float;
        if matches!(callee.base, Base::User(_)) {
            return args.iter().map(|a| a.number(float)).collect();
        }
        let takes = |i: usize| params.get(i).map_or(Takes::Numbers, |p| p.takes);
        let is_raw = |i: &usize| {
            matches!(takes(*i), Takes::AsIs | Takes::Ids | Takes::Truth | Takes::Mask | Takes::Classes)
        };
        let (raw, numbers): (Vec<usize>, Vec<usize>) = (0..args.len()).partition(is_raw);
        let number =
            |i: &usize| if takes(*i) == Takes::Any { args[*i].clone() } else { args[*i].float(float) };
        let met = meeting(&numbers.iter().map(number).collect::<Vec<_>>(), float);
        let mut out = args.to_vec();
        raw.into_iter().for_each(|i| out[i] = args[i].exact());
        numbers.into_iter().zip(met).for_each(|(i, v)| out[i] = v);
        out
    }

    fn setting(&self, e: &ast::Expr) -> Eval<Setting> {
        use ast::Kind;
        Ok(match &e.kind {
            Kind::Text(t) => Setting::Word(t.clone()),
            Kind::List(parts) => Setting::List(parts.iter().map(|p| self.setting(p)).collect::<Eval<_>>()?),
            Kind::Array(a) if !a.shape.is_empty() => {
                Setting::List(a.numbers.iter().map(|x| Setting::Number(*x)).collect())
            }
            _ => Setting::Number(number(e, &self.options.numbers)?),
        })
    }

    /// Returns the axes of a call as positions in its first argument, whose axes are known only now: those of
    /// `axis=`, else the dotted index, else the last. A reduction without either is over all axes.
    fn axes(&self, given: &[(Name, Setting)], first: &Named, call: &Call) -> Eval<Vec<isize>> {
        let span = call.axes_at;
        let rank = first.axes.len() as f64;
        let one = |s: &Setting| match s {
            Setting::Word(w) => self.has(first, w, span).map(|p| p as isize),
            Setting::Number(x) if x.fract() == 0.0 && (-rank..rank).contains(x) => {
                Ok(if *x < 0.0 { *x + rank } else { *x } as isize)
            }
            Setting::Number(x) => {
                let names: Vec<&str> = first.axes.iter().map(|a| &**a).collect();
                let fault = Diagnostic::error(span, format!("there is no axis {x} here"));
                Err(fault.help(format!("the indices are {}", names.join(", "))).into())
            }
            Setting::List(_) => {
                Err(Diagnostic::error(span, "an axis must be the name of an index or its position").into())
            }
        };
        if let Some((_, s)) = given.iter().find(|(k, _)| &**k == "axis") {
            return match s {
                Setting::List(each) => each.iter().map(one).collect(),
                s => Ok(vec![one(s)?]),
            };
        }
        if let Some(at) = call.dotted.as_ref().and_then(|d| first.position(d)) {
            return Ok(vec![at as isize]);
        }
        if first.axes.is_empty() {
            return Err(
                Diagnostic::error(span, format!("`{}` needs an index to work along", call.function)).into()
            );
        }
        let last = first.axes.len() as isize - 1;
        if call.callee.shape() == Shape::Reduce {
            return Ok((0..=last).collect());
        }
        Ok(vec![last])
    }

    /// Calls a function of the program. Its parameters take the last axes of the arguments; leading axes are kept.
    fn own(&self, f: &Function, args: &[Named], left: &[Name]) -> Eval<Named> {
        if self.options.calls.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
            let what = format!("the program calls its own functions more than {MAX_CALLS} times");
            return Err(Diagnostic::error(f.span, what).into());
        }
        let mut values = Values::new();
        let mut names: HashMap<Name, Name> = HashMap::new();
        let mut batch: Vec<Name> = Vec::new();
        let outer = |a: &Name| Name::from(format!("^{a}"));
        for (param, arg) in f.params.iter().zip(args) {
            let Some(spare) = arg.axes.len().checked_sub(param.places.len()) else {
                let (has, given) = (indices(param.places.len()), arg.axes.len());
                let what = format!(
                    "parameter `{}` of `{}` has {has}, but the argument has {given}",
                    param.name, f.name
                );
                return Err(Diagnostic::error(param.span, what).about(&f.name).into());
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
            values
                .insert(param.name.clone(), Some(Value { batch: brought, ..Value::new(arg.tensor.clone()) }));
        }
        let own;
        let options = match self.steps_of(f, &values) {
            Some(steps) => {
                own = self.options.clone().lasting(steps);
                &own
            }
            None => self.options,
        };
        let body = self.core.body(&f.name);
        let mut solver = crate::lower::solver::Solver::new(self.core, options, body, values, batch);
        solver.results(std::slice::from_ref(&f.result.name));
        solver.solve();
        if let Some(d) = solver.faults.into_iter().next() {
            return Err(d.into());
        }
        let Some(Some(value)) = solver.values.remove(&f.result.name) else { return Err(Fault::Silent) };
        let tensor = self.options.judge(value.tensor, solver.verdicts);
        // Removes one prefix only: an axis may have been added by several nested calls.
        let within = |b: &Name| Name::from(b.strip_prefix('^').unwrap_or(b));
        let mut axes: Vec<Name> = value.batch.iter().map(within).collect();
        let own = keys(&f.result);
        let known = own.iter().all(|k| names.contains_key(k));
        if !known && axes.len() + own.len() == left.len() {
            axes = left.to_vec();
        } else {
            axes.extend(own.iter().map(|k| names.get(k).unwrap_or(k).clone()));
        }
        Ok(Named::new(tensor, axes).diagonal())
    }

    /// Returns the number of time steps of a function: that of `axis`, or the extent of a parameter that has
    /// the time among its indices. If neither exists, the function runs within the time of its caller.
    fn steps_of(&self, f: &Function, values: &Values) -> Option<usize> {
        let (time, _) = f.body.iter().find_map(|e| moving(&e.target.places))?;
        if let Some((n, _)) = self.options.axes.get(time) {
            return Some(*n);
        }
        if self.core.program.times.contains_key(time) {
            return Some(1);
        }
        f.params.iter().find_map(|p| {
            let axis = p.places.iter().position(|place| key(place).as_ref() == Some(time))?;
            let value = values.get(&p.name)?.as_ref()?;
            Some(value.tensor.dim((value.batch.len() + axis) as isize))
        })
    }
}
