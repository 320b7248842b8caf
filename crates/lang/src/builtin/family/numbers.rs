//! The pointwise functions of the builtin table. The title of this family in the language reference is in `table.rs`.

use crate::builtin::param::{Is, Occurs, any, flag, number, optional, tensor, truth, word};
use crate::builtin::table::{ANY, NO, X, XY, pointwise};
use crate::builtin::{Builtin, Derivative, Settings};
use gradus_ir::{Class, DType};
use gradus_tensor::Tensor;
use gradus_tensor::func::SOFTPLUS;

pub(crate) static TABLE: &[Builtin] = &[
    pointwise("step", ANY, NO, |a, _| a[0].gt(0.0).to_dtype(a[0].dtype())).with(Derivative::None),
    pointwise("heaviside", &[tensor("x"), tensor("value")], NO, |a, _| a[0].heaviside(a[1])),
    // Uses the argument `T`, else the temperature of its equation, or of the equation that `like` names.
    pointwise("sig", &[tensor("x"), tensor("T").maybe()], &[optional("like", Is::Text)], |a, s| {
        sigmoid_at(a[0], a.get(1).copied(), s.temperature)
    }),
    pointwise("relu", ANY, NO, |a, _| a[0].relu()),
    pointwise("relu6", X, NO, |a, _| a[0].relu6()),
    pointwise("leaky_relu", X, &[number("negative_slope", 0.01)], |a, s| {
        a[0].leaky_relu(s.number("negative_slope"))
    }),
    // `weight` is broadcast by name, so the name of its index decides which axis of `x` is the channel axis.
    pointwise("prelu", &[tensor("x"), tensor("weight")], NO, |a, _| {
        a[0].gt(0.0).select(a[0], &(a[1] * a[0]))
    }),
    pointwise("elu", X, &[number("alpha", 1.0)], |a, s| a[0].elu(s.number("alpha"))),
    pointwise("selu", X, NO, |a, _| a[0].selu()),
    pointwise("celu", X, &[number("alpha", 1.0)], |a, s| a[0].celu(s.number("alpha"))),
    pointwise("gelu", X, &[word("approximate", &["tanh", "none"])], |a, s| match s.word("approximate") {
        "none" => a[0].gelu(),
        _ => a[0].gelu_tanh(),
    }),
    pointwise("gelu_tanh", X, NO, |a, _| a[0].gelu_tanh()),
    pointwise("silu", X, NO, |a, _| a[0].silu()),
    pointwise("mish", X, NO, |a, _| a[0].mish()),
    pointwise(
        "softplus",
        X,
        &[number("beta", SOFTPLUS.beta), number("threshold", SOFTPLUS.threshold)],
        |a, s| a[0].softplus(s.number("beta"), s.number("threshold")),
    ),
    pointwise("logsigmoid", X, NO, |a, _| a[0].logsigmoid()),
    pointwise("softsign", X, NO, |a, _| a[0].softsign()),
    pointwise("hardtanh", X, &[number("min", -1.0), number("max", 1.0)], |a, s| {
        a[0].hardtanh(s.number("min"), s.number("max"))
    }),
    pointwise("hardsigmoid", X, NO, |a, _| a[0].hardsigmoid()),
    pointwise("hardswish", X, NO, |a, _| a[0].hardswish()),
    pointwise("tanhshrink", X, NO, |a, _| a[0].tanhshrink()),
    pointwise("softshrink", X, &[number("lambda", 0.5)], |a, s| a[0].softshrink(s.number("lambda"))),
    pointwise("hardshrink", X, &[number("lambda", 0.5)], |a, s| a[0].hardshrink(s.number("lambda"))),
    pointwise("threshold", X, &[number("threshold", 0.0), number("value", 0.0)], |a, s| {
        a[0].threshold(s.number("threshold"), s.number("value"))
    }),
    pointwise("clamp", ANY, &[optional("min", Is::Number), optional("max", Is::Number)], |a, s| {
        let (min, max) = (s.optional("min"), s.optional("max"));
        // Integers stay integers if the bounds are integers.
        let has_fraction = min.into_iter().chain(max).any(|b| b.fract() != 0.0);
        let needs_float = a[0].dtype().class() == Class::Int && has_fraction;
        if needs_float { a[0].to_dtype(s.float).clamp(min, max) } else { a[0].clamp(min, max) }
    }),
    pointwise("square", ANY, NO, |a, _| a[0].square()),
    pointwise("frac", X, NO, |a, _| a[0].frac()),
    pointwise("deg2rad", X, NO, |a, _| a[0].deg2rad()),
    pointwise("rad2deg", X, NO, |a, _| a[0].rad2deg()),
    pointwise("sinc", X, NO, |a, _| a[0].sinc()),
    pointwise("logit", X, &[optional("eps", Is::Number)], |a, s| a[0].logit(s.optional("eps"))),
    pointwise("xlogy", XY, NO, |a, _| a[0].xlogy(a[1])),
    pointwise("lerp", &[tensor("x"), tensor("y"), tensor("weight")], NO, |a, _| a[0].lerp(a[1], a[2])),
    pointwise("where", &[truth("condition"), any("x"), any("y")], NO, |a, _| a[0].select(a[1], a[2])),
    pointwise("masked_fill", &[any("x"), truth("mask"), any("value")], NO, |a, _| a[1].select(a[2], a[0])),
    pointwise("case", &[tensor("c").many(Occurs::Pairs)], NO, case),
    pointwise(
        "nan_to_num",
        X,
        &[number("nan", 0.0), optional("posinf", Is::Number), optional("neginf", Is::Number)],
        |a, s| a[0].nan_to_num(s.number("nan"), s.optional("posinf"), s.optional("neginf")),
    ),
    pointwise(
        "is_close",
        XY,
        &[number("rtol", 1e-5), number("atol", 1e-8), flag("equal_nan", false)],
        |a, s| a[0].is_close(a[1], s.number("rtol"), s.number("atol"), s.flag("equal_nan")),
    )
    .with(Derivative::None),
    pointwise("ones_like", ANY, NO, |a, _| a[0].ones_like()).with(Derivative::Stop),
    pointwise("zeros_like", ANY, NO, |a, _| a[0].zeros_like()).with(Derivative::Stop),
    pointwise("stop_gradient", ANY, NO, |a, _| a[0].stop_gradient()).with(Derivative::Stop),
];

