//! Activation functions and softmax.

use super::case::Args;
use gradus::Tensor;

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let float = |name: &str| args.float(name);
    let axis = || Some(args.int("dim")? as isize);
    let one = match name {
        "relu" => x[0].relu(),
        "relu6" => x[0].relu6(),
        "selu" => x[0].selu(),
        "silu" => x[0].silu(),
        "mish" => x[0].mish(),
        "softsign" => x[0].softsign(),
        "hardsigmoid" => x[0].hardsigmoid(),
        "hardswish" => x[0].hardswish(),
        "logsigmoid" => x[0].logsigmoid(),
        "tanhshrink" => x[0].tanhshrink(),
        "sigmoid" => x[0].sigmoid(),
        "prelu" => x[0].prelu(&x[1]),
        "leaky_relu" => x[0].leaky_relu(float("negative_slope")?),
        "elu" => x[0].elu(float("alpha")?),
        "celu" => x[0].celu(float("alpha")?),
        "gelu" if args.str("approximate") == Some("tanh") => x[0].gelu_tanh(),
        "gelu" => x[0].gelu(),
        "softplus" => x[0].softplus(float("beta")?, float("threshold")?),
        "hardtanh" => x[0].hardtanh(float("min_val")?, float("max_val")?),
        "glu" => x[0].glu(axis()?),
        "softshrink" => x[0].softshrink(float("lambd")?),
        "hardshrink" => x[0].hardshrink(float("lambd")?),
        "threshold" => x[0].threshold(float("threshold")?, float("value")?),
        "softmax" => x[0].softmax(axis()?),
        "log_softmax" => x[0].log_softmax(axis()?),
        "logsumexp" => x[0].logsumexp(args.isizes("dims"), args.flag("keepdim")),
        _ => return None,
    };
    Some(vec![one])
}
