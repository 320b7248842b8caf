//! Simplifies values that are joined from pieces or split into pieces: pad, concat, slice.
//!
//! A pad writes +0 around its operand, and `-0 + 0` is `0`. So a sum of pads that do not overlap equals the concatenated
//! pieces plus 0, bit for bit, and that is one kernel. Such sums are the gradients of values that are split, for example into
//! queries, keys and values.

use super::{Expr, PartialGraph, Rule};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::movement::{Concat, Pad, Slice};
use gradus_ir::ops::pointwise::table::add;
use gradus_ir::ops::{Map, Op};
use gradus_ir::{Class, Shape};
use std::ops::Range;

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::exact(
            "slice of concat",
            "slice(concat(.., x, ..)) = slice(x) if it reads only x",
            slice_of_concat,
        ),
        Rule::exact(
            "slice of pad",
            "slice(pad(x)) = slice(x) or zeros, if it reads nothing else",
            slice_of_pad,
        ),
        Rule::exact("pad twice", "pad(pad(x)) = pad(x) with both paddings", pad_twice),
        Rule::exact("concat in concat", "concat(concat(x, y), z) = concat(x, y, z)", concat_in_concat),
        Rule::exact("concat of a split", "concat(x[a..b], x[b..c]) = x[a..c]", concat_of_split),
        Rule::exact(
            "sum of pieces",
            "pad(x) + pad(y) = concat(x, y) + 0 if they do not overlap",
            sum_of_pieces,
        ),
    ]
}

fn slice_of_concat(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Slice(s) = &node.op else { return None };
    let below = graph.node(node.ins[0]);
    let Op::Concat(Concat { axis }) = &below.op else { return None };
    let mut at = 0;
    for &piece in &below.ins {
        let extent = graph.shape(piece)[*axis];
        if s.start[*axis] >= at && s.stop[*axis] <= at + extent {
            let mut own = s.clone();
            own.start[*axis] -= at;
            own.stop[*axis] -= at;
            return Some(Expr::apply(own, [Expr::Value(piece)]));
        }
        at += extent;
    }
    None
}

/// Returns true if a pad only adds zeros around its operand.
fn adds_only_zeros(p: &Pad) -> bool {
    p.interior.iter().all(|&i| i == 0) && p.low.iter().chain(&p.high).all(|&x| x >= 0)
}

fn slice_of_pad(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Slice(s) = &node.op else { return None };
    let below = graph.node(node.ins[0]);
    let Op::Pad(p) = &below.op else { return None };
    if !adds_only_zeros(p) {
        return None;
    }
    let shape = graph.shape(below.ins[0]);
    let inner = |a: usize| p.low[a] as usize..p.low[a] as usize + shape[a];
    let within = |a: usize| s.start[a] >= inner(a).start && s.stop[a] <= inner(a).end;
    if (0..shape.rank()).all(within) {
        let mut own: Slice = s.clone();
        for a in 0..shape.rank() {
            own.start[a] -= inner(a).start;
            own.stop[a] -= inner(a).start;
        }
        return Some(Expr::apply(own, [Expr::Value(below.ins[0])]));
    }
    let is_outside = |a: usize| s.stop[a] <= inner(a).start || s.start[a] >= inner(a).end;
    (0..shape.rank()).any(is_outside).then(|| Expr::full(&node.outs[0], 0.0))
}

fn pad_twice(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Pad(outer) = &node.op else { return None };
    let below = graph.node(node.ins[0]);
    let Op::Pad(inner) = &below.op else { return None };
    if !adds_only_zeros(outer) || !adds_only_zeros(inner) {
        return None;
    }
    let sum = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
    let (low, high) = (sum(&outer.low, &inner.low), sum(&outer.high, &inner.high));
    Some(Expr::apply(Pad { low, high, interior: outer.interior.clone() }, [Expr::Value(below.ins[0])]))
}

fn concat_in_concat(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Concat(own) = &node.op else { return None };
    let nested = |id: &Id| *graph.op(*id) == node.op && graph.read_once(*id);
    if !node.ins.iter().any(nested) {
        return None;
    }
    let flat = |id: &Id| if nested(id) { graph.node(*id).ins.clone() } else { vec![*id] };
    Some(Expr::apply(own.clone(), node.ins.iter().flat_map(flat).map(Expr::Value)))
}

