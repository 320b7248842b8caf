//! Simplifies reductions of reductions, of repeated elements, and of one element.
//!
//! Maxima and minima do not depend on the order, except for the sign of a zero: among zeros the first one is the result. Sums
//! and products of floats depend on the order. A sum starts from 0, so the sum of one element is `x + 0`, not `x`.

use super::movement::{repeats, unrepeated};
use super::{Expr, PartialGraph, Rule};
use gradus_ir::graph::Node;
use gradus_ir::ops::pointwise::table::add;
use gradus_ir::ops::reduce::{Max, Min, Prod, Sum};
use gradus_ir::ops::{Combine, Op};
use gradus_ir::{Aval, Class, Shape};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::exact("reduce one", "a reduction over axes of extent 1 = reshape (sums: + 0)", reduce_one),
        Rule::exact("reduce repeated", "max, min over repetitions = without them", reduce_repeated),
        Rule::exact(
            "reduce twice",
            "max(max(x)) = max(x), min too; integers: sum and product too",
            reduce_twice,
        ),
        Rule::rounding("sum twice", "sum(sum(x)) = sum(x) of floats, product too", sum_twice),
    ]
}

fn parts(node: &Node) -> Option<(Combine, &[usize])> {
    Some(match &node.op {
        Op::Sum(r) => (Combine::Sum, &r.axes),
        Op::Prod(r) => (Combine::Prod, &r.axes),
        Op::Max(r) => (Combine::Max, &r.axes),
        Op::Min(r) => (Combine::Min, &r.axes),
        _ => return None,
    })
}

fn reduce(combine: Combine, axes: Vec<usize>, x: Expr) -> Option<Expr> {
    Some(match combine {
        Combine::Sum => Expr::apply(Sum { axes }, [x]),
        Combine::Prod => Expr::apply(Prod { axes }, [x]),
        Combine::Max => Expr::apply(Max { axes }, [x]),
        Combine::Min => Expr::apply(Min { axes }, [x]),
        Combine::LogSumExp => return None,
    })
}

/// Returns the new numbers of axes after other axes are removed.
fn renumbered(axes: &[usize], gone: &[usize]) -> Vec<usize> {
    let most = axes.iter().max().map_or(0, |a| a + 1);
    let gone = gradus_ir::axis_mask(gone, most);
    // The number of removed axes before each axis.
    let mut before = Vec::with_capacity(most);
    let mut count = 0;
    for gone in &gone {
        before.push(count);
        count += usize::from(*gone);
    }
    axes.iter().filter(|a| !gone[**a]).map(|a| a - before[*a]).collect()
}

fn reduce_one(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (combine, axes) = parts(node)?;
    let shape = graph.shape(node.ins[0]);
    let ones: Vec<usize> = axes.iter().copied().filter(|&a| shape[a] == 1).collect();
    if ones.is_empty() && !axes.is_empty() {
        return None;
    }
    let x = Expr::Value(node.ins[0]).reshape(&shape.without(&ones));
    let left = renumbered(axes, &ones);
    if !left.is_empty() {
        return reduce(combine, left, x);
    }
    let out: &Aval = &node.outs[0];
    let plain = combine != Combine::Sum || out.dtype.class() <= Class::Int;
    // A product starts from 1, and for complex numbers 1 times x differs from x if x is infinite.
    if combine == Combine::Prod && out.dtype.is_complex() {
        return None;
    }
    Some(if plain { x } else { Expr::apply(&add, [x, Expr::full(out, 0.0)]) })
}

fn reduce_repeated(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (combine, axes) = parts(node)?;
    let below = graph.node(node.ins[0]);
    let (Combine::Max | Combine::Min, Op::Broadcast(b)) = (combine, &below.op) else { return None };
    let from = graph.shape(below.ins[0]);
    let gone: Vec<usize> =
        axes.iter().copied().filter(|&a| repeats(from, &b.shape, a) && b.shape[a] > 0).collect();
    if gone.is_empty() {
        return None;
    }
    let x = Expr::Value(below.ins[0]).reshape(&unrepeated(from, &b.shape, &gone));
    let x = x.broadcast(&b.shape.without(&gone));
    let left = renumbered(axes, &gone);
    if left.is_empty() { Some(x) } else { reduce(combine, left, x) }
}

/// Matches two nested reductions of one kind. Returns their combination, the axes of the operand that the outer one reduces
/// and those that the inner one reduces, and the operand.
fn nested(graph: &PartialGraph<'_>, node: &Node) -> Option<(Combine, Vec<usize>, Vec<usize>, Expr)> {
    let (combine, outer) = parts(node)?;
    let below = graph.node(node.ins[0]);
    let (same, inner) = parts(below)?;
    let shape: &Shape = graph.shape(below.ins[0]);
    let gone = gradus_ir::axis_mask(inner, shape.rank());
    let kept: Vec<usize> = (0..shape.rank()).filter(|a| !gone[*a]).collect();
    let outer = outer.iter().map(|&a| kept[a]).collect();
    (same == combine).then(|| (combine, outer, inner.to_vec(), Expr::Value(below.ins[0])))
}

/// Merges two reductions if the order of combination stays the same. One reduction combines elements in row-major order, and
/// so do two nested ones if the inner one is over the last axes.
fn reduce_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (combine, mut outer, inner, x) = nested(graph, node)?;
    let in_order = outer.iter().max() < inner.iter().min();
    let extreme = matches!(combine, Combine::Max | Combine::Min);
    if node.outs[0].dtype.class() > Class::Int && !(extreme && in_order) {
        return None;
    }
    outer.extend(inner);
    reduce(combine, outer, x)
}

fn sum_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (combine, mut outer, inner, x) = nested(graph, node)?;
    outer.extend(inner);
    reduce(combine, outer, x)
}