/// Computes `1 / (1 + exp(-x / T))`, or the unit step if there is no temperature or `|T|` is at most 1e-9. `t` is the
/// argument of the call, `of_equation` the temperature of the equation.
fn sigmoid_at(x: &Tensor, t: Option<&Tensor>, of_equation: Option<f64>) -> Tensor {
    let hard = || x.gt(0.0).to_dtype(x.dtype());
    match (t, of_equation) {
        (None, None) => hard(),
        (None, Some(t)) if t.abs() <= 1e-9 => hard(),
        (None, Some(t)) => (x / t).sigmoid(),
        (Some(t), _) => {
            let is_zero = t.abs().le(1e-9);
            let safe = is_zero.select(&t.ones_like(), t);
            is_zero.select(&hard(), &(x / &safe).sigmoid())
        }
    }
}

/// Implements `case(c1, v1, c2, v2, …, default)`: returns the value of the last pair whose condition is true, else the
/// default, else 0.
fn case(a: &[&Tensor], _: &Settings) -> Tensor {
    let (pairs, otherwise) = if a.len() % 2 == 1 { (&a[..a.len() - 1], a.last()) } else { (a, None) };
    let zero = || pairs.get(1).map_or_else(|| Tensor::full([], 0.0), |v| v.zeros_like());
    let start = otherwise.map_or_else(zero, |d| (*d).clone());
    pairs.chunks(2).fold(start, |below, pair| pair[0].to_dtype(DType::Bool).select(pair[1], &below))
}
