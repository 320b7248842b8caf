//! Forward mode: tangents of all values from tangents of the inputs.
//! Takes a graph and the inputs that have tangents; returns a graph of outputs and tangents.
//! The rules are declared by the ops.

use crate::graph::{Builder, Var};
use crate::ops::{Derivative, Op, Operands, Rule};
use crate::{Graph, Result};
use std::panic::Location;

/// Returns a graph of the outputs, followed by the tangents of the differentiable outputs. The graph takes the
/// inputs, and a tangent for each input of `wrt` (named `d_…`).
#[track_caller]
pub fn jvp(graph: &Graph, wrt: &[usize]) -> Result<Graph> {
    let location = Location::caller();
    build_jvp(graph, wrt).map_err(|e| e.or_at(location))
}

fn build_jvp(graph: &Graph, wrt: &[usize]) -> Result<Graph> {
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        graph.inputs().iter().map(|(n, id)| b.input(n, graph.aval(*id).clone())).collect();
    let mut tangents = vec![None; ins.len()];
    for &i in wrt {
        super::vjp::check_wrt(graph, i)?;
        tangents[i] = Some(b.input(&format!("d_{}", graph.inputs()[i].0), ins[i].aval()));
    }
    let (mut outs, touts) = jvp_into(&b, graph, &ins, &tangents);
    let differentiable = |v: &Var<'_>| v.dtype().is_differentiable();
    let zeros = |(v, t): (&Var<'_>, &Option<_>)| t.unwrap_or_else(|| b.zeros(&v.aval()));
    let tangents: Vec<_> = outs.iter().zip(&touts).filter(|(v, _)| differentiable(v)).map(zeros).collect();
    outs.extend(tangents);
    b.finish(&outs)
}

/// Builds the outputs of a graph over these inputs, and their tangents (`None` is zero).
pub fn jvp_into<'g>(
    b: &'g Builder,
    graph: &Graph,
    ins: &[Var<'g>],
    tangents: &[Option<Var<'g>>],
) -> (Vec<Var<'g>>, Vec<Option<Var<'g>>>) {
    let values = b.inline_all(graph, ins);
    let mut touts: Vec<Vec<Option<Var<'g>>>> = Vec::with_capacity(values.len());
    for (node, outs) in graph.nodes().iter().zip(&values) {
        let t = if let Op::Input(input) = &node.op {
            vec![tangents.get(input.index).copied().flatten()]
        } else {
            let at = |id: &crate::graph::Id| (id.node as usize, id.out as usize);
            let operands: Vec<Var<'g>> = node.ins.iter().map(at).map(|(n, o)| values[n][o]).collect();
            let operand_ts: Vec<_> = node.ins.iter().map(at).map(|(n, o)| touts[n][o]).collect();
            let rule = Rule { ins: &operands, outs };
            let t = b.from_origin(&node.origin, || push_forward(b, &node.op, &rule, &operand_ts));
            for (t, out) in t.iter().zip(outs).filter_map(|(t, out)| Some(((*t)?, out))) {
                super::check_type(b, &node.op, ["tangent", "result"], t.aval(), out.aval());
            }
            t
        };
        touts.push(t);
    }
    let at = |id: &crate::graph::Id| (id.node as usize, id.out as usize);
    let outs = graph.outputs().iter().map(at).map(|(n, o)| values[n][o]).collect();
    (outs, graph.outputs().iter().map(at).map(|(n, o)| touts[n][o]).collect())
}

/// Builds the tangents of the results of one application.
fn push_forward<'g>(
    b: &'g Builder,
    op: &Op,
    rule: &Rule<'_, 'g>,
    ts: &[Option<Var<'g>>],
) -> Vec<Option<Var<'g>>> {
    let none = vec![None; rule.outs.len()];
    if ts.iter().all(Option::is_none) || rule.outs.iter().all(|o| !o.dtype().is_differentiable()) {
        return none;
    }
    if !super::has_rule(b, op, rule, |i| ts[i].is_some()) {
        return none;
    }
    let def = op.def();
    match def.derivative() {
        Derivative::Zero | Derivative::Unknown => none,
        Derivative::Pointwise => {
            let partials = def.partials(rule);
            super::check_count(b, op, "`partials`", partials.len(), ts.len());
            let terms = partials.into_iter().zip(ts).filter_map(|(p, t)| Some((*t)?.scale(p?)));
            vec![terms.reduce(|a, b| a + b)]
        }
        Derivative::Linear(linear) => vec![apply_linear(b, op, rule, linear, ts)],
        Derivative::Multilinear(linear) => vec![multilinear(b, op, rule, linear, ts)],
        Derivative::LinearJvp(linear) => {
            let rest: Vec<_> = (0..ts.len()).map(|i| ts[i].filter(|_| !linear.has(i))).collect();
            let any = rest.iter().any(Option::is_some);
            let ruled = if any { def.jvp(rule, &rest) } else { Vec::new() };
            super::check_count(b, op, "`jvp`", ruled.len(), usize::from(any));
            let terms = [apply_linear(b, op, rule, linear, ts), ruled.first().copied().flatten()];
            vec![terms.into_iter().flatten().reduce(|a, b| a + b)]
        }
        Derivative::Jvp | Derivative::Structural => {
            let mut out = def.jvp(rule, ts);
            super::check_count(b, op, "`jvp`", out.len(), rule.outs.len());
            out.resize(rule.outs.len(), None);
            out
        }
    }
}

/// Applies the op to the tangents of the operands it is linear in, with zeros where there are none.
fn apply_linear<'g>(
    b: &'g Builder,
    op: &Op,
    rule: &Rule<'_, 'g>,
    linear: Operands,
    ts: &[Option<Var<'g>>],
) -> Option<Var<'g>> {
    let moves = |i: usize| linear.has(i) && ts[i].is_some();
    let operand = |i: usize| match ts[i] {
        Some(t) if linear.has(i) => t,
        None if linear.has(i) && rule.ins[i].dtype().is_differentiable() => b.zeros(&rule.ins[i].aval()),
        _ => rule.ins[i],
    };
    (0..ts.len())
        .any(moves)
        .then(|| b.apply1(op.clone(), &(0..ts.len()).map(operand).collect::<Vec<Var<'g>>>()))
}

fn multilinear<'g>(
    b: &'g Builder,
    op: &Op,
    rule: &Rule<'_, 'g>,
    linear: Operands,
    ts: &[Option<Var<'g>>],
) -> Option<Var<'g>> {
    let term = |i: usize| {
        let mut operands = rule.ins.to_vec();
        operands[i] = ts[i].filter(|_| linear.has(i))?;
        Some(b.apply1(op.clone(), &operands))
    };
    (0..ts.len()).filter_map(term).reduce(|a, b| a + b)
}
