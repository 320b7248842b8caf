//! Rules from laws of arithmetic, comparison, logic and selection.
//!
//! Some laws do not hold for floats and are omitted: those of `x * 0`, `x - x` and `x / x` (because of infinities and NaN),
//! of `x + 0`, `0 - x` and `-(x - y)` (because of the sign of a zero), of `x == x` (because of NaN), and `x^0.5 = sqrt(x)`
//! (the power is +0 at -0 and +inf at -inf). Integers wrap, so the laws of a ring hold for them, except for division.

use super::pattern::{C, PatternRule, Term, X, Y, Z};
use super::{Expr, PartialGraph, Rewrite, Rule};
use Term::{Apply, Choose, Num};
use gradus_ir::graph::{Id, Node};
use gradus_ir::ops::pointwise::table::*;
use gradus_ir::ops::pointwise::{Cast, Pointwise};
use gradus_ir::ops::{Map, Op};
use gradus_ir::{Class, DType};

fn any(_: DType) -> bool {
    true
}

fn float(d: DType) -> bool {
    d.class() == Class::Float
}

fn int(d: DType) -> bool {
    d.class() == Class::Int
}

fn real(d: DType) -> bool {
    float(d) || int(d)
}

fn discrete(d: DType) -> bool {
    d.class() <= Class::Int
}

fn boolean(d: DType) -> bool {
    d == DType::Bool
}

macro_rules! laws {
    ($($name:literal $law:literal: $pattern:expr, $dtypes:ident => $replacement:expr, $exact:literal;)*) => {
        &[$(PatternRule { name: $name, law: $law, pattern: $pattern, dtypes: $dtypes, replacement: $replacement, exact: $exact }),*]
    };
}

