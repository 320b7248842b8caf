//! Wrong pointwise ops.

use super::{Fault, ModifiedOp, list};
use gradus_ir::graph::Var;
use gradus_ir::ops::pointwise::{Partials, Pointwise, arith};
use gradus_ir::ops::select::StopGradient;
use gradus_ir::ops::{Derivative, Samples, registry};
use gradus_ir::{C, Literal, Op};

list![
    wrong_partial,
    wrong_sign,
    swapped_partials,
    partial_of_the_result_as_operand,
    partial_that_stops_differentiating,
    not_holomorphic,
    declared_without_derivative,
];

/// Makes a pointwise op of one or two real operands.
const fn real_op(
    name: &'static str,
    arity: usize,
    float: fn(&[f64]) -> f64,
    partials: Partials,
) -> Pointwise {
    Pointwise {
        name,
        docs: "A pointwise op.",
        arity,
        predicate: false,
        float: Some(float),
        complex: None,
        int: None,
        bools: false,
        constant: false,
        partials: Some(partials),
        domain: &[],
        ulp: 1.0,
    }
}

fn pair(
    what: &'static str,
    wrong: &'static Pointwise,
    right: &'static Pointwise,
    caught: &'static str,
) -> Fault {
    registry::register(RIGHT_SQUARE.name, |_| Some(Op::from(&RIGHT_SQUARE)));
    registry::register(RIGHT_CUBE.name, |_| Some(Op::from(&RIGHT_CUBE)));
    registry::register(RIGHT_ROOT.name, |_| Some(Op::from(&RIGHT_ROOT)));
    let mut s = Samples::default();
    let ins: Vec<Literal> = (0..wrong.arity).map(|_| s.uniform((0.5, 2.0), [2, 3])).collect();
    Fault { what, wrong: wrong.into(), right: right.into(), ins, smooth: true, caught }
}

static RIGHT_SQUARE: Pointwise = real_op("right_square", 1, |v| v[0] * v[0], |v, _| vec![v[0] * 2.0]);
static RIGHT_CUBE: Pointwise =
    real_op("right_cube", 1, |v| v[0] * v[0] * v[0], |v, _| vec![v[0] * v[0] * 3.0]);
static RIGHT_ROOT: Pointwise = real_op("right_root", 1, |v| v[0].sqrt(), |_, y| vec![0.5 / y]);

fn wrong_partial() -> Fault {
    static OP: Pointwise = real_op("wrong_partial", 1, |v| v[0] * v[0], |v, _| vec![v[0]]);
    pair("the derivative of x² is x", &OP, &RIGHT_SQUARE, "jvp")
}

fn wrong_sign() -> Fault {
    static OP: Pointwise =
        real_op("wrong_sign", 2, |v| v[0] - v[1], |_, y| vec![y.full_like(1.0), y.full_like(1.0)]);
    pair("the derivative of a - b by b is 1", &OP, &arith::sub, "jvp")
}

fn swapped_partials() -> Fault {
    fn swapped<'g>(v: &[Var<'g>], y: Var<'g>) -> Vec<Var<'g>> {
        vec![-y / v[1], 1.0 / v[1]]
    }
    static OP: Pointwise = real_op("swapped_partials", 2, |v| v[0] / v[1], swapped);
    pair("the partials of a / b in the other order", &OP, &arith::div, "jvp")
}

fn partial_of_the_result_as_operand() -> Fault {
    static OP: Pointwise = real_op("operand_for_result", 1, |v| v[0].sqrt(), |v, _| vec![0.5 / v[0]]);
    pair("the derivative of √x uses x for √x", &OP, &RIGHT_ROOT, "jvp")
}

fn partial_that_stops_differentiating() -> Fault {
    fn stopped<'g>(v: &[Var<'g>], _: Var<'g>) -> Vec<Var<'g>> {
        let x = v[0].builder().apply1(StopGradient {}, &[v[0]]);
        vec![x * x * 3.0]
    }
    static OP: Pointwise = real_op("stopped_partial", 1, |v| v[0] * v[0] * v[0], stopped);
    pair("the derivative of x³ is right once but constant", &OP, &RIGHT_CUBE, "second")
}

fn not_holomorphic() -> Fault {
    static OP: Pointwise = Pointwise {
        complex: Some(|v: &[C]| v[0].conj()),
        ..real_op("conjugate_as_pointwise", 1, |v| v[0], |_, y| vec![y.full_like(1.0)])
    };
    let ins = vec![Samples::default().complex((-1.0, 1.0), [2, 3])];
    let right = gradus_ir::ops::complex::Conj {}.into();
    let what = "the conjugate as a pointwise op with partial 1: right along the reals, wrong along i";
    Fault { what, wrong: Op::from(&OP), right, ins, smooth: true, caught: "jvp" }
}

fn declared_without_derivative() -> Fault {
    let wrong = ModifiedOp::new("zero_derivative", &RIGHT_SQUARE).derivative(Derivative::Zero).op();
    Fault { wrong, ..pair("a square declared without derivative", &RIGHT_SQUARE, &RIGHT_SQUARE, "jvp") }
}
