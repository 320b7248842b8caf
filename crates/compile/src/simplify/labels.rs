//! Rules that express permutes and broadcasts next to a contraction by its labels.
//!
//! The reference sums over labels in the order in which they appear in the operands. So a rule may move a summed label only
//! if that order stays the same, or if the elements are integers.

use super::movement::{repeats, unrepeated};
use super::{Expr, PartialGraph, Rule};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::{Form, Op};
use gradus_ir::{Aval, Class, Shape};

/// Largest depth below a contraction at which rules search for permutes.
const MAX_DEPTH: usize = 3;

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::exact("permute into dot", "dot(permute(x), y) = dot(x, y) with other labels", permute_into),
        Rule::exact(
            "permute past pointwise",
            "dot(f(permute(x)), y) = dot(f(x), y) with other labels",
            permute_past,
        ),
        Rule::exact("permute of dot", "permute(dot(x, y)) = dot(x, y) with other labels", permute_of),
        Rule::exact("repeated into dot", "dot(broadcast(x), y) = dot(x, y) without the label", repeated_into),
        Rule::exact(
            "repeated by dot",
            "dot(broadcast(x), y) = broadcast(dot(x, y)) for a label of x alone",
            repeated_by,
        ),
    ]
}

/// Returns the labels of an operand, by its index.
fn labels(dot: &Dot, operand: usize) -> &str {
    if operand == 0 { &dot.lhs } else { &dot.rhs }
}

fn relabelled(dot: &Dot, operand: usize, labels: String) -> Dot {
    let mut new = dot.clone();
    *(if operand == 0 { &mut new.lhs } else { &mut new.rhs }) = labels;
    new
}

/// Returns the summed labels, in the order of the sum.
fn summed(dot: &Dot) -> String {
    let mut found = String::new();
    for l in dot.lhs.chars().chain(dot.rhs.chars()) {
        if !dot.out.contains(l) && !found.contains(l) {
            found.push(l);
        }
    }
    found
}

/// Returns true if the order of the sum stays the same or does not matter, and the summed labels have the same
/// order in both operands if they had it before.
fn same_sum(old: &Dot, new: &Dot, out: &Aval) -> bool {
    (out.dtype.class() <= Class::Int || summed(old) == summed(new)) && (same_order(new) || !same_order(old))
}

/// Returns true if the summed labels that both operands have are in the same order in both. Then they can form one axis of a
/// matrix product; otherwise an operand must be copied, which costs as much as the permute.
fn same_order(dot: &Dot) -> bool {
    let shared = |l: &char| !dot.out.contains(*l) && dot.lhs.contains(*l) && dot.rhs.contains(*l);
    dot.lhs.chars().filter(shared).eq(dot.rhs.chars().filter(shared))
}

/// Returns the labels in the order of the axes before a permute.
fn unpermuted_labels(labels: &str, axes: &[usize]) -> String {
    let mut old: Vec<(usize, char)> = axes.iter().copied().zip(labels.chars()).collect();
    old.sort_unstable();
    old.into_iter().map(|(_, l)| l).collect()
}

fn with_operand(dot: Dot, node: &Node, operand: usize, x: Expr) -> Expr {
    let other = Expr::Value(node.ins[1 - operand]);
    Expr::apply(dot, if operand == 0 { [x, other] } else { [other, x] })
}

fn permute_into(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Dot(dot) = &node.op else { return None };
    (0..2).find_map(|operand| {
        let below = graph.node(node.ins[operand]);
        let Op::Permute(p) = &below.op else { return None };
        let new = relabelled(dot, operand, unpermuted_labels(labels(dot, operand), &p.axes));
        let x = Expr::Value(below.ins[0]);
        same_sum(dot, &new, &node.outs[0]).then(|| with_operand(new, node, operand, x))
    })
}

/// Moves a permute through a pointwise op, so that its operand is read in order.
fn permute_past(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Dot(dot) = &node.op else { return None };
    (0..2).find_map(|operand| {
        let id = node.ins[operand];
        let axes = permuted(graph, id, MAX_DEPTH)?;
        let new = relabelled(dot, operand, unpermuted_labels(labels(dot, operand), &axes));
        let fits = same_sum(dot, &new, &node.outs[0]) && !matches!(graph.op(id), Op::Permute(_));
        let x = fits.then(|| unpermuted(graph, id, &axes))??;
        Some(with_operand(new, node, operand, x))
    })
}

/// Returns the axis order by which a value is permuted: that of a permute, or the common order of all operands of a pointwise
/// op that has no other reader. Searches operands to this depth.
fn permuted(graph: &PartialGraph<'_>, id: Id, depth: usize) -> Option<Vec<usize>> {
    let node = graph.node(id);
    if let Op::Permute(p) = &node.op {
        return Some(p.axes.clone());
    }
    if depth == 0 || !is_pointwise(graph, node) {
        return None;
    }
    let mut found: Option<Vec<usize>> = None;
    for &x in node.ins.iter().filter(|x| graph.scalar(**x).is_none()) {
        let axes = permuted(graph, x, depth - 1)?;
        if *found.get_or_insert_with(|| axes.clone()) != axes {
            return None;
        }
    }
    found.filter(|_| graph.read_once(id))
}

