//! Names that need themselves at other moments: one loop over time, forwards or backwards.

use super::Solver;
use super::kinds::{Before, zeros};
use crate::ast::{Call, Equation, Expr, Index, Kind, Name, Place, Ref};
use crate::builtin;
use crate::diagnostic::Diagnostic;
use crate::eval::{Eval, Fault, NOW, Value, fault, window};
use crate::limit::fits;
use crate::named::{Named, common};
use crate::order::components;
use crate::program::Program;
use crate::scope::{Names, laid};
use crate::source::Span;
use crate::time::{from_moment, is_timed, moving};
use crate::verdict::{Counts, Judged, Verdict};
use gradus_ir::{Aval, DType, Error, Shape};
use gradus_tensor::{ScanOptions, Tensor, scan, trace_function};
use std::cell::RefCell;
use std::collections::HashMap;

fn offset(places: &[Place]) -> Option<i64> {
    moving(places).map(|t| t.1)
}

/// The names of a group, and which each is.
type Group = HashMap<Name, usize>;

/// Whether an equation reads any of these names.
fn loops(e: &Equation, names: &Group) -> bool {
    e.reads().iter().any(|r| names.contains_key(&r.name))
}

/// Whether an expression calls one of the program's own functions with tensors at a moment of this time for which its
/// parameters have no place. To one of numbers alone time is an index like any other, as to `exp`.
pub(crate) fn calls_at(e: &Expr, time: &Name, program: &Program) -> bool {
    let without = |call: &Call| {
        let Some(f) = program.functions.get(builtin::stem(&call.function).0) else { return false };
        let lacks = |(arg, param): (&Expr, &Ref)| {
            let moves = arg.any_ref(&mut |r| moving(&r.places).is_some_and(|t| t.0 == time));
            let keep = || Names::from_iter([time.clone()]);
            moves && laid(arg, &keep(), program).len() > param.places.len()
        };
        call.args.iter().zip(&f.params).any(lacks) && !builtin::is_of_numbers(f, program)
    };
    matches!(&e.kind, Kind::Call(call) if without(call))
        || e.parts().into_iter().any(|p| calls_at(p, time, program))
}

/// One reading of a name of the group by another: how many moments before.
struct Edge {
    reader: usize,
    read: usize,
    lag: i64,
}

impl Program {
    /// Whether an equation is evaluated moment by moment though it may not need itself: for a function that is called so, or
    /// since its time ends by a condition.
    pub(crate) fn is_by_moment(&self, e: &Equation) -> bool {
        let Some((time, _)) = moving(&e.target.places) else { return false };
        let mut parts = [&e.value].into_iter().chain(&e.guard);
        let called = !self.functions.is_empty() && parts.any(|p| calls_at(p, time, self));
        called || self.times.contains_key(time)
    }
}

impl<'a> Solver<'a> {
    fn steps(&self, e: &Equation, names: &Group) -> bool {
        loops(e, names) || self.program.is_by_moment(e)
    }

    /// Whether an equation moves with a time that ends by a condition.
    fn is_endless(&self, e: &Equation) -> bool {
        moving(&e.target.places).is_some_and(|t| self.program.times.contains_key(t.0))
    }