/// Each line has a name and a law, the pattern, the dtypes for which it holds, the replacement, and true if it is exact.
#[rustfmt::skip]
static LAWS: &[PatternRule] = laws! {
    "times one" "x * 1 = x": Apply(&mul, &[X, Num(1.0)]), real => X, true;
    "times minus one" "x * -1 = -x": Apply(&mul, &[X, Num(-1.0)]), real => Apply(&neg, &[X]), true;
    "times zero" "x * 0 = 0": Apply(&mul, &[X, Num(0.0)]), int => Num(0.0), true;
    "over one" "x / 1 = x": Apply(&div, &[X, Num(1.0)]), real => X, true;
    "over minus one" "x / -1 = -x": Apply(&div, &[X, Num(-1.0)]), real => Apply(&neg, &[X]), true;
    "plus zero" "x + 0 = x": Apply(&add, &[X, Num(0.0)]), int => X, true;
    "plus minus zero" "x + -0 = x": Apply(&add, &[X, Num(-0.0)]), float => X, true;
    "minus zero" "x - 0 = x": Apply(&sub, &[X, Num(0.0)]), real => X, true;
    "zero minus" "0 - x = -x": Apply(&sub, &[Num(0.0), X]), int => Apply(&neg, &[X]), true;
    "minus zero minus" "-0 - x = -x": Apply(&sub, &[Num(-0.0), X]), float => Apply(&neg, &[X]), true;
    "minus itself" "x - x = 0": Apply(&sub, &[X, X]), int => Num(0.0), true;
    "negated twice" "--x = x": Apply(&neg, &[Apply(&neg, &[X])]), any => X, true;
    "plus negated" "x + -y = x - y": Apply(&add, &[X, Apply(&neg, &[Y])]), any => Apply(&sub, &[X, Y]), true;
    "minus negated" "x - -y = x + y": Apply(&sub, &[X, Apply(&neg, &[Y])]), any => Apply(&add, &[X, Y]), true;
    "negated difference" "-(x - y) = y - x": Apply(&neg, &[Apply(&sub, &[X, Y])]), int => Apply(&sub, &[Y, X]), true;
    "product of negated" "-x * -y = x * y": Apply(&mul, &[Apply(&neg, &[X]), Apply(&neg, &[Y])]), real => Apply(&mul, &[X, Y]), true;
    "quotient of negated" "-x / -y = x / y": Apply(&div, &[Apply(&neg, &[X]), Apply(&neg, &[Y])]), float => Apply(&div, &[X, Y]), true;
    "square of negated" "(-x)^2 = x^2": Apply(&square, &[Apply(&neg, &[X])]), real => Apply(&square, &[X]), true;
    "modulus of negated" "|-x| = |x|": Apply(&abs, &[Apply(&neg, &[X])]), float => Apply(&abs, &[X]), true;
    "power zero" "x^0 = 1": Apply(&pow, &[X, Num(0.0)]), real => Num(1.0), true;
    "power one" "x^1 = x": Apply(&pow, &[X, Num(1.0)]), real => X, true;
    "integer square" "x^2 = x * x": Apply(&pow, &[X, Num(2.0)]), int => Apply(&square, &[X]), true;
    "float square" "x^2 = x * x": Apply(&pow, &[X, Num(2.0)]), float => Apply(&square, &[X]), false;
    "float inverse" "x^-1 = 1 / x": Apply(&pow, &[X, Num(-1.0)]), float => Apply(&reciprocal, &[X]), false;
    "larger of same" "max(x, x) = x": Apply(&maximum, &[X, X]), any => X, true;
    "smaller of same" "min(x, x) = x": Apply(&minimum, &[X, X]), any => X, true;
    "larger than least" "max(x, -inf) = x": Apply(&maximum, &[X, Num(f64::NEG_INFINITY)]), float => X, true;
    "smaller than greatest" "min(x, inf) = x": Apply(&minimum, &[X, Num(f64::INFINITY)]), float => X, true;
    "larger twice" "max(max(x, y), y) = max(x, y)": Apply(&maximum, &[Apply(&maximum, &[X, Y]), Y]), any => Apply(&maximum, &[X, Y]), true;
    "smaller twice" "min(min(x, y), y) = min(x, y)": Apply(&minimum, &[Apply(&minimum, &[X, Y]), Y]), any => Apply(&minimum, &[X, Y]), true;
    "equal to itself" "x == x": Apply(&eq, &[X, X]), discrete => Num(1.0), true;
    "different from itself" "not x != x": Apply(&ne, &[X, X]), discrete => Num(0.0), true;
    "smaller than itself" "not x < x": Apply(&lt, &[X, X]), any => Num(0.0), true;
    "larger than itself" "not x > x": Apply(&gt, &[X, X]), any => Num(0.0), true;
    "at most itself" "x <= x": Apply(&le, &[X, X]), discrete => Num(1.0), true;
    "at least itself" "x >= x": Apply(&ge, &[X, X]), discrete => Num(1.0), true;
    "not twice" "not not x = x": Apply(&not, &[Apply(&not, &[X])]), discrete => X, true;
    "not equal" "not x == y = x != y": Apply(&not, &[Apply(&eq, &[X, Y])]), any => Apply(&ne, &[X, Y]), true;
    "not different" "not x != y = x == y": Apply(&not, &[Apply(&ne, &[X, Y])]), any => Apply(&eq, &[X, Y]), true;
    "and itself" "x and x = x": Apply(&and, &[X, X]), discrete => X, true;
    "or itself" "x or x = x": Apply(&or, &[X, X]), discrete => X, true;
    "xor itself" "x xor x = 0": Apply(&xor, &[X, X]), discrete => Num(0.0), true;
    "and true" "x and true = x": Apply(&and, &[X, Num(1.0)]), boolean => X, true;
    "and false" "x and 0 = 0": Apply(&and, &[X, Num(0.0)]), discrete => Num(0.0), true;
    "or true" "x or true = true": Apply(&or, &[X, Num(1.0)]), boolean => Num(1.0), true;
    "or false" "x or 0 = x": Apply(&or, &[X, Num(0.0)]), discrete => X, true;
    "xor false" "x xor 0 = x": Apply(&xor, &[X, Num(0.0)]), discrete => X, true;
    "shift left by none" "x << 0 = x": Apply(&shl, &[X, Num(0.0)]), int => X, true;
    "shift right by none" "x >> 0 = x": Apply(&shr, &[X, Num(0.0)]), int => X, true;
    "select by true" "true ? x : y = x": Choose(&[Num(1.0), X, Y]), any => X, true;
    "select by false" "false ? x : y = y": Choose(&[Num(0.0), X, Y]), any => Y, true;
    "select between equals" "c ? x : x = x": Choose(&[C, X, X]), any => X, true;
    "select true or false" "c ? true : false = c": Choose(&[C, Num(1.0), Num(0.0)]), boolean => C, true;
    "select false or true" "c ? false : true = not c": Choose(&[C, Num(0.0), Num(1.0)]), boolean => Apply(&not, &[C]), true;
    "select by negation" "not c ? x : y = c ? y : x": Choose(&[Apply(&not, &[C]), X, Y]), any => Choose(&[C, Y, X]), true;
    "select in first branch" "c ? (c ? x : y) : z = c ? x : z": Choose(&[C, Choose(&[C, X, Y]), Z]), any => Choose(&[C, X, Z]), true;
    "select in second branch" "c ? x : (c ? y : z) = c ? x : z": Choose(&[C, X, Choose(&[C, Y, Z])]), any => Choose(&[C, X, Z]), true;
};

pub(super) fn rules() -> Vec<Rule> {
    let pattern = |law: &'static PatternRule| Rule {
        name: law.name,
        law: law.law,
        exact: law.exact,
        rewrite: Rewrite::Pattern(law),
    };
    let mut all: Vec<Rule> = LAWS.iter().map(pattern).collect();
    all.extend([
        Rule::exact("over a power of two", "x / 2^k = x * 2^-k", over_power_of_two),
        Rule::exact("plus zero where none is negative", "x + 0 = x if x is never -0", plus_zero),
        Rule::exact("twice the same", "f(f(x)) = f(x) for roundings, sign and modulus", idempotent),
        Rule::exact("same dtype", "cast(x, dtype of x) = x", same_dtype),
        Rule::exact("cast through", "cast(cast(x, a), b) = cast(x, b) if a holds every x", cast_through),
        Rule::exact(
            "stop gradient",
            "stop_gradient(x) = x: derivatives have been taken",
            remove_stop_gradient,
        ),
    ]);
    all
}