/// Merges two operands that are neighbouring slices of a value into one slice.
fn concat_of_split(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Concat(Concat { axis }) = &node.op else { return None };
    let slice = |id: Id| match graph.op(id) {
        Op::Slice(s) => Some((s, graph.node(id).ins[0])),
        _ => None,
    };
    let joined = |pair: &[Id]| {
        let ((a, x), (b, y)) = (slice(pair[0])?, slice(pair[1])?);
        let ahead = a.stop[*axis] == b.start[*axis] && a.step[*axis] == 1 && b.step[*axis] == 1;
        let both = Slice {
            start: a.start.clone(),
            stop: (0..a.stop.len()).map(|i| if i == *axis { b.stop[i] } else { a.stop[i] }).collect(),
            step: a.step.clone(),
        };
        let others = (0..a.start.len()).filter(|i| i != axis);
        let mut others =
            others.map(|i| (a.start[i], a.stop[i], a.step[i]) == (b.start[i], b.stop[i], b.step[i]));
        (x == y && ahead && others.all(|same| same)).then(|| Expr::apply(both, [Expr::Value(x)]))
    };
    let (at, one) = node.ins.windows(2).enumerate().find_map(|(i, pair)| Some((i, joined(pair)?)))?;
    let mut ins: Vec<Expr> = node.ins.iter().copied().map(Expr::Value).collect();
    ins.splice(at..at + 2, [one]);
    Some(Expr::apply(Concat { axis: *axis }, ins))
}

/// Pieces along an axis, in order, with zeros between and around them.
struct Pieces {
    axis: usize,
    pieces: Vec<(Range<usize>, Id)>,
}

fn sum_of_pieces(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let out = &node.outs[0];
    let ids = addends(node)?;
    let (mut x, y) = (pieces(graph, ids[0])?, pieces(graph, ids[1])?);
    if x.axis != y.axis || out.dtype.class() == Class::Bool || !ids.iter().all(|id| graph.read_once(*id)) {
        return None;
    }
    let axis = x.axis;
    x.pieces.extend(y.pieces);
    x.pieces.sort_by_key(|(range, _)| (range.start, range.end));
    let mut ins = Vec::new();
    let mut at = 0;
    let zeros = |from: usize, to: usize| {
        let shape: Shape = out.shape.with(axis, to - from);
        Expr::full(&out.with_shape(shape), 0.0)
    };
    for (range, id) in x.pieces {
        if range.start < at {
            return None;
        }
        if range.start > at {
            ins.push(zeros(at, range.start));
        }
        at = range.end;
        ins.push(Expr::Value(id));
    }
    if at < out.shape[axis] {
        ins.push(zeros(at, out.shape[axis]));
    }
    let joined = Expr::apply(Concat { axis }, ins);
    Some(if out.dtype.class() == Class::Int {
        joined
    } else {
        Expr::apply(&add, [joined, Expr::full(out, 0.0)])
    })
}

fn addends(node: &Node) -> Option<[Id; 2]> {
    match (&node.op, &node.ins[..]) {
        (Op::Map(Map(own)), &[x, y]) if std::ptr::eq(*own, &add) => Some([x, y]),
        _ => None,
    }
}

/// Returns the pieces of a value that is a pad along one axis, or a result of `sum_of_pieces`: a concat, plus 0 unless its
/// elements are integers.
fn pieces(graph: &PartialGraph<'_>, id: Id) -> Option<Pieces> {
    let node = graph.node(id);
    if let Op::Pad(p) = &node.op {
        let shape = graph.shape(node.ins[0]);
        let mut padded = (0..shape.rank()).filter(|&a| p.low[a] != 0 || p.high[a] != 0);
        let axis = padded.next().filter(|_| adds_only_zeros(p))?;
        let low = p.low[axis] as usize;
        return padded
            .next()
            .is_none()
            .then(|| Pieces { axis, pieces: vec![(low..low + shape[axis], node.ins[0])] });
    }
    let is_zero = |id: Id| graph.splat(id).is_some_and(|v| v.to_bits() == 0);
    let concat = match (node.outs[0].dtype.class(), addends(node)) {
        (Class::Int, None) => node,
        (Class::Float, Some([x, zero])) if is_zero(zero) => graph.node(x),
        _ => return None,
    };
    let Op::Concat(Concat { axis }) = &concat.op else { return None };
    let mut at = 0;
    let mut pieces = Vec::new();
    for &piece in &concat.ins {
        let extent = graph.shape(piece)[*axis];
        if !is_zero(piece) {
            pieces.push((at..at + extent, piece));
        }
        at += extent;
    }
    // If no operand of the concat is zeros, no further piece can be inserted.
    (pieces.len() < concat.ins.len()).then_some(Pieces { axis: *axis, pieces })
}