    pub(super) fn stream(&mut self, group: &[usize]) -> Eval<()> {
        let names: Vec<Name> = group.iter().map(|i| self.names[*i].0.clone()).collect();
        let at: Group = names.iter().enumerate().map(|(g, n)| (n.clone(), g)).collect();
        let edges = self.edges(group, &at)?;
        let span = self.own(group[0]).first().copied().map(|e| e.span).unwrap_or_default();
        let forwards = edges.iter().all(|e| e.lag >= 0);
        if !forwards && !edges.iter().all(|e| e.lag <= 0) {
            let what = "these equations need both earlier and later moments of themselves";
            return Err(Diagnostic::error(span, what).into());
        }
        // Within one moment, names in the order they need each other.
        let mut now = vec![Vec::new(); group.len()];
        edges.iter().filter(|e| e.lag == 0).for_each(|e| now[e.reader].push(e.read));
        let order = components(&now);
        if let Some(own) = order.iter().find(|c| c.len() > 1 || now[c[0]].contains(&c[0])) {
            let span = self.own(group[own[0]]).first().map_or(span, |e| e.span);
            let what = format!("`{}` needs itself at the same moment", names[own[0]]);
            let target = self.own(group[own[0]]).first().map(|e| &e.target);
            let with = |index: &dyn Fn(&Name) -> Index| {
                let place = |p: &Place| match &p.index {
                    Index::Time(t, 0) => index(t).to_string(),
                    other => other.to_string(),
                };
                let places = target.iter().flat_map(|t| &t.places).map(place);
                format!("{}[{}] = …", names[own[0]], places.collect::<Vec<_>>().join(","))
            };
            let ahead = with(&|t| Index::Time(t.clone(), 1));
            let laid_out = with(&|t| Index::Named(t.clone(), 0));
            let help = format!(
                "a state is written one step ahead: {ahead}; what is to come to rest at each moment has a plain index: {laid_out}"
            );
            return Err(Diagnostic::error(span, what).help(help).into());
        }
        let order: Vec<usize> = order.into_iter().flatten().collect();
        let sizes = self.group_sizes(group)?;
        self.keep_extents(group, &sizes);
        let lags = edges.iter().map(|e| e.lag.unsigned_abs() as usize).max().unwrap_or(1).max(1);
        self.walk(group, &names, &at, &order, &sizes, lags, forwards, span)
    }

    fn edges(&self, group: &[usize], names: &Group) -> Eval<Vec<Edge>> {
        let mut edges = Vec::new();
        for (reader, i) in group.iter().enumerate() {
            for e in self.own(*i).into_iter().filter(|e| self.steps(e, names)) {
                self.check_times(e)?;
                for r in e.reads() {
                    let Some(&read) = names.get(&r.name) else { continue };
                    match (offset(&e.target.places), from_moment(&e.target, &r.places)) {
                        (Some(a), Some(b)) => edges.push(Edge { reader, read, lag: a - b }),
                        _ => {
                            let what =
                                format!("`{}` needs itself, but not at one moment from another", r.name);
                            return Err(Diagnostic::error(r.span, what).into());
                        }
                    }
                }
            }
        }
        Ok(edges)
    }

