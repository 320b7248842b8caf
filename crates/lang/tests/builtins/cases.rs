//! At least one call of every builtin, with the tensor crate's function to compare with. Axes have different
//! sizes.

use gradus_ir::DType;
use gradus_tensor::Tensor;

/// A call and its expected result.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The indices of the left side.
    pub(crate) left: &'static str,
    pub(crate) call: String,
    /// The names and extents of the inputs, with respect to which the call is differentiated.
    pub(crate) inputs: &'static [(&'static str, &'static [usize])],
    /// Lines before the call: constants.
    pub(crate) before: &'static str,
    /// Computes the same with the tensor crate.
    pub(crate) expected: Expected,
    /// If true, the call has a derivative.
    pub(crate) smooth: bool,
}

type Expected = fn(&[Tensor]) -> Tensor;
type Inputs = &'static [(&'static str, &'static [usize])];

pub(crate) fn case(
    name: &'static str,
    left: &'static str,
    call: &str,
    inputs: Inputs,
    expected: Expected,
) -> Case {
    Case { name, left, call: call.into(), inputs, before: "", expected, smooth: true }
}

impl Case {
    pub(crate) fn after(self, before: &'static str) -> Case {
        Case { before, ..self }
    }

    pub(crate) fn flat(self) -> Case {
        Case { smooth: false, ..self }
    }
}

pub(crate) const X: Inputs = &[("X", &[3, 4])];
const XY: Inputs = &[("X", &[3, 4]), ("Y1", &[3, 4])];
const BY_NAME: Inputs = &[("X", &[3, 4]), ("W", &[3])];
const IJ: &str = "[i,j]";

