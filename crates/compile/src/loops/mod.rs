//! Optimises loops: hoists work out of the iterations, and merges loops that run the same iterations.
//!
//! - Values that depend only on shared operands are computed once, before the loop.
//! - Products that do not depend on a carry are computed for all iterations at once, as one large product. If iterations are
//!   small, pointwise functions are also computed in this way. The elements that the loop reads and writes at most double.
//! - Shared operands of products are transposed once, before the loop.
//! - Products that a later loop would compute again are kept by the earlier loop (`reuse`).
//!
//! Results keep their bits: every element is computed from the same numbers in the same order.

mod reuse;

use crate::profile::Loops;
use gradus_ir::graph::{Builder, Id, Node, Var};
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::movement::Permute;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::{Form, Op};
use gradus_ir::transform::vmap_into;
use gradus_ir::{Aval, Graph, Result, stop};
use std::collections::HashMap;
use std::sync::Arc;

/// Optimises the loops of a graph.
pub(crate) fn optimize_loops(graph: Graph, limits: &Loops) -> Result<Graph> {
    if !graph.nodes().iter().any(|n| matches!(n.op, Op::Scan(_))) {
        return Ok(graph);
    }
    let together = find_mergeable(&graph)?;
    let graph = rebuild(&graph, |b, i, values, operands| match together.get(&i) {
        // An earlier loop computes the results of this one.
        Some(MergedLoop::In(first, outs)) => Ok(Some(outs.iter().map(|&k| values[*first][k]).collect())),
        Some(MergedLoop::All(scan)) => b.try_apply(scan.clone(), operands).map(Some),
        None => Ok(None),
    })?;
    let graph = reuse::reuse_products(&graph, limits)?;
    rebuild(&graph, |b, i, _, operands| {
        let Op::Scan(scan) = &graph.nodes()[i].op else { return Ok(None) };
        LoopOptimizer::new(scan, limits).apply(b, operands).map(Some)
    })
}

/// Rebuilds a graph with some nodes replaced. `replace` receives the number of a node, the new values so far and the new
/// operands; it returns the new results, or `None` to copy the node.
fn rebuild(
    graph: &Graph,
    replace: impl for<'b> Fn(&'b Builder, usize, &[Vec<Var<'b>>], &[Var<'b>]) -> Result<Option<Vec<Var<'b>>>>,
) -> Result<Graph> {
    let b = Builder::with_capacity(graph.nodes().len());
    let mut values: Vec<Vec<Var<'_>>> = Vec::with_capacity(graph.nodes().len());
    let mut inputs = graph.inputs().iter();
    for (i, node) in graph.nodes().iter().enumerate() {
        stop::poll()?;
        let operands: Vec<Var<'_>> =
            node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
        let outs = match input(node) {
            Some(_) => {
                let name = inputs.next().map_or("", |(name, _)| name.as_str());
                vec![b.input(name, node.outs[0].clone())]
            }
            None => b.from_origin(&node.origin, || match replace(&b, i, &values, &operands)? {
                Some(outs) => Ok(outs),
                None => b.try_apply(node.op.clone(), &operands),
            })?,
        };
        values.push(outs);
    }
    let outputs: Vec<Var<'_>> =
        graph.outputs().iter().map(|id| values[id.node as usize][id.out as usize]).collect();
    b.finish(&outputs)
}

/// The role of a loop that runs the same iterations as another.
enum MergedLoop {
    /// This loop computes the results of all loops with the same iterations.
    All(Scan),
    /// An earlier loop computes the results of this loop. Has the number of that loop, and the indices of the results.
    In(usize, Vec<usize>),
}