    /// Time is either at hand or laid out, not both in one equation of a loop.
    fn check_times(&self, e: &Equation) -> Eval<()> {
        let time = moving(&e.target.places).map(|t| t.0);
        for r in e.reads() {
            let plain = |p: &&Place| matches!((&p.index, time), (Index::Named(n, _), Some(t)) if n == t);
            if let Some(p) = r.places.iter().find(plain) {
                let what = format!("`{}` stands for time here", p.index);
                return Err(Diagnostic::error(p.span, what).help(format!("write *{}", p.index)).into());
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn walk(
        &mut self,
        group: &[usize],
        names: &[Name],
        all: &Group,
        order: &[usize],
        sizes: &[Vec<Option<usize>>],
        lags: usize,
        forwards: bool,
        span: Span,
    ) -> Eval<()> {
        let steps = self.options.steps as i64;
        // The moments of all names of the group together; a given start stands at moment 0.
        let moments = self.moments(group.iter().flat_map(|i| self.own(*i))).unwrap_or((0, steps - 1));
        let given = names.iter().any(|n| matches!(self.values.get(n), Some(Some(_))));
        let (low, high) = if given { (moments.0.min(0), moments.1.max(0)) } else { moments };
        let length = (high - low + 1).max(0) as usize;
        let most = sizes.iter().map(|s| s.iter().flatten().fold(1usize, |n, e| n.saturating_mul(*e))).max();
        fits(&[length, most.unwrap_or(1)]).map_err(|e| fault(span, &e))?;
        // Those of each name alone, which are all that others see of it.
        let span_of = |g: usize| {
            let own = self.moments(self.own(group[g]).into_iter()).unwrap_or((low, high));
            let given = matches!(self.values.get(&names[g]), Some(Some(_)));
            if given { (own.0.min(0), own.1.max(0)) } else { own }
        };
        let spans: Vec<(i64, i64)> = (0..names.len()).map(span_of).collect();
        // Everything from outside as stacks of slices over those moments.
        let mut stacks: Vec<Tensor> = Vec::new();
        let mut slices: HashMap<(Name, i64), usize> = HashMap::new();
        let moment = Tensor::iota(self.options.float, [length], 0) + low as f64;
        stacks.push(moment);
        for e in group.iter().flat_map(|i| self.own(*i)).filter(|e| self.steps(e, all)) {
            let by = offset(&e.target.places).unwrap_or(0);
            for r in e.reads().into_iter().filter(|r| !all.contains_key(&r.name)) {
                let Some(own) = from_moment(&e.target, &r.places) else { continue };
                // Equations written for moment t + by run when that moment is at hand.
                let shift = own - by;
                if slices.contains_key(&(r.name.clone(), shift)) {
                    continue;
                }
                let Some(Some(v)) = self.values.get(&r.name) else { return Err(Fault::Silent) };
                let is_time = |p: &Place| matches!(p.index, Index::Time(..));
                let axis = v.batch.len() + r.places.iter().position(is_time).unwrap_or(0);
                let rows = window(&v.tensor, axis, low + shift - v.start, length).movedim(axis as isize, 0);
                slices.insert((r.name.clone(), shift), stacks.len());
                stacks.push(rows);
            }
        }
        // Terms that do not need the group, and given starts, are known for all moments at once. All names have all axes that
        // a call brought, in front.
        let lead: Vec<usize> = self.batch.iter().map(|b| self.brought_extent(b)).collect();
        let extents = |g: usize| {
            let own = sizes[g].iter().zip(self.time_places(group[g])).filter(|(_, time)| !time);
            lead.iter().copied().chain(own.map(|(n, _)| n.unwrap_or(1))).collect::<Vec<_>>()
        };
        let first_extra = stacks.len();
        let mut before = Vec::new();
        for (g, i) in group.iter().enumerate() {
            let (rows, own) = self.known(*i, all, &names[g], &extents(g), (low, high), spans[g].1)?;
            stacks.push(rows);
            before.push(own);
        }
        let inputs: Vec<&Tensor> = stacks.iter().collect();
        let inside: RefCell<Option<Fault>> = RefCell::new(None);
        let float = self.options.float;
        let found: RefCell<Vec<DType>> = RefCell::new(vec![float; names.len()]);
        // As long as dtypes are open, truth values stand for numbers of any.
        let step = |dtypes: &[DType], open: bool, carries: &[Tensor], at: &[Tensor]| {
            let mut known: Vec<Option<Tensor>> = vec![None; names.len()];
            for &g in order {
                let earlier = |name: &Name, lag: i64, known: &[Option<Tensor>]| {
                    let own = *all.get(name)?;
                    match lag.unsigned_abs() as usize {
                        0 => known[own].clone(),
                        lag => carries.get(own * lags + lag - 1).cloned(),
                    }
                };
                match self.at_once(
                    group[g],
                    &sizes[g],
                    &at[0],
                    &slices,
                    at,
                    &|n, lag| earlier(n, lag, &known),
                    all,
                    open,
                ) {
                    Ok(sum) => {
                        let extra = &at[first_extra + g];
                        let value = match (sum, before[g]) {
                            (None, Before::Open) if open => extra.to_dtype(DType::Bool),
                            (None, _) => extra.to_dtype(dtypes[g]),
                            (Some(sum), Before::Nothing) => sum,
                            (Some(sum), Before::Open) if sum.dtype() != DType::Bool => {
                                &sum + &extra.to_dtype(sum.dtype())
                            }
                            (Some(sum), Before::Open) if open => sum,
                            (Some(sum), Before::Open) => sum.to_dtype(dtypes[g]) + extra.to_dtype(dtypes[g]),
                            (Some(sum), Before::Known(_)) => &sum + extra,
                        };
                        found.borrow_mut()[g] = value.dtype();
                        known[g] = Some(value);
                    }
                    Err(fault) => {
                        *inside.borrow_mut() = Some(fault);
                        let failed = Tensor::failed(Error::value("an equation", "failed"));
                        return (vec![failed.clone(); carries.len()], vec![failed; names.len()]);
                    }
                }
            }
            let now = known.into_iter().flatten().zip(dtypes).map(|(t, d)| t.to_dtype(*d));
            let now: Vec<Tensor> = now.collect();
            let mut next = Vec::new();
            for (g, value) in now.iter().enumerate() {
                next.push(value.clone());
                next.extend(carries[g * lags..(g + 1) * lags - 1].iter().cloned());
            }
            (next, now)
        };
        // A step of names of some dtypes, for the dtypes that it gives.
        let round = |dtypes: &[DType], open: bool| {
            let own = dtypes.iter().enumerate().map(|(g, d)| Aval::new(*d, Shape::from(&extents(g)[..])));
            let rows = inputs.iter().map(|t| Aval::new(t.dtype(), Shape::from(&t.shape()[1..])));
            let avals: Vec<Aval> = own.flat_map(|a| std::iter::repeat_n(a, lags)).chain(rows).collect();
            let (count, step) = (names.len() * lags, &step);
            let _ = trace_function(&avals, |t: &[Tensor]| step(dtypes, open, &t[..count], &t[count..]).0);
            found.borrow().clone()
        };
        let ends = self.goes_on(group);
        if let Some((_, go, at)) =
            ends.filter(|(_, go, _)| !all.contains_key(*go) || !slices.is_empty() || lags > 1)
        {
            return Err(self.endless(go, at));
        }
        let dtypes = self.kinds_of_steps(&before, &inside, round)?;
        let zeros = zeros(&dtypes, &extents, lags);
        if let Some((time, go, ends)) = ends {
            let go = all.get(go).copied().unwrap_or(0);
            // The moment at hand and all names at it, from the first moment on; every later one has the same terms besides.
            let row = |k: usize| {
                stacks.iter().skip(1).map(|t| t.at(k.min(length - 1) as isize)).collect::<Vec<_>>()
            };
            let (first, later) = (row(0), row(1));
            let at = |moment: &Tensor, rows: &[Tensor]| [&[moment.to_dtype(float)], rows].concat();
            let begin = Tensor::full([], 0i64);
            let most = self.options.most_steps;
            let holds = |c: &[Tensor]| c[1 + go].to_dtype(DType::Bool).any(());
            let (next, _) = step(&dtypes, false, &zeros, &at(&begin, &first));
            let init: Vec<&Tensor> = [&begin].into_iter().chain(&next).collect();
            let on = |c: &[Tensor]| holds(c).logical_and(&c[0].lt(most as f64));
            let last = self.options.turns(Counts::Each, &init, None, on, |c: &[Tensor]| {
                let moment = &c[0] + 1i64;
                let (next, _) = step(&dtypes, false, &c[1..], &at(&moment, &later));
                [vec![moment], next].concat()
            });
            if let Some(fault) = inside.borrow_mut().take() {
                return Err(fault);
            }
            let last = last.map_err(|e| fault(span, &e))?;
            let verdict = holds(&last).to_dtype(DType::F64).reshape([1]);
            self.verdicts.push(Verdict {
                judged: Judged::Ends(most),
                name: time.clone(),
                span: ends,
                verdict,
            });
            for (g, tensor) in last.into_iter().skip(1).enumerate() {
                let axis = lead.len() + self.time_places(group[g]).position(|t| t).unwrap_or(0);
                let tensor = tensor.unsqueeze(axis as isize);
                let value = Value { ended: true, batch: self.batch.clone(), ..Value::new(tensor) };
                self.values.insert(names[g].clone(), Some(value));
            }
            return Ok(());
        }
        let how = ScanOptions { reverse: !forwards, length: Some(length), ..ScanOptions::default() };
        let carries: Vec<&Tensor> = zeros.iter().collect();
        let judged: RefCell<Vec<Verdict>> = RefCell::default();
        let result = self.options.by_steps(|| {
            scan(&carries, &inputs, how, |carries, at| {
                let before = self.options.verdicts.borrow().len();
                let (next, mut outs) = step(&dtypes, false, carries, at);
                // What is said inside of a step comes out of it, step by step.
                let said = self.options.verdicts.borrow_mut().split_off(before);
                outs.extend(said.iter().map(|v| v.verdict.clone()));
                *judged.borrow_mut() = said;
                (next, outs)
            })
        });
        if let Some(fault) = inside.borrow_mut().take() {
            return Err(fault);
        }
        let (_, mut outs) = result.map_err(|e| fault(span, &e))?;
        let said = outs.split_off(names.len().min(outs.len()));
        for (verdict, rows) in judged.into_inner().into_iter().zip(&said).filter(|_| length > 0) {
            self.options.keep(verdict.of_steps(rows));
        }
        for (g, out) in outs.into_iter().enumerate() {
            let axis = lead.len() + self.time_places(group[g]).position(|t| t).unwrap_or(0);
            let (first, last) = spans[g];
            let tensor =
                window(&out, 0, first - low, (last - first + 1).max(0) as usize).movedim(0, axis as isize);
            self.values.insert(
                names[g].clone(),
                Some(Value { start: first, batch: self.batch.clone(), ..Value::new(tensor) }),
            );
        }
        Ok(())
    }

    /// A value with all axes that a call brought.
    fn with_all_brought(&self, value: &Value) -> Tensor {
        let own = value.tensor.shape()[value.batch.len()..].to_vec();
        let (mut tensor, mut extents) = (value.tensor.clone(), Vec::new());
        for (at, axis) in self.batch.iter().enumerate() {
            if value.batch.contains(axis) {
                extents.push(tensor.dim(at as isize));
            } else {
                tensor = tensor.unsqueeze(at as isize);
                extents.push(self.brought_extent(axis));
            }
        }
        if value.batch.len() == self.batch.len() { tensor } else { tensor.expand([extents, own].concat()) }
    }

    /// The time of a group and the name that holds as long as it goes on, if its end is not known before.
    fn goes_on(&self, group: &[usize]) -> Option<(&'a Name, &'a Name, Span)> {
        let mut own = group.iter().flat_map(|i| self.own(*i));
        let (time, _) = own.find_map(|e| moving(&e.target.places))?;
        self.program.times.get(time).map(|(go, at)| (time, go, *at))
    }

    fn endless(&self, go: &Name, at: Span) -> Fault {
        let what = format!("time goes on while `{go}` holds, but that is nothing its states decide");
        let help = "the condition has a value at every step and reads a state there; states read the moment before, and \
            nothing else that moves with time";
        Diagnostic::error(at, what).help(help).into()
    }

    /// A term of something that moves from step to step.
    fn moved(&self, e: &'a Equation, moment: Option<&HashMap<(Name, i64), Value>>) -> Eval<Named> {
        self.term(e, &self.values, moment)
    }

    /// Which places of a name are its time.
    fn time_places(&self, name: usize) -> impl Iterator<Item = bool> + 'a {
        let places: &'a [Place] = self.own(name).first().copied().map_or(&[], |e| &e.target.places);
        places.iter().map(is_timed)
    }

    /// What is known without the loop: a start that was given, single moments, and equations that read nothing of the
    /// group.
    fn known(
        &self,
        name: usize,
        names: &Group,
        own: &Name,
        extents: &[usize],
        (low, high): (i64, i64),
        last: i64,
    ) -> Eval<(Tensor, Before)> {
        let length = (high - low + 1).max(0) as usize;
        let mut rows: Vec<Named> = Vec::new();
        let put = |slice: &Tensor, at: i64| window(&slice.unsqueeze(0), 0, low - at, length);
        if let Some(Some(given)) = self.values.get(own) {
            rows.push(Named::new(put(&given.tensor, 0), Vec::new()));
        }
        for e in self.own(name).into_iter().filter(|e| !self.steps(e, names)) {
            let at = e.target.places.iter().find_map(|p| match p.index {
                Index::Moment(at) => Some(at),
                _ => None,
            });
            let Some(at) = at else {
                let term = self.moved(e, None)?.number(self.options.float).in_full();
                let written = term.written.clone();
                let value = self.joined(&[(e, term)], false, None)?;
                let axis = self.batch.len() + self.time_places(name).position(|t| t).unwrap_or(0);
                let own = window(&self.with_all_brought(&value), axis, low - value.start, length)
                    .movedim(axis as isize, 0);
                // Alone, single places reach only as far as they are.
                let all = extents.iter().copied().enumerate().fold(own, |own, (k, n)| {
                    if own.dim(k as isize + 1) == n { own } else { window(&own, k + 1, 0, n) }
                });
                rows.push(Named { written, ..Named::new(all, Vec::new()) });
                continue;
            };
            let at = if at < 0 { last + 1 + at } else { at };
            let term = self.moved(e, None)?.number(self.options.float).in_full();
            let written = term.written.clone();
            let sizes: Vec<Option<usize>> = {
                let mut own = extents[self.batch.len()..].iter().copied();
                e.target
                    .places
                    .iter()
                    .map(|p| if matches!(p.index, Index::Moment(_)) { None } else { own.next() })
                    .collect()
            };
            let value = self.joined(&[(e, term)], false, Some(&sizes))?;
            rows.push(Named { written, ..Named::new(put(&self.with_all_brought(&value), at), Vec::new()) });
        }
        // What the program writes takes the dtype of what it meets, later on as well.
        let own = match rows.iter().all(Named::is_whole_literal) {
            true if rows.is_empty() => Before::Nothing,
            true => Before::Open,
            false => Before::Known(common(&rows, self.options.float)),
        };
        let dtype = if let Before::Known(dtype) = own { dtype } else { DType::I64 };
        let zero = Tensor::zeros([&[length], extents].concat()).to_dtype(dtype);
        Ok((rows.iter().fold(zero, |sum, row| sum + row.tensor.to_dtype(dtype)), own))
    }

    /// The sum of the terms of a name at the moment at hand; terms whose moments end before or begin after count 0. As
    /// long as dtypes are `open`, truth values stand for numbers of any.
    #[allow(clippy::too_many_arguments)]
    fn at_once(
        &self,
        name: usize,
        sizes: &[Option<usize>],
        moment: &Tensor,
        slices: &HashMap<(Name, i64), usize>,
        at: &[Tensor],
        earlier: &dyn Fn(&Name, i64) -> Option<Tensor>,
        names: &Group,
        open: bool,
    ) -> Eval<Option<Tensor>> {
        let mut terms: Vec<Named> = Vec::new();
        for e in self.own(name).into_iter().filter(|e| self.steps(e, names)) {
            let Some(by) = offset(&e.target.places) else { continue };
            let mut values: HashMap<(Name, i64), Value> = HashMap::new();
            values.insert((NOW.into(), 0), Value::new(moment - by as f64));
            for r in e.reads() {
                let Some(own) = from_moment(&e.target, &r.places) else { continue };
                let (tensor, batch) = if names.contains_key(&r.name) {
                    (earlier(&r.name, by - own).ok_or(Fault::Silent)?, self.batch.clone())
                } else {
                    let outside = self.values.get(&r.name).and_then(Option::as_ref);
                    let batch = outside.map(|v| v.batch.clone()).unwrap_or_default();
                    (at[*slices.get(&(r.name.clone(), own - by)).ok_or(Fault::Silent)?].clone(), batch)
                };
                values.insert((r.name.clone(), own), Value { batch, ..Value::new(tensor) });
            }
            let term = self.moved(e, Some(&values))?;
            let written = term.written.clone();
            let value = self.within(e, term, sizes, moment, by)?;
            terms.push(Named { written, ..Named::new(value, Vec::new()) });
        }
        let dtype = match &terms[..] {
            // Nothing of this has a dtype yet.
            all if open && all.iter().all(Named::is_open) => DType::Bool,
            [one] => one.tensor.dtype(),
            all => common(all, self.options.float),
        };
        let add = |a: Tensor, b: Tensor| if dtype == DType::Bool { a.logical_or(&b) } else { &a + &b };
        Ok(terms.iter().map(|t| t.tensor.to_dtype(dtype)).reduce(add))
    }

    fn within(
        &self,
        e: &'a Equation,
        term: Named,
        sizes: &[Option<usize>],
        moment: &Tensor,
        by: i64,
    ) -> Eval<Tensor> {
        let value = self.with_all_brought(&self.joined(&[(e, term)], false, Some(sizes))?);
        let t = moment - by as f64;
        let last = self.options.steps as f64 - 1.0;
        let begun = t.ge(0.0);
        let inside = if self.is_endless(e) { begun } else { begun.logical_and(&t.le(last)) };
        Ok(inside.select(&value, &value.zeros_like()))
    }
}
