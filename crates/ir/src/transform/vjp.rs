//! Reverse mode: cotangents of the inputs from cotangents of the outputs.
//!
//! The forward values are computed first. Then one backward walk applies the rule that each node's op declares: the
//! partials, the transpose, or the transpose of its traced jvp. Nothing here depends on a particular op.

use crate::graph::{Builder, Id, Var};
use crate::ops::{Derivative, Op, Rule};
use crate::{Error, Graph, Result, message};
use std::panic::Location;

/// Returns an error if an input does not exist or is not differentiable.
pub fn check_wrt(graph: &Graph, i: usize) -> Result<()> {
    let Some((name, id)) = graph.inputs().get(i) else {
        let why = format!("is not in the graph, which has {}", graph.inputs().len());
        return Err(Error::value(format!("input number {i}"), why));
    };
    let aval = graph.aval(*id);
    if aval.dtype.is_differentiable() {
        Ok(())
    } else {
        Err(Error::gradient(message!(
            format!("input `{name}` is "),
            aval,
            ": only float and complex values have derivatives"
        )))
    }
}

/// Returns a graph of the gradients of the inputs of `wrt`, which are zero where no derivative flows. The graph
/// takes the inputs, and a cotangent for each differentiable output (named `g_…`).
#[track_caller]
pub fn vjp(graph: &Graph, wrt: &[usize]) -> Result<Graph> {
    let location = Location::caller();
    build_vjp(graph, wrt).map_err(|e| e.or_at(location))
}

fn build_vjp(graph: &Graph, wrt: &[usize]) -> Result<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        graph.inputs().iter().map(|(n, id)| b.input(n, graph.aval(*id).clone())).collect();
    let mut needs = vec![false; ins.len()];
    for &i in wrt {
        check_wrt(graph, i)?;
        needs[i] = true;
    }
    let ct =
        |(k, a): (usize, crate::Aval)| a.dtype.is_differentiable().then(|| b.input(&format!("g_{k}"), a));
    let cts: Vec<_> = graph.output_avals().into_iter().enumerate().map(ct).collect();
    let (_, grads) = vjp_into(&b, graph, &ins, &cts, &needs);
    let outs: Vec<Var<'_>> =
        wrt.iter().map(|&i| grads[i].unwrap_or_else(|| b.zeros(&ins[i].aval()))).collect();
    b.finish(&outs)
}

