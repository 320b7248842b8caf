//! Attention, normalisation over channels, convolutions, pooling and resampling. Axes are matched by position.

use crate::builtin::param::{
    Is, Key, Param, Params, Takes, VALUES_OR_INDICES, each, flag, ids, needed, number, optional, tensor,
    whole, word,
};
use crate::builtin::table::{ANY, SAME, X, positional};
use crate::builtin::{Builtin, Setting, Settings};
use gradus_ir::Error;
use gradus_tensor::func::conv::{ConvOptions, ConvTransposeOptions, Padding};
use gradus_tensor::func::pool::{AvgPoolOptions, MaxPoolOptions, max_pool_with_indices};
use gradus_tensor::func::{Interpolation, PadMode, UnfoldOptions, conv, image, pools};
use gradus_tensor::{AttentionOptions, BatchNormOptions, Each, Tensor};

const WEIGHT: Param = tensor("weight").maybe();
const BIAS: Param = tensor("bias").maybe();
const KERNELS: Params = &[tensor("x"), tensor("w"), BIAS];
const AFFINE: Params = &[tensor("x"), WEIGHT, BIAS];
const STRIDE: Key = optional("stride", Is::Wholes);
const CONV: &[Key] = &[each("stride", 1), PADDING_OR_SAME, each("dilation", 1), whole("groups", 1)];
const PADDING_OR_SAME: Key = Key { is: Is::WholesOr("same"), ..each("padding", 0) };
const CONV_TRANSPOSE: &[Key] = &[
    each("stride", 1),
    each("padding", 0),
    each("output_padding", 0),
    each("dilation", 1),
    whole("groups", 1),
];
const MAX_POOL: &[Key] = &[KERNEL, STRIDE, each("padding", 0), each("dilation", 1), CEIL, VALUES_OR_INDICES];
const AVG_POOL: &[Key] = &[
    KERNEL,
    STRIDE,
    each("padding", 0),
    CEIL,
    flag("count_include_pad", true),
    optional("divisor", Is::Number),
];
const CEIL: Key = flag("ceil_mode", false);
const KERNEL: Key = each("kernel", 2);
const SIZE: &[Key] = &[needed("size", Is::Wholes)];
const WINDOWS: &[Key] =
    &[needed("kernel", Is::Wholes), each("stride", 1), each("padding", 0), each("dilation", 1)];

