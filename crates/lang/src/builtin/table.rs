//! The builtins, one line each. Whatever is not here but in the catalog of pointwise ops (`exp`, `tanh`, `erf`, …) is
//! called by its name there.

use super::arrays::{case, masked_softmax, rope, sigmoid_at};
use super::{Builtin, Derivative, Settings, Shape};
use gradus_ir::DType;
use gradus_tensor::func::softmax::{log_softmax_grad, softmax_grad};
use gradus_tensor::{CrossEntropyOptions, Reduction, Tensor};

/// Other names for the same.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("sig", "sig"),
    ("amax", "max"),
    ("amin", "min"),
    ("avg", "mean"),
    ("reduce_max", "max"),
    ("reduce_min", "min"),
    ("reduce_mean", "mean"),
    ("reduce_sum", "sum"),
    ("layernorm", "layer_norm"),
    ("select", "where"),
    ("cat", "concat"),
    ("swish", "silu"),
    ("ln", "log"),
    ("detach", "stop_gradient"),
];

type Apply = fn(&[&Tensor], &Settings) -> Tensor;
type Words = &'static [&'static str];

const fn builtin(shape: Shape, name: &'static str, params: Words, settings: Words, apply: Apply) -> Builtin {
    Builtin { name, params, settings, shape, derivative: Derivative::Core, apply }
}

const fn pointwise(name: &'static str, params: Words, settings: Words, apply: Apply) -> Builtin {
    builtin(Shape::Pointwise, name, params, settings, apply)
}

const fn along(name: &'static str, params: Words, settings: Words, apply: Apply) -> Builtin {
    builtin(Shape::Along, name, params, settings, apply)
}

const fn reduce(name: &'static str, params: Words, settings: Words, apply: Apply) -> Builtin {
    builtin(Shape::Reduce, name, params, settings, apply)
}

pub(super) const fn positional(name: &'static str, params: Words, settings: Words, apply: Apply) -> Builtin {
    builtin(Shape::Positional, name, params, settings, apply)
}

impl Builtin {
    pub(super) const fn with(self, derivative: Derivative) -> Builtin {
        Builtin { derivative, ..self }
    }
}

/// All builtins, by family.
pub(super) static TABLE: &[&[Builtin]] = &[POINTWISE, ALONG, REDUCTIONS, LOSSES, super::arrays::ARRAYS];

const X: Words = &["x"];
const XY: Words = &["x", "y"];
const NO: Words = &[];

static POINTWISE: &[Builtin] = &[
    pointwise("step", X, NO, |a, _| a[0].gt(0.0).to_dtype(a[0].dtype())).with(Derivative::None),
    pointwise("sig", &["x", "?T"], NO, |a, s| sigmoid_at(a[0], a.get(1).copied(), s.temperature)),
    pointwise("relu", X, NO, |a, _| a[0].relu()),
    pointwise("relu6", X, NO, |a, _| a[0].relu6()),
    pointwise("leaky_relu", X, &["negative_slope"], |a, s| a[0].leaky_relu(s.number("negative_slope", 0.01))),
    pointwise("elu", X, &["alpha"], |a, s| a[0].elu(s.number("alpha", 1.0))),
    pointwise("selu", X, NO, |a, _| a[0].selu()),
    pointwise("celu", X, &["alpha"], |a, s| a[0].celu(s.number("alpha", 1.0))),
    pointwise("gelu", X, &["approximate"], |a, s| match s.word("approximate") {
        "none" => a[0].gelu(),
        _ => a[0].gelu_tanh(),
    }),
    pointwise("gelu_tanh", X, NO, |a, _| a[0].gelu_tanh()),
    pointwise("silu", X, NO, |a, _| a[0].silu()),
    pointwise("mish", X, NO, |a, _| a[0].mish()),
    pointwise("softplus", X, &["beta", "threshold"], |a, s| {
        a[0].softplus(s.number("beta", 1.0), s.number("threshold", 20.0))
    }),
    pointwise("logsigmoid", X, NO, |a, _| a[0].logsigmoid()),
    pointwise("softsign", X, NO, |a, _| a[0].softsign()),
    pointwise("hardtanh", X, &["min", "max"], |a, s| {
        a[0].hardtanh(s.number("min", -1.0), s.number("max", 1.0))
    }),
    pointwise("hardsigmoid", X, NO, |a, _| a[0].hardsigmoid()),
    pointwise("hardswish", X, NO, |a, _| a[0].hardswish()),
    pointwise("tanhshrink", X, NO, |a, _| a[0].tanhshrink()),
    pointwise("softshrink", X, &["lambda"], |a, s| a[0].softshrink(s.number("lambda", 0.5))),
    pointwise("hardshrink", X, &["lambda"], |a, s| a[0].hardshrink(s.number("lambda", 0.5))),
    pointwise("clamp", X, &["min", "max"], |a, s| a[0].clamp(s.optional("min"), s.optional("max"))),
    pointwise("square", X, NO, |a, _| a[0].square()),
    pointwise("sinc", X, NO, |a, _| a[0].sinc()),
    pointwise("logit", X, &["eps"], |a, s| a[0].logit(s.optional("eps"))),
    pointwise("xlogy", XY, NO, |a, _| a[0].xlogy(a[1])),
    pointwise("lerp", &["x", "y", "weight"], NO, |a, _| a[0].lerp(a[1], a[2])),
    pointwise("where", &["condition", "x", "y"], NO, |a, _| a[0].to_dtype(DType::Bool).select(a[1], a[2])),
    pointwise("case", &["*c"], NO, case),
    pointwise("nan_to_num", X, NO, |a, _| a[0].nan_to_num(0.0, None, None)),
    pointwise("ones_like", X, NO, |a, _| a[0].ones_like()).with(Derivative::Stop),
    pointwise("zeros_like", X, NO, |a, _| a[0].zeros_like()).with(Derivative::Stop),
    pointwise("stop_gradient", X, NO, |a, _| a[0].stop_gradient()).with(Derivative::Stop),
];

