//! Compares losses with the tensor crate.

use super::cases::{Case, case, ints};
use gradus_tensor::{
    CrossEntropyOptions, KlReduction, NllOptions, PoissonNllOptions, Reduction, Tensor, TripletMarginOptions,
};

const XT: &[(&str, &[usize])] = &[("X", &[3, 4]), ("T", &[3, 4])];
const BY_ROW: &[(&str, &[usize])] = &[("X", &[3, 4]), ("T", &[3])];
const CLASSES: &str = "C[j] = const([2, 0, 1, 1])\n";
const SIGNS: &str = "S[i,j] = const([[1, -1, 1, -1], [1, 1, -1, -1], [-1, 1, 1, -1]])\n";
const SIDES: &str = "S[i] = const([1, -1, 1])\n";

fn classes() -> Tensor {
    ints(&[2, 0, 1, 1], &[4])
}

fn signs() -> Tensor {
    Tensor::from_slice(&[1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, -1.0], [3, 4])
}

pub(crate) fn losses() -> Vec<Case> {
    use Reduction::{Mean, None as Each, Sum};
    let one = |name: &'static str, call: &str, f: fn(&[Tensor]) -> Tensor| case(name, "", call, XT, f);
    let each = |name: &'static str, call: &str, f: fn(&[Tensor]) -> Tensor| case(name, "[i,j]", call, XT, f);
    vec![
        one("mse_loss", "mse_loss(X[i,j], T[i,j])", |t| gradus_tensor::mse_loss(&t[0], &t[1], Mean)),
        case("mse_loss", "[i,j]", "mse_loss(X[i,j], T[i], reduction=\"none\")", BY_ROW, |t| {
            gradus_tensor::mse_loss(&t[0], &t[1].unsqueeze(1).expand([3, 4]), Each)
        }),
        one("l1_loss", "l1_loss(X[i,j], T[i,j], reduction=\"sum\")", |t| {
            gradus_tensor::l1_loss(&t[0], &t[1], Sum)
        }),
        one("smooth_l1_loss", "smooth_l1_loss(X[i,j], T[i,j], beta=0.3)", |t| {
            gradus_tensor::smooth_l1_loss(&t[0], &t[1], 0.3, Mean)
        }),
        one("huber_loss", "huber_loss(X[i,j], T[i,j], delta=0.3)", |t| {
            gradus_tensor::huber_loss(&t[0], &t[1], 0.3, Mean)
        }),
        one("binary_cross_entropy", "binary_cross_entropy(0.5 X[i,j], 0.5 T[i,j], weight=0.7)", |t| {
            gradus_tensor::binary_cross_entropy(&(&t[0] * 0.5), &(&t[1] * 0.5), None, Mean) * 0.7
        }),
        each(
            "binary_cross_entropy_with_logits",
            "binary_cross_entropy_with_logits(X[i,j], 0.5 T[i,j], ones_like(X[i,j]), 2 T[i,j], reduction=\"none\")",
            |t| {
                let positive = &t[1] * 2.0;
                gradus_tensor::binary_cross_entropy_with_logits(
                    &t[0],
                    &(&t[1] * 0.5),
                    None,
                    Some(&positive),
                    Each,
                )
            },
        ),
        one("kl_div", "kl_div(X[i,j], T[i,j], reduction=\"batchmean\")", |t| {
            gradus_tensor::kl_div(&t[0], &t[1], false, KlReduction::BatchMean)
        }),
        each("kl_div", "kl_div(X[i,j], T[i,j], log_target=true, reduction=\"none\")", |t| {
            gradus_tensor::kl_div(&t[0], &t[1], true, Each)
        }),
        one("poisson_nll_loss", "poisson_nll_loss(X[i,j], T[i,j])", |t| {
            gradus_tensor::poisson_nll_loss(&t[0], &t[1], &PoissonNllOptions::default())
        }),
        one("poisson_nll_loss", "poisson_nll_loss(X[i,j], 3 T[i,j], log_input=false, full=true)", |t| {
            let options = PoissonNllOptions { log_input: false, full: true, ..PoissonNllOptions::default() };
            gradus_tensor::poisson_nll_loss(&t[0], &(&t[1] * 3.0), &options)
        }),
        case(
            "gaussian_nll_loss",
            "",
            "gaussian_nll_loss(X[i,j], T[i,j], V[i], full=true)",
            &[("X", &[3, 4]), ("T", &[3, 4]), ("V", &[3])],
            |t| gradus_tensor::gaussian_nll_loss(&t[0], &t[1], &t[2], true, 1e-6, Mean),
        ),
        case("hinge_embedding_loss", "", "hinge_embedding_loss(X[i,j], S[i,j], margin=0.9)", &XT[..1], |t| {
            gradus_tensor::hinge_embedding_loss(&t[0], &signs(), 0.9, Mean)
        })
        .after(SIGNS),
        one("soft_margin_loss", "soft_margin_loss(X[i,j], T[i,j])", |t| {
            gradus_tensor::soft_margin_loss(&t[0], &t[1], Mean)
        }),
        case(
            "margin_ranking_loss",
            "[i,j]",
            "margin_ranking_loss(X[i,j], T[i], S[i,j], margin=0.3, reduction=\"none\")",
            BY_ROW,
            |t| {
                gradus_tensor::margin_ranking_loss(
                    &t[0],
                    &t[1].unsqueeze(1).expand([3, 4]),
                    &signs(),
                    0.3,
                    Each,
                )
            },
        )
        .after(SIGNS),
        case(
            "cosine_embedding_loss",
            "",
            "cosine_embedding_loss(X[d,j], T[d], C[j], margin=0.2, axis=d)",
            BY_ROW,
            |t| {
                let side = Tensor::from_slice(&[1.0, -1.0, 1.0, -1.0], [4]);
                let rows = t[1].unsqueeze(0).expand([4, 3]);
                gradus_tensor::cosine_embedding_loss(&t[0].transpose(0, 1), &rows, &side, 0.2, Mean)
            },
        )
        .after("C[j] = const([1, -1, 1, -1])\n"),
        case(
            "cosine_embedding_loss",
            "[i]",
            "cosine_embedding_loss(X[i,d], T[i,d], S[i], reduction=\"none\")",
            XT,
            |t| {
                let side = Tensor::from_slice(&[1.0, -1.0, 1.0], [3]);
                gradus_tensor::cosine_embedding_loss(&t[0], &t[1], &side, 0.0, Each)
            },
        )
        .after(SIDES),
        case(
            "triplet_margin_loss",
            "[i]",
            "triplet_margin_loss(X[i,d], T[i,d], N[i,d], margin=2, p=3, swap=true, reduction=\"none\")",
            &[("X", &[3, 4]), ("T", &[3, 4]), ("N", &[3, 4])],
            |t| {
                let options =
                    TripletMarginOptions { margin: 2.0, p: 3.0, swap: true, reduction: Each, eps: 1e-6 };
                gradus_tensor::triplet_margin_loss(&t[0], &t[1], &t[2], &options)
            },
        ),
        case("nll_loss", "", "nll_loss(X[c,j], C[j], W[c], axis=c)", &[("X", &[3, 4]), ("W", &[3])], |t| {
            let options = NllOptions { weight: Some(t[1].clone()), ..NllOptions::default() };
            gradus_tensor::nll_loss(&t[0].transpose(0, 1), &classes(), &options)
        })
        .after(CLASSES),
        case(
            "nll_loss",
            "[j]",
            "nll_loss(X[c,j], C[j], axis=c, ignore_index=1, reduction=\"none\")",
            &XT[..1],
            |t| {
                let options = NllOptions { ignore_index: 1, reduction: Each, ..NllOptions::default() };
                gradus_tensor::nll_loss(&t[0].transpose(0, 1), &classes(), &options)
            },
        )
        .after(CLASSES),
        one("cross_entropy", "cross_entropy(X[i,j], T[i,j], label_smoothing=0.1)", |t| {
            let options = CrossEntropyOptions { label_smoothing: 0.1, ..CrossEntropyOptions::default() };
            gradus_tensor::cross_entropy(&t[0], &t[1], &options)
        }),
        case(
            "cross_entropy",
            "",
            "cross_entropy(X[c,j], C[j], W[c], axis=c)",
            &[("X", &[3, 4]), ("W", &[3])],
            |t| {
                let options =
                    CrossEntropyOptions { weight: Some(t[1].clone()), ..CrossEntropyOptions::default() };
                gradus_tensor::cross_entropy(&t[0].transpose(0, 1), &classes(), &options)
            },
        )
        .after(CLASSES),
        case(
            "cross_entropy",
            "[j]",
            "cross_entropy(X[c,j], C[j], axis=c, reduction=\"none\")",
            &XT[..1],
            |t| {
                let options = CrossEntropyOptions { reduction: Each, ..CrossEntropyOptions::default() };
                gradus_tensor::cross_entropy(&t[0].transpose(0, 1), &classes(), &options)
            },
        )
        .after(CLASSES),
    ]
}
