//! Run-time checks: whether fixpoints converged, and whether numbers are valid positions or classes. The graph returns
//! them after its outputs, and the run reads them.

use crate::builtin::named::Named;
use crate::builtin::{AtStep, Counts, RuntimeCheck, Verdict};
use crate::lower::solver::explain_nonconvergence;
use crate::solve::Options;
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::limit::MAX_STEPS;
use crate::syntax::source::Span;
use gradus_ir::{DType, Result};
use gradus_tensor::{Device, Tensor, while_loop};
use std::cell::RefCell;

impl RuntimeCheck {
    /// Returns the result of a successful check.
    fn fine(self) -> Tensor {
        match self {
            RuntimeCheck::Converged => Tensor::zeros([3]).to_dtype(DType::F32),
            RuntimeCheck::Ends(_) => Tensor::zeros([1]).to_dtype(DType::F64),
            RuntimeCheck::Whole | RuntimeCheck::Class(_) | RuntimeCheck::Position(_) => {
                Tensor::zeros([3]).to_dtype(DType::F64)
            }
        }
    }
}

impl Verdict {
    /// From the checks at each step of a loop, that of the first step that failed.
    pub(crate) fn of_steps(self, rows: &Tensor) -> Verdict {
        let part = |i| rows.narrow(1, i, 1).squeeze([1]);
        let bad = match self.judged {
            RuntimeCheck::Converged => part(1).le(&part(2)).logical_not(),
            RuntimeCheck::Ends(_)
            | RuntimeCheck::Whole
            | RuntimeCheck::Class(_)
            | RuntimeCheck::Position(_) => part(0).gt(0.0),
        };
        let first = bad.to_dtype(DType::F32).argmax(0).reshape([1]);
        Verdict { verdict: rows.index_select(0, &first).squeeze([0]), ..self }
    }

    /// Returns the error, if the check failed.
    pub(crate) fn fault(
        judged: RuntimeCheck,
        name: &Name,
        span: Span,
        read: &Tensor,
    ) -> Result<Option<Diagnostic>> {
        if judged == RuntimeCheck::Converged {
            return Ok(explain_nonconvergence(read)?.map(|(why, help)| {
                let what = format!("`{name}` did not converge: {why}");
                Diagnostic::error(span, what).here("needs itself").help(help).about(name)
            }));
        }
        let read = read.to(Device::CPU).to_dtype(DType::F64).to_vec::<f64>()?;
        if let RuntimeCheck::Ends(most) = judged {
            let what = format!("time `{name}` does not end: after {most} steps its condition still holds");
            let help = format!("--steps N allows N steps; by default there are at most {MAX_STEPS}");
            let fault = Diagnostic::error(span, what).help(help).about(name);
            return Ok(read.first().is_some_and(|on| *on != 0.0).then_some(fault));
        }
        let (Some(bad), Some(x)) = (read.first(), read.get(1)) else { return Ok(None) };
        let what = match judged {
            _ if *bad == 0.0 => return Ok(None),
            RuntimeCheck::Class(n) => {
                format!("class {x} is out of range: `{name}` has {n} classes, counted from 0")
            }
            RuntimeCheck::Position(n) if x.fract() == 0.0 => {
                format!("position {x} is outside of `{name}`, which has {n} positions there, counted from 0")
            }
            RuntimeCheck::Position(_) => format!("a position of `{name}` is an integer, not {x}"),
            _ => format!("`{name}` takes whole numbers here, not {x}"),
        };
        let step = read.get(2).filter(|step| **step >= 0.0);
        let what = step.map_or_else(|| what.clone(), |step| format!("{what} (at step {step})"));
        Ok(Some(Diagnostic::error(span, what).here(format!("the first is {x}")).about(name)))
    }
}

impl Options {
    /// Keeps a check for the run to read; those inside derivatives and rounds are dropped.
    pub(crate) fn keep(&self, verdict: Verdict) {
        if self.is_read() {
            self.verdicts.borrow_mut().push(verdict);
        }
    }