static ALONG: &[Builtin] = &[
    along("softmax", X, NO, |a, s| a[0].softmax(s.axis())).with(Derivative::OfResult),
    along("softmax_grad", &["y", "g"], NO, |a, s| softmax_grad(a[0], a[1], s.axis())),
    along("log_softmax", X, NO, |a, s| a[0].log_softmax(s.axis())).with(Derivative::OfResult),
    along("log_softmax_grad", &["y", "g"], NO, |a, s| log_softmax_grad(a[0], a[1], s.axis())),
    along("softmin", X, NO, |a, s| a[0].softmin(s.axis())),
    along("masked_softmax", &["x", "mask"], &["fill"], |a, s| masked_softmax(a[0], a[1], s)),
    along("lnorm", X, NO, |a, s| standardized(a[0], s, 1e-5)),
    along("layer_norm", &["x", "?weight", "?bias"], &["eps"], |a, s| {
        affine(standardized(a[0], s, s.number("eps", 1e-5)), &a[1..])
    }),
    along("rms_norm", &["x", "?weight"], &["eps"], |a, s| {
        let power = a[0].square().mean_keepdim([s.axis()]) + s.number("eps", 1e-6);
        affine(a[0] * &power.rsqrt(), &a[1..])
    }),
    along("normalize", X, &["p", "eps"], |a, s| {
        a[0].normalize(s.number("p", 2.0), s.axis(), s.number("eps", 1e-12))
    }),
    along("cumsum", X, NO, |a, s| a[0].cumsum(s.axis())),
    along("cumprod", X, NO, |a, s| a[0].cumprod(s.axis())),
    along("cummax", X, NO, |a, s| a[0].cummax(s.axis())),
    along("cummin", X, NO, |a, s| a[0].cummin(s.axis())),
    along("logcumsumexp", X, NO, |a, s| a[0].logcumsumexp(s.axis())),
    along("sort", X, &["descending"], |a, s| a[0].sort(s.axis(), s.flag("descending", false)).0),
    along("argsort", X, &["descending"], |a, s| a[0].argsort(s.axis(), s.flag("descending", false)))
        .with(Derivative::None),
    along("topk", X, &["k", "part", "largest"], |a, s| {
        let (values, ids) = a[0].topk(s.whole("k", 5), s.axis(), s.flag("largest", true));
        if s.word("part") == "indices" { ids } else { values }
    }),
    along("flip", X, NO, |a, s| a[0].flip([s.axis()])),
    along("roll", X, &["shift"], |a, s| a[0].roll(&[s.integer("shift", 1)], &[s.axis()])),
    along("glu", X, NO, |a, s| a[0].glu(s.axis())),
    along("rope", &["x", "?pos"], &["base"], rope),
    along("fftfilter", &["x", "h"], NO, |a, s| {
        let norm = gradus_tensor::FftNorm::default;
        (a[0].rfft(None, s.axis(), norm()) * a[1].rfft(None, s.axis(), norm())).irfft(
            a[0].dim(s.axis()),
            s.axis(),
            norm(),
        )
    }),
];