/// Finds loops over the same operands with the same carries, such as a recurrence and the same recurrence that also returns
/// its carries.
fn find_mergeable(graph: &Graph) -> Result<HashMap<usize, MergedLoop>> {
    let mut found: HashMap<usize, MergedLoop> = HashMap::new();
    let scans: Vec<(usize, &Node, &Scan)> = graph
        .nodes()
        .iter()
        .enumerate()
        .filter_map(|(i, n)| if let Op::Scan(s) = &n.op { Some((i, n, s)) } else { None })
        .collect();
    for (k, (i, node, scan)) in scans.iter().enumerate() {
        let key = |s: &Scan| (s.shared, s.carries, s.length, s.reverse);
        let alike = |(_, n, s): &&(usize, &Node, &Scan)| n.ins == node.ins && key(s) == key(scan);
        let Some((first, _, other)) = scans[..k].iter().find(alike) else { continue };
        let whole = match found.get(first) {
            Some(MergedLoop::All(whole)) => whole.clone(),
            Some(MergedLoop::In(..)) => continue,
            None => (*other).clone(),
        };
        if let Some((both, outs)) = merge_loops(&whole, scan)? {
            found.insert(*first, MergedLoop::All(both));
            found.insert(*i, MergedLoop::In(*first, outs));
        }
    }
    Ok(found)
}

/// Merges two loops. Returns the loop that computes the results of both, and the indices of the second's results.
fn merge_loops(first: &Scan, second: &Scan) -> Result<Option<(Scan, Vec<usize>)>> {
    let r = Builder::new();
    let ins: Vec<Var<'_>> = first.body.input_avals().into_iter().map(|a| r.input("x", a)).collect();
    let (mut outs, others) = (r.inline(&first.body, &ins), r.inline(&second.body, &ins));
    let carries = first.carries;
    let ids = |outs: &[Var<'_>]| outs.iter().take(carries).map(|v| v.id()).collect::<Vec<_>>();
    if ids(&outs) != ids(&others) {
        return Ok(None);
    }
    let mut output_of: Vec<usize> = (0..carries).collect();
    for other in &others[carries..] {
        let known = (carries..outs.len()).find(|&k| outs[k].id() == other.id());
        output_of.push(known.unwrap_or(outs.len()));
        if known.is_none() {
            outs.push(*other);
        }
    }
    let body = Arc::new(r.finish(&outs)?);
    Ok(Some((Scan { body, ..first.clone() }, output_of)))
}

/// The kinds of loop operands that a value in an iteration depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DependsOn {
    /// Only shared operands, or none.
    Shared,
    /// Slices of the inputs, and possibly shared operands.
    Slices,
    /// Carries, and possibly slices and shared operands.
    Carries,
}

struct LoopOptimizer<'s> {
    scan: &'s Scan,
    limits: &'s Loops,
    /// For each node of the body, the operands it depends on.
    depends_on: Vec<DependsOn>,
}

