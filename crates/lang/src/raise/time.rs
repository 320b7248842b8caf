//! Raises loops to virtual time. Only values that depend on their own earlier steps are written per step; all
//! other values of a step are written for all steps at once, like values before or after the loop.

use super::draft::{Drafts, operand};
use super::forms::{Raise, call, live, walk};
use super::function::axis_called;
use super::{Base, Source, View};
use crate::syntax::ast::{Index, Name, Projection};
use crate::syntax::order::components;
use gradus_ir::graph::{Builder, Id, Node, Var};
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::{Form, Op};
use gradus_ir::{Aval, Graph, Result, transform};
use std::collections::HashMap;
use std::sync::Arc;

/// A value inside a loop.
#[derive(Clone)]
enum Held {
    /// The same at every step.
    Same(View),
    /// All steps at once, along a new first axis.
    Stack(View),
    /// At the current step.
    Step(View),
}

/// A loop being written.
struct Loop<'a> {
    scan: &'a Scan,
    time: Name,
    held: HashMap<Id, Held>,
    /// The name of each carry's state.
    states: HashMap<usize, Name>,
    /// Values that have been requested for all steps.
    stacks: HashMap<Id, View>,
    /// Values that have been requested at the current step.
    step_values: HashMap<Id, View>,
}

fn nothing() -> View {
    View { base: Base::Number(0.0, None), kinds: Vec::new(), when: None }
}

/// Reverses a tensor along its first axis.
fn flipped(x: &View, drafts: &mut Drafts) -> View {
    let x = drafts.solid(x);
    let places: Vec<usize> = (0..x.kinds.len()).collect();
    let value = call("flip", vec![operand(&x, &places)], vec![axis_called(0)]);
    drafts.equation(x.kinds, Vec::new(), Projection::Sum, value)
}

/// Returns true if an op is written as functions that match axes by position.
fn is_by_place(graph: &Graph, node: &Node) -> bool {
    let avals: Vec<Aval> = node.ins.iter().map(|i| graph.aval(*i).clone()).collect();
    match node.op.def().form(&avals) {
        Form::Region(body) => body.nodes().iter().any(|n| is_by_place(&body, n)),
        Form::Input
        | Form::Constant(_)
        | Form::Iota { .. }
        | Form::Pointwise(_)
        | Form::View(_)
        | Form::Reduce { .. }
        | Form::ArgReduce { .. }
        | Form::Cumulate { .. }
        | Form::Contract { .. }
        | Form::Take { .. }
        | Form::Scatter { .. }
        | Form::Sort { .. } => false,
        _ => true,
    }
}

/// Inlines the regions of a loop body that have several operands and match axes by position. Those of their
/// ops that depend on no state are then written for all steps at once, with time as an axis.
fn opened(graph: &Graph) -> Result<Graph> {
    let b = Builder::new();
    let mut known: HashMap<Id, Var<'_>> = HashMap::new();
    for (at, node) in graph.nodes().iter().enumerate() {
        let ins: Vec<Var<'_>> = node.ins.iter().filter_map(|i| known.get(i).copied()).collect();
        let avals: Vec<Aval> = node.ins.iter().map(|i| graph.aval(*i).clone()).collect();
        let outs = match (&node.op, node.op.def().form(&avals)) {
            (Op::Input(i), _) => vec![b.input(&graph.inputs()[i.index].0, node.outs[0].clone())],
            (_, Form::Region(body)) if ins.len() > 1 && is_by_place(graph, node) => {
                b.inline(&opened(&body)?, &ins)
            }
            _ => b.apply(node.op.clone(), &ins),
        };
        known.extend(
            outs.into_iter().enumerate().map(|(out, v)| (Id { node: at as u32, out: out as u32 }, v)),
        );
    }
    b.finish(&graph.outputs().iter().filter_map(|id| known.get(id).copied()).collect::<Vec<_>>())
}

impl Raise<'_> {
    /// Raises a loop of more than `FEW` steps, over the time of the current program or function. If that time
    /// has another length, or the loop is inside one of its steps, the loop becomes a function with its own
    /// time.
    pub(super) fn through_time(&self, scan: &Scan, drafts: &mut Drafts) -> Result<Vec<View>> {
        let clock = drafts.clock;
        if clock.within || clock.steps.is_some_and(|n| n != scan.length) {
            let extents: Vec<Vec<usize>> = (0..self.node.outs.len()).map(|k| self.extents(k)).collect();
            return drafts.function(self.ins, &extents, |ins, drafts| {
                Raise { ins, ..*self }.through_time(scan, drafts)
            });
        }
        drafts.clock.steps = Some(scan.length);
        let time = drafts.time(scan.length);
        let (stacks, step_values) = (HashMap::new(), HashMap::new());
        let scan = &Scan { body: Arc::new(opened(&scan.body)?), ..scan.clone() };
        Loop { scan, time, held: HashMap::new(), states: HashMap::new(), stacks, step_values }
            .write(self.ins, drafts)
    }
}

