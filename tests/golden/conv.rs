//! Convolution, pooling, resampling and padding.

use super::case::Args;
use gradus::Tensor;
use gradus::func::{self, *};

fn conv_options(args: &Args) -> Option<ConvOptions> {
    Some(ConvOptions {
        stride: args.usizes("stride")?.into(),
        padding: args.usizes("padding")?.into(),
        dilation: args.usizes("dilation")?.into(),
        groups: args.int("groups")? as usize,
    })
}

fn transpose_options(args: &Args) -> Option<ConvTransposeOptions> {
    Some(ConvTransposeOptions {
        stride: args.usizes("stride")?.into(),
        padding: args.usizes("padding")?.into(),
        output_padding: args.usizes("output_padding")?.into(),
        dilation: args.usizes("dilation")?.into(),
        groups: args.int("groups")? as usize,
    })
}

fn unfold_options(args: &Args) -> Option<UnfoldOptions> {
    Some(UnfoldOptions {
        stride: args.usizes("stride")?.into(),
        padding: args.usizes("padding")?.into(),
        dilation: args.usizes("dilation")?.into(),
    })
}

fn max_options(args: &Args) -> Option<MaxPoolOptions> {
    Some(MaxPoolOptions {
        stride: args.usizes("stride").map(Into::into),
        padding: args.usizes("padding")?.into(),
        dilation: args.usizes("dilation")?.into(),
        ceil_mode: args.flag("ceil_mode"),
    })
}

fn avg_options(args: &Args) -> Option<AvgPoolOptions> {
    Some(AvgPoolOptions {
        stride: args.usizes("stride").map(Into::into),
        padding: args.usizes("padding")?.into(),
        ceil_mode: args.flag("ceil_mode"),
        count_include_pad: args.flag("count_include_pad"),
        divisor_override: None,
    })
}

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let kernel = args.usizes("kernel_size").unwrap_or_default();
    let size = args.usizes("output_size").unwrap_or_default();
    let one = match name {
        "conv1d" => conv1d(&x[0], &x[1], x.get(2), &conv_options(args)?),
        "conv2d" => conv2d(&x[0], &x[1], x.get(2), &conv_options(args)?),
        "conv3d" => conv3d(&x[0], &x[1], x.get(2), &conv_options(args)?),
        "conv_transpose1d" => conv_transpose1d(&x[0], &x[1], x.get(2), &transpose_options(args)?),
        "conv_transpose2d" => conv_transpose2d(&x[0], &x[1], x.get(2), &transpose_options(args)?),
        "conv_transpose3d" => conv_transpose3d(&x[0], &x[1], x.get(2), &transpose_options(args)?),
        "unfold" => func::unfold(&x[0], &kernel, &unfold_options(args)?),
        "fold" => func::fold(&x[0], &size, &kernel, &unfold_options(args)?),
        "max_pool1d" => max_pool1d(&x[0], kernel, &max_options(args)?),
        "max_pool2d" => max_pool2d(&x[0], kernel, &max_options(args)?),
        "max_pool3d" => max_pool3d(&x[0], kernel, &max_options(args)?),
        "avg_pool1d" => avg_pool1d(&x[0], kernel, &avg_options(args)?),
        "avg_pool2d" => avg_pool2d(&x[0], kernel, &avg_options(args)?),
        "avg_pool3d" => avg_pool3d(&x[0], kernel, &avg_options(args)?),
        "adaptive_avg_pool1d" => adaptive_avg_pool1d(&x[0], size),
        "adaptive_avg_pool2d" => adaptive_avg_pool2d(&x[0], size),
        "adaptive_max_pool2d" => adaptive_max_pool2d(&x[0], size),
        "interpolate" => {
            let mode = match args.str("mode")? {
                "nearest" => Interpolation::Nearest,
                _ => Interpolation::Linear { align_corners: args.flag("align_corners") },
            };
            interpolate(&x[0], &args.usizes("size")?, mode)
        }
        "pixel_shuffle" => pixel_shuffle(&x[0], args.int("upscale_factor")? as usize),
        "pad" => {
            let mode = match args.str("mode")? {
                "reflect" => PadMode::Reflect,
                "replicate" => PadMode::Replicate,
                "circular" => PadMode::Circular,
                _ => PadMode::Constant(args.float("value").unwrap_or(0.0)),
            };
            pad(&x[0], &args.ints("pad")?, mode)
        }
        _ => return None,
    };
    Some(vec![one])
}
