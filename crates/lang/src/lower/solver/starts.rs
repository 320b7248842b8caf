//! Finds the values of names with time at fixed steps and outside the loop: given starts, lines at fixed steps, and
//! lines that read nothing of their group. `stream` runs the steps between.

use super::Solver;
use super::kinds::Before;
use super::schedule::{Group, fixed};
use super::stream::{Frame, Inputs, Range, count};
use crate::builtin::named::{Named, combined, common, identity};
use crate::elaborate::core::{Equation, Ref};
use crate::lower::eval::{Eval, Fault, Value, Values, window};
use crate::syntax::ast::{Name, Projection};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::{from_moment, is_timed};
use gradus_ir::DType;
use gradus_tensor::Tensor;
use std::collections::HashMap;

/// A contribution to a range of time steps of a name.
struct Row {
    /// The values by time step, from the first step that it covers.
    value: Named,
    covers: Range,
    how: Projection,
}

impl Row {
    /// Combines the contribution with the values at all steps from `low` on.
    fn added(&self, all: &Tensor, low: i64) -> Tensor {
        self.with(all, low, |from, count, there| {
            let own = self.value.tensor.narrow(0, (from as i64 + low - self.covers.0) as usize, count);
            combined(self.how, &own.to_dtype(all.dtype()), there)
        })
    }

    /// Takes the values from `others` at the steps of this contribution.
    fn replaced(&self, all: &Tensor, others: &Tensor, low: i64) -> Tensor {
        self.with(all, low, |from, count, _| others.narrow(0, from, count))
    }

    /// Applies `f` to the values at the steps of this contribution.
    fn with(&self, all: &Tensor, low: i64, f: impl Fn(usize, usize, &Tensor) -> Tensor) -> Tensor {
        let (first, last) = (self.covers.0.max(low), self.covers.1.min(low + all.dim(0) as i64 - 1));
        if first > last {
            return all.clone();
        }
        let (from, behind) = ((first - low) as usize, (last + 1 - low) as usize);
        let own = f(from, behind - from, &all.narrow(0, from, behind - from));
        let parts = [all.narrow(0, 0, from), own, all.narrow(0, behind, all.dim(0) - behind)];
        let parts: Vec<&Tensor> = parts.iter().filter(|p| p.dim(0) > 0).collect();
        if let [one] = parts[..] { one.clone() } else { Tensor::cat(&parts, 0) }
    }
}

impl<'a> Solver<'a> {
    /// Returns the values of a name without the loop, by time step: a given start, fixed steps, and equations
    /// that read nothing of the group.
    pub(super) fn known(&self, frame: &Frame<'_, 'a>, g: usize) -> Eval<(Tensor, Before)> {
        let (names, name): (&Group, usize) = (&frame.schedule.at, frame.group[g]);
        let (extents, (low, high)) = (self.extents(frame, g), frame.moments);
        let length = count((low, high));
        let how = self.reduction(frame, g);
        let mut rows: Vec<Row> = Vec::new();
        if let Some(Some(given)) = self.values.get(&frame.schedule.names[g]) {
            let value = Named::new(given.tensor.unsqueeze(0), Vec::new());
            rows.push(Row { value, covers: (0, 0), how: Projection::Sum });
        }
        let own = self.own(name).into_iter().filter(|e| !self.steps(e, names));
        for e in own.filter(|e| fixed(&e.target.places).is_none() || !self.needs(e, names)) {
            let row = match fixed(&e.target.places) {
                Some(at) => {
                    let at = if at < 0 { frame.spans[g].1 + 1 + at } else { at };
                    let (value, written) = self.row(e, &self.values, &extents)?;
                    let value = Named { written, ..Named::new(value.unsqueeze(0), Vec::new()) };
                    Row { value, covers: (at, at), how: e.projection }
                }
                None => {
                    let term = self.term(e, &self.values, None)?.number(self.options.float).in_full();
                    let written = term.written.clone();
                    let value = self.joined(&[(e, term)], false, None)?;
                    let axis = self.batch.len() + self.time_places(name).position(|t| t).unwrap_or(0);
                    let own = self.with_all_brought(&value).movedim(axis as isize, 0);
                    // Without other lines, the axis ends at the largest index written.
                    let all = extents.iter().copied().enumerate().fold(own, |own, (k, n)| {
                        if own.dim(k as isize + 1) == n { own } else { window(&own, k + 1, 0, n) }
                    });
                    let covers = (value.start, value.start + all.dim(0) as i64 - 1);
                    Row { value: Named { written, ..Named::new(all, Vec::new()) }, covers, how: e.projection }
                }
            };
            rows.push(row);
        }
        // A literal number takes the dtype of the operand it is combined with, here and later.
        let values: Vec<Named> = rows.iter().map(|r| r.value.clone()).collect();
        let own = match values.iter().all(Named::is_whole_literal) {
            true if rows.is_empty() => Before::Nothing,
            true => Before::Open,
            false => Before::Known(common(&values, self.options.float)),
        };
        let mut dtype = if let Before::Known(dtype) = own { dtype } else { DType::I64 };
        let mut own = own;
        // Integers have no infinity and no NaN.
        let is_float = |how: &Projection| !matches!(how, Projection::Sum | Projection::Prod);
        if [how].iter().chain(rows.iter().map(|r| &r.how)).any(is_float)
            && dtype != self.options.float
            && !rows.is_empty()
        {
            (dtype, own) = (self.options.float, Before::Known(self.options.float));
        }
        let shape = [&[length], &extents[..]].concat();
        let empty = identity(how, dtype, &shape);
        // Elements that other reductions contribute to start from the empty value of those reductions.
        let others = rows.iter().filter(|r| r.how != how);
        let empty = others.fold(empty, |all, row| row.replaced(&all, &identity(row.how, dtype, &shape), low));
        Ok((rows.iter().fold(empty, |all, row| row.added(&all, low)), own))
    }

