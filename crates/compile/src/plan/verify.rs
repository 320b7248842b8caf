//! Checks a plan: every access is inside of its buffer, and no element is read before it is written. Takes a plan; returns an
//! error that names the step, the buffer and the violation. `aliasing.rs` checks which buffers may share memory.

use super::{BufferLocation, Control, Plan, Step};
use crate::contraction::Contraction;
use crate::kernel::{Kernel, Level, Store};
use crate::layout::Layout;
use gradus_ir::{DType, Error, Result};

impl Plan {
    /// Checks steps and memory. The error names the violation and the step or buffer.
    pub fn verify(&self) -> Result<()> {
        self.verify_steps()?;
        self.verify_arena().and_then(|()| self.verify_donors()).map_err(|what| self.error(what))
    }

    /// Checks the steps of a plan whose temporaries have no memory yet.
    pub(crate) fn verify_steps(&self) -> Result<()> {
        self.check_inputs_and_outputs().and_then(|()| self.check_steps()).map_err(|what| self.error(what))
    }

    fn error(&self, what: String) -> Error {
        Error::verify(format!("{what} in\n{self}"))
    }

    /// Checks that inputs and outputs are numbered in the caller's order.
    fn check_inputs_and_outputs(&self) -> Result<(), String> {
        let number = |b: usize| match self.buffers.get(b).map(|b| &b.location) {
            Some(BufferLocation::Input(k)) => Some((true, *k)),
            Some(BufferLocation::Output(k)) => Some((false, *k)),
            _ => None,
        };
        let mut given = self.inputs.iter().enumerate();
        let mut taken = self.outputs.iter().enumerate();
        if let Some((k, b)) = given.find(|(k, b)| number(**b) != Some((true, *k))) {
            return Err(format!("b{b} is not input {k}"));
        }
        if let Some((k, b)) = taken.find(|(k, b)| number(**b) != Some((false, *k))) {
            return Err(format!("b{b} is not output {k}"));
        }
        Ok(())
    }

    /// Checks that steps read only buffers that are written before, write each buffer once and stay within bounds, and
    /// that all outputs are written.
    fn check_steps(&self) -> Result<(), String> {
        let given = |p: &BufferLocation| matches!(p, BufferLocation::Input(_) | BufferLocation::Constant(_));
        let mut written: Vec<bool> = self.buffers.iter().map(|b| given(&b.location)).collect();
        for (at, step) in self.steps.iter().enumerate() {
            let fail = |what: String| format!("{what} in step {at}");
            for b in step.reads() {
                if !written.get(b).is_some_and(|t| *t) {
                    return Err(fail(format!("b{b} is read before it is written")));
                }
            }
            let mut writes = step.writes();
            writes.sort_unstable();
            writes.dedup();
            for b in writes {
                let why = match self.buffers.get(b).map(|buffer| &buffer.location) {
                    None => Some("does not exist, but is written"),
                    Some(BufferLocation::Input(_)) => Some("is an input, but is written"),
                    Some(BufferLocation::Constant(_)) => Some("is a constant, but is written"),
                    Some(_) => written[b].then_some("is written again"),
                };
                if let Some(why) = why {
                    return Err(fail(format!("b{b} {why}")));
                }
                written[b] = true;
            }
            self.check_step(step).map_err(fail)?;
        }
        for (b, buffer) in self.buffers.iter().enumerate() {
            if let BufferLocation::Constant(l) = &buffer.location {
                self.check_type(b, l.dtype(), l.data().len())?;
            }
        }
        match self.outputs.iter().find(|b| !written[**b]) {
            Some(b) => Err(format!("b{b} is an output that no step writes")),
            None => Ok(()),
        }
    }

