//! Runs names with time step by step. Takes a schedule; gives every name of the group its values at all time steps, by
//! one loop over the steps, or by one batch of them if no step depends on another. `schedule` decides the order.

use super::Solver;
use super::kinds::Before;
use super::schedule::{FixedRead, Schedule, calls_own, offset};
use crate::builtin::Verdict;
use crate::builtin::named::{Named, combined, common};
use crate::elaborate::core::Equation;
use crate::lower::eval::{Eval, Fault, NOW, Value, Values, fault, window};
use crate::solve::Clock;
use crate::syntax::ast::{Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{from_moment, is_time, is_timed};
use crate::syntax::limit::fits;
use gradus_ir::{Aval, DType, Error, Shape};
use gradus_tensor::{ScanOptions, Tensor, scan, trace_function, vmap};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

/// The first and last of a range of steps.
pub(super) type Range = (i64, i64);

pub(super) fn count((first, last): Range) -> usize {
    (last - first + 1).max(0) as usize
}

/// An equation of the loop, with the steps at which it applies.
pub(super) struct Line<'a> {
    pub(super) equation: &'a Equation,
    pub(super) of: usize,
    pub(super) by: i64,
    pub(super) steps: Range,
}

/// Inputs of the steps of a group.
pub(super) struct Inputs {
    /// Step numbers, slices of names outside the group, and known values of each name of the group, by step.
    pub(super) stacks: Vec<Tensor>,
    /// The stack that holds a name outside the group, by name and time offset.
    pub(super) slices: HashMap<(Name, i64), usize>,
    /// The first of the stacks with known values.
    pub(super) first_known: usize,
    /// The known values of each name, by time step from the first one on.
    pub(super) known: Vec<Tensor>,
    pub(super) before: Vec<Before>,
}

/// A group with its sizes.
pub(super) struct Frame<'s, 'a> {
    pub(super) group: &'s [usize],
    pub(super) schedule: &'s Schedule<'a>,
    pub(super) sizes: &'s [Vec<Option<usize>>],
    pub(super) lines: Vec<Line<'a>>,
    /// The range of steps.
    pub(super) steps: Range,
    /// The time steps that names of the group have together, and those of each.
    pub(super) moments: Range,
    pub(super) spans: Vec<Range>,
}

impl Frame<'_, '_> {
    /// Returns true if the steps compute this time step of a name.
    pub(super) fn computes(&self, g: usize, step: i64) -> bool {
        let ((first, last), by) = (self.steps, self.schedule.shift[g]);
        (first + by..=last + by).contains(&step)
    }
}

impl<'a> Solver<'a> {
    pub(super) fn stream(&mut self, group: &[usize]) -> Eval<()> {
        let ends = self.end_condition(group);
        let schedule = self.schedule(group, ends.is_some())?;
        let sizes = self.group_sizes(group)?;
        self.keep_extents(group, &sizes);
        let frame = self.frame(group, &schedule, &sizes)?;
        let inputs = self.inputs(&frame)?;
        match ends {
            Some(ends) => self.walk_while(&frame, &inputs, ends),
            None => self.walk(&frame, &inputs),
        }
    }