pub(crate) static TABLE: &[Builtin] = &[
    positional(
        "attention",
        &[tensor("q"), tensor("k"), tensor("v"), tensor("mask").taking(Takes::Mask).maybe()],
        &[
            optional("scale", Is::Number),
            flag("causal", false),
            optional("window", Is::Whole),
            optional("softcap", Is::Number),
            flag("enable_gqa", false),
        ],
        |a, s| {
            let options = AttentionOptions {
                mask: a.get(3).map(|m| (*m).clone()),
                causal: s.flag("causal"),
                scale: s.optional("scale"),
                window: s.optional("window").map(|w| w as usize),
                softcap: s.optional("softcap"),
                enable_gqa: s.flag("enable_gqa"),
                ..AttentionOptions::default()
            };
            gradus_tensor::scaled_dot_product_attention(a[0], a[1], a[2], &options)
        },
    )
    .giving("nd,md,me->ne"),
    positional(
        "embedding",
        &[ids("ids"), tensor("table")],
        &[optional("padding_idx", Is::Integer)],
        |a, s| gradus_tensor::embedding(a[0], a[1], s.optional("padding_idx").map(|i| i as i64)),
    )
    .giving(",vd->d"),
    positional("group_norm", AFFINE, &[needed("groups", Is::Whole), number("eps", 1e-5)], |a, s| {
        a[0].group_norm(s.whole("groups"), a.get(1).copied(), a.get(2).copied(), s.number("eps"))
    })
    .giving(SAME),
    positional("instance_norm", AFFINE, &[number("eps", 1e-5)], |a, s| {
        a[0].instance_norm(a.get(1).copied(), a.get(2).copied(), s.number("eps"))
    })
    .giving(SAME),
    // Uses the statistics of the batch; with given statistics, batch normalisation can be written as an equation.
    positional("batch_norm", AFFINE, &[number("eps", 1e-5)], |a, s| {
        let options =
            BatchNormOptions { training: true, eps: s.number("eps"), ..BatchNormOptions::default() };
        a[0].batch_norm(None, a.get(1).copied(), a.get(2).copied(), &options).0
    })
    .giving(SAME),
    positional("local_response_norm", X, RESPONSE, |a, s| {
        a[0].local_response_norm(s.whole("size"), s.number("alpha"), s.number("beta"), s.number("k"))
    })
    .giving(SAME),
    positional("conv1d", KERNELS, CONV, |a, s| conv::conv1d(a[0], a[1], a.get(2).copied(), &conv_options(s)))
        .giving("cs,ock->ou"),
    positional("conv2d", KERNELS, CONV, |a, s| conv::conv2d(a[0], a[1], a.get(2).copied(), &conv_options(s)))
        .giving("chw,ocpq->ouv"),
    positional("conv3d", KERNELS, CONV, |a, s| conv::conv3d(a[0], a[1], a.get(2).copied(), &conv_options(s)))
        .giving("cxyz,opqrs->ouvw"),
    positional("conv_transpose1d", KERNELS, CONV_TRANSPOSE, |a, s| {
        conv::conv_transpose1d(a[0], a[1], a.get(2).copied(), &transpose_options(s))
    })
    .giving("cs,cok->ou"),
    positional("conv_transpose2d", KERNELS, CONV_TRANSPOSE, |a, s| {
        conv::conv_transpose2d(a[0], a[1], a.get(2).copied(), &transpose_options(s))
    })
    .giving("chw,copq->ouv"),
    positional("conv_transpose3d", KERNELS, CONV_TRANSPOSE, |a, s| {
        conv::conv_transpose3d(a[0], a[1], a.get(2).copied(), &transpose_options(s))
    })
    .giving("cxyz,copqr->ouvw"),
    positional("max_pool1d", X, MAX_POOL, |a, s| max_pool(1, a[0], s)).giving("s->u"),
    positional("max_pool2d", X, MAX_POOL, |a, s| max_pool(2, a[0], s)).giving("hw->uv"),
    positional("max_pool3d", X, MAX_POOL, |a, s| max_pool(3, a[0], s)).giving("xyz->uvw"),
    positional("avg_pool1d", X, AVG_POOL, |a, s| {
        pools::avg_pool1d(a[0], s.each("kernel"), &avg_pool_options(s))
    })
    .giving("s->u"),
    positional("avg_pool2d", X, AVG_POOL, |a, s| {
        pools::avg_pool2d(a[0], s.each("kernel"), &avg_pool_options(s))
    })
    .giving("hw->uv"),
    positional("avg_pool3d", X, AVG_POOL, |a, s| {
        pools::avg_pool3d(a[0], s.each("kernel"), &avg_pool_options(s))
    })
    .giving("xyz->uvw"),
    positional("adaptive_max_pool1d", X, SIZE, |a, s| pools::adaptive_max_pool1d(a[0], s.each("size")))
        .giving("s->u"),
    positional("adaptive_max_pool2d", X, SIZE, |a, s| pools::adaptive_max_pool2d(a[0], s.each("size")))
        .giving("hw->uv"),
    positional("adaptive_max_pool3d", X, SIZE, |a, s| pools::adaptive_max_pool3d(a[0], s.each("size")))
        .giving("xyz->uvw"),
    positional("adaptive_avg_pool1d", X, SIZE, |a, s| pools::adaptive_avg_pool1d(a[0], s.each("size")))
        .giving("s->u"),
    positional("adaptive_avg_pool2d", X, SIZE, |a, s| pools::adaptive_avg_pool2d(a[0], s.each("size")))
        .giving("hw->uv"),
    positional("adaptive_avg_pool3d", X, SIZE, |a, s| pools::adaptive_avg_pool3d(a[0], s.each("size")))
        .giving("xyz->uvw"),
    positional(
        "interpolate",
        X,
        &[
            needed("size", Is::Wholes),
            word("mode", &["nearest", "nearest_exact", "linear", "area"]),
            flag("align_corners", false),
        ],
        |a, s| {
            let mode = match s.word("mode") {
                "nearest_exact" => Interpolation::NearestExact,
                "linear" => Interpolation::Linear { align_corners: s.flag("align_corners") },
                "area" => Interpolation::Area,
                _ => Interpolation::Nearest,
            };
            image::interpolate(a[0], &s.for_axes("size", image_axes(a[0])), mode)
        },
    ),
    positional("pixel_shuffle", X, &[needed("factor", Is::Whole)], |a, s| {
        image::pixel_shuffle(a[0], s.whole("factor"))
    })
    .giving("chw->kuv"),
    positional("pixel_unshuffle", X, &[needed("factor", Is::Whole)], |a, s| {
        image::pixel_unshuffle(a[0], s.whole("factor"))
    })
    .giving("chw->kuv"),
    positional("unfold", ANY, WINDOWS, |a, s| {
        image::unfold(a[0], &s.for_axes("kernel", image_axes(a[0])), &unfold_options(s))
    }),
    positional(
        "fold",
        X,
        &[
            needed("size", Is::Wholes),
            needed("kernel", Is::Wholes),
            each("stride", 1),
            each("padding", 0),
            each("dilation", 1),
        ],
        |a, s| {
            let listed = |key| matches!(s.get(key), Some(Setting::List(_)));
            // If both settings are single numbers, the image has two axes.
            let all = ["size", "kernel"].into_iter().filter(|k| listed(k)).filter_map(|k| s.wholes(k));
            let axes = all.map(|each| each.len()).next().unwrap_or(2);
            image::fold(a[0], &s.for_axes("size", axes), &s.for_axes("kernel", axes), &unfold_options(s))
        },
    ),
    positional(
        "pad",
        ANY,
        &[
            needed("padding", Is::Integers),
            word("mode", &["constant", "reflect", "replicate", "circular"]),
            number("value", 0.0),
        ],
        |a, s| {
            let mode = match s.word("mode") {
                "reflect" => PadMode::Reflect,
                "replicate" => PadMode::Replicate,
                "circular" => PadMode::Circular,
                _ => PadMode::Constant(s.number("value")),
            };
            image::pad(a[0], &s.integers("padding").unwrap_or_default(), mode)
        },
    ),
];

