//! Simplifies movements such as reshape, permute and slice: removes those without effect, and merges two into one.
//! Each rule takes a movement of a movement, or one without effect, and returns the simpler expression.
//! Rules for movements next to contractions are in `labels.rs`, rules for pad and concat in `pieces.rs`.

use super::{Expr, PartialGraph, Rule};
use gradus_ir::graph::Node;
use gradus_ir::ops::Op;
use gradus_ir::ops::movement::{Broadcast, Flip, Permute, Reshape, Slice};
use gradus_ir::{Aval, Shape};

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::exact(
            "movement without effect",
            "f(x) = x for a reshape, permute, broadcast, slice, flip, pad or concat that changes nothing",
            identity,
        ),
        Rule::exact("reshape twice", "reshape(reshape(x)) = reshape(x)", reshape_twice),
        Rule::exact("permute twice", "permute(permute(x, p), q) = permute(x, p[q])", permute_twice),
        Rule::exact("broadcast twice", "broadcast(broadcast(x)) = broadcast(x)", broadcast_twice),
        Rule::exact("slice twice", "slice(slice(x)) = slice(x)", slice_twice),
        Rule::exact("flip twice", "flip(flip(x, a), b) = flip(x, a xor b)", flip_twice),
        Rule::exact(
            "permute of ones",
            "a permute that moves axes of extent 1 only = reshape",
            permute_of_ones,
        ),
    ]
}

/// Matches a node and its operand if both are of the given op.
macro_rules! two {
    ($graph:ident, $node:ident, $kind:ident) => {{
        let Op::$kind(outer) = &$node.op else { return None };
        let below = $graph.node($node.ins[0]);
        let Op::$kind(inner) = &below.op else { return None };
        (outer, inner, below.ins[0])
    }};
}

fn identity(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let &[x] = &node.ins[..] else { return None };
    let from: &Aval = graph.aval(x);
    let same = *from == node.outs[0];
    let stays = match &node.op {
        Op::Reshape(_) | Op::Broadcast(_) | Op::Concat(_) => same,
        Op::Permute(p) => p.axes.iter().enumerate().all(|(i, &a)| i == a),
        Op::Slice(s) => same && s.start.iter().all(|&a| a == 0),
        Op::Flip(f) => f.axes.iter().all(|&a| from.shape[a] <= 1),
        Op::Pad(p) => {
            same && p.low.iter().all(|&l| l == 0)
                && (0..from.rank()).all(|a| p.interior[a] == 0 || from.shape[a] <= 1)
        }
        _ => false,
    };
    stays.then_some(Expr::Value(x))
}

fn reshape_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (outer, _, x) = two!(graph, node, Reshape);
    Some(Expr::Value(x).reshape(&outer.shape))
}

fn permute_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (outer, inner, x) = two!(graph, node, Permute);
    let axes = outer.axes.iter().map(|&a| inner.axes[a]).collect();
    Some(Expr::apply(Permute { axes }, [Expr::Value(x)]))
}

fn broadcast_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (outer, _, x) = two!(graph, node, Broadcast);
    Some(Expr::apply(Broadcast { shape: outer.shape.clone() }, [Expr::Value(x)]))
}

fn slice_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (outer, inner, x) = two!(graph, node, Slice);
    let shape = graph.shape(x);
    let mut both = Slice { start: vec![], stop: vec![], step: vec![] };
    for a in 0..shape.rank() {
        let out = node.outs[0].shape[a];
        // A slice of one element may have a step beyond the extent, and the product of two such steps may overflow.
        // Slices of one element therefore get a step of 1 below, which takes the same element.
        let step = inner.step[a].saturating_mul(outer.step[a]);
        let start = if out == 0 {
            0
        } else {
            inner.start[a].checked_add(outer.start[a].checked_mul(inner.step[a])?)?
        };
        let stop = match out {
            0 => 0,
            1 => start + 1,
            n => start.checked_add((n - 1).checked_mul(step)?)?.checked_add(1)?,
        };
        both.start.push(start);
        both.stop.push(stop);
        both.step.push(if out <= 1 { 1 } else { step });
    }
    Some(Expr::apply(both, [Expr::Value(x)]))
}

fn flip_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (outer, inner, x) = two!(graph, node, Flip);
    let rank = node.outs[0].rank();
    let axes = (0..rank).filter(|a| outer.axes.contains(a) != inner.axes.contains(a)).collect();
    Some(Expr::apply(Flip { axes }, [Expr::Value(x)]))
}

/// Replaces a permute that moves only axes of extent 1 by a reshape, which is cheaper because it needs no strides.
fn permute_of_ones(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Permute(p) = &node.op else { return None };
    let shape = graph.shape(node.ins[0]);
    let moving: Vec<usize> = p.axes.iter().copied().filter(|&a| shape[a] != 1).collect();
    let still = moving.is_sorted() && !p.axes.is_sorted();
    still.then(|| Expr::apply(Reshape { shape: node.outs[0].shape.clone() }, [Expr::Value(node.ins[0])]))
}

/// Returns the operand shape of a broadcast, without the operand axes that correspond to the result axes `lost`.
pub(super) fn unrepeated(from: &Shape, to: &Shape, lost: &[usize]) -> Shape {
    let lead = to.rank() - from.rank();
    from.iter().enumerate().filter(|(a, _)| !lost.contains(&(a + lead))).map(|(_, &d)| d).collect()
}

/// Returns true if all elements of a broadcast along a result axis are the same.
pub(super) fn repeats(from: &Shape, to: &Shape, axis: usize) -> bool {
    let lead = to.rank() - from.rank();
    axis < lead || from[axis - lead] == 1
}
