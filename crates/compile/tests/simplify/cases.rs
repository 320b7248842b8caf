//! Tests every rule separately: it fires, leaves the expected ops, and keeps all bits if it is exact.

use super::{PAIRS, default, f64s, graph, ops, same_bits};
use DType::*;
use gradus_compile::{Options, rules, simplify};
use gradus_ir::graph::Var;
use gradus_ir::ops::Op;
use gradus_ir::ops::dot::Dot;
use gradus_ir::ops::movement::{Broadcast, Concat, Flip, Pad, Permute, Reshape, Slice};
use gradus_ir::ops::pointwise::Cast;
use gradus_ir::ops::reduce::{Max, Min, Prod};
use gradus_ir::ops::select::StopGradient;
use gradus_ir::{Aval, DType, Literal, reference};

/// The rule, its operands, the expression built from them, and the ops that remain.
type Case = (&'static str, Vec<Aval>, Build, &'static str);

type Build = for<'g> fn(&[Var<'g>]) -> Var<'g>;

fn of<'g>(op: impl Into<Op>, ins: &[Var<'g>]) -> Var<'g> {
    ins[0].builder().apply1(op, ins)
}

/// Vectors of one dtype, long enough for all pairs of special values.
fn v(dtype: DType, count: usize) -> Vec<Aval> {
    vec![Aval::new(dtype, [PAIRS]); count]
}

fn slice<'g>(x: Var<'g>, start: &[usize], stop: &[usize], step: &[usize]) -> Var<'g> {
    of(Slice { start: start.to_vec(), stop: stop.to_vec(), step: step.to_vec() }, &[x])
}