/// Returns the operands of a node if it applies this pointwise op.
fn operands<'a>(node: &'a Node, op: &Pointwise) -> Option<&'a [Id]> {
    matches!(&node.op, Op::Map(Map(own)) if std::ptr::eq(*own, op)).then_some(&node.ins)
}

/// Replaces a division by a power of two by a multiplication with the inverse. Both round the exact quotient once. The
/// inverse must be a normal number, because a device may flush subnormals.
fn over_power_of_two(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let &[x, by] = operands(node, &div)? else { return None };
    let (by, dtype) = (graph.splat(by)?, graph.aval(x).dtype);
    let inverse = 1.0 / by;
    let power = |v: f64| v.is_normal() && v.to_bits() & ((1 << 52) - 1) == 0;
    let normal = power(inverse) && dtype.round(inverse) == inverse && inverse.abs() >= dtype.min_positive();
    let fits = float(dtype) && power(by) && normal;
    fits.then(|| Expr::apply(&mul, [Expr::Value(x), Expr::full(&node.outs[0], inverse)]))
}

fn plus_zero(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let &[x, y] = operands(node, &add)? else { return None };
    let zero = |id: Id| graph.splat(id).is_some_and(|v| v.to_bits() == 0) && float(graph.aval(id).dtype);
    let same = |x: Id, y: Id| zero(y) && never_minus_zero(graph, x);
    if same(x, y) { Some(Expr::Value(x)) } else { same(y, x).then_some(Expr::Value(y)) }
}

/// Returns true if a float value is known not to be -0. Sums start from 0, and 0 + -0 is 0.
fn never_minus_zero(graph: &PartialGraph<'_>, id: Id) -> bool {
    let node = graph.node(id);
    let positive =
        |op: &Pointwise| [&exp, &exp2, &abs, &square, &sigmoid].iter().any(|r| std::ptr::eq(*r, op));
    match &node.op {
        Op::Sum(_) | Op::Dot(_) | Op::Iota(_) => true,
        Op::Cast(_) => discrete(graph.aval(node.ins[0]).dtype),
        Op::Constant(c) => c.value.f().iter().all(|v| v.to_bits() != (-0.0f64).to_bits()),
        Op::Map(Map(op)) if std::ptr::eq(*op, &add) => node.ins.iter().any(|&x| match graph.splat(x) {
            Some(v) => v.to_bits() != (-0.0f64).to_bits(),
            None => false,
        }),
        Op::Map(Map(op)) => positive(op),
        Op::Broadcast(_) | Op::Reshape(_) | Op::Permute(_) | Op::Slice(_) => {
            never_minus_zero(graph, node.ins[0])
        }
        _ => false,
    }
}

fn idempotent(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Map(Map(op)) = &node.op else { return None };
    let is_idempotent = [&abs, &sign, &floor, &ceil, &round, &trunc].iter().any(|r| std::ptr::eq(*r, *op));
    (is_idempotent && *graph.op(node.ins[0]) == node.op).then(|| Expr::Value(node.ins[0]))
}

fn same_dtype(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let Op::Cast(cast) = &node.op else { return None };
    (graph.aval(node.ins[0]).dtype == cast.to).then(|| Expr::Value(node.ins[0]))
}

/// Removes the inner of two casts. The intermediate dtype must hold every value of the operand. Casts from an integer through
/// a float to an integer stay if the last dtype is too narrow: from a float it saturates, but from an integer it wraps.
fn cast_through(graph: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    let (Op::Cast(cast), inner) = (&node.op, graph.node(*node.ins.first()?)) else { return None };
    let Op::Cast(through) = &inner.op else { return None };
    let from = graph.aval(inner.ins[0]).dtype;
    let differs = int(from) && through.to.is_differentiable() && int(cast.to) && !holds(cast.to, from);
    let fits = holds(through.to, from) && !differs;
    fits.then(|| Expr::apply(Cast { to: cast.to }, [Expr::Value(inner.ins[0])]))
}

/// Returns true if every value of one dtype is a value of the other.
fn holds(wide: DType, narrow: DType) -> bool {
    use DType::*;
    match (narrow, wide.real()) {
        (a, b) if a == wide || a == b => true,
        (Bool, _) => true,
        (C64 | C128, _) => wide == C128,
        (I8, b) => matches!(b, I32 | I64 | F16 | BF16 | F32 | F64),
        (U8, b) => matches!(b, I32 | U32 | I64 | F16 | BF16 | F32 | F64),
        (I32 | U32, b) => matches!(b, I64 | F64),
        (F16 | BF16, b) => matches!(b, F32 | F64),
        (F32, b) => b == F64,
        _ => false,
    }
}

fn remove_stop_gradient(_: &PartialGraph<'_>, node: &Node) -> Option<Expr> {
    matches!(node.op, Op::StopGradient(_)).then(|| Expr::Value(node.ins[0]))
}
