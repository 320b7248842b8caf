//! Folds constants: the reference evaluator computes values that do not depend on inputs at compile time.

use super::{Expr, PartialGraph, Rule};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::{Form, Op};
use gradus_ir::{Aval, Literal, reference};

/// Largest folded constant, in bytes. Larger values are computed when the plan runs, to keep plans small.
const MAX_BYTES: usize = 1 << 20;

/// Returns the rules that compute a single element. They are tried first.
pub(super) fn cheap_rules() -> Vec<Rule> {
    vec![
        Rule::exact("splat", "a constant of equal elements = its element, repeated", splat),
        Rule::exact("fold repeated", "f(repeated constants) = f(constants), repeated", fold_repeated),
    ]
}

/// Returns the rules that compute many elements. They are tried if no other rule applies.
pub(super) fn costly_rules() -> Vec<Rule> {
    vec![Rule::exact("fold", "f(constants) = its value", fold)]
}

fn splat(_: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Constant(c) = &node.op else { return None };
    let l = &c.value;
    let repeated = l.data().len() > 1 && !l.dtype().is_complex() && l.splat().is_some();
    repeated.then(|| Expr::splat(l.clone(), l.shape()))
}

fn types(graph: &PartialGraph<'_>, node: &Node) -> Vec<Aval> {
    node.ins.iter().map(|id| graph.aval(*id).clone()).collect()
}

/// Folds views and pointwise functions of repeated elements: the result is one element, repeated.
fn fold_repeated(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let shape = &node.outs[0].shape;
    if node.ins.is_empty() || shape.numel() == 0 || matches!(node.op, Op::Barrier(_)) {
        return None;
    }
    if let (Op::Broadcast(_), Op::Constant(c)) = (&node.op, graph.op(node.ins[0])) {
        let one = c.value.data().len() == 1 && c.value.aval().rank() > 0;
        return one.then(|| Expr::splat(c.value.clone(), shape));
    }
    let ins =
        node.ins.iter().map(|id| graph.scalar(*id).map(Literal::first)).collect::<Option<Vec<Literal>>>()?;
    match node.op.def().form(&types(graph, node)) {
        Form::Pointwise(_) => {
            let one = reference::apply(&node.op, &ins).ok()?;
            Some(Expr::splat(one.into_iter().next()?, shape))
        }
        // `fold` handles views of constants of one element.
        Form::View(_) | Form::Reshape if !matches!(graph.op(node.ins[0]), Op::Constant(_)) => {
            Some(Expr::splat(ins.into_iter().next()?, shape))
        }
        _ => None,
    }
}

/// Folds ops whose work is proportional to the number of elements they read and write. Does not fold views of an index,
/// because kernels compute them at no cost, nor broadcasts, which would store equal elements. Folds views of a constant.
fn fold(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let small =
        |a: &Aval| a.shape.numel().checked_mul(a.dtype.size()).is_some_and(|bytes| bytes <= MAX_BYTES);
    if node.ins.is_empty() || !small(&node.outs[0]) || matches!(node.op, Op::Barrier(_) | Op::Broadcast(_)) {
        return None;
    }
    if !node.ins.iter().all(|id| is_constant(graph, *id) && small(graph.aval(*id))) {
        return None;
    }
    let folds = match node.op.def().form(&types(graph, node)) {
        Form::Pointwise(_) | Form::Pad { .. } | Form::Concat { .. } | Form::Reduce { .. } => true,
        Form::ArgReduce { .. } | Form::Cumulate { .. } | Form::Take { .. } => true,
        Form::View(_) | Form::Reshape => matches!(graph.op(node.ins[0]), Op::Constant(_)),
        _ => false,
    };
    if !folds {
        return None;
    }
    // Ignores errors of the reference, such as an index out of range: they are reported when the plan runs.
    let ins = node.ins.iter().map(|id| value(graph, *id)).collect::<Option<Vec<Literal>>>()?;
    Some(Expr::constant(reference::apply(&node.op, &ins).ok()?.into_iter().next()?))
}

/// Returns true if a value is a constant, an index, or a view of one.
fn is_constant(graph: &PartialGraph<'_>, id: Id) -> bool {
    let node = graph.node(id);
    match &node.op {
        Op::Constant(_) | Op::Iota(_) => true,
        Op::Broadcast(_) | Op::Reshape(_) | Op::Permute(_) | Op::Slice(_) | Op::Flip(_) => {
            is_constant(graph, node.ins[0])
        }
        _ => false,
    }
}

fn value(graph: &PartialGraph<'_>, id: Id) -> Option<Literal> {
    let node = graph.node(id);
    if let Op::Constant(c) = &node.op {
        return Some(c.value.clone());
    }
    let ins = node.ins.iter().map(|id| value(graph, *id)).collect::<Option<Vec<Literal>>>()?;
    reference::apply(&node.op, &ins).ok()?.into_iter().next()
}