fn pad<'g>(x: Var<'g>, low: &[i64], high: &[i64]) -> Var<'g> {
    of(Pad { low: low.to_vec(), high: high.to_vec(), interior: vec![0; low.len()] }, &[x])
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let choice = || vec![Aval::new(Bool, [PAIRS]), Aval::new(F64, [PAIRS]), Aval::new(F64, [PAIRS]), Aval::new(F64, [PAIRS])];
    vec![
        ("splat", v(F64, 1), |x| x[0].exp() * x[0].builder().constant(Literal::floats(F64, [PAIRS], vec![2.5; PAIRS]).unwrap()), "exp constant broadcast mul"),
        ("fold repeated", v(F64, 1), |x| x[0] * x[0].full_like(2.0).exp(), "constant broadcast mul"),
        ("fold repeated", v(F64, 2), |x| x[0].full_like(2.0).lt(x[0].full_like(3.0)).select(x[0], x[1]), ""),
        ("fold", v(F64, 1), |x| x[0] * x[0].builder().iota(F64, [PAIRS], 0).sin(), "constant mul"),
        ("times one", v(F64, 1), |x| x[0] * 1.0, ""),
        ("times one", v(I8, 1), |x| 1.0 * x[0], ""),
        ("times minus one", v(F32, 1), |x| x[0] * -1.0, "neg"),
        ("times minus one", v(I32, 1), |x| x[0] * -1.0, "neg"),
        ("times zero", v(I64, 1), |x| x[0] * 0.0, "constant broadcast"),
        ("over one", v(F64, 1), |x| x[0] / 1.0, ""),
        ("over one", v(I64, 1), |x| x[0] / 1.0, ""),
        ("over minus one", v(F64, 1), |x| x[0] / -1.0, "neg"),
        ("over minus one", v(I8, 1), |x| x[0] / -1.0, "neg"),
        ("over minus one", v(I64, 1), |x| x[0] / -1.0, "neg"),
        ("plus zero", v(U8, 1), |x| x[0] + 0.0, ""),
        ("plus zero where none is negative", v(F64, 1), |x| x[0].exp().reshape([1, PAIRS]) + 0.0, "exp reshape"),
        ("plus zero where none is negative", v(F64, 1), |x| slice(x[0].exp(), &[1], &[9], &[2]) + 0.0, "exp slice"),
        ("plus minus zero", v(F64, 1), |x| -0.0 + x[0], ""),
        ("minus zero", v(F64, 1), |x| x[0] - 0.0, ""),
        ("minus zero", v(I64, 1), |x| x[0] - 0.0, ""),
        ("zero minus", v(I8, 1), |x| 0.0 - x[0], "neg"),
        ("minus zero minus", v(F64, 1), |x| -0.0 - x[0], "neg"),
        ("minus itself", v(I64, 1), |x| x[0].sub(x[0]), "constant broadcast"),
        ("negated twice", v(C128, 1), |x| -(-x[0]), ""),
        ("negated twice", v(I64, 1), |x| -(-x[0]), ""),
        ("plus negated", v(F64, 2), |x| -x[0] + x[1], "sub"),
        ("plus negated", v(C128, 2), |x| x[0] + -x[1], "sub"),
        ("minus negated", v(F64, 2), |x| x[0] - -x[1], "add"),
        ("negated difference", v(I8, 2), |x| -(x[0] - x[1]), "sub"),
        ("product of negated", v(F64, 2), |x| -x[0] * -x[1], "mul"),
        ("product of negated", v(I64, 2), |x| -x[0] * -x[1], "mul"),
        ("quotient of negated", v(F64, 2), |x| -x[0] / -x[1], "div"),
        ("square of negated", v(F64, 1), |x| (-x[0]).square(), "square"),
        ("square of negated", v(I8, 1), |x| (-x[0]).square(), "square"),
        ("modulus of negated", v(F64, 1), |x| (-x[0]).abs(), "abs"),
        ("power zero", v(F64, 1), |x| x[0].pow(x[0].full_like(0.0)), "constant broadcast"),
        ("power zero", v(I64, 1), |x| x[0].pow(x[0].full_like(0.0)), "constant broadcast"),
        ("power one", v(F64, 1), |x| x[0].pow(x[0].full_like(1.0)), ""),
        ("power one", v(I64, 1), |x| x[0].pow(x[0].full_like(1.0)), ""),
        ("integer square", v(I8, 1), |x| x[0].pow(x[0].full_like(2.0)), "square"),
        ("float square", v(F64, 1), |x| x[0].pow(x[0].full_like(2.0)), "square"),
        ("float inverse", v(F64, 1), |x| x[0].pow(x[0].full_like(-1.0)), "reciprocal"),
        ("larger of same", v(F64, 1), |x| x[0].maximum(x[0]), ""),
        ("smaller of same", v(F64, 1), |x| x[0].minimum(x[0]), ""),
        ("larger than least", v(F64, 1), |x| x[0].maximum(x[0].full_like(f64::NEG_INFINITY)), ""),
        ("smaller than greatest", v(F64, 1), |x| x[0].minimum(x[0].full_like(f64::INFINITY)), ""),
        ("larger twice", v(F64, 2), |x| x[0].maximum(x[1]).maximum(x[1]), "maximum"),
        ("smaller twice", v(F64, 2), |x| x[0].minimum(x[1]).minimum(x[1]), "minimum"),
        ("equal to itself", v(I64, 1), |x| x[0].eq(x[0]), "constant broadcast"),
        ("different from itself", v(I64, 1), |x| x[0].ne(x[0]), "constant broadcast"),
        ("smaller than itself", v(F64, 1), |x| x[0].lt(x[0]), "constant broadcast"),
        ("larger than itself", v(F64, 1), |x| x[0].gt(x[0]), "constant broadcast"),
        ("at most itself", v(Bool, 1), |x| x[0].le(x[0]), "constant broadcast"),
        ("at least itself", v(I64, 1), |x| x[0].ge(x[0]), "constant broadcast"),
        ("not twice", v(I64, 1), |x| x[0].not().not(), ""),
        ("not equal", v(F64, 2), |x| x[0].eq(x[1]).not(), "ne"),
        ("not different", v(F64, 2), |x| x[0].ne(x[1]).not(), "eq"),
        ("and itself", v(I64, 1), |x| x[0].and(x[0]), ""),
        ("or itself", v(Bool, 1), |x| x[0].or(x[0]), ""),
        ("xor itself", v(I64, 1), |x| x[0].xor(x[0]), "constant broadcast"),
        ("and true", v(Bool, 1), |x| x[0].and(x[0].full_like(1.0)), ""),
        ("and false", v(I64, 1), |x| x[0].full_like(0.0).and(x[0]), "constant broadcast"),
        ("or true", v(Bool, 1), |x| x[0].or(x[0].full_like(1.0)), "constant broadcast"),
        ("or false", v(I64, 1), |x| x[0].or(x[0].full_like(0.0)), ""),
        ("xor false", v(Bool, 1), |x| x[0].xor(x[0].full_like(0.0)), ""),
        ("shift left by none", v(I8, 1), |x| x[0].shl(x[0].full_like(0.0)), ""),
        ("shift right by none", v(U32, 1), |x| x[0].shr(x[0].full_like(0.0)), ""),
        ("select by true", choice(), |x| x[0].full_like(1.0).select(x[1], x[2]), ""),
        ("select by false", choice(), |x| x[0].full_like(0.0).select(x[1], x[2]), ""),
        ("select between equals", choice(), |x| x[0].select(x[1], x[1]), ""),
        ("select true or false", v(Bool, 1), |x| x[0].select(x[0].full_like(1.0), x[0].full_like(0.0)), ""),
        ("select false or true", v(Bool, 1), |x| x[0].select(x[0].full_like(0.0), x[0].full_like(1.0)), "not"),
        ("select by negation", choice(), |x| x[0].not().select(x[1], x[2]), "select"),
        ("select in first branch", choice(), |x| x[0].select(x[0].select(x[1], x[2]), x[3]), "select"),
        ("select in second branch", choice(), |x| x[0].select(x[1], x[0].select(x[2], x[3])), "select"),
        ("over a power of two", v(F64, 1), |x| x[0] / 1024.0, "constant broadcast mul"),
        ("over a power of two", v(F32, 1), |x| x[0] / -0.125, "constant broadcast mul"),
        ("plus zero where none is negative", v(F64, 1), |x| 0.0 + x[0].abs(), "abs"),
        ("plus zero where none is negative", vec![f64s(&[12, 12])], |x| x[0].sum(&[1]) + 0.0, "sum"),
        ("plus zero where none is negative", v(F64, 1), |x| (x[0] + 0.0) + 0.0, "constant broadcast add"),
        ("twice the same", v(F64, 1), |x| x[0].floor().floor(), "floor"),
        ("twice the same", v(I8, 1), |x| x[0].abs().abs(), "abs"),
        ("twice the same", v(F64, 1), |x| x[0].sign().sign(), "sign"),
        ("same dtype", v(F64, 1), |x| of(Cast { to: F64 }, &[x[0]]), ""),
        ("cast through", v(F32, 1), |x| x[0].to(F64).to(I32), "cast"),
        ("cast through", v(U8, 1), |x| x[0].to(BF16).to(I64), "cast"),
        ("cast through", v(Bool, 1), |x| x[0].to(F16).to(C128), "cast"),
        ("cast through", v(I32, 1), |x| x[0].to(F64).to(F32), "cast"),
        ("stop gradient", v(F64, 1), |x| of(StopGradient {}, &[x[0]]), ""),
        ("movement without effect", vec![f64s(&[2, 3])], |x| of(Reshape { shape: [2, 3].into() }, &[x[0]]), ""),
        ("movement without effect", vec![f64s(&[2, 3])], |x| of(Permute { axes: vec![0, 1] }, &[x[0]]), ""),
        ("movement without effect", vec![f64s(&[2, 3])], |x| of(Broadcast { shape: [2, 3].into() }, &[x[0]]), ""),
        ("movement without effect", vec![f64s(&[2, 1])], |x| slice(x[0], &[0, 0], &[2, 1], &[1, 4]), ""),
        ("movement without effect", vec![f64s(&[2, 1])], |x| of(Flip { axes: vec![1] }, &[x[0]]), ""),
        ("movement without effect", vec![f64s(&[1, 3])], |x| of(Pad { low: vec![0; 2], high: vec![0; 2], interior: vec![3, 0] }, &[x[0]]), ""),
        ("movement without effect", vec![f64s(&[2, 3])], |x| of(Concat { axis: 1 }, &[x[0]]), ""),
        ("reshape twice", vec![f64s(&[2, 6])], |x| x[0].reshape([3, 4]).reshape([4, 3]), "reshape"),
        ("permute twice", vec![f64s(&[2, 3, 4])], |x| x[0].permute(&[2, 0, 1]).permute(&[0, 2, 1]), "permute"),
        ("permute twice", vec![f64s(&[2, 3])], |x| x[0].permute(&[1, 0]).permute(&[1, 0]), ""),
        ("broadcast twice", vec![f64s(&[3, 1])], |x| x[0].broadcast_to(&[3, 4].into()).broadcast_to(&[2, 3, 4].into()), "broadcast"),
        ("slice twice", vec![f64s(&[20, 5])], |x| slice(slice(x[0], &[1, 2], &[19, 5], &[3, 1]), &[1, 0], &[6, 3], &[2, 9]), "slice"),
        ("slice twice", vec![f64s(&[4])], |x| slice(slice(x[0], &[1], &[4], &[1]), &[2], &[2], &[1]), "slice"),
        ("flip twice", vec![f64s(&[2, 3])], |x| x[0].flip(&[0, 1]).flip(&[1]), "flip"),
        ("flip twice", vec![f64s(&[2, 3])], |x| x[0].flip(&[0]).flip(&[0]), ""),
        ("permute of ones", vec![f64s(&[2, 1, 3])], |x| x[0].permute(&[1, 0, 2]), "reshape"),
        ("slice of concat", vec![f64s(&[2, 3]), f64s(&[2, 4])], |x| of(Concat { axis: 1 }, x).slice_axis(1, 4, 6), "slice"),
        ("slice of concat", vec![f64s(&[2, 3]), f64s(&[2, 4])], |x| of(Concat { axis: 1 }, x).slice_axis(1, 0, 3), ""),
        ("slice of pad", vec![f64s(&[2, 3])], |x| pad(x[0], &[1, 2], &[0, 4]).slice_axis(1, 2, 5).slice_axis(0, 1, 3), ""),
        ("slice of pad", vec![f64s(&[2, 3])], |x| pad(x[0], &[1, 2], &[0, 4]).slice_axis(1, 6, 8), "constant broadcast"),
        ("pad twice", vec![f64s(&[2, 3])], |x| pad(pad(x[0], &[1, 0], &[0, 1]), &[0, 2], &[1, 1]), "pad"),
        ("concat in concat", vec![f64s(&[2, 3]); 3], |x| of(Concat { axis: 0 }, &[x[0], of(Concat { axis: 0 }, &x[1..])]), "concat"),
        ("concat of a split", vec![f64s(&[2, 9])], |x| of(Concat { axis: 1 }, &[x[0].slice_axis(1, 0, 3), x[0].slice_axis(1, 3, 5), x[0].slice_axis(1, 5, 9)]), ""),
        ("concat of a split", vec![f64s(&[9, 2])], |x| of(Concat { axis: 0 }, &[x[0].slice_axis(0, 5, 6), x[0].slice_axis(0, 6, 7), x[0].slice_axis(0, 2, 4)]), "slice slice concat"),
        ("sum of pieces", vec![f64s(&[2, 3]); 3], |x| pad(x[1], &[0, 3], &[0, 3]) + pad(x[0], &[0, 0], &[0, 6]) + pad(x[2], &[0, 6], &[0, 0]), "constant broadcast concat add"),
        ("sum of pieces", vec![f64s(&[3, 2]); 2], |x| pad(x[1], &[5, 0], &[1, 0]) + pad(x[0], &[1, 0], &[5, 0]), "constant broadcast concat broadcast add"),
        ("sum of pieces", vec![Aval::new(I32, [2, 3]); 2], |x| pad(x[1], &[0, 3], &[0, 3]) + pad(x[0], &[0, 0], &[0, 6]), "constant broadcast concat"),
        ("sum of pieces", vec![Aval::new(C128, [2, 3]); 2], |x| pad(x[1], &[0, 3], &[0, 0]) + pad(x[0], &[0, 0], &[0, 3]), "concat constant broadcast add"),
        ("reduce one", vec![f64s(&[12, 1])], |x| x[0].sum(&[1]), "reshape constant broadcast add"),
        ("reduce one", vec![f64s(&[12, 1, 2])], |x| of(Max { axes: vec![2, 1] }, &[x[0]]), "reshape max"),
        ("reduce one", vec![f64s(&[12])], |x| of(Prod { axes: vec![] }, &[x[0]]), ""),
        ("reduce one", vec![Aval::new(I8, [12, 1])], |x| x[0].sum(&[1]), "reshape"),
        ("reduce repeated", vec![f64s(&[12, 1, 2])], |x| of(Max { axes: vec![0, 2] }, &[x[0].broadcast_to(&[3, 12, 4, 2].into())]), "reshape"),
        ("reduce repeated", vec![f64s(&[12, 1, 2])], |x| of(Min { axes: vec![1, 2] }, &[x[0].broadcast_to(&[12, 4, 2].into())]), "reshape min"),
        ("reduce twice", vec![f64s(&[3, 4, 5])], |x| of(Max { axes: vec![0] }, &[of(Max { axes: vec![2, 1] }, &[x[0]])]), "max"),
        ("reduce twice", vec![Aval::new(I8, [3, 4, 5])], |x| x[0].sum(&[0]).sum(&[1]), "sum"),
        ("reduce twice", vec![Aval::new(I8, [3, 4, 5])], |x| of(Prod { axes: vec![1] }, &[of(Prod { axes: vec![0] }, &[x[0]])]), "prod"),
        ("sum twice", vec![f64s(&[3, 4, 5])], |x| x[0].sum(&[0]).sum(&[1]), "sum"),
        ("permute into dot", vec![f64s(&[3, 4]), f64s(&[3, 5])], |x| x[0].permute(&[1, 0]).dot(x[1], "ik", "kj", "ij"), "dot"),
        ("permute into dot", vec![f64s(&[2, 4, 3]), f64s(&[5, 2, 3])], |x| x[0].dot(x[1].permute(&[1, 2, 0]), "bik", "bkj", "bij"), "dot"),
        ("permute past pointwise", vec![f64s(&[3, 4]), f64s(&[3, 5])], |x| ((x[0].permute(&[1, 0]) * 3.0).tanh()).dot(x[1], "ik", "kj", "ij"), "constant broadcast mul tanh dot"),
        ("permute of dot", vec![f64s(&[3, 4]), f64s(&[4, 5])], |x| x[0].dot(x[1], "ik", "kj", "ij").permute(&[1, 0]), "dot"),
        ("repeated into dot", vec![f64s(&[1, 4]), f64s(&[2, 4, 5])], |x| x[0].broadcast_to(&[2, 3, 4].into()).dot(x[1], "bik", "bkj", "bij"), "reshape dot reshape broadcast"),
        ("repeated into dot", vec![f64s(&[3, 1]), f64s(&[4, 5])], |x| x[0].broadcast_to(&[3, 4].into()).dot(x[1], "ik", "kj", "ij"), "reshape dot"),
        ("repeated by dot", vec![f64s(&[1, 4]), f64s(&[4, 5])], |x| x[0].broadcast_to(&[3, 4].into()).dot(x[1], "ik", "kj", "ji"), "reshape dot reshape broadcast"),
        ("order of products", vec![f64s(&[8, 9]), f64s(&[9, 7]), f64s(&[7, 1])], |x| of(Dot::new("ik", "kj", "ij"), &[of(Dot::new("ik", "kj", "ij"), &[x[0], x[1]]), x[2]]), "dot dot"),
    ]
}