pub(crate) fn ints(numbers: &[i64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(numbers, shape.to_vec())
}

fn matrix(name: &'static str, call: &str, expected: Expected) -> Case {
    case(name, IJ, call, X, expected)
}

/// Functions of one number, at kinks and elsewhere.
fn unary() -> Vec<Case> {
    let all: Vec<(&'static str, Expected)> = vec![
        ("relu", |t| (&t[0] - 0.6).relu()),
        ("relu6", |t| (&t[0] - 0.6).relu6()),
        ("leaky_relu", |t| (&t[0] - 0.6).leaky_relu(0.01)),
        ("elu", |t| (&t[0] - 0.6).elu(1.0)),
        ("selu", |t| (&t[0] - 0.6).selu()),
        ("celu", |t| (&t[0] - 0.6).celu(1.0)),
        ("gelu", |t| (&t[0] - 0.6).gelu_tanh()),
        ("gelu_tanh", |t| (&t[0] - 0.6).gelu_tanh()),
        ("silu", |t| (&t[0] - 0.6).silu()),
        ("mish", |t| (&t[0] - 0.6).mish()),
        ("softplus", |t| (&t[0] - 0.6).softplus(1.0, 20.0)),
        ("logsigmoid", |t| (&t[0] - 0.6).logsigmoid()),
        ("softsign", |t| (&t[0] - 0.6).softsign()),
        ("hardtanh", |t| (&t[0] - 0.6).hardtanh(-1.0, 1.0)),
        ("hardsigmoid", |t| (&t[0] - 0.6).hardsigmoid()),
        ("hardswish", |t| (&t[0] - 0.6).hardswish()),
        ("tanhshrink", |t| (&t[0] - 0.6).tanhshrink()),
        ("softshrink", |t| (&t[0] - 0.6).softshrink(0.5)),
        ("hardshrink", |t| (&t[0] - 0.6).hardshrink(0.5)),
        ("threshold", |t| (&t[0] - 0.6).threshold(0.0, 0.0)),
        ("square", |t| (&t[0] - 0.6).square()),
        ("frac", |t| (&t[0] - 0.6).frac()),
        ("deg2rad", |t| (&t[0] - 0.6).deg2rad()),
        ("rad2deg", |t| (&t[0] - 0.6).rad2deg()),
        ("sinc", |t| (&t[0] - 0.6).sinc()),
        ("nan_to_num", |t| (&t[0] - 0.6).nan_to_num(0.0, None, None)),
        ("clamp", |t| &t[0] - 0.6),
    ];
    all.into_iter().map(|(name, f)| matrix(name, &format!("{name}(X[i,j] - 0.6)"), f)).collect()
}

pub(crate) fn numbers() -> Vec<Case> {
    let mut out = unary();
    out.extend([
        matrix("step", "step(X[i,j] - 0.6)", |t| t[0].gt(0.6).to_dtype(DType::F64)).flat(),
        case("heaviside", IJ, "heaviside(X[i,j] - 0.6, W[i])", BY_NAME, |t| {
            (&t[0] - 0.6).heaviside(&t[1].unsqueeze(1))
        })
        .flat(),
        case("heaviside", IJ, "heaviside(0 X[i,j], W[i])", BY_NAME, |t| t[1].unsqueeze(1).expand([3, 4])),
        matrix("sig", "sig(X[i,j], 0.7)", |t| (&t[0] / 0.7).sigmoid()),
        case("prelu", IJ, "prelu(X[i,j] - 0.6, W[i])", BY_NAME, |t| {
            (&t[0] - 0.6).transpose(0, 1).prelu(&t[1]).transpose(0, 1)
        }),
        matrix("leaky_relu", "leaky_relu(X[i,j] - 0.6, negative_slope=0.3)", |t| {
            (&t[0] - 0.6).leaky_relu(0.3)
        }),
        matrix("elu", "elu(X[i,j] - 0.6, alpha=0.3)", |t| (&t[0] - 0.6).elu(0.3)),
        matrix("celu", "celu(X[i,j] - 0.6, alpha=0.3)", |t| (&t[0] - 0.6).celu(0.3)),
        matrix("gelu", "gelu(X[i,j], approximate=\"none\")", |t| t[0].gelu()),
        matrix("softplus", "softplus(X[i,j], beta=2, threshold=1)", |t| t[0].softplus(2.0, 1.0)),
        matrix("hardtanh", "hardtanh(X[i,j], min=0.4, max=0.8)", |t| t[0].hardtanh(0.4, 0.8)),
        matrix("threshold", "threshold(X[i,j], threshold=0.5, value=7)", |t| t[0].threshold(0.5, 7.0)),
        matrix("softshrink", "softshrink(X[i,j], lambda=0.6)", |t| t[0].softshrink(0.6)),
        matrix("hardshrink", "hardshrink(X[i,j], lambda=0.6)", |t| t[0].hardshrink(0.6)),
        matrix("clamp", "clamp(X[i,j], min=0.4, max=0.9)", |t| t[0].clamp(0.4, 0.9)),
        matrix("clamp", "clamp(X[i,j], max=0.6)", |t| t[0].clamp_max(0.6)),
        matrix("logit", "logit(0.6 X[i,j])", |t| (&t[0] * 0.6).logit(None)),
        matrix("logit", "logit(X[i,j], eps=0.3)", |t| t[0].logit(0.3)),
        case("xlogy", IJ, "xlogy(X[i,j], W[i])", BY_NAME, |t| t[0].xlogy(&t[1].unsqueeze(1))),
        case(
            "lerp",
            IJ,
            "lerp(X[i,j], Y1[i,j], W[i])",
            &[("X", &[3, 4]), ("Y1", &[3, 4]), ("W", &[3])],
            |t| t[0].lerp(&t[1], &t[2].unsqueeze(1)),
        ),
        case("where", IJ, "where(X[i,j] > 0.6, X[i,j], W[i])", BY_NAME, |t| {
            t[0].gt(0.6).select(&t[0], &t[1].unsqueeze(1))
        }),
        case("masked_fill", IJ, "masked_fill(X[i,j], X[i,j] > 0.6, W[i])", BY_NAME, |t| {
            t[0].masked_fill(&t[0].gt(0.6), 0.0) + t[0].gt(0.6).select(&t[1].unsqueeze(1), 0.0)
        }),
        matrix("masked_fill", "masked_fill(X[i,j], X[i,j] > 0.6, 7)", |t| {
            t[0].masked_fill(&t[0].gt(0.6), 7.0)
        }),
        case("case", IJ, "case(X[i,j] > 0.5, W[i], X[i,j] > 0.8, X[i,j], 2 X[i,j])", BY_NAME, |t| {
            let below = t[0].gt(0.5).select(&t[1].unsqueeze(1), &(&t[0] * 2.0));
            t[0].gt(0.8).select(&t[0], &below)
        }),
        matrix("nan_to_num", "nan_to_num(log(0 ones_like(X[i,j])), neginf=-3)", |t| t[0].full_like(-3.0))
            .flat(),
        case("is_close", IJ, "is_close(X[i,j], W[i], atol=0.3)", BY_NAME, |t| {
            t[0].is_close(&t[1].unsqueeze(1), 1e-5, 0.3, false)
        })
        .flat(),
        matrix("ones_like", "ones_like(X[i,j])", |t| t[0].ones_like()).flat(),
        matrix("zeros_like", "zeros_like(X[i,j])", |t| t[0].zeros_like()).flat(),
        matrix("stop_gradient", "stop_gradient(X[i,j])", |t| t[0].clone()).flat(),
    ]);
    out
}

const MASK: &str = "Mask[i,j] = const([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]])\n";

fn mask() -> Tensor {
    ints(&[1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1], &[3, 4]).to_dtype(DType::Bool)
}

pub(crate) fn along() -> Vec<Case> {
    vec![
        matrix("softmax", "softmax(X[i,j], axis=i)", |t| t[0].softmax(0)),
        case("softmax_grad", IJ, "softmax_grad(X[i,j], Y1[i,j])", XY, |t| {
            gradus_tensor::func::softmax_grad(&t[0], &t[1], -1)
        }),
        matrix("log_softmax", "log_softmax(X[i,j], axis=0)", |t| t[0].log_softmax(0)),
        case("log_softmax_grad", IJ, "log_softmax_grad(X[i,j], Y1[i,j], axis=i)", XY, |t| {
            gradus_tensor::func::log_softmax_grad(&t[0], &t[1], 0)
        }),
        matrix("softmin", "softmin(X[i,j], axis=i)", |t| t[0].softmin(0)),
        matrix("masked_softmax", "masked_softmax(X[i,j], Mask[i,j])", |t| {
            let shares = mask().select(&t[0], f64::NEG_INFINITY).softmax(1);
            mask().select(&shares, 0.0)
        })
        .after(MASK),
        // Masked elements count as 0.5 in the sum.
        matrix("masked_softmax", "masked_softmax(X[i,j], Mask[i,j], fill=0.5)", |t| {
            mask().select(&mask().select(&t[0], 0.5).softmax(1), 0.0)
        })
        .after(MASK),
        matrix("lnorm", "lnorm(X[i,j])", |t| t[0].layer_norm([4], None, None, 1e-5)),
        case(
            "layer_norm",
            IJ,
            "layer_norm(X[i,j], W[j], B[j], eps=0.1)",
            &[("X", &[3, 4]), ("W", &[4]), ("B", &[4])],
            |t| t[0].layer_norm([4], Some(&t[1]), Some(&t[2]), 0.1),
        ),
        matrix("layer_norm", "layer_norm(X[i,j], axis=[i, j])", |t| {
            t[0].layer_norm([3, 4], None, None, 1e-5)
        }),
        case("rms_norm", IJ, "rms_norm(X[i,j], W[j], eps=0.1)", &[("X", &[3, 4]), ("W", &[4])], |t| {
            t[0].rms_norm([4], Some(&t[1]), 0.1)
        }),
        matrix("normalize", "normalize(X[i,j], p=3, axis=i)", |t| t[0].normalize(3.0, 0, 1e-12)),
        matrix("cumsum", "cumsum(X[i,j], axis=i)", |t| t[0].cumsum(0)),
        matrix("cumprod", "cumprod(X[i,j], axis=i)", |t| t[0].cumprod(0)),
        matrix("cummax", "cummax(X[i,j], axis=i)", |t| t[0].cummax(0)),
        matrix("cummin", "cummin(X[i,j], axis=i)", |t| t[0].cummin(0)),
        matrix("logcumsumexp", "logcumsumexp(X[i,j], axis=i)", |t| t[0].logcumsumexp(0)),
        matrix("sort", "sort(X[i,j], axis=i, descending=true)", |t| t[0].sort(0, true).0),
        matrix("argsort", "argsort(X[i,j], axis=i)", |t| t[0].argsort(0, false)).flat(),
        matrix("flip", "flip(X[i,j], axis=i)", |t| t[0].flip([0])),
        matrix("flip", "flip(X[i,j], axis=[i, j])", |t| t[0].flip([0, 1])),
        matrix("roll", "roll(X[i,j], shift=-2)", |t| t[0].roll(&[-2], &[1])),
        case("cross", "[c,j]", "cross(X[c,j], Z[c], axis=c)", &[("X", &[3, 4]), ("Z", &[3])], |t| {
            t[0].cross(&t[1].unsqueeze(1), 0)
        }),
        matrix("rope", "rope(X[i,j], base=100)", |t| t[0].rope(100.0, 0)),
        matrix("rope", "rope(X[i,j], Pos[i])", |t| {
            t[0].rope_at(&Tensor::from_slice(&[5.0, 0.0, 2.0], [3]), 1e4)
        })
        .after("Pos[i] = const([5, 0, 2])\n"),
        case("topk", "[i,k]", "topk(X[i,j], k=2)", X, |t| t[0].topk(2, 1, true).0),
        case("topk", "[k,j]", "topk(X[i,j], k=3, axis=i, largest=false)", X, |t| t[0].topk(3, 0, false).0),
        case("topk", "[i,k]", "topk(X[i,j], k=2, part=\"indices\")", X, |t| t[0].topk(2, 1, true).1).flat(),
        case("glu", "[i,h]", "glu(X[i,j])", X, |t| t[0].glu(1)),
        case("glu", "[j]", "glu(X[j])", &[("X", &[4])], |t| t[0].glu(0)),
        case("tile", "[i,k]", "tile(X[i,j], repeats=3)", X, |t| t[0].tile(&[1, 3])),
        case("tile", "[k,j]", "tile(X[i,j], repeats=2, axis=i)", X, |t| t[0].tile(&[2, 1])),
        case("repeat_interleave", "[k,j]", "repeat_interleave(X[i,j], repeats=2, axis=i)", X, |t| {
            t[0].repeat_interleave(2, Some(0))
        }),
        case("repeat_interleave", "[k,j]", "repeat_interleave(X[i,j], repeats=[1, 0, 3], axis=i)", X, |t| {
            t[0].repeat_interleave([1, 0, 3], Some(0))
        }),
    ]
}

pub(crate) fn reductions() -> Vec<Case> {
    let to = |name: &'static str, call: &str, f: fn(&[Tensor]) -> Tensor| case(name, "[j]", call, X, f);
    vec![
        to("sum", "sum(X[i,j], axis=i)", |t| t[0].sum(0)),
        to("mean", "mean(X[i,j], axis=i)", |t| t[0].mean(0)),
        to("max", "max(X[i,j], axis=i)", |t| t[0].max(0)),
        to("min", "min(X[i,j], axis=0)", |t| t[0].min(0)),
        to("prod", "prod(X[i,j], axis=-2)", |t| t[0].prod(0)),
        to("var", "var(X[i,j], axis=i, correction=0)", |t| t[0].var(0, 0.0)),
        to("std", "std(X[i,j], axis=i)", |t| t[0].std(0, 1.0)),
        to("norm", "norm(X[i,j], axis=i, p=3)", |t| t[0].norm(3.0, 0, false)),
        to("norm", "norm(X[i,j], axis=i, p=inf)", |t| t[0].norm(f64::INFINITY, 0, false)),
        to("logsumexp", "logsumexp(X[i,j], axis=i)", |t| t[0].logsumexp(0, false)),
        matrix("sum", "X[i,j] / sum(X[i,j], axis=j, keepdims=true)", |t| &t[0] / &t[0].sum_keepdim(1)),
        case("sum", "", "sum(X[i,j])", X, |t| t[0].sum(())),
        to("any", "any(X[i,j] > 0.9, axis=i)", |t| t[0].gt(0.9).any(0)).flat(),
        to("all", "all(X[i,j] > 0.5, axis=i)", |t| t[0].gt(0.5).all(0)).flat(),
        to("argmax", "argmax(X[i,j], axis=i)", |t| t[0].argmax(0)).flat(),
        matrix("argmax", "(X[i,j] + argmax(X[i,j], axis=j, keepdims=true))", |t| {
            &t[0] + &t[0].argmax(1).unsqueeze(1).to_dtype(DType::F64)
        })
        .flat(),
        case("argmin", "[i]", "argmin(X[i,j])", X, |t| t[0].argmin(1)).flat(),
        case(
            "cosine_similarity",
            "[i]",
            "cosine_similarity(X[i,d], Z[d])",
            &[("X", &[3, 4]), ("Z", &[4])],
            |t| gradus_tensor::cosine_similarity(&t[0], &t[1], 1, 1e-8),
        ),
        case(
            "cosine_similarity",
            "[i,k]",
            "cosine_similarity(X[d,i], Z[k,d], axis=d)",
            &[("X", &[3, 4]), ("Z", &[2, 3])],
            |t| {
                gradus_tensor::cosine_similarity(
                    &t[0].unsqueeze(2),
                    &t[1].transpose(0, 1).unsqueeze(1),
                    0,
                    1e-8,
                )
            },
        ),
        case(
            "pairwise_distance",
            "[i]",
            "pairwise_distance(X[i,d], Z[d], p=3)",
            &[("X", &[3, 4]), ("Z", &[4])],
            |t| gradus_tensor::pairwise_distance(&t[0], &t[1], 3.0, 1e-6, false),
        ),
    ]
}

pub(crate) fn fourier() -> Vec<Case> {
    use gradus_tensor::FftNorm::{Backward, Forward, Ortho};
    let two: Inputs = &[("X", &[3, 4]), ("Z", &[3, 4])];
    vec![
        matrix("fft", "fft(X[i,j])", |t| t[0].fft(None, 1, Backward).real()),
        matrix("fft", "fft(X[i,j], axis=i, part=\"imag\", norm=\"ortho\")", |t| {
            t[0].fft(None, 0, Ortho).imag()
        }),
        matrix("fft", "fft(X[i,j], axis=[i, j], part=\"imag\")", |t| t[0].fft2(Backward).imag()),
        case("fft", IJ, "fft(X[i,j], Z[i,j], axis=i)", two, |t| {
            t[0].complex(&t[1]).fft(None, 0, Backward).real()
        }),
        case("ifft", IJ, "ifft(X[i,j], Z[i,j], part=\"imag\")", two, |t| {
            t[0].complex(&t[1]).ifft(None, 1, Backward).imag()
        }),
        case("rfft", "[k,j]", "rfft(X[i,j], axis=i, part=\"imag\")", X, |t| {
            t[0].rfft(None, 0, Backward).imag()
        }),
        case("rfft", "[i,k]", "rfft(X[i,j], n=7, norm=\"forward\")", X, |t| t[0].rfft(7, 1, Forward).real()),
        case("irfft", "[i,t]", "irfft(X[i,j], Z[i,j])", two, |t| {
            t[0].complex(&t[1]).irfft(None, 1, Backward)
        }),
        case("irfft", "[t,j]", "irfft(X[i,j], axis=i, n=5)", X, |t| t[0].irfft(5, 0, Backward)),
        matrix("fftshift", "fftshift(X[i,j], axis=i)", |t| t[0].fftshift(0)),
        matrix("ifftshift", "ifftshift(X[i,j], axis=[i, j])", |t| t[0].ifftshift([0, 1])),
        case("fftfreq", "[k]", "fftfreq(n=5, d=0.5)", &[], |_| Tensor::fftfreq(5, 0.5).to_dtype(DType::F64))
            .flat(),
        case("rfftfreq", "[k]", "rfftfreq(n=5, d=0.5)", &[], |_| {
            Tensor::rfftfreq(5, 0.5).to_dtype(DType::F64)
        })
        .flat(),
        case("fftfilter", IJ, "fftfilter(X[i,j], H[j])", &[("X", &[3, 4]), ("H", &[4])], |t| {
            let [x, h] = [&t[0], &t[1]].map(|t| t.fft(None, -1, Backward));
            (x * h).ifft(None, -1, Backward).real()
        }),
    ]
}

/// Functions on other dtypes.
pub(crate) fn kinds() -> Vec<Case> {
    vec![
        case("complex", IJ, "imag(complex(X[i,j], 2 Y1[i,j]) complex(0, 1))", XY, |t| t[0].clone()),
        matrix("real", "real(exp(complex(0, X[i,j])))", |t| t[0].cos()),
        matrix("imag", "imag(exp(complex(0, X[i,j])))", |t| t[0].sin()),
        matrix("conj", "imag(conj(complex(1, X[i,j])))", |t| -&t[0]),
        matrix("cast", "cast(X[i,j], to=\"f64\")", |t| t[0].clone()),
        case("cast", "[i]", "cast(cast(W[i], to=\"i32\"), to=\"u8\")", &[], |_| {
            Tensor::from_slice(&[44.0, 255.0, 7.0], [3])
        })
        .flat()
        .after("W[i] = const([300, -1, 7])\n"),
        case("random_bits", "[i,j]", "random_bits(S[k], shape=[2, 3])", &[], |_| words().0)
            .flat()
            .after("S[k] = const([1, 2, 3, 4])\n"),
        case("random_bits", "[l]", "random_bits(S[k], shape=[2, 3], part=\"state\")", &[], |_| words().1)
            .flat()
            .after("S[k] = const([1, 2, 3, 4])\n"),
    ]
}

/// Random words for a state, and the next state.
fn words() -> (Tensor, Tensor) {
    let state = ints(&[1, 2, 3, 4], &[4]).to_dtype(DType::U32);
    let shape = [2usize, 3][..].into();
    let [words, next] = gradus_tensor::apply_n(gradus_ir::ops::source::RandomBits { shape }, &[&state]);
    (words, next)
}