    fn frame<'s>(
        &self,
        group: &'s [usize],
        schedule: &'s Schedule<'a>,
        sizes: &'s [Vec<Option<usize>>],
    ) -> Eval<Frame<'s, 'a>> {
        let count_steps = self.options.steps as i64;
        let mut lines = Vec::new();
        for (of, i) in group.iter().enumerate() {
            for equation in self.own(*i).into_iter().filter(|e| self.steps(e, &schedule.at)) {
                let Some(by) = offset(&equation.target.places) else { continue };
                // Writes before time step 0 are dropped.
                let first = by - schedule.shift[of] + (-by).max(0);
                let last = by - schedule.shift[of] + count_steps - 1;
                lines.push(Line { equation, of, by, steps: (first, last) });
            }
        }
        let first = lines.iter().map(|l| l.steps.0).min().unwrap_or(0);
        let steps = (first, lines.iter().map(|l| l.steps.1).max().unwrap_or(first - 1));
        let span_of = |g: usize| {
            let own = self.moments(self.own(group[g]).into_iter()).unwrap_or((0, count_steps - 1));
            let given = matches!(self.values.get(&schedule.names[g]), Some(Some(_)));
            if given { (own.0.min(0), own.1.max(0)) } else { own }
        };
        let spans: Vec<Range> = (0..group.len()).map(span_of).collect();
        let by_step = schedule.shift.iter().map(|by| (steps.0 + by, steps.1 + by));
        let all = || spans.iter().copied().chain(by_step.clone());
        let low = all().map(|s| s.0).min().unwrap_or(0);
        let high = all().map(|s| s.1).max().unwrap_or(low - 1);
        let most = sizes.iter().map(|s| s.iter().flatten().fold(1usize, |n, e| n.saturating_mul(*e))).max();
        fits(&[count((low, high)), most.unwrap_or(1)]).map_err(|e| fault(schedule.span, &e))?;
        Ok(Frame { group, schedule, sizes, lines, steps, moments: (low, high), spans })
    }

    /// Everything that steps read from outside the group, as stacks of slices over the steps.
    fn inputs(&self, frame: &Frame<'_, 'a>) -> Eval<Inputs> {
        let (first, length) = (frame.steps.0, count(frame.steps));
        let mut stacks = vec![Tensor::iota(self.options.float, [length], 0) + first as f64];
        let mut slices: HashMap<(Name, i64), usize> = HashMap::new();
        for line in &frame.lines {
            for r in line.equation.reads() {
                if frame.schedule.at.contains_key(&r.name) {
                    continue;
                }
                let Some(own) = from_moment(&line.equation.target, &r.places) else { continue };
                let behind = frame.schedule.shift[line.of] - line.by + own;
                if slices.contains_key(&(r.name.clone(), behind)) {
                    continue;
                }
                let Some(Some(v)) = self.values.get(&r.name) else { return Err(Fault::Silent) };
                if v.ended {
                    let what = format!("only the last step of `{}` can be read", r.name);
                    let fault = Diagnostic::error(r.span, what).about(&r.name);
                    return Err(fault.help("its time ends by a condition: read the last step, *-1").into());
                }
                let at = r.places.iter().position(|p| is_time(&line.equation.target, p)).unwrap_or(0);
                let axis = v.batch.len() + at;
                let rows =
                    window(&v.tensor, axis, first + behind - v.start, length).movedim(axis as isize, 0);
                slices.insert((r.name.clone(), behind), stacks.len());
                stacks.push(rows);
            }
        }
        let first_known = stacks.len();
        let (mut known, mut before) = (Vec::new(), Vec::new());
        for g in 0..frame.group.len() {
            let (rows, own) = self.known(frame, g)?;
            known.push(rows);
            before.push(own);
        }
        self.known_starts(frame, &mut known, &mut before)?;
        for (rows, by) in known.iter().zip(&frame.schedule.shift) {
            stacks.push(window(rows, 0, first + by - frame.moments.0, length));
        }
        Ok(Inputs { stacks, slices, first_known, known, before })
    }

    /// Returns the extents of a name of the group at one time step, after those of all axes that a call
    /// added.
    pub(super) fn extents(&self, frame: &Frame<'_, 'a>, g: usize) -> Vec<usize> {
        let own = frame.sizes[g].iter().zip(self.time_places(frame.group[g])).filter(|(_, time)| !time);
        let lead = self.batch.iter().map(|b| self.brought_extent(b));
        lead.chain(own.map(|(n, _)| n.unwrap_or(1))).collect()
    }

    /// Computes one step: the values of all names, converted to their dtypes. Only `lines` apply at this step. While
    /// dtypes are `open`, booleans represent numbers of an unknown dtype.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn step(
        &self,
        frame: &Frame<'_, 'a>,
        inputs: &Inputs,
        values: &Values,
        lines: &[&Line<'a>],
        (dtypes, open): (&[DType], bool),
        carries: &[Tensor],
        rows: &[Tensor],
    ) -> Eval<Vec<Tensor>> {
        let schedule = frame.schedule;
        let mut found: Vec<Option<Tensor>> = vec![None; schedule.names.len()];
        for &g in &schedule.order {
            let mut terms: Vec<Named> = Vec::new();
            for line in lines.iter().filter(|l| l.of == g) {
                let e = line.equation;
                // The value of `*t` in this line, which writes to step `*t + by`.
                let ahead = schedule.shift[g] - line.by;
                let mut moment: HashMap<(Name, i64), Value> = HashMap::new();
                let now = if ahead == 0 { rows[0].clone() } else { &rows[0] + ahead as f64 };
                moment.insert((NOW.into(), 0), Value::new(now));
                for r in e.reads() {
                    let Some(own) = from_moment(&e.target, &r.places) else { continue };
                    let value = match schedule.at.get(&r.name) {
                        Some(&read) => {
                            let lag = schedule.shift[read] - ahead - own;
                            let tensor = match lag.unsigned_abs() as usize {
                                0 => found[read].clone(),
                                lag => carries.get(read * schedule.lags + lag - 1).cloned(),
                            };
                            let tensor = tensor.ok_or(Fault::Silent)?;
                            Value { batch: self.batch.clone(), ..Value::new(tensor) }
                        }
                        None => {
                            let outside = self.values.get(&r.name).and_then(Option::as_ref);
                            let batch = outside.map(|v| v.batch.clone()).unwrap_or_default();
                            let slice =
                                inputs.slices.get(&(r.name.clone(), ahead + own)).ok_or(Fault::Silent)?;
                            Value { batch, ..Value::new(rows[*slice].clone()) }
                        }
                    };
                    moment.insert((r.name.clone(), own), value);
                }
                let values = &*self.with_this_step(frame, e, values, &found);
                let term = self.options.timed(|c| c.later(ahead), || self.term(e, values, Some(&moment)))?;
                let written = term.written.clone();
                let joined = self.joined(&[(e, term)], false, Some(&frame.sizes[g]))?;
                terms.push(Named { written, ..Named::new(self.with_all_brought(&joined), Vec::new()) });
            }
            let dtype = match &terms[..] {
                // No operand has a dtype yet.
                all if open && all.iter().all(Named::is_open) => DType::Bool,
                [one] => one.tensor.dtype(),
                all => common(all, self.options.float),
            };
            let how = self.reduction(frame, g);
            let two = |a: Tensor, b: Tensor| combined(how, &a, &b);
            let own = terms.iter().map(|t| t.tensor.to_dtype(dtype)).reduce(two);
            let known = &rows[inputs.first_known + g];
            found[g] = Some(match (own, inputs.before[g]) {
                (None, Before::Open) if open => known.to_dtype(DType::Bool),
                (None, _) => known.to_dtype(dtypes[g]),
                (Some(own), Before::Nothing) => own,
                (Some(own), Before::Open) if own.dtype() != DType::Bool => {
                    two(own.clone(), known.to_dtype(own.dtype()))
                }
                (Some(own), Before::Open) if open => own,
                (Some(own), Before::Open) => two(own.to_dtype(dtypes[g]), known.to_dtype(dtypes[g])),
                (Some(own), Before::Known(_)) => {
                    let dtype = own.dtype().promote(known.dtype());
                    two(own.to_dtype(dtype), known.to_dtype(dtype))
                }
            });
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns all values, with those of the current step for an equation that reads a fixed step of the
    /// group. If no earlier segment has computed the fixed step, it is the current one, which is then a
    /// segment of its own.
    fn with_this_step<'v>(
        &self,
        frame: &Frame<'_, 'a>,
        e: &Equation,
        values: &'v Values,
        found: &[Option<Tensor>],
    ) -> Cow<'v, Values> {
        let mut out = Cow::Borrowed(values);
        for f in frame.schedule.fixed.iter().filter(|f| std::ptr::eq(f.equation, e)) {
            let known = |v: &Value, axis: usize| f.moment < v.start + v.tensor.dim(axis as isize) as i64;
            let axis = self.batch.len() + self.time_places(frame.group[f.of]).position(|t| t).unwrap_or(0);
            let name = &frame.schedule.names[f.of];
            let old = values.get(name).and_then(Option::as_ref);
            // A fixed step that no step computes is known, or 0.
            if let Some(now) = &found[f.of]
                && frame.computes(f.of, f.moment)
                && !old.is_some_and(|v| f.moment >= v.start && known(v, axis))
            {
                let tensor = now.unsqueeze(axis as isize);
                let value = Value { start: f.moment, batch: self.batch.clone(), ..Value::new(tensor) };
                out.to_mut().insert(name.clone(), Some(value));
            }
        }
        out
    }

    /// Returns the reduction by which lines of a name with time combine at one step.
    pub(super) fn reduction(&self, frame: &Frame<'_, 'a>, g: usize) -> Projection {
        let own = self.own(frame.group[g]);
        let moves = own.iter().find(|e| offset(&e.target.places).is_some());
        moves.or(own.first()).map_or(Projection::Sum, |e| e.projection)
    }

    /// Returns the carries after a step.
    fn carried(lags: usize, carries: &[Tensor], now: &[Tensor]) -> Vec<Tensor> {
        let mut next = Vec::new();
        for (g, value) in now.iter().enumerate() {
            next.push(value.clone());
            next.extend(carries[g * lags..(g + 1) * lags - 1].iter().cloned());
        }
        next
    }

    /// Returns the dtypes of the group's names: those that a step gives them.
    pub(super) fn dtypes_of_steps(
        &self,
        frame: &Frame<'_, 'a>,
        inputs: &Inputs,
        values: &Values,
    ) -> Eval<Vec<DType>> {
        let inside: RefCell<Option<Fault>> = RefCell::new(None);
        let all: Vec<&Line<'a>> = frame.lines.iter().collect();
        let names = frame.schedule.names.len();
        let round = |dtypes: &[DType], open: bool| {
            let own = dtypes
                .iter()
                .enumerate()
                .map(|(g, d)| Aval::new(*d, Shape::from(&self.extents(frame, g)[..])));
            let rows = inputs.stacks.iter().map(|t| Aval::new(t.dtype(), Shape::from(&t.shape()[1..])));
            let lags = frame.schedule.lags;
            let avals: Vec<Aval> = own.flat_map(|a| std::iter::repeat_n(a, lags)).chain(rows).collect();
            let mut found = vec![self.options.float; names];
            let _ = trace_function(&avals, |t: &[Tensor]| {
                let (carries, rows) = t.split_at(names * lags);
                match self.step(frame, inputs, values, &all, (dtypes, open), carries, rows) {
                    Ok(now) => {
                        found = now.iter().map(Tensor::dtype).collect();
                        now
                    }
                    Err(fault) => {
                        *inside.borrow_mut() = Some(fault);
                        vec![Tensor::failed(Error::value("an equation", "failed"))]
                    }
                }
            });
            found
        };
        self.kinds_of_steps(&inputs.before, &inside, round)
    }

    /// Returns the values of names before the first step, as many as are read; 0 if there are none.
    fn starts(&self, frame: &Frame<'_, 'a>, inputs: &Inputs, dtypes: &[DType]) -> Vec<Tensor> {
        let mut out = Vec::new();
        for (g, dtype) in dtypes.iter().enumerate() {
            for lag in 1..=frame.schedule.lags as i64 {
                let step = if frame.schedule.forwards { frame.steps.0 - lag } else { frame.steps.1 + lag };
                let moment = step + frame.schedule.shift[g];
                let (first, last) = frame.spans[g];
                out.push(match (first..=last).contains(&moment) {
                    true => inputs.known[g].at((moment - frame.moments.0) as isize).to_dtype(*dtype),
                    false => Tensor::zeros(self.extents(frame, g)).to_dtype(*dtype),
                });
            }
        }
        out
    }

    /// Ranges of steps at which the same lines apply, in the order in which they are computed.
    fn segments(&self, frame: &Frame<'_, 'a>) -> Vec<Range> {
        let (first, last) = frame.steps;
        let mut cuts: Vec<i64> = frame.lines.iter().flat_map(|l| [l.steps.0, l.steps.1 + 1]).collect();
        // Fixed time steps are computed before the steps that read them.
        let read = |f: &FixedRead<'_>| f.moment - frame.schedule.shift[f.of];
        cuts.extend(frame.schedule.fixed.iter().flat_map(|f| [read(f), read(f) + 1]));
        cuts.extend([first, last + 1]);
        cuts.retain(|c| (first..=last + 1).contains(c));
        cuts.sort_unstable();
        cuts.dedup();
        let mut out: Vec<Range> = cuts.windows(2).map(|two| (two[0], two[1] - 1)).collect();
        if !frame.schedule.forwards {
            out.reverse();
        }
        out
    }

    fn walk(&mut self, frame: &Frame<'_, 'a>, inputs: &Inputs) -> Eval<()> {
        let schedule = frame.schedule;
        let names = schedule.names.len();
        let nothing: Vec<Vec<(Range, Tensor)>> = vec![Vec::new(); names];
        let mut values = self.so_far(frame, inputs, &[], &nothing);
        let dtypes = self.dtypes_of_steps(frame, inputs, &values)?;
        let mut carries = self.starts(frame, inputs, &dtypes);
        let mut parts = nothing;
        let batched = schedule.independent && !frame.lines.iter().any(|l| l.equation.value.any(&calls_own));
        for segment in self.segments(frame) {
            let holds = |l: &&Line<'a>| l.steps.0 <= segment.0 && segment.1 <= l.steps.1;
            let lines: Vec<&Line<'a>> = frame.lines.iter().filter(holds).collect();
            self.check_fixed(frame, &lines, segment)?;
            let from = segment.0 - frame.steps.0;
            let rows: Vec<Tensor> =
                inputs.stacks.iter().map(|t| t.narrow(0, from as usize, count(segment))).collect();
            let inside: RefCell<Option<Fault>> = RefCell::new(None);
            let judged: RefCell<Vec<Verdict>> = RefCell::default();
            let step = |carries: &[Tensor], at: &[Tensor]| {
                let now = self.step(frame, inputs, &values, &lines, (&dtypes, false), carries, at);
                let now = now.unwrap_or_else(|fault| {
                    *inside.borrow_mut() = Some(fault);
                    vec![Tensor::failed(Error::value("an equation", "failed")); names]
                });
                now.iter().zip(&dtypes).map(|(t, d)| t.to_dtype(*d)).collect::<Vec<_>>()
            };
            // Checks made inside of a step are outputs of that step.
            let heard = |carries: &[Tensor], at: &[Tensor]| {
                let before = self.options.verdicts.borrow().len();
                let now = step(carries, at);
                let said = self.options.verdicts.borrow_mut().split_off(before);
                let outs = now.iter().cloned().chain(said.iter().map(|v| v.verdict.clone())).collect();
                *judged.borrow_mut() = said;
                (now, outs)
            };
            let all: Vec<&Tensor> = rows.iter().collect();
            let result = if count(segment) == 1 {
                let row: Vec<Tensor> = rows.iter().map(|t| t.at(0)).collect();
                let now = self.options.timed(|c| c.at(segment.0), || step(&carries, &row));
                carries = Self::carried(schedule.lags, &carries, &now);
                Ok(now.iter().map(|t| t.unsqueeze(0)).collect())
            } else if batched {
                let axes = vec![Some(0); all.len()];
                let each = || vmap(&all, &axes, |at: &[Tensor]| -> Vec<Tensor> { heard(&[], at).1 });
                self.options.timed(Clock::unknown, || self.options.by_steps(each))
            } else {
                let how = ScanOptions {
                    reverse: !schedule.forwards,
                    length: Some(count(segment)),
                    ..ScanOptions::default()
                };
                let init: Vec<&Tensor> = carries.iter().collect();
                let result = self.options.by_steps(|| {
                    scan(&init, &all, how, |carries, at| {
                        let (now, outs) = self.options.timed(|c| c.from(segment.0), || heard(carries, at));
                        (Self::carried(schedule.lags, carries, &now), outs)
                    })
                });
                result.map(|(last, outs)| {
                    carries = last;
                    outs
                })
            };
            if let Some(fault) = inside.borrow_mut().take() {
                return Err(fault);
            }
            let mut outs = result.map_err(|e| fault(schedule.span, &e))?;
            let said = outs.split_off(names.min(outs.len()));
            for (verdict, rows) in judged.into_inner().into_iter().zip(&said) {
                self.options.keep(verdict.of_steps(rows));
            }
            for (part, out) in parts.iter_mut().zip(outs) {
                part.push((segment, out));
            }
            if !schedule.fixed.is_empty() {
                values = self.so_far(frame, inputs, &dtypes, &parts);
            }
        }
        let all = self.so_far(frame, inputs, &dtypes, &parts);
        for (g, name) in schedule.names.iter().enumerate() {
            let Some(Some(value)) = all.get(name) else { return Err(Fault::Silent) };
            let axis = value.batch.len() + self.time_places(frame.group[g]).position(|t| t).unwrap_or(0);
            let (first, last) = frame.spans[g];
            let tensor = window(&value.tensor, axis, first - value.start, count((first, last)));
            self.values.insert(name.clone(), Some(Value { tensor, start: first, ..value.clone() }));
        }
        self.late(frame)
    }

    /// Returns all values, with those of the group at the time steps computed so far.
    pub(super) fn so_far(
        &self,
        frame: &Frame<'_, 'a>,
        inputs: &Inputs,
        dtypes: &[DType],
        parts: &[Vec<(Range, Tensor)>],
    ) -> Values {
        let mut out = self.values.clone();
        let (low, high) = frame.moments;
        for (g, name) in frame.schedule.names.iter().enumerate() {
            let by = frame.schedule.shift[g];
            let mut own: Vec<&(Range, Tensor)> = parts[g].iter().collect();
            own.sort_by_key(|((first, _), _)| *first);
            let known = |first: i64, last: i64| {
                inputs.known[g].narrow(0, (first - low) as usize, count((first, last)))
            };
            let dtype = dtypes.get(g).copied().unwrap_or(inputs.known[g].dtype());
            let mut rows: Vec<Tensor> = Vec::new();
            let mut next = low;
            for ((first, last), part) in own {
                if next < first + by {
                    rows.push(known(next, first + by - 1).to_dtype(dtype));
                }
                rows.push(part.clone());
                next = last + by + 1;
            }
            // Steps that are still to come have no values.
            let done =
                parts[g].iter().any(|((_, last), _)| *last == frame.steps.1) || count(frame.steps) == 0;
            let high = if done || !frame.schedule.forwards { high } else { next.max(frame.steps.0 + by) - 1 };
            if next <= high || rows.is_empty() {
                rows.push(known(next, high).to_dtype(dtype));
            }
            let all = match &rows[..] {
                [one] => one.clone(),
                _ => Tensor::cat(&rows.iter().collect::<Vec<_>>(), 0),
            };
            let axis = self.batch.len() + self.time_places(frame.group[g]).position(|t| t).unwrap_or(0);
            let tensor = all.movedim(0, axis as isize);
            let value = Value { start: low, batch: self.batch.clone(), ..Value::new(tensor) };
            out.insert(name.clone(), Some(value));
        }
        out
    }

    /// Checks that values read at a fixed time step exist before the steps that read them.
    fn check_fixed(&self, frame: &Frame<'_, 'a>, lines: &[&Line<'a>], segment: Range) -> Eval<()> {
        for f in &frame.schedule.fixed {
            if !lines.iter().any(|l| std::ptr::eq(l.equation, f.equation)) {
                continue;
            }
            let step = f.moment - frame.schedule.shift[f.of];
            let before = match frame.schedule.forwards {
                true => step < segment.0,
                false => step > segment.1,
            };
            let place = |g: usize| frame.schedule.order.iter().position(|o| *o == g);
            let reader = frame.schedule.at.get(&f.equation.target.name).copied().unwrap_or(0);
            let now = segment == (step, step) && place(f.of) < place(reader);
            if f.moment < 0 || !before && !now {
                let what =
                    format!("`{}` does not exist yet at step {} of this line", f.read, segment.0.max(0));
                let own =
                    self.own(frame.group[f.of]).into_iter().find(|e| offset(&e.target.places).is_some());
                let fault = Diagnostic::error(f.read.span, what).here("read here").about(&f.read.name);
                let fault = own
                    .into_iter()
                    .fold(fault, |fault, e| fault.and(e.target.span, "computed here, step by step"));
                return Err(fault.help("a step can read only steps that are computed before it").into());
            }
        }
        Ok(())
    }

    /// Returns a value with all axes that a call added.
    pub(super) fn with_all_brought(&self, value: &Value) -> Tensor {
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

    /// Returns, for each index of a name, true if it is the time.
    pub(super) fn time_places(&self, name: usize) -> impl Iterator<Item = bool> + 'a {
        let own = self.own(name);
        let rank = own.first().map_or(0, |e| e.target.places.len());
        // Lines that write to all steps at once may have a plain index there: `D[i,t] = …`.
        (0..rank).map(move |p| own.iter().any(|e| e.target.places.get(p).is_some_and(is_timed)))
    }

    /// Returns the values at one step that a line reads from outside its group, and those of names of the
    /// group with known sizes.
    pub(super) fn sample(
        &self,
        e: &Equation,
        group: &dyn Fn(&Name) -> Option<Option<Tensor>>,
    ) -> Option<HashMap<(Name, i64), Value>> {
        let mut moment: HashMap<(Name, i64), Value> = HashMap::new();
        moment.insert((NOW.into(), 0), Value::new(Tensor::full([], 0.0).to_dtype(self.options.float)));
        for r in e.reads() {
            let Some(own) = from_moment(&e.target, &r.places) else { continue };
            let value = match group(&r.name) {
                Some(tensor) => Value { batch: self.batch.clone(), ..Value::new(tensor?) },
                None => {
                    let v = self.values.get(&r.name)?.as_ref()?;
                    let at = r.places.iter().position(|p| is_time(&e.target, p))?;
                    let axis = v.batch.len() + at;
                    let tensor = window(&v.tensor, axis, 0, 1).squeeze([axis as isize]);
                    Value { batch: v.batch.clone(), ..Value::new(tensor) }
                }
            };
            moment.insert((r.name.clone(), own), value);
        }
        Some(moment)
    }
}