    fn check_step(&self, step: &Step) -> Result<(), String> {
        match step {
            Step::Kernel(kernel) => self.check_kernel(kernel),
            Step::Contract(c) => self.check_contraction(c),
            Step::Routine(r) => {
                let typed = r.ins.iter().zip(&r.types).chain(r.outs.iter().zip(&r.results));
                let mut typed = typed.map(|(b, t)| (*b, t.dtype, t.shape.numel()));
                typed.try_for_each(|(b, dtype, numel)| self.check_type(b, dtype, numel))
            }
            Step::Switch(c) => c
                .plans
                .iter()
                .try_for_each(|plan| self.check_nested(c, plan, &[], |k| c.ins.get(k + 1).copied(), 1)),
            Step::Scan { control: c, shared, carries, length, .. } => {
                let plan = c.plans.first().ok_or("a loop has no plan for its body")?;
                let fixed = [shared + carries, *carries];
                self.check_nested(c, plan, &fixed, |k| c.ins.get(k).copied(), *length)
            }
            Step::While { control: c, shared, .. } => {
                let [condition, body] = &c.plans[..] else {
                    return Err("a while loop needs two plans, a condition and a body".into());
                };
                condition.verify().map_err(|e| e.to_string())?;
                let alike = |(a, b): (&usize, &usize)| {
                    let (a, b) = (&condition.buffers[*a], &body.buffers[*b]);
                    a.dtype == b.dtype && a.numel == b.numel
                };
                let same = condition.inputs.len() == body.inputs.len()
                    && condition.inputs.iter().zip(&body.inputs).all(alike);
                let [output] = condition.outputs[..] else {
                    return Err("the condition of a while loop must return one value".into());
                };
                condition.check_type(output, DType::Bool, 1)?;
                if !same || body.outputs.len() + shared != c.ins.len() {
                    return Err(
                        "the operands, condition and body of a while loop have different types".into()
                    );
                }
                self.check_nested(c, body, &[], |k| c.ins.get(k).copied(), 1)
            }
            Step::Slices { control: c, extents, moves } => self.check_slices(c, extents, moves),
        }
    }

    fn check_kernel(&self, kernel: &Kernel) -> Result<(), String> {
        kernel.verify()?;
        for (access, dtype, ends) in kernel.reach() {
            self.check_access(access.buffer, dtype, Some(ends)).map_err(|e| format!("{e} by {access}"))?;
        }
        for Store { value, access } in &kernel.stores {
            // A value of level `Row` is written once per parallel index.
            let axes =
                if kernel.body[*value].level == Level::Row { kernel.parallel } else { kernel.axes.len() };
            if !access.layout.is_injective(&kernel.axes[..axes]) {
                return Err(format!("two indices write the same element of {access}"));
            }
        }
        Ok(())
    }

    fn check_contraction(&self, c: &Contraction) -> Result<(), String> {
        let types = [c.operands, c.operands, c.dtype];
        for (o, (&b, dtype)) in c.buffers.iter().zip(types).enumerate() {
            self.check_access(b, dtype, c.ends(o))?;
        }
        let numel = c.products() * c.m.0 * c.n.0;
        let (extents, strides): (Vec<usize>, Vec<i64>) = c.axes(2).unzip();
        if !(Layout { offset: 0, strides }).is_injective(&extents)
            || (numel > 0 && c.n.0 > 1 && c.n.1[1] != 1)
        {
            return Err("the result of a product is not row-major".into());
        }
        let Some(finish) = &c.finish else { return Ok(()) };
        if finish.parallel < finish.axes.len() || finish.rows() != numel {
            return Err(format!(
                "the kernel fused with a product of {numel} elements has another number of elements"
            ));
        }
        self.check_kernel(finish)
    }

    /// Checks that a buffer has this dtype, and that the positions `ends` (first and last) are inside of it.
    fn check_access(&self, b: usize, dtype: DType, ends: Option<(i64, i64)>) -> Result<(), String> {
        let own = &self.buffers[b];
        check_range((own.dtype, own.numel), dtype, ends).map_err(|what| format!("b{b}: {what}"))
    }

