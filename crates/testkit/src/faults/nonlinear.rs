//! Wrong jvp rules and wrong gradients of regions.

use super::{Fault, ModifiedOp, list};
use gradus_ir::graph::Builder;
use gradus_ir::ops::call::Call;
use gradus_ir::ops::pointwise::{arith, exp};
use gradus_ir::ops::reduce::{Max, Prod};
use gradus_ir::ops::select::StopGradient;
use gradus_ir::ops::sort::Sort;
use gradus_ir::ops::{Derivative, Samples};
use gradus_ir::{Aval, DType, Op};
use std::sync::Arc;

list![
    rule_not_linear,
    rule_not_linear_at_a_kink,
    curvature_frozen,
    rule_of_one_operand,
    product_without_its_other_factors,
    positions_not_followed,
    every_element_weighed,
    wrong_region_gradient,
    structure_without_rules,
];

fn rule_not_linear() -> Fault {
    let wrong = ModifiedOp::new("rule_not_linear", &exp::exp)
        .jvp(|rule, ts| vec![ts[0].map(|t| t * rule.outs[0] + t * t)]);
    let ins = vec![Samples::default().normal([3])];
    let what = "a jvp rule with a square of the tangent";
    Fault { what, wrong: wrong.op(), right: Op::from(&exp::exp), ins, smooth: true, caught: "jvp" }
}

/// The sample is not smooth, so finite differences are skipped. The adjoint check fails, because transposing at zero
/// tangents loses the square.
fn rule_not_linear_at_a_kink() -> Fault {
    let wrong = ModifiedOp::new("rule_not_linear_at_a_kink", &exp::exp)
        .jvp(|rule, ts| vec![ts[0].map(|t| t * rule.outs[0] + t * t)]);
    Fault { wrong: wrong.op(), smooth: false, caught: "adjoint", ..rule_not_linear() }
}

/// The first and second derivatives are correct; the third is wrong because of a `stop_gradient`.
fn curvature_frozen() -> Fault {
    let wrong = ModifiedOp::new("curvature_frozen", &exp::exp).jvp(|rule, ts| {
        let fixed = rule.ins[0].builder().apply1(StopGradient {}, &[rule.ins[0]]);
        vec![ts[0].map(|t| t * fixed.exp() * (rule.ins[0] - fixed + 1.0))]
    });
    let what = "a rule that is correct to second order only, because it holds a factor constant";
    Fault { what, wrong: wrong.op(), caught: "third", ..rule_not_linear() }
}

fn rule_of_one_operand() -> Fault {
    let wrong = ModifiedOp::new("rule_of_one_operand", &arith::mul)
        .jvp(|rule, ts| vec![ts[0].map(|t| t * rule.ins[1])]);
    let mut s = Samples::default();
    let ins = vec![s.normal([3]), s.normal([3])];
    let what = "the jvp rule of a product forgets the second operand's tangent";
    Fault { what, wrong: wrong.op(), right: Op::from(&arith::mul), ins, smooth: true, caught: "jvp" }
}

/// The rule is correct for two factors and wrong for three.
fn product_without_its_other_factors() -> Fault {
    let right = Prod { axes: vec![1] };
    let wrong = ModifiedOp::new("product_by_neighbours", right.clone())
        .jvp(|rule, ts| vec![ts[0].map(|t| (t * rule.ins[0].flip(&[1])).sum(&[1]))]);
    let ins = vec![Samples::default().normal([2, 3])];
    let what = "the derivative of a product multiplies one other factor";
    Fault { what, wrong: wrong.op(), right: right.into(), ins, smooth: true, caught: "jvp" }
}

fn positions_not_followed() -> Fault {
    let right = Sort::all(0, false);
    let wrong = ModifiedOp::new("positions_not_followed", right.clone()).jvp(|_, ts| vec![ts[0], None]);
    let ins = vec![Samples::default().floats([4], &[3.0, 1.0, 4.0, 2.0])];
    let what = "the tangents of a sort are not permuted";
    Fault { what, wrong: wrong.op(), right: right.into(), ins, smooth: true, caught: "jvp" }
}

fn every_element_weighed() -> Fault {
    let right = Max { axes: vec![0] };
    let wrong = ModifiedOp::new("every_element_weighed", right.clone()).jvp(|rule, ts| {
        let top = rule.outs[0].spread(&[0], &rule.ins[0].shape());
        vec![ts[0].map(|t| (t * (rule.ins[0] / top)).sum(&[0]))]
    });
    let ins = vec![Samples::default().distinct([4])];
    let what = "the derivative of a maximum reaches every element";
    Fault { what, wrong: wrong.op(), right: right.into(), ins, smooth: true, caught: "jvp" }
}

/// Returns `x²` as a region with the gradient rule `scale · x · g`.
fn square_region(scale: f64) -> Call {
    let aval = Aval::new(DType::F64, [3]);
    let b = Builder::new();
    let x = b.input("x", aval.clone());
    let body = b.finish(&[x * x]);
    let b = Builder::new();
    let (x, _, g) = (b.input("x", aval.clone()), b.input("y", aval.clone()), b.input("g", aval));
    let grad = b.finish(&[x * scale * g]);
    // cannot fail: both graphs multiply operands of equal extents
    let (body, grad) = (body.expect("a square"), grad.expect("its gradient"));
    Call::new("square", vec![], Arc::new(body)).with_grad(Arc::new(grad))
}

fn wrong_region_gradient() -> Fault {
    let ins = vec![Samples::default().normal([3])];
    let (wrong, right) = (square_region(1.0).into(), square_region(2.0).into());
    Fault {
        what: "a region's own gradient is not the derived one",
        wrong,
        right,
        ins,
        smooth: true,
        caught: "jvp",
    }
}

/// The op is declared structural, but has neither a jvp nor a vjp rule.
fn structure_without_rules() -> Fault {
    let wrong = ModifiedOp::new("structure_without_rules", &exp::exp).derivative(Derivative::Structural);
    let ins = vec![Samples::default().normal([3])];
    let what = "a structural op without rules";
    Fault { what, wrong: wrong.op(), right: Op::from(&exp::exp), ins, smooth: true, caught: "jvp" }
}