/// Builds the outputs of a graph over these inputs, and the gradients of the inputs that are needed (`None` is zero).
pub fn vjp_into<'g>(
    b: &'g Builder,
    graph: &Graph,
    ins: &[Var<'g>],
    cts: &[Option<Var<'g>>],
    needs: &[bool],
) -> (Vec<Var<'g>>, Vec<Option<Var<'g>>>) {
    let (values, cts) = cotangents_into(b, graph, ins, cts, needs);
    let outs = graph.outputs().iter().map(|id| values[id.node as usize][id.out as usize]).collect();
    let mut grads = vec![None; ins.len()];
    for (i, node) in graph.nodes().iter().enumerate() {
        if let Op::Input(input) = &node.op
            && let Some(grad) = grads.get_mut(input.index)
        {
            *grad = cts[i][0];
        }
    }
    (outs, grads)
}

/// Builds the values of all nodes of a graph over these inputs, and their cotangents. A cotangent is `None`
/// where no derivative flows, or where no needed input contributes to the value.
#[allow(clippy::type_complexity)]
pub fn cotangents_into<'g>(
    b: &'g Builder,
    graph: &Graph,
    ins: &[Var<'g>],
    cts: &[Option<Var<'g>>],
    needs: &[bool],
) -> (Vec<Vec<Var<'g>>>, Vec<Vec<Option<Var<'g>>>>) {
    let needed = |_, op: &Op| {
        if let Op::Input(input) = op { needs.get(input.index).copied().unwrap_or(false) } else { false }
    };
    cotangents_for(b, graph, ins, cts, needed)
}

/// As [`cotangents_into`], for the nodes that `needed` selects by index and op, and all nodes computed from them.
#[allow(clippy::type_complexity)]
pub(super) fn cotangents_for<'g>(
    b: &'g Builder,
    graph: &Graph,
    ins: &[Var<'g>],
    cts: &[Option<Var<'g>>],
    needed: impl Fn(usize, &Op) -> bool,
) -> (Vec<Vec<Var<'g>>>, Vec<Vec<Option<Var<'g>>>>) {
    let values = b.inline_all(graph, ins);
    let active = active_nodes(graph, needed);
    let mut pending: Vec<Vec<Option<Var<'g>>>> = values.iter().map(|o| vec![None; o.len()]).collect();
    for (id, ct) in graph.outputs().iter().zip(cts).filter(|(id, _)| active[id.node as usize]) {
        if let Some(ct) = ct {
            accumulate(&mut pending[id.node as usize][id.out as usize], *ct);
        }
    }
    walk_back(b, graph, &values, &active, &mut pending, |_, _| true);
    (values, pending)
}

/// A value for which gradients are requested.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The value.
    pub id: Id,
    /// If true, gradients stop here, rather than continue to the values this one was computed from.
    pub ends: bool,
}

/// Builds gradients of `Σ ⟨root, seed⟩` for values of a graph under construction, in the same graph, reading the
/// forward values from it. `seen` receives the complete gradient of each target, by index, before it is propagated,
/// and returns the gradient to propagate instead. The result is `None` where no derivative can flow; where all
/// contributions are zero (as through step functions), it is a zero.
pub fn gradients_in<'g>(
    b: &'g Builder,
    roots: &[(Id, Id)],
    targets: &[Target],
    mut seen: impl FnMut(usize, Id) -> Result<Id>,
) -> Result<Vec<Option<Id>>> {
    let ids: Vec<Id> = roots.iter().map(|(root, _)| *root).chain(targets.iter().map(|t| t.id)).collect();
    let graph = b.finish_ids(&ids)?;
    let ins: Vec<Var<'g>> = b.input_ids().into_iter().map(|id| Var::new(b, id)).collect();
    let values = b.inline_all(&graph, &ins); // finds the existing nodes, because equal applications are merged
    let (from, to) = graph.outputs().split_at(roots.len());
    let active = active_nodes(&graph, |i, _| to.iter().any(|id| id.node as usize == i));
    let mut pending: Vec<Vec<Option<Var<'g>>>> = values.iter().map(|o| vec![None; o.len()]).collect();
    for (id, (_, seed)) in from.iter().zip(roots).filter(|(id, _)| active[id.node as usize]) {
        accumulate(&mut pending[id.node as usize][id.out as usize], Var::new(b, *seed));
    }
    let mut failed = None;
    walk_back(b, &graph, &values, &active, &mut pending, |i, cts| {
        let mut goes_on = true;
        for (k, id) in to.iter().enumerate().filter(|(_, id)| id.node as usize == i) {
            goes_on &= !targets[k].ends;
            let Some(ct) = &mut cts[id.out as usize] else { continue };
            match seen(k, ct.id()) {
                Ok(new) => *ct = Var::new(b, new),
                Err(e) => failed = Some(e),
            }
        }
        goes_on && failed.is_none()
    });
    if let Some(e) = failed.or_else(|| b.error()) {
        return Err(e);
    }
    let ends = |i: usize| to.iter().zip(targets).any(|(id, t)| t.ends && id.node as usize == i);
    let open = reached_nodes(&graph, from, &|i, op| !ends(i) && !matches!(op, Op::StopGradient(_)));
    let gradient = |(k, id): (usize, &Id)| match pending[id.node as usize][id.out as usize] {
        Some(g) => Ok(Some(g.id())),
        None if open[id.node as usize] => {
            let aval = graph.aval(*id);
            let zero = b.constant(crate::Literal::scalar(aval.dtype, 0.0)).broadcast_to(&aval.shape);
            seen(k, zero.id()).map(Some)
        }
        None => Ok(None),
    };
    to.iter().enumerate().map(gradient).collect()
}

/// Marks nodes with a differentiable value on a backward path from some values, through nodes that are `open`. A
/// region counts as one edge: from its values to all operands it computes them from.
fn reached_nodes(graph: &Graph, from: &[Id], open: &dyn Fn(usize, &Op) -> bool) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes().len()];
    let mark = |reached: &mut Vec<bool>, id: &Id| {
        reached[id.node as usize] |= graph.aval(*id).dtype.is_differentiable();
    };
    from.iter().for_each(|id| mark(&mut reached, id));
    for (i, node) in graph.nodes().iter().enumerate().rev().filter(|(i, node)| open(*i, &node.op)) {
        if !reached[i] {
            continue;
        }
        let used = if let Op::Call(call) = &node.op
            && call.grad.is_none()
        {
            needed_inputs(&call.body)
        } else {
            vec![true; node.ins.len()]
        };
        node.ins.iter().zip(used).filter(|(_, used)| *used).for_each(|(id, _)| mark(&mut reached, id));
    }
    reached
}

