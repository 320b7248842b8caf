//! Losses.

use crate::builtin::param::{Key, Param, Params, Takes, flag, ids, integer, number, tensor, word};
use crate::builtin::table::{XY, pointwise, reduce_one};
use crate::builtin::{Builtin, Settings};
use gradus_ir::DType;
use gradus_tensor::{
    CrossEntropyOptions, KlReduction, NllOptions, PoissonNllOptions, Reduction, Tensor, TripletMarginOptions,
};

const REDUCTION: Key = word("reduction", &["mean", "sum", "none"]);
const TARGET: Params = &[tensor("x"), tensor("target")];
const WEIGHT: Param = tensor("weight").maybe();

pub(crate) static TABLE: &[Builtin] = &[
    pointwise("mse_loss", XY, &[REDUCTION], |a, s| gradus_tensor::mse_loss(a[0], a[1], reduction(s))),
    pointwise("l1_loss", XY, &[REDUCTION], |a, s| gradus_tensor::l1_loss(a[0], a[1], reduction(s))),
    pointwise("smooth_l1_loss", XY, &[number("beta", 1.0), REDUCTION], |a, s| {
        gradus_tensor::smooth_l1_loss(a[0], a[1], s.number("beta"), reduction(s))
    }),
    pointwise("huber_loss", XY, &[number("delta", 1.0), REDUCTION], |a, s| {
        gradus_tensor::huber_loss(a[0], a[1], s.number("delta"), reduction(s))
    }),
    pointwise("binary_cross_entropy", &[tensor("x"), tensor("y"), WEIGHT], &[REDUCTION], |a, s| {
        gradus_tensor::binary_cross_entropy(a[0], a[1], a.get(2).copied(), reduction(s))
    }),
    pointwise(
        "binary_cross_entropy_with_logits",
        &[tensor("x"), tensor("y"), WEIGHT, tensor("pos_weight").maybe()],
        &[REDUCTION],
        |a, s| {
            let (weight, positive) = (a.get(2).copied(), a.get(3).copied());
            gradus_tensor::binary_cross_entropy_with_logits(a[0], a[1], weight, positive, reduction(s))
        },
    ),
    pointwise(
        "kl_div",
        TARGET,
        &[flag("log_target", false), word("reduction", &["mean", "sum", "none", "batchmean"])],
        |a, s| {
            let how = match s.word("reduction") {
                "batchmean" => KlReduction::BatchMean,
                _ => reduction(s).into(),
            };
            gradus_tensor::kl_div(a[0], a[1], s.flag("log_target"), how)
        },
    ),
    pointwise("poisson_nll_loss", TARGET, POISSON, |a, s| {
        let options = PoissonNllOptions {
            log_input: s.flag("log_input"),
            full: s.flag("full"),
            eps: s.number("eps"),
            reduction: reduction(s),
        };
        gradus_tensor::poisson_nll_loss(a[0], a[1], &options)
    }),
    pointwise(
        "gaussian_nll_loss",
        &[tensor("x"), tensor("target"), tensor("var")],
        &[flag("full", false), number("eps", 1e-6), REDUCTION],
        |a, s| {
            let (full, eps) = (s.flag("full"), s.number("eps"));
            gradus_tensor::gaussian_nll_loss(a[0], a[1], a[2], full, eps, reduction(s))
        },
    ),
    pointwise("hinge_embedding_loss", LABELS, &[number("margin", 1.0), REDUCTION], |a, s| {
        gradus_tensor::hinge_embedding_loss(a[0], a[1], s.number("margin"), reduction(s))
    }),
    pointwise("soft_margin_loss", TARGET, &[REDUCTION], |a, s| {
        gradus_tensor::soft_margin_loss(a[0], a[1], reduction(s))
    }),
    pointwise(
        "margin_ranking_loss",
        &[tensor("x"), tensor("y"), tensor("target")],
        &[number("margin", 0.0), REDUCTION],
        |a, s| gradus_tensor::margin_ranking_loss(a[0], a[1], a[2], s.number("margin"), reduction(s)),
    ),
    reduce_one(
        "cosine_embedding_loss",
        &[tensor("x"), tensor("y"), tensor("target").taking(Takes::Still)],
        &[number("margin", 0.0), REDUCTION],
        |a, s| {
            let [x, y] = [rows(a[0], a, s), rows(a[1], a, s)];
            let target =
                a[2].narrow(s.axis(), 0, 1).expand(x.narrow(-1, 0, 1).movedim(-1, s.axis()).shape().to_vec());
            gradus_tensor::cosine_embedding_loss(
                &x,
                &y,
                &target.squeeze([s.axis()]),
                s.number("margin"),
                reduction(s),
            )
        },
    ),
    reduce_one(
        "triplet_margin_loss",
        &[tensor("anchor"), tensor("positive"), tensor("negative")],
        &[number("margin", 1.0), number("p", 2.0), number("eps", 1e-6), flag("swap", false), REDUCTION],
        |a, s| {
            let [anchor, positive, negative] = [a[0], a[1], a[2]].map(|t| t.movedim(s.axis(), -1));
            let options = TripletMarginOptions {
                margin: s.number("margin"),
                p: s.number("p"),
                eps: s.number("eps"),
                swap: s.flag("swap"),
                reduction: reduction(s),
            };
            gradus_tensor::triplet_margin_loss(&anchor, &positive, &negative, &options)
        },
    ),
    reduce_one(
        "nll_loss",
        &[tensor("x"), ids("target"), WEIGHT],
        &[integer("ignore_index", -100), REDUCTION],
        |a, s| {
            let options = NllOptions {
                weight: class_weights(a, s),
                ignore_index: s.integer("ignore_index"),
                reduction: reduction(s),
            };
            gradus_tensor::nll_loss(&classes(a[0], s), &labels(a, s), &options)
        },
    ),
    reduce_one(
        "cross_entropy",
        &[tensor("x"), tensor("target").taking(Takes::Classes), WEIGHT],
        &[number("label_smoothing", 0.0), integer("ignore_index", -100), REDUCTION],
        |a, s| {
            // A target without the class axis holds class numbers.
            let is_class = a[1].dim(s.axis()) == 1 && a[0].dim(s.axis()) != 1;
            let target = if is_class { labels(a, s) } else { classes(&a[1].expand_as(a[0]), s) };
            let options = CrossEntropyOptions {
                weight: class_weights(a, s),
                label_smoothing: s.number("label_smoothing"),
                ignore_index: s.integer("ignore_index"),
                reduction: reduction(s),
            };
            gradus_tensor::cross_entropy(&classes(a[0], s), &target, &options)
        },
    ),
];

