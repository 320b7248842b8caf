//! Runs a time that ends by a condition: one loop that carries the step number and all names at that step. Takes a
//! frame with a schedule by steps; gives every name its value at the last step. `stream` computes a step.

use super::Solver;
use super::stream::{Frame, Inputs, Line, count};
use crate::builtin::{Counts, RuntimeCheck, Verdict};
use crate::lower::eval::{Eval, Fault, Value, fault};
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::indices::moving;
use crate::syntax::source::Span;
use gradus_ir::{DType, Error};
use gradus_tensor::Tensor;
use std::cell::RefCell;

impl<'a> Solver<'a> {
    /// Runs the loop of a time that ends by a condition.
    pub(super) fn walk_while(
        &mut self,
        frame: &Frame<'_, 'a>,
        inputs: &Inputs,
        (time, go, ends): (&'a Name, &'a Name, Span),
    ) -> Eval<()> {
        let schedule = frame.schedule;
        let decides = schedule.at.get(go).copied();
        let Some(go_at) = decides.filter(|_| inputs.slices.is_empty() && schedule.lags == 1) else {
            return Err(self.independent_condition(go, ends));
        };
        let values = self.values.clone();
        let dtypes = self.dtypes_of_steps(frame, inputs, &values)?;
        let zeros: Vec<Tensor> =
            (0..dtypes.len()).map(|g| Tensor::zeros(self.extents(frame, g)).to_dtype(dtypes[g])).collect();
        let float = self.options.float;
        let length = count(frame.steps);
        let row = |k: usize| {
            inputs.stacks.iter().skip(1).map(|t| t.at(k.min(length - 1) as isize)).collect::<Vec<_>>()
        };
        let (first, later) = (row(0), row(1));
        let inside: RefCell<Option<Fault>> = RefCell::new(None);
        let step = |moment: &Tensor, lines: &[&Line<'a>], carries: &[Tensor], rows: &[Tensor]| {
            let at = [&[moment.to_dtype(float)], rows].concat();
            let now = self.step(frame, inputs, &values, lines, (&dtypes, false), carries, &at);
            let now = now.unwrap_or_else(|fault| {
                *inside.borrow_mut() = Some(fault);
                vec![Tensor::failed(Error::value("an equation", "failed")); dtypes.len()]
            });
            now.iter().zip(&dtypes).map(|(t, d)| t.to_dtype(*d)).collect::<Vec<_>>()
        };
        let begin = Tensor::full([], 0i64);
        let most = self.options.most_steps;
        let holds = |c: &[Tensor]| c[1 + go_at].to_dtype(DType::Bool).any(());
        // At the first step no state has been computed from another.
        let at_first: Vec<&Line<'a>> = frame.lines.iter().filter(|l| l.steps.0 <= 0).collect();
        let always: Vec<&Line<'a>> = frame.lines.iter().collect();
        let start = self.options.timed(|c| c.at(0), || step(&begin, &at_first, &zeros, &first));
        let init: Vec<&Tensor> = [&begin].into_iter().chain(&start).collect();
        let on = |c: &[Tensor]| holds(c).logical_and(&c[0].lt(most as f64));
        let last = self.options.checked_loop(Counts::Each, &init, None, on, |c: &[Tensor]| {
            let moment = &c[0] + 1i64;
            // Iteration 0 computes step 1.
            let next = self.options.timed(|c| c.from(1), || step(&moment, &always, &c[1..], &later));
            [vec![moment], next].concat()
        });
        if let Some(fault) = inside.borrow_mut().take() {
            return Err(fault);
        }
        let last = last.map_err(|e| fault(schedule.span, &e))?;
        let verdict = holds(&last).to_dtype(DType::F64).reshape([1]);
        self.verdicts.push(Verdict {
            judged: RuntimeCheck::Ends(most),
            name: time.clone(),
            span: ends,
            verdict,
        });
        for (g, tensor) in last.into_iter().skip(1).enumerate() {
            let axis = self.batch.len() + self.time_places(frame.group[g]).position(|t| t).unwrap_or(0);
            let tensor = tensor.unsqueeze(axis as isize);
            let value = Value { ended: true, batch: self.batch.clone(), ..Value::new(tensor) };
            self.values.insert(schedule.names[g].clone(), Some(value));
        }
        Ok(())
    }

    /// Returns the time of a group and its condition, if it ends by a condition only.
    pub(super) fn end_condition(&self, group: &[usize]) -> Option<(&'a Name, &'a Name, Span)> {
        let mut own = group.iter().flat_map(|i| self.own(*i));
        let (time, _) = own.find_map(|e| moving(&e.target.places))?;
        self.core.program.times.get(time).map(|(go, at)| (time, go, *at))
    }

    /// Returns the error for a condition that does not depend on the states of its time.
    fn independent_condition(&self, go: &Name, at: Span) -> Fault {
        let what =
            format!("the time ends when `{go}` does not hold, but `{go}` does not depend on its states");
        let help = "the condition must have a value at every step and read a state there; states may read the step before, but \
            nothing else that depends on time";
        Diagnostic::error(at, what).help(help).about(go).into()
    }
}