#[test]
fn every_rule_fires_and_keeps_values() {
    let rules = rules();
    let mut wrong = Vec::new();
    for (name, avals, build, left) in cases() {
        let rule = rules.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("no rule {name}"));
        let before = graph(&avals, |x| vec![build(x)]);
        let also = if rule.exact { vec![] } else { vec![rule.name] };
        let after = simplify(&before, &Options { also }).unwrap();
        assert!(after.fired.iter().any(|(n, _)| *n == name), "{name}: {:?} fired on\n{before}", after.fired);
        match rule.exact {
            true => same_bits(&before, &after.graph),
            false => nearly_same(name, &before, &after.graph),
        }
        if ops(&after.graph) != left {
            wrong.push(format!("(\"{name}\", \"{}\"),", ops(&after.graph)));
        }
    }
    assert!(wrong.is_empty(), "other ops are left:\n{}", wrong.join("\n"));
}

/// Checks a rule that rounds differently: results at ordinary values differ by at most a few units in the last place.
fn nearly_same(name: &str, before: &gradus_ir::Graph, after: &gradus_ir::Graph) {
    assert!(default(before).graph == *before, "{name} fires although it is not enabled");
    let ins: Vec<Literal> =
        before.input_avals().iter().enumerate().map(|(k, a)| super::filled(a, k, false)).collect();
    let (old, new) = (reference::evaluate(before, &ins).unwrap(), reference::evaluate(after, &ins).unwrap());
    for (a, b) in old[0].f().iter().zip(new[0].f()) {
        assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{name}: {a} and {b}");
    }
}

