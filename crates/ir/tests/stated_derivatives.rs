//! Tests that an op declares its derivative, declares that it is piecewise constant, or returns an error: none is
//! silently treated as constant.

use gradus_ir::ops::pointwise::{self, Pointwise};
use gradus_ir::ops::{Derivative, Form, Operands, Primitive, Rule, Scalar, arity};
use gradus_ir::{
    Aval, Builder, DType, Graph, Kind, Literal, Op, Result, Var, op_struct, reference, transform,
};

/// A pointwise op that declares nothing about its derivative.
static UNSTATED: Pointwise = Pointwise {
    name: "user_unstated",
    docs: "x³.",
    arity: 1,
    predicate: false,
    float: Some(|v| v[0] * v[0] * v[0]),
    complex: None,
    int: None,
    bools: false,
    constant: false,
    partials: None,
    domain: &[],
    ulp: 1.0,
};

op_struct! {
    /// The rule covers the first operand only, although the op is the sum of both.
    pub struct Half = "user_half" {}
}

impl Primitive for Half {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 2)?;
        Ok(vec![ins[0].clone()])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::Only(&[0]))
    }
    fn transpose<'g>(&self, _: &Rule<'_, 'g>, _: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct)
    }
    fn form(&self, _: &[Aval]) -> Form {
        Form::Pointwise(Scalar::Pointwise(&pointwise::arith::add))
    }
}

fn graph(op: impl Into<Op>, operands: usize) -> Graph {
    let b = Builder::new();
    let ins: Vec<Var<'_>> =
        (0..operands).map(|i| b.input(&format!("x{i}"), Aval::scalar(DType::F64))).collect();
    let out = b.apply1(op, &ins);
    b.finish(&[out]).unwrap()
}

#[test]
fn a_derivative_that_is_not_stated_is_an_error() {
    let (unstated, half) = (graph(&UNSTATED, 1), graph(Op::user(Half {}), 2));
    for (graph, wrt, says) in [
        (&unstated, 0, "user_unstated has no derivative by operand 0"),
        (&half, 1, "user_half has no derivative by operand 1"),
    ] {
        for transformed in [transform::jvp(graph, &[wrt]), transform::vjp(graph, &[wrt])] {
            let e = transformed.expect_err("a derivative that is not known");
            assert!(matches!(e.kind(), Kind::Gradient { .. }) && e.to_string().contains(says), "{e}");
        }
    }
    // The derivative by the operand that the rule covers exists.
    assert!(transform::jvp(&half, &[0]).is_ok() && transform::vjp(&half, &[0]).is_ok());
}

/// Returns true if the result of an op is a float or a complex number.
fn has_numeric_result(op: &Pointwise) -> bool {
    !op.predicate && (op.float.is_some() || op.complex.is_some())
}

/// Tests points outside of the declared domains, because an op that is not constant may be flat in its
/// domain.
#[test]
fn ops_declared_constant_are_constant() {
    let mut found = Vec::new();
    for op in pointwise::all() {
        assert!(!has_numeric_result(op) || op.partials.is_some() != op.constant, "{}", op.name);
        if !op.constant {
            continue;
        }
        found.push(op.name);
        let float = op.float.unwrap();
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 40.0 - 20.0
        };
        for _ in 0..1000 {
            let at: Vec<f64> = (0..op.arity).map(|_| random()).collect();
            for i in 0..op.arity {
                let mut near = at.clone();
                near[i] += 1e-9;
                // A jump between two points this close has a probability of about 1e-6 over all of them.
                assert_eq!(float(&at), float(&near), "{} at {at:?} and {near:?}", op.name);
            }
        }
    }
    found.sort_unstable();
    assert_eq!(found, ["ceil", "floor", "floor_div", "round", "sign", "trunc"]);
}

/// Compares derivatives of P(a, x) with finite differences of 60 digits: by `a`, twice by `a`, by `x`, and by both.
#[test]
fn incomplete_gamma_functions_have_both_derivatives() {
    let (a, x) = (Literal::scalar(DType::F64, 2.0), Literal::scalar(DType::F64, 2.6));
    let one = Literal::scalar(DType::F64, 1.0);
    let [by_a, by_aa, by_x, by_ax] =
        [-0.2385669752167553, -0.06022192309013089, 0.1931113033572681, 0.10287562653213388];
    for (op, sign) in [(&pointwise::table::igamma, 1.0), (&pointwise::table::igammac, -1.0)] {
        let graph = graph(op, 2);
        let gradient = transform::vjp(&graph, &[0, 1]).unwrap();
        let outs = reference::evaluate(&gradient, &[a.clone(), x.clone(), one.clone()]).unwrap();
        let tangents = |wrt: usize| {
            let pushed = transform::jvp(&gradient, &[wrt]).unwrap();
            let outs =
                reference::evaluate(&pushed, &[a.clone(), x.clone(), one.clone(), one.clone()]).unwrap();
            outs[2..].iter().map(|l| l.f()[0]).collect::<Vec<f64>>()
        };
        let found = [outs[0].f()[0], outs[1].f()[0], tangents(0)[0], tangents(0)[1], tangents(1)[0]];
        for (found, want) in found.into_iter().zip([by_a, by_x, by_aa, by_ax, by_ax]) {
            assert!((found - sign * want).abs() < 1e-13, "{}: {found}, not {want}", op.name);
        }
    }
}
