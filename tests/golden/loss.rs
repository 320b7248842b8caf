//! Losses.

use super::case::Args;
use gradus::func::*;
use gradus::{Reduction, Tensor};

fn reduction(args: &Args) -> Reduction {
    match args.str("reduction") {
        Some("sum") => Reduction::Sum,
        Some("none") => Reduction::None,
        _ => Reduction::Mean,
    }
}

pub fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let reduction = reduction(args);
    let float = |name: &str| args.float(name).expect("the argument is there");
    let third = || x.get(2).filter(|_| args.flag("weight")).cloned();
    let ignore_index = args.int("ignore_index").unwrap_or(-100);
    let one = match name {
        "cross_entropy" => {
            let label_smoothing = float("label_smoothing");
            let options = CrossEntropyOptions { weight: third(), ignore_index, label_smoothing, reduction };
            cross_entropy(&x[0], &x[1], &options)
        }
        "nll_loss" => nll_loss(&x[0], &x[1], &NllOptions { weight: third(), ignore_index, reduction }),
        "mse_loss" => mse_loss(&x[0], &x[1], reduction),
        "l1_loss" => l1_loss(&x[0], &x[1], reduction),
        "smooth_l1_loss" => smooth_l1_loss(&x[0], &x[1], float("beta"), reduction),
        "huber_loss" => huber_loss(&x[0], &x[1], float("delta"), reduction),
        "binary_cross_entropy" => binary_cross_entropy(&x[0], &x[1], third().as_ref(), reduction),
        "binary_cross_entropy_with_logits" => {
            let positive = x.last().filter(|_| args.flag("pos_weight"));
            binary_cross_entropy_with_logits(&x[0], &x[1], third().as_ref(), positive, reduction)
        }
        "kl_div" => {
            let batchmean = args.str("reduction") == Some("batchmean");
            let how = if batchmean { KlReduction::BatchMean } else { reduction.into() };
            kl_div(&x[0], &x[1], args.flag("log_target"), how)
        }
        "hinge_embedding_loss" => hinge_embedding_loss(&x[0], &x[1], float("margin"), reduction),
        "margin_ranking_loss" => margin_ranking_loss(&x[0], &x[1], &x[2], float("margin"), reduction),
        "cosine_embedding_loss" => cosine_embedding_loss(&x[0], &x[1], &x[2], float("margin"), reduction),
        "triplet_margin_loss" => {
            let (margin, p, eps, swap) = (float("margin"), float("p"), float("eps"), args.flag("swap"));
            let options = TripletMarginOptions { margin, p, eps, swap, reduction };
            triplet_margin_loss(&x[0], &x[1], &x[2], &options)
        }
        "gaussian_nll_loss" => {
            gaussian_nll_loss(&x[0], &x[1], &x[2], args.flag("full"), float("eps"), reduction)
        }
        "poisson_nll_loss" => {
            let (log_input, full, eps) = (args.flag("log_input"), args.flag("full"), float("eps"));
            poisson_nll_loss(&x[0], &x[1], &PoissonNllOptions { log_input, full, eps, reduction })
        }
        "soft_margin_loss" => soft_margin_loss(&x[0], &x[1], reduction),
        "embedding" => embedding(&x[1], &x[0], args.int("padding_idx")),
        "one_hot" => x[0].one_hot(args.int("num_classes").expect("the argument is there") as usize),
        _ => return None,
    };
    Some(vec![one])
}