#[test]
fn every_rule_has_a_case() {
    let cases = cases();
    let without: Vec<&str> =
        rules().iter().map(|r| r.name).filter(|n| !cases.iter().any(|c| c.0 == *n)).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// Tests that no rule fires on expressions that are similar to a law but do not satisfy it.
#[test]
#[rustfmt::skip]
fn expressions_similar_to_a_law_stay() {
    let cases: Vec<(Vec<Aval>, Build)> = vec![
        (v(F64, 1), |x| x[0] * 0.0),
        (v(F64, 1), |x| x[0] + 0.0),
        (v(F64, 1), |x| x[0] - -0.0),
        (v(F64, 1), |x| 0.0 - x[0]),
        (v(F64, 1), |x| x[0].sub(x[0])),
        (v(F64, 1), |x| x[0].div(x[0])),
        (v(F64, 1), |x| x[0] / 3.0),
        (v(F64, 1), |x| x[0] / f64::MAX),
        (v(C128, 1), |x| x[0] * 1.0),
        (v(C128, 1), |x| x[0] / 2.0),
        (v(F64, 2), |x| -(x[0] - x[1])),
        (v(F64, 1), |x| x[0].eq(x[0])),
        (v(F64, 1), |x| x[0].le(x[0])),
        (v(F64, 2), |x| x[0].lt(x[1]).not()),
        (v(F64, 1), |x| x[0].pow(x[0].full_like(0.5))),
        (v(F64, 1), |x| x[0].pow(x[0].full_like(2.0))),
        (v(F64, 2), |x| x[1].maximum(x[0].maximum(x[1]))),
        (v(U8, 1), |x| (-x[0]).abs()),
        (v(I64, 2), |x| (-x[0]) / (-x[1])),
        (v(I64, 1), |x| x[0].to(F64).to(I8)),
        (v(I32, 1), |x| x[0].to(F64).to(I8)),
        (v(F64, 1), |x| x[0].to(F32).to(F64)),
        (vec![f64s(&[3, 4, 5])], |x| x[0].sum(&[2]).sum(&[0])),
        (vec![f64s(&[3, 4, 5])], |x| of(Max { axes: vec![1] }, &[of(Max { axes: vec![0] }, &[x[0]])])),
        (vec![f64s(&[12])], |x| x[0].broadcast_to(&[3, 12].into()).sum(&[0])),
        (vec![f64s(&[2, 3]); 2], |x| pad(x[0], &[0, 2], &[0, 1]) + pad(x[1], &[0, 0], &[0, 3])),
        (vec![f64s(&[3, 4]), f64s(&[4, 3])], |x| x[0].permute(&[1, 0]).dot(x[1], "ab", "ab", "")),
        (vec![f64s(&[3, 4, 2]), f64s(&[4, 3, 5])], |x| x[0].dot(x[1].permute(&[1, 0, 2]), "abi", "abj", "ij")),
        (vec![f64s(&[3, 1]), f64s(&[5])], |x| x[0].broadcast_to(&[3, 4].into()).dot(x[1], "ik", "j", "ij")),
    ];
    for (avals, build) in cases {
        let before = graph(&avals, |x| vec![build(x)]);
        let after = default(&before);
        assert!(after.graph == before, "{:?} fired on\n{before}", after.fired);
        same_bits(&before, &after.graph);
    }
}

/// A product with two readers is not computed twice for a permute of it.
#[test]
fn values_with_other_readers_stay() {
    let g = graph(&[f64s(&[3, 4]), f64s(&[4, 5])], |x| {
        let product = x[0].dot(x[1], "ik", "kj", "ij");
        vec![product, product.permute(&[1, 0])]
    });
    let after = default(&g);
    assert_eq!(ops(&after.graph), "dot permute");
}