impl<'s> LoopOptimizer<'s> {
    fn new(scan: &'s Scan, limits: &'s Loops) -> LoopOptimizer<'s> {
        let mut depends_on: Vec<DependsOn> = Vec::with_capacity(scan.body.nodes().len());
        for node in scan.body.nodes() {
            depends_on.push(match input(node) {
                Some(i) if i < scan.shared => DependsOn::Shared,
                Some(i) if i >= scan.shared + scan.carries => DependsOn::Slices,
                Some(_) => DependsOn::Carries,
                None => {
                    node.ins.iter().map(|id| depends_on[id.node as usize]).max().unwrap_or(DependsOn::Shared)
                }
            });
        }
        LoopOptimizer { scan, limits, depends_on }
    }

    fn depends_on(&self, id: Id) -> DependsOn {
        self.depends_on[id.node as usize]
    }

    fn form(&self, node: &Node) -> Form {
        let types: Vec<Aval> = node.ins.iter().map(|id| self.scan.body.aval(*id).clone()).collect();
        node.op.def().form(&types)
    }

    /// Returns the loop-invariant values to hoist; inputs, constants and views stay.
    fn invariants(&self) -> Vec<Id> {
        let body = &self.scan.body;
        let used = body.nodes().iter().zip(&self.depends_on).filter(|(_, on)| **on != DependsOn::Shared);
        let mut once: Vec<Id> = Vec::new();
        for id in used
            .flat_map(|(n, _)| &n.ins)
            .chain(body.outputs())
            .filter(|id| self.depends_on(**id) == DependsOn::Shared)
        {
            let mut id = *id;
            let form = loop {
                let node = &body.nodes()[id.node as usize];
                match self.form(node) {
                    Form::View(_) | Form::Reshape => id = node.ins[0],
                    form => break form,
                }
            };
            let is_source = matches!(form, Form::Input | Form::Constant(_) | Form::Iota { .. });
            if !is_source && !once.contains(&id) {
                once.push(id);
            }
        }
        once
    }

    /// Returns the values to compute for all iterations before the loop: products, and pointwise functions if iterations are
    /// small. Their elements per iteration are at most as many as the elements that the loop reads and writes.
    fn batched_values(&self) -> Vec<Id> {
        let body = &self.scan.body;
        let elements = |a: &Aval| a.shape.numel();
        let slices =
            body.input_avals()[self.scan.shared + self.scan.carries..].iter().map(elements).sum::<usize>();
        let mut left = slices + body.output_avals()[self.scan.carries..].iter().map(elements).sum::<usize>();
        let small = body.nodes().iter().flat_map(|n| &n.outs).all(|a| elements(a) <= self.limits.small);
        // Marks the values that are outputs, or that nodes which depend on carries read.
        let mut used = vec![false; body.nodes().len()];
        let within = body.nodes().iter().zip(&self.depends_on).filter(|(_, on)| **on == DependsOn::Carries);
        within.flat_map(|(n, _)| &n.ins).chain(body.outputs()).for_each(|id| used[id.node as usize] = true);
        let (mut ahead, mut ready) = (Vec::new(), vec![false; body.nodes().len()]);
        for (i, node) in body.nodes().iter().enumerate() {
            let simple = node.ins.iter().all(|id| ready[id.node as usize]);
            ready[i] = match (self.depends_on[i], self.form(node)) {
                (DependsOn::Shared, _) | (DependsOn::Slices, Form::Input) => true,
                (DependsOn::Slices, Form::Pointwise(_)) if simple && !(small && used[i]) => true,
                (DependsOn::Slices, Form::Contract { .. } | Form::Pointwise(_)) if simple => {
                    let rest = left.checked_sub(elements(&node.outs[0]));
                    left = rest.unwrap_or(left);
                    ahead.extend(rest.map(|_| Id { node: i as u32, out: 0 }));
                    rest.is_some()
                }
                // The operands of a hoisted product are computed before the loop, and possibly again in it, so they must
                // be cheap.
                (DependsOn::Slices, Form::View(_) | Form::Reshape) => simple,
                (DependsOn::Slices, Form::Pad { .. } | Form::Concat { .. }) => simple,
                _ => false,
            };
        }
        ahead
    }

    /// Returns the shared operands to transpose before the loop: those of products in the loop whose last axis is summed. Each
    /// entry is a product, an operand and the new order of its axes, with the summed axes first.
    fn transposed_operands(&self, once: &[Id]) -> Vec<(usize, usize, Vec<usize>)> {
        let mut transposed = Vec::new();
        for (i, node) in self.scan.body.nodes().iter().enumerate() {
            let Op::Dot(dot) = &node.op else { continue };
            for (operand, id) in node.ins.iter().enumerate() {
                let is_input = input(&self.scan.body.nodes()[id.node as usize]).is_some();
                let known = self.depends_on(*id) == DependsOn::Shared && (is_input || once.contains(id));
                let (own, _) = labels(dot, operand);
                let lane = |l: &char| dot.out.contains(*l);
                let summed_last = own.chars().last().is_some_and(|l| !lane(&l));
                if self.depends_on[i] == DependsOn::Carries && known && summed_last {
                    let all = || own.chars().enumerate();
                    let order = all().filter(|(_, l)| !lane(l)).chain(all().filter(|(_, l)| lane(l)));
                    transposed.push((i, operand, order.map(|(a, _)| a).collect()));
                }
            }
        }
        transposed
    }

    fn apply<'g>(&self, b: &'g Builder, operands: &[Var<'g>]) -> Result<Vec<Var<'g>>> {
        let Scan { body, shared, carries, length, .. } = self.scan;
        let (once, ahead) = (self.invariants(), self.batched_values());
        let transposed = self.transposed_operands(&once);
        if once.is_empty() && ahead.is_empty() && transposed.is_empty() {
            return b.try_apply(self.scan.clone(), operands);
        }
        let (first, rest) = operands.split_at(*shared);
        let (start, slices) = rest.split_at(*carries);
        // Builds a graph of values to compute before the loop, from shared operands or from slices.
        let before = |ids: &[Id]| -> Result<Graph> {
            let r = Builder::new();
            let ins: Vec<Var<'_>> = body.input_avals().into_iter().map(|a| r.input("x", a)).collect();
            let values = r.inline_all(body, &ins);
            r.finish(&ids.iter().map(|id| values[id.node as usize][id.out as usize]).collect::<Vec<_>>())
        };
        // These values do not depend on carries, so tracing them needs only shared operands and one slice of each input.
        let slice = |x: &Var<'g>| x.slice_axis(0, 0, 1).reshape(&x.shape()[1..]);
        let one_step: Vec<Var<'g>> = match length {
            0 => return b.try_apply(self.scan.clone(), operands),
            _ => first.iter().chain(start).copied().chain(slices.iter().map(slice)).collect(),
        };
        let mut new_shared = b.inline(&before(&once)?, &one_step);
        let batched: Vec<bool> = (0..operands.len()).map(|i| i >= shared + carries).collect();
        let new_slices = vmap_into(b, &before(&ahead)?, operands, &batched, *length);
        for (i, operand, order) in &transposed {
            let id = body.nodes()[*i].ins[*operand];
            let from = match input(&body.nodes()[id.node as usize]) {
                Some(i) => first[i],
                None => new_shared[once.iter().position(|o| *o == id).unwrap_or_default()],
            };
            new_shared.push(b.apply1(Permute { axes: order.clone() }, &[from]));
        }
        let types = |vars: &[Var<'g>]| vars.iter().map(|v| v.aval()).collect::<Vec<_>>();
        let slice_type = |a: Aval| a.with_shape(&a.shape[1..]);
        let r = Builder::new();
        let inputs = |types: Vec<Aval>| types.into_iter().map(|a| r.input("x", a)).collect::<Vec<_>>();
        let (own_shared, more_shared) = (inputs(types(first)), inputs(types(&new_shared)));
        let own_carries = inputs(types(start));
        let own_slices = inputs(types(slices).into_iter().map(slice_type).collect());
        let more_slices = inputs(types(&new_slices).into_iter().map(slice_type).collect());
        let own = [own_shared, own_carries, own_slices].concat();
        let mut values: Vec<Vec<Var<'_>>> = Vec::with_capacity(body.nodes().len());
        for (i, node) in body.nodes().iter().enumerate() {
            let mut op = node.op.clone();
            let mut operands: Vec<Var<'_>> =
                node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
            for (k, (_, operand, order)) in transposed.iter().enumerate().filter(|(_, t)| t.0 == i) {
                operands[*operand] = more_shared[once.len() + k];
                op = relabelled(&op, *operand, order);
            }
            let mut outs = match input(node) {
                Some(i) => vec![own[i]],
                None => r.from_origin(&node.origin, || r.try_apply(op, &operands))?,
            };
            let is = |id: &Id| id.node as usize == i;
            for (id, new) in once.iter().zip(&more_shared).chain(ahead.iter().zip(&more_slices)) {
                if is(id) {
                    outs[id.out as usize] = *new;
                }
            }
            values.push(outs);
        }
        let outs: Vec<Var<'_>> =
            body.outputs().iter().map(|id| values[id.node as usize][id.out as usize]).collect();
        let scan =
            Scan { body: Arc::new(r.finish(&outs)?), shared: shared + new_shared.len(), ..self.scan.clone() };
        let all = [first, &new_shared, start, slices, &new_slices].concat();
        b.try_apply(scan, &all)
    }
}

/// Returns the index of an input if the node is one.
fn input(node: &Node) -> Option<usize> {
    if let Op::Input(input) = &node.op { Some(input.index) } else { None }
}

/// Returns the labels of an operand of a product, and those of the other operand.
fn labels(dot: &Dot, operand: usize) -> (&str, &str) {
    if operand == 0 { (&dot.lhs, &dot.rhs) } else { (&dot.rhs, &dot.lhs) }
}

/// Returns the product with the axes of an operand in another order.
fn relabelled(op: &Op, operand: usize, order: &[usize]) -> Op {
    let Op::Dot(dot) = op else { return op.clone() };
    let own: Vec<char> = labels(dot, operand).0.chars().collect();
    let new: String = order.iter().map(|&a| own[a]).collect();
    match operand {
        0 => Dot::new(new, dot.rhs.clone(), dot.out.clone()).into(),
        _ => Dot::new(dot.lhs.clone(), new, dot.out.clone()).into(),
    }
}