impl Loop<'_> {
    fn write(&mut self, operands: &[View], drafts: &mut Drafts) -> Result<Vec<View>> {
        let (scan, body) = (self.scan, &self.scan.body);
        let live = live(body);
        let input = |i: usize| body.inputs()[i].1.node as usize;
        let carried: HashMap<usize, usize> = (0..scan.carries).map(|c| (input(scan.shared + c), c)).collect();
        let needs: Vec<Vec<usize>> = (0..body.nodes().len())
            .map(|at| match carried.get(&at) {
                Some(c) => vec![body.outputs()[*c].node as usize],
                None if live[at] => body.nodes()[at].ins.iter().map(|i| i.node as usize).collect(),
                None => Vec::new(),
            })
            .collect();
        for mut group in components(&needs) {
            group.sort_unstable();
            let at = group[0];
            if group.len() > 1 {
                self.recursion(&group, &carried, operands, drafts)?;
            } else if let Some(c) = carried.get(&at) {
                let begin = &operands[scan.shared + c];
                match needs[at].contains(&at) {
                    true => {
                        drop(self.held.insert(body.inputs()[scan.shared + c].1, Held::Same(begin.clone())))
                    }
                    false => {
                        self.state(*c, begin, drafts);
                        self.step(*c, drafts);
                    }
                }
            } else if let Op::Input(i) = &body.nodes()[at].op {
                let given = operands[i.index].clone();
                let held = match i.index < scan.shared {
                    true => Held::Same(given),
                    false if scan.reverse => Held::Stack(flipped(&given, drafts)),
                    false => Held::Stack(given),
                };
                self.held.insert(Id { node: at as u32, out: 0 }, held);
            } else if live[at] {
                self.at_once(at, drafts)?;
            }
        }
        let mut results = Vec::new();
        for c in 0..scan.carries {
            let begin = &operands[scan.shared + c];
            results.push(match self.states.get(&c).cloned() {
                Some(state) => self.at(&state, &begin.kinds, Index::Step(-1), drafts),
                None => begin.clone(),
            });
        }
        for id in &body.outputs()[scan.carries..] {
            let y = self.stack(*id, drafts);
            results.push(if scan.reverse { flipped(&y, drafts) } else { y });
        }
        Ok(results)
    }

    /// Writes ops that depend on each other from step to step, at the current step.
    fn recursion(
        &mut self,
        group: &[usize],
        carried: &HashMap<usize, usize>,
        operands: &[View],
        drafts: &mut Drafts,
    ) -> Result<()> {
        let body = &self.scan.body;
        let carries: Vec<usize> = group.iter().filter_map(|at| carried.get(at)).copied().collect();
        for c in &carries {
            self.state(*c, &operands[self.scan.shared + c], drafts);
        }
        let ops: Vec<usize> = group.iter().filter(|at| !carried.contains_key(at)).copied().collect();
        for at in ops {
            let node = &body.nodes()[at];
            let ins: Vec<View> = node.ins.iter().map(|id| self.at_step(*id, drafts)).collect();
            drafts.clock.within = true;
            let outs = Raise { graph: body, node, ins: &ins }.outputs(drafts);
            drafts.clock.within = false;
            for (out, view) in outs?.into_iter().enumerate() {
                let held = if view.when.is_some() { Held::Step(view) } else { Held::Same(view) };
                self.held.insert(Id { node: at as u32, out: out as u32 }, held);
            }
        }
        carries.into_iter().for_each(|c| self.step(c, drafts));
        Ok(())
    }

    /// Reads a carry's state at a time index.
    fn at(&self, state: &Name, kinds: &[usize], when: Index, drafts: &mut Drafts) -> View {
        let view = View::named(state.clone(), kinds.to_vec(), Some(when.clone()));
        match when {
            // A fixed step is read once, in its own equation.
            Index::Step(_) => {
                let places: Vec<usize> = (0..kinds.len()).collect();
                drafts.equation(kinds.to_vec(), Vec::new(), Projection::Sum, operand(&view, &places))
            }
            _ => view,
        }
    }

    /// Makes the state of a carry and writes its initial value.
    fn state(&mut self, c: usize, begin: &View, drafts: &mut Drafts) {
        let id = self.scan.body.inputs()[self.scan.shared + c].1;
        let state = drafts.fresh();
        drafts.copy(begin, state.clone(), Some(Index::Step(0)));
        let now = self.at(&state, &begin.kinds, Index::Time(self.time.clone(), 0), drafts);
        self.held.insert(id, Held::Step(now));
        self.states.insert(c, state);
    }

    /// Writes the next value of a state.
    fn step(&mut self, c: usize, drafts: &mut Drafts) {
        let next = self.at_step(self.scan.body.outputs()[c], drafts);
        if let Some(state) = self.states.get(&c) {
            drafts.copy(&next, state.clone(), Some(Index::Time(self.time.clone(), 1)));
        }
    }

    /// Writes an op that does not depend on itself, for all steps at once.
    fn at_once(&mut self, at: usize, drafts: &mut Drafts) -> Result<()> {
        let body = &self.scan.body;
        let node = &body.nodes()[at];
        let moves = |id: &Id| !matches!(self.held.get(id), Some(Held::Same(_)));
        let batched: Vec<bool> = node.ins.iter().map(moves).collect();
        let many = batched.contains(&true);
        let outs = if many {
            let b = Builder::new();
            let input = |(i, id): (usize, &Id)| b.input(&format!("x{i}"), body.aval(*id).clone());
            let ins: Vec<_> = node.ins.iter().enumerate().map(input).collect();
            let one = b.finish(&b.apply(node.op.clone(), &ins))?;
            let all = transform::vmap_mask(&one, &batched, self.scan.length)?;
            let ins: Vec<View> = node
                .ins
                .iter()
                .zip(&batched)
                .map(|(id, many)| if *many { self.stack(*id, drafts) } else { self.at_step(*id, drafts) })
                .collect();
            walk(&all, &ins, drafts)?
        } else {
            let ins: Vec<View> = node.ins.iter().map(|id| self.at_step(*id, drafts)).collect();
            Raise { graph: body, node, ins: &ins }.outputs(drafts)?
        };
        for (out, view) in outs.into_iter().enumerate() {
            let held = if many { Held::Stack(view) } else { Held::Same(view) };
            self.held.insert(Id { node: at as u32, out: out as u32 }, held);
        }
        Ok(())
    }

    /// Returns a value at all steps, along a new first axis.
    fn stack(&mut self, id: Id, drafts: &mut Drafts) -> View {
        if let Some(view) = self.stacks.get(&id) {
            return view.clone();
        }
        let view = match self.held.get(&id).cloned() {
            Some(Held::Stack(view)) => view,
            Some(Held::Step(view)) => {
                let mut left = vec![drafts.laid_out(&self.time, self.scan.length)];
                left.extend(&view.kinds);
                let places: Vec<usize> = (1..left.len()).collect();
                let name = drafts.fresh();
                let value = operand(&view, &places);
                drafts.add(name.clone(), None, left.clone(), Vec::new(), Projection::Sum, value);
                left[0] = drafts.kind(self.scan.length);
                View::named(name, left, None)
            }
            Some(Held::Same(view)) => {
                let mut kinds = view.kinds.clone();
                kinds.insert(0, drafts.kind(self.scan.length));
                view.with_axes(kinds, |axis| Source::Axis(axis + 1))
            }
            None => nothing(),
        };
        self.stacks.insert(id, view.clone());
        view
    }

    /// Returns a value at the current step.
    fn at_step(&mut self, id: Id, drafts: &mut Drafts) -> View {
        if let Some(view) = self.step_values.get(&id) {
            return view.clone();
        }
        let view = match self.held.get(&id).cloned() {
            Some(Held::Stack(view)) if matches!(view.base, Base::Tensor(..)) => {
                let left = view.kinds[1..].to_vec();
                let more = vec![drafts.laid_out(&self.time, self.scan.length)];
                let places: Vec<usize> = [left.len()].into_iter().chain(0..left.len()).collect();
                let (name, when) = (drafts.fresh(), Some(Index::Time(self.time.clone(), 0)));
                let value = operand(&view, &places);
                drafts.add(name.clone(), when.clone(), left.clone(), more, Projection::Sum, value);
                View::named(name, left, when)
            }
            Some(Held::Stack(view)) => View { kinds: view.kinds[1..].to_vec(), ..view },
            Some(Held::Same(view) | Held::Step(view)) => view,
            None => nothing(),
        };
        self.step_values.insert(id, view.clone());
        view
    }
}