fn standardized(x: &Tensor, s: &Settings, eps: f64) -> Tensor {
    let axes = s.axes();
    let centred = x - &x.mean_keepdim(&axes);
    &centred * &(centred.square().mean_keepdim(&axes) + eps).rsqrt()
}

/// Scaled and moved, as far as weight and bias are there.
fn affine(x: Tensor, by: &[&Tensor]) -> Tensor {
    let scaled = by.first().map_or_else(|| x.clone(), |w| &x * *w);
    by.get(1).map_or_else(|| scaled.clone(), |b| &scaled + *b)
}

static REDUCTIONS: &[Builtin] = &[
    reduce("sum", X, NO, |a, s| a[0].sum(s.axes())),
    reduce("mean", X, NO, |a, s| a[0].mean(s.axes())),
    reduce("max", X, NO, |a, s| a[0].max(s.axes())),
    reduce("min", X, NO, |a, s| a[0].min(s.axes())),
    reduce("prod", X, NO, |a, s| a[0].prod(s.axes())),
    reduce("var", X, &["correction"], |a, s| a[0].var(s.axes(), s.number("correction", 1.0))),
    reduce("std", X, &["correction"], |a, s| a[0].std(s.axes(), s.number("correction", 1.0))),
    reduce("norm", X, &["p"], |a, s| a[0].norm(s.number("p", 2.0), s.axes(), false)),
    reduce("logsumexp", X, NO, |a, s| a[0].logsumexp(s.axes(), false)),
    reduce("argmax", X, NO, |a, s| a[0].argmax(s.axis())).with(Derivative::None),
    reduce("argmin", X, NO, |a, s| a[0].argmin(s.axis())).with(Derivative::None),
    reduce("any", X, NO, |a, s| a[0].to_dtype(DType::Bool).any(s.axes())).with(Derivative::None),
    reduce("all", X, NO, |a, s| a[0].to_dtype(DType::Bool).all(s.axes())).with(Derivative::None),
];

/// The mean, the sum or all of a loss's terms.
fn reduction(s: &Settings) -> Reduction {
    match s.word("reduction") {
        "sum" => Reduction::Sum,
        "none" => Reduction::None,
        _ => Reduction::Mean,
    }
}

static LOSSES: &[Builtin] = &[
    pointwise("mse_loss", XY, &["reduction"], |a, s| gradus_tensor::mse_loss(a[0], a[1], reduction(s))),
    pointwise("l1_loss", XY, &["reduction"], |a, s| gradus_tensor::l1_loss(a[0], a[1], reduction(s))),
    pointwise("smooth_l1_loss", XY, &["beta", "reduction"], |a, s| {
        gradus_tensor::smooth_l1_loss(a[0], a[1], s.number("beta", 1.0), reduction(s))
    }),
    pointwise("huber_loss", XY, &["delta", "reduction"], |a, s| {
        gradus_tensor::huber_loss(a[0], a[1], s.number("delta", 1.0), reduction(s))
    }),
    pointwise("binary_cross_entropy", XY, &["reduction"], |a, s| {
        gradus_tensor::binary_cross_entropy(a[0], a[1], None, reduction(s))
    }),
    pointwise("binary_cross_entropy_with_logits", XY, &["reduction"], |a, s| {
        gradus_tensor::binary_cross_entropy_with_logits(a[0], a[1], None, None, reduction(s))
    }),
    reduce("cross_entropy", &["x", "target"], &["label_smoothing", "reduction"], |a, s| {
        // The classes go to axis 1, where the core looks for them; single observations get an axis to stand on.
        let x = a[0].movedim(s.axis(), -1);
        let classes = x.dim(-1);
        let ids = a[1].rank() < a[0].rank() || a[1].dim(s.axis()) == 1 && classes != 1;
        let target = if ids {
            a[1].to_dtype(DType::I64).reshape([-1])
        } else {
            a[1].movedim(s.axis(), -1).reshape([-1, classes as i64])
        };
        let options = CrossEntropyOptions {
            label_smoothing: s.number("label_smoothing", 0.0),
            reduction: reduction(s),
            ..CrossEntropyOptions::default()
        };
        gradus_tensor::cross_entropy(&x.reshape([-1, classes as i64]), &target, &options)
    }),
];