/// Marks the inputs that the outputs of a graph depend on, other than through `stop_gradient`.
fn needed_inputs(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes().len()];
    graph.outputs().iter().for_each(|id| needed[id.node as usize] = true);
    for (i, node) in graph.nodes().iter().enumerate().rev() {
        if needed[i] && !matches!(node.op, Op::StopGradient(_)) {
            node.ins.iter().for_each(|id| needed[id.node as usize] = true);
        }
    }
    graph.inputs().iter().map(|(_, id)| needed[id.node as usize]).collect()
}

/// Propagates cotangents through all active nodes, latest first. `reached` sees the cotangents of a node and returns
/// whether to propagate them further.
fn walk_back<'g>(
    b: &'g Builder,
    graph: &Graph,
    values: &[Vec<Var<'g>>],
    active: &[bool],
    pending: &mut [Vec<Option<Var<'g>>>],
    mut reached: impl FnMut(usize, &mut [Option<Var<'g>>]) -> bool,
) {
    let value = |id: &Id| values[id.node as usize][id.out as usize];
    for (i, node) in graph.nodes().iter().enumerate().rev().filter(|(i, _)| active[*i]) {
        if !reached(i, &mut pending[i]) {
            continue;
        }
        let cts = pending[i].clone();
        if matches!(node.op, Op::Input(_)) || cts.iter().all(Option::is_none) {
            continue;
        }
        let operands: Vec<Var<'g>> = node.ins.iter().map(value).collect();
        let wanted: Vec<bool> = node
            .ins
            .iter()
            .map(|id| active[id.node as usize] && value(id).dtype().is_differentiable())
            .collect();
        let rule = Rule { ins: &operands, outs: &values[i] };
        let pulled = b.from_origin(&node.origin, || pull(b, &node.op, &rule, &cts, &wanted));
        for ((id, g), operand) in node.ins.iter().zip(pulled).zip(&operands) {
            let Some(g) = g else { continue };
            super::check_type(b, &node.op, ["gradient", "operand"], g.aval(), operand.aval());
            accumulate(&mut pending[id.node as usize][id.out as usize], g);
        }
    }
}

/// Marks nodes that are needed, and those computed from them.
fn active_nodes(graph: &Graph, needed: impl Fn(usize, &Op) -> bool) -> Vec<bool> {
    let mut active = vec![false; graph.nodes().len()];
    for (i, node) in graph.nodes().iter().enumerate() {
        active[i] = needed(i, &node.op) || node.ins.iter().any(|id| active[id.node as usize]);
    }
    active
}

fn accumulate<'g>(slot: &mut Option<Var<'g>>, g: Var<'g>) {
    *slot = Some(match *slot {
        Some(sum) => sum + g,
        None => g,
    });
}

/// Builds the cotangents of the wanted operands of one application from those of its results.
pub fn pull<'g>(
    b: &'g Builder,
    op: &Op,
    rule: &Rule<'_, 'g>,
    cts: &[Option<Var<'g>>],
    wanted: &[bool],
) -> Vec<Option<Var<'g>>> {
    let def = op.def();
    if !super::has_rule(b, op, rule, |i| wanted[i] && cts.iter().any(Option::is_some)) {
        return vec![None; wanted.len()];
    }
    match (def.derivative(), cts.first().copied().flatten()) {
        (Derivative::Zero | Derivative::Unknown, _) => vec![None; wanted.len()],
        (Derivative::Pointwise, Some(ct)) => {
            let factor =
                |(p, w): (Option<Var<'g>>, &bool)| p.filter(|_| *w).map(|p| ct.scale(p.conj_if_complex()));
            let partials = def.partials(rule);
            super::check_count(b, op, "`partials`", partials.len(), wanted.len());
            partials.into_iter().zip(wanted).map(factor).collect()
        }
        (Derivative::Linear(linear) | Derivative::Multilinear(linear), Some(ct)) => {
            let one = |i: usize| {
                let asked = wanted[i] && linear.has(i);
                let found = asked.then(|| def.transpose(rule, i, ct)).flatten();
                super::check_count(b, op, "`transpose`", found.iter().count(), usize::from(asked));
                found
            };
            (0..wanted.len()).map(one).collect()
        }
        (Derivative::LinearJvp(linear), Some(ct)) => {
            let ruled: Vec<bool> = (0..wanted.len()).map(|i| wanted[i] && !linear.has(i)).collect();
            let mut grads = match ruled.contains(&true) {
                true => pull_jvp(b, op, rule, cts, &ruled),
                false => vec![None; wanted.len()],
            };
            for i in (0..wanted.len()).filter(|&i| wanted[i] && linear.has(i)) {
                grads[i] = def.transpose(rule, i, ct);
                super::check_count(b, op, "`transpose`", grads[i].iter().count(), 1);
            }
            grads
        }
        (Derivative::Jvp, _) => pull_jvp(b, op, rule, cts, wanted),
        (Derivative::Structural, _) => {
            let mut grads = def.vjp(rule, cts, wanted);
            super::check_count(b, op, "`vjp`", grads.len(), wanted.len());
            grads.resize(wanted.len(), None);
            grads
        }
        _ => vec![None; wanted.len()],
    }
}

/// Transposes a jvp rule. Traces the rule as a graph that is linear in the tangents. Then applies reverse mode to
/// that graph with respect to the tangents, at zero tangents.
fn pull_jvp<'g>(
    b: &'g Builder,
    op: &Op,
    rule: &Rule<'_, 'g>,
    cts: &[Option<Var<'g>>],
    wanted: &[bool],
) -> Vec<Option<Var<'g>>> {
    let r = Builder::new();
    let ins: Vec<Var<'_>> = rule.ins.iter().map(|v| r.input("x", v.aval())).collect();
    let outs: Vec<Var<'_>> = rule.outs.iter().map(|v| r.input("y", v.aval())).collect();
    let tangent = |(v, w): (&Var<'_>, &bool)| w.then(|| r.input("t", v.aval()));
    let tangents: Vec<Option<Var<'_>>> = ins.iter().zip(wanted).map(tangent).collect();
    let touts = op.def().jvp(&Rule { ins: &ins, outs: &outs }, &tangents);
    for (t, y) in touts.iter().zip(&outs).filter_map(|(t, y)| Some(((*t)?, y))) {
        super::check_type(b, op, ["tangent", "result"], t.aval(), y.aval());
    }
    let count = touts.len();
    let (some, cts): (Vec<Var<'_>>, Vec<_>) =
        touts.into_iter().zip(cts).filter_map(|(t, ct)| Some((t?, Some((*ct)?)))).unzip();
    let linear = match r.finish(&some) {
        Ok(graph) => graph,
        Err(e) => {
            b.fail(e);
            return vec![None; wanted.len()];
        }
    };
    super::check_count(b, op, "`jvp`", count, rule.outs.len());
    let point: Vec<Var<'g>> = rule.ins.iter().chain(rule.outs).copied().collect();
    let mut of_tangents = transpose_into(b, &linear, &point, &cts).into_iter();
    wanted.iter().map(|w| if *w { of_tangents.next().flatten() } else { None }).collect()
}

/// Applies the transpose of `linear` to cotangents of its outputs. The graph takes the values of `point`, then inputs in
/// which it is linear. Its transpose is reverse mode with respect to these inputs, at zero.
pub fn transpose_into<'g>(
    b: &'g Builder,
    linear: &Graph,
    point: &[Var<'g>],
    cts: &[Option<Var<'g>>],
) -> Vec<Option<Var<'g>>> {
    let mut ins = point.to_vec();
    let mut needs = vec![false; point.len()];
    for aval in &linear.input_avals()[point.len()..] {
        ins.push(b.zeros(aval));
        needs.push(aval.dtype.is_differentiable());
    }
    vjp_into(b, linear, &ins, cts, &needs).1.split_off(point.len())
}