/// A target that receives no gradient.
const LABELS: Params = &[tensor("x"), tensor("target").taking(Takes::Still)];
const POISSON: &[Key] = &[flag("log_input", true), flag("full", false), number("eps", 1e-8), REDUCTION];

/// Returns the reduction of a loss: its mean, its sum, or none.
fn reduction(s: &Settings) -> Reduction {
    match s.word("reduction") {
        "sum" => Reduction::Sum,
        "none" => Reduction::None,
        _ => Reduction::Mean,
    }
}

/// Moves the class axis last and flattens all others, as the core expects.
fn classes(x: &Tensor, s: &Settings) -> Tensor {
    let last = x.movedim(s.axis(), -1);
    last.reshape([-1, last.dim(-1) as i64])
}

/// Returns the class of each observation.
fn labels(a: &[&Tensor], s: &Settings) -> Tensor {
    let mut extents = a[0].shape().to_vec();
    extents[s.axis() as usize] = 1;
    a[1].to_dtype(DType::I64).expand(extents).reshape([-1])
}

fn class_weights(a: &[&Tensor], s: &Settings) -> Option<Tensor> {
    a.get(2).map(|w| w.movedim(s.axis(), -1).reshape([-1]))
}

/// Broadcasts to the common shape of all arguments and moves the axis of the call last.
fn rows(x: &Tensor, all: &[&Tensor], s: &Settings) -> Tensor {
    let extent = |i: usize| all.iter().map(|t| t.dim(i as isize)).find(|n| *n != 1).unwrap_or(1);
    x.expand((0..x.rank()).map(extent).collect::<Vec<_>>()).movedim(s.axis(), -1)
}