const RESPONSE: &[Key] =
    &[needed("size", Is::Whole), number("alpha", 1e-4), number("beta", 0.75), number("k", 1.0)];

fn conv_options(s: &Settings) -> ConvOptions {
    let padding = if s.word("padding") == "same" { Padding::Same } else { s.each("padding").into() };
    ConvOptions { stride: s.each("stride"), padding, dilation: s.each("dilation"), groups: s.whole("groups") }
}

fn transpose_options(s: &Settings) -> ConvTransposeOptions {
    ConvTransposeOptions {
        stride: s.each("stride"),
        padding: s.each("padding"),
        output_padding: s.each("output_padding"),
        dilation: s.each("dilation"),
        groups: s.whole("groups"),
    }
}

fn max_pool(axes: usize, x: &Tensor, s: &Settings) -> Tensor {
    let options = MaxPoolOptions {
        stride: s.wholes("stride").map(Each),
        padding: s.each("padding"),
        dilation: s.each("dilation"),
        ceil_mode: s.flag("ceil_mode"),
    };
    let kernel = s.each("kernel");
    if s.word("part") == "indices" {
        let all = if let [one] = kernel.0[..] { vec![one; axes] } else { kernel.0.clone() };
        if all.len() != axes {
            return Tensor::failed(Error::value(
                format!("kernel {all:?}"),
                format!("must be of {axes} axes"),
            ));
        }
        return max_pool_with_indices(x, &all, &options).1;
    }
    match axes {
        1 => pools::max_pool1d(x, kernel, &options),
        2 => pools::max_pool2d(x, kernel, &options),
        _ => pools::max_pool3d(x, kernel, &options),
    }
}

fn avg_pool_options(s: &Settings) -> AvgPoolOptions {
    AvgPoolOptions {
        stride: s.wholes("stride").map(Each),
        padding: s.each("padding"),
        ceil_mode: s.flag("ceil_mode"),
        count_include_pad: s.flag("count_include_pad"),
        divisor_override: s.optional("divisor"),
    }
}

/// Returns the number of axes of an image: all after the batch and channel axes, or all axes if the rank is
/// at most 2.
fn image_axes(x: &Tensor) -> usize {
    if x.rank() > 2 { x.rank() - 2 } else { x.rank() }
}

fn unfold_options(s: &Settings) -> UnfoldOptions {
    UnfoldOptions { stride: s.each("stride"), padding: s.each("padding"), dilation: s.each("dilation") }
}
