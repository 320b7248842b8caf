//! Statistics, norms, distances, numeric helpers and normalisation layers.

use super::case::Args;
use gradus::{BatchNormOptions, Tensor, cdist, cosine_similarity, pairwise_distance};

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let float = |name: &str| args.float(name);
    let (dims, keepdim) = (args.isizes("dims"), args.flag("keepdim"));
    let axis = || Some(args.int("dim")? as isize);
    let affine = if args.flag("affine") { (x.get(1), x.get(2)) } else { (None, None) };
    let one = match name {
        "mean" if keepdim => x[0].mean_keepdim(dims),
        "mean" => x[0].mean(dims),
        "var" if keepdim => x[0].var_keepdim(dims, float("correction")?),
        "var" => x[0].var(dims, float("correction")?),
        "std" if keepdim => x[0].std_keepdim(dims, float("correction")?),
        "std" => x[0].std(dims, float("correction")?),
        "norm" => x[0].norm(float("p")?, dims, keepdim),
        "normalize" => x[0].normalize(float("p")?, axis()?, float("eps")?),
        "cosine_similarity" => cosine_similarity(&x[0], &x[1], axis()?, float("eps")?),
        "pairwise_distance" => pairwise_distance(&x[0], &x[1], float("p")?, float("eps")?, keepdim),
        "cdist" => cdist(&x[0], &x[1], float("p")?),
        "clamp" => x[0].clamp(float("min"), float("max")),
        "lerp" => x[0].lerp(&x[1], &x[2]),
        "logit" => x[0].logit(float("eps")),
        "sinc" => x[0].sinc(),
        "xlogy" => x[0].xlogy(&x[1]),
        "nan_to_num" => x[0].nan_to_num(float("nan")?, float("posinf"), float("neginf")),
        "frac" => x[0].frac(),
        "heaviside" => x[0].heaviside(&x[1]),
        "rad2deg" => x[0].rad2deg(),
        "deg2rad" => x[0].deg2rad(),
        "angle" => x[0].angle(),
        "polar" => x[0].polar(&x[1]),
        "abs" => x[0].abs(),
        "layer_norm" => x[0].layer_norm(args.ints("normalized_shape")?, affine.0, affine.1, float("eps")?),
        "rms_norm" => x[0].rms_norm(args.ints("normalized_shape")?, affine.0, float("eps")),
        "group_norm" => x[0].group_norm(args.int("num_groups")? as usize, affine.0, affine.1, float("eps")?),
        "instance_norm" => x[0].instance_norm(affine.0, affine.1, float("eps")?),
        "local_response_norm" => {
            let size = args.int("size")? as usize;
            x[0].local_response_norm(size, float("alpha")?, float("beta")?, float("k")?)
        }
        "batch_norm" => {
            let (momentum, eps) = (float("momentum")?, float("eps")?);
            let how = BatchNormOptions { training: args.flag("training"), momentum, eps };
            let (y, mean, var) = x[0].batch_norm(Some((&x[1], &x[2])), x.get(3), x.get(4), &how);
            return Some(if how.training { vec![y, mean, var] } else { vec![y] });
        }
        _ => return None,
    };
    Some(vec![one])
}