    /// Traces a loop while a condition holds. Checks made inside are carries of the loop, and kept for the
    /// run.
    pub(crate) fn checked_loop(
        &self,
        counts: Counts,
        init: &[&Tensor],
        most: Option<usize>,
        on: impl Fn(&[Tensor]) -> Tensor,
        body: impl Fn(&[Tensor]) -> Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let own = init.len();
        let (mut said, mut carried): (Vec<Verdict>, Vec<Tensor>) = Default::default();
        loop {
            let heard = RefCell::new(Vec::new());
            let all: Vec<&Tensor> = init.iter().copied().chain(&carried).collect();
            let result = self.by_steps(|| {
                while_loop(
                    &all,
                    most,
                    |c: &[Tensor]| on(&c[..own]),
                    |c: &[Tensor]| {
                        let before = self.verdicts.borrow().len();
                        let mut next = body(&c[..own]);
                        let now = self.verdicts.borrow_mut().split_off(before);
                        next.extend(c[own..].iter().zip(&now).map(|(was, v)| {
                            match counts {
                                Counts::Last => v.verdict.clone(),
                                Counts::Each => Verdict { verdict: was.clone(), ..v.clone() }
                                    .is_fine()
                                    .select(&v.verdict, was),
                            }
                        }));
                        *heard.borrow_mut() = now;
                        next
                    },
                )
            });
            let (mut result, heard) = (result?, heard.into_inner());
            // Which checks to carry is known only after the body has been traced once, so it is traced again.
            if heard.len() == said.len() {
                for (v, verdict) in said.into_iter().zip(result.split_off(own)) {
                    self.keep(Verdict { verdict, ..v });
                }
                return Ok(result);
            }
            carried = heard.iter().map(|v| v.judged.fine()).collect();
            said = heard;
        }
    }

    /// Keeps checks of fixpoints and times inside a function for the run to read. If the run cannot read them, a
    /// failed check makes the value NaN.
    pub(crate) fn judge(&self, value: Tensor, verdicts: Vec<Verdict>) -> Tensor {
        if self.is_read() {
            self.verdicts.borrow_mut().extend(verdicts);
            return value;
        }
        let all = verdicts.iter().filter(|v| v.judged != RuntimeCheck::Converged || !self.allow_unconverged);
        let number = |x: f64| Tensor::full([], x).to_dtype(value.dtype());
        // Multiplied, so that derivatives become NaN as well.
        all.fold(value.clone(), |out, v| &out * &v.is_fine().select(&number(1.0), &number(f64::NAN)))
    }

    /// Checks numbers that are positions or classes. The error has the first bad one in row-major order, and its step.
    pub(crate) fn watch(
        &self,
        judged: RuntimeCheck,
        name: Name,
        span: Span,
        numbers: &Named,
        step: Option<&AtStep>,
    ) {
        let x = &numbers.tensor;
        if x.numel() == 0 || !self.is_read() {
            return;
        }
        let x = x.to_dtype(DType::F64).stop_gradient();
        let mut bad = x.ne(&x.floor());
        if let RuntimeCheck::Class(n) | RuntimeCheck::Position(n) = judged {
            bad = bad.logical_or(&x.lt(0.0)).logical_or(&x.ge(n as f64));
        }
        let at = bad.reshape([-1]).to_dtype(DType::F32).argmax(0).reshape([1]);
        let first = x.reshape([-1]).index_select(0, &at).reshape(&[] as &[usize]);
        let any = bad.any(()).to_dtype(DType::F64);
        let axis = |step: &AtStep| if let AtStep::Axis(time) = step { numbers.position(time) } else { None };
        let step = match (step, step.and_then(axis)) {
            (Some(AtStep::Now(step)), _) => step.to_dtype(DType::F64),
            (_, Some(axis)) => {
                let extents = x.shape();
                let steps = extents[axis] as f64;
                let inner: usize = extents[axis + 1..].iter().product();
                let row = (at.to_dtype(DType::F64) / inner as f64).floor();
                &row - (&row / steps).floor() * steps
            }
            _ => Tensor::full([], -1.0).to_dtype(DType::F64),
        };
        let step = step.reshape(&[] as &[usize]);
        self.keep(Verdict { judged, name, span, verdict: Tensor::stack(&[&any, &first, &step], 0) });
    }
}