fn is_pointwise(graph: &PartialGraph<'_>, node: &Node) -> bool {
    let types: Vec<Aval> = node.ins.iter().map(|x| graph.aval(*x).clone()).collect();
    !matches!(node.op, Op::Barrier(_)) && matches!(node.op.def().form(&types), Form::Pointwise(_))
}

/// Returns the expression of a value without its permute.
fn unpermuted(graph: &PartialGraph<'_>, id: Id, axes: &[usize]) -> Option<Expr> {
    let node = graph.node(id);
    if let Op::Permute(_) = &node.op {
        return Some(Expr::Value(node.ins[0]));
    }
    if let Some(one) = graph.scalar(id) {
        let mut shape: Vec<usize> = vec![0; axes.len()];
        axes.iter().zip(graph.shape(id).iter()).for_each(|(&a, &d)| shape[a] = d);
        return Some(Expr::splat(one.clone(), &shape.into()));
    }
    let ins = node.ins.iter().map(|x| unpermuted(graph, *x, axes)).collect::<Option<Vec<Expr>>>()?;
    Some(Expr::apply(node.op.clone(), ins))
}

/// Moves a permute of a product into its labels. Applies only if the product has no other reader, because it would be
/// computed twice otherwise.
fn permute_of(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Permute(p) = &node.op else { return None };
    let below = graph.node(node.ins[0]);
    let Op::Dot(dot) = &below.op else { return None };
    if !graph.read_once(node.ins[0]) {
        return None;
    }
    let old: Vec<char> = dot.out.chars().collect();
    let out: String = p.axes.iter().map(|&a| old[a]).collect();
    Some(Expr::apply(Dot { out, ..dot.clone() }, below.ins.iter().copied().map(Expr::Value)))
}

/// Returns the source of an operand that is a broadcast, and the axes with a `wanted` label along which it repeats.
fn repeated(
    graph: &PartialGraph<'_>,
    id: Id,
    labels: &str,
    wanted: impl Fn(char) -> bool,
) -> Option<(Id, Vec<usize>)> {
    let node = graph.node(id);
    let Op::Broadcast(b) = &node.op else { return None };
    let from = graph.shape(node.ins[0]);
    let along = |(a, l): (usize, char)| (repeats(from, &b.shape, a) && wanted(l)).then_some(a);
    let axes: Vec<usize> = labels.chars().enumerate().filter_map(along).collect();
    (!axes.is_empty()).then(|| (node.ins[0], axes))
}

/// Returns the broadcast without the repetitions along the axes `lost`.
fn less_repeated(graph: &PartialGraph<'_>, x: Id, to: &Shape, lost: &[usize]) -> Expr {
    Expr::Value(x).reshape(&unrepeated(graph.shape(x), to, lost)).broadcast(&to.without(lost))
}

fn remove_axes(labels: &str, axes: &[usize]) -> String {
    labels.chars().enumerate().filter(|(a, _)| !axes.contains(a)).map(|(_, l)| l).collect()
}

/// Removes a label along which an operand is repeated. Applies if the other operand has the label, which then determines its
/// extent.
fn repeated_into(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Dot(dot) = &node.op else { return None };
    (0..2).find_map(|operand| {
        let (own, other, id) = (labels(dot, operand), labels(dot, 1 - operand), node.ins[operand]);
        let (x, axes) = repeated(graph, id, own, |l| other.contains(l))?;
        let new = relabelled(dot, operand, remove_axes(own, &axes));
        let x = less_repeated(graph, x, graph.shape(id), &axes);
        same_sum(dot, &new, &node.outs[0]).then(|| with_operand(new, node, operand, x))
    })
}

/// Moves a repetition from an operand to the result. Applies if only the broadcast operand has the label, so that all results
/// along it are equal.
fn repeated_by(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Dot(dot) = &node.op else { return None };
    (0..2).find_map(|operand| {
        let (own, other, id) = (labels(dot, operand), labels(dot, 1 - operand), node.ins[operand]);
        let (x, axes) = repeated(graph, id, own, |l| !other.contains(l) && dot.out.contains(l))?;
        let mut new = relabelled(dot, operand, remove_axes(own, &axes));
        let kept: String = dot.out.chars().filter(|l| new.lhs.contains(*l) || new.rhs.contains(*l)).collect();
        let out = &node.outs[0].shape;
        let ones: Shape =
            dot.out.chars().zip(out.iter()).map(|(l, &d)| if kept.contains(l) { d } else { 1 }).collect();
        new.out = kept;
        let x = less_repeated(graph, x, graph.shape(id), &axes);
        Some(with_operand(new, node, operand, x).reshape(&ones).broadcast(out))
    })
}