    /// Checks that a buffer has this dtype and number of elements.
    fn check_type(&self, b: usize, dtype: DType, numel: usize) -> Result<(), String> {
        let own = &self.buffers[b];
        let same = own.dtype == dtype && own.numel == numel;
        if same {
            Ok(())
        } else {
            Err(format!("b{b}: {}[{}] is used as {dtype}[{numel}]", own.dtype, own.numel))
        }
    }

    /// Checks that the operands and results of a control step match the inputs and outputs of `plan`. Operands from
    /// index `first_stacked[0]` on, and results from index `first_stacked[1]` on, are stacks of `length` slices, of which the plan
    /// takes or returns one. The other operands and results match completely.
    fn check_nested(
        &self,
        c: &Control,
        plan: &Plan,
        first_stacked: &[usize],
        operand: impl Fn(usize) -> Option<usize>,
        length: usize,
    ) -> Result<(), String> {
        plan.verify().map_err(|e| e.to_string())?;
        let parts =
            |side: usize, k: usize| if first_stacked.get(side).is_some_and(|w| k >= *w) { length } else { 1 };
        for (k, &inner) in plan.inputs.iter().enumerate() {
            let outer = operand(k).ok_or_else(|| format!("input {k} of a plan has no operand"))?;
            let own = &plan.buffers[inner];
            self.check_type(outer, own.dtype, own.numel * parts(0, k))?;
        }
        if plan.outputs.len() != c.outs.len() {
            return Err(format!("{} results of a plan with {} outputs", c.outs.len(), plan.outputs.len()));
        }
        for (k, (&inner, &outer)) in plan.outputs.iter().zip(&c.outs).enumerate() {
            let own = &plan.buffers[inner];
            self.check_type(outer, own.dtype, own.numel * parts(1, k))?;
        }
        Ok(())
    }

    /// Checks the plan of a slice, and that it stays within the buffers at every index of the outer axes.
    fn check_slices(&self, c: &Control, extents: &[usize], moves: &[Vec<i64>]) -> Result<(), String> {
        let [body] = &c.plans[..] else { return Err("slices need one plan".into()) };
        body.verify().map_err(|e| e.to_string())?;
        let ends = body.inputs.iter().chain(&body.outputs);
        let outer = c.ins.iter().chain(&c.outs);
        if moves.len() != c.ins.len() + c.outs.len() || c.ins.len() != body.inputs.len() {
            return Err("the operands of slices do not match the inputs of their plan".into());
        }
        for ((&inner, &outer), along) in ends.zip(outer).zip(moves) {
            let own = &body.buffers[inner];
            let reach: i64 = extents.iter().zip(along).map(|(e, s)| (*e as i64 - 1) * s).sum();
            self.check_access(outer, own.dtype, Some((0, reach + own.numel as i64 - 1)))?;
        }
        // Slices run in parallel, so no two may write the same element.
        for (k, along) in moves[c.ins.len()..].iter().enumerate() {
            let disjoint = |layout: &Layout, axes: &[usize]| {
                let strides = along.iter().chain(&layout.strides[..axes.len()]).copied().collect();
                Layout { offset: 0, strides }.is_injective(&[extents, axes].concat())
            };
            let mut written = body.steps.iter().flat_map(|s| s.writes_at(body.outputs[k]));
            if !written.all(|(layout, axes)| disjoint(&layout, &axes)) {
                return Err(format!("two slices write the same element of result {k}"));
            }
        }
        Ok(())
    }
}

/// Checks that `numel` elements of dtype `own` can be accessed as `dtype` at the positions from `ends.0` to `ends.1`.
pub(crate) fn check_range(
    (own, numel): (DType, usize),
    dtype: DType,
    ends: Option<(i64, i64)>,
) -> Result<(), String> {
    let inside = ends.is_none_or(|(low, high)| low >= 0 && high < numel as i64);
    if inside && own == dtype {
        Ok(())
    } else {
        let at = ends.map_or(String::new(), |(low, high)| format!(" at {low}..={high}"));
        Err(format!("{own}[{numel}] is accessed as {dtype}{at}"))
    }
}