    /// Returns the value of a line at a fixed step, without time.
    fn row(
        &self,
        e: &'a Equation,
        values: &Values,
        extents: &[usize],
    ) -> Eval<(Tensor, Option<crate::builtin::written::Written>)> {
        let term = self.term(e, values, None)?.number(self.options.float).in_full();
        let written = term.written.clone();
        let mut own = extents[self.batch.len()..].iter().copied();
        let sizes: Vec<Option<usize>> =
            e.target.places.iter().map(|p| if is_timed(p) { None } else { own.next() }).collect();
        let value = self.joined(&[(e, term)], false, Some(&sizes))?;
        Ok((self.with_all_brought(&value), written))
    }

    /// Adds lines at fixed steps that read other fixed steps of the group, before the first step.
    pub(super) fn known_starts(
        &self,
        frame: &Frame<'_, 'a>,
        known: &mut [Tensor],
        before: &mut [Before],
    ) -> Eval<()> {
        let mut open = self.fixed_lines(frame);
        open.retain(|(_, e)| !self.is_late(frame, e));
        while !open.is_empty() {
            // A line is ready if no other remaining line writes a step that it reads.
            let reads = |e: &Equation, name: &Name, at: i64| {
                e.reads().iter().any(|r| r.name == *name && fixed(&r.places) == Some(at))
            };
            let ready = open.iter().position(|(_, e)| {
                !open.iter().any(|(_, o)| reads(e, &o.target.name, fixed(&o.target.places).unwrap_or(0)))
            });
            let Some(ready) = ready else {
                let (_, e) = open[0];
                let what = format!("`{}` depends on itself at the same step", e.target.name);
                return Err(Diagnostic::error(e.span, what).about(&e.target.name).into());
            };
            let (g, e) = open.remove(ready);
            let inputs = Inputs {
                stacks: Vec::new(),
                slices: HashMap::new(),
                first_known: 0,
                known: known.to_vec(),
                before: Vec::new(),
            };
            let values = self.so_far(frame, &inputs, &[], &vec![Vec::new(); frame.group.len()]);
            let (value, _) = self.row(e, &values, &self.extents(frame, g))?;
            let at = fixed(&e.target.places).unwrap_or(0);
            let row = Row {
                value: Named::new(value.unsqueeze(0), Vec::new()),
                covers: (at, at),
                how: e.projection,
            };
            let dtype = match before[g] {
                Before::Known(d) => d.promote(row.value.tensor.dtype()),
                _ => row.value.tensor.dtype(),
            };
            before[g] = Before::Known(dtype);
            known[g] = row.added(&known[g].to_dtype(dtype), frame.moments.0);
        }
        Ok(())
    }

    /// Returns the lines at fixed steps that read the group.
    fn fixed_lines(&self, frame: &Frame<'_, 'a>) -> Vec<(usize, &'a Equation)> {
        let own = |(g, i): (usize, &usize)| self.own(*i).into_iter().map(move |e| (g, e)).collect::<Vec<_>>();
        let mut all: Vec<(usize, &'a Equation)> = frame.group.iter().enumerate().flat_map(own).collect();
        all.retain(|(_, e)| fixed(&e.target.places).is_some() && self.needs(e, &frame.schedule.at));
        all
    }

    /// Returns true if a line at a fixed step reads values of the group that do not exist before the first step.
    fn is_late(&self, frame: &Frame<'_, 'a>, e: &Equation) -> bool {
        e.reads().into_iter().any(|r| match (frame.schedule.at.get(&r.name), fixed(&r.places)) {
            (Some(&g), Some(at)) => at < 0 || frame.computes(g, at),
            (Some(_), None) => true,
            (None, _) => false,
        })
    }

    /// Adds lines at fixed steps that read values computed by the steps.
    pub(super) fn late(&mut self, frame: &Frame<'_, 'a>) -> Eval<()> {
        for (g, e) in
            self.fixed_lines(frame).into_iter().filter(|(_, e)| self.is_late(frame, e)).collect::<Vec<_>>()
        {
            let name = &frame.schedule.names[g];
            let (first, last) = frame.spans[g];
            let at = fixed(&e.target.places).map_or(0, |at| if at < 0 { last + 1 + at } else { at });
            let steps = self.options.steps as i64;
            let reads = frame.lines.iter().find_map(|l| {
                let own = |r: &&Ref| {
                    let by = from_moment(&l.equation.target, &r.places);
                    r.name == *name && by.is_some_and(|by| (by..by + steps).contains(&at))
                };
                l.equation.reads().into_iter().find(own)
            });
            if let Some(r) = reads {
                let what = format!("`{}` depends on steps that depend on it", e.target);
                let fault = Diagnostic::error(e.target.span, what).and(r.span, "read here");
                return Err(fault.about(&e.target.name).into());
            }
            let (value, _) = self.row(e, &self.values, &self.extents(frame, g))?;
            let Some(Some(old)) = self.values.get(name) else { return Err(Fault::Silent) };
            let axis = old.batch.len() + self.time_places(frame.group[g]).position(|t| t).unwrap_or(0);
            let rows = old.tensor.movedim(axis as isize, 0);
            let row = Row {
                value: Named::new(value.unsqueeze(0), Vec::new()),
                covers: (at, at),
                how: e.projection,
            };
            let tensor = row.added(&rows, first).movedim(0, axis as isize);
            let value = Value { tensor, ..old.clone() };
            self.values.insert(name.clone(), Some(value));
        }
        Ok(())
    }
}
