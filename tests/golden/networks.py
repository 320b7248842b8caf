"""Golden cases of convolution, pooling, activations, norms, losses and attention."""

import math

import torch
import torch.nn.functional as F

from record import *  # noqa: F403: functions that draw inputs and record cases


# ---- convolution, pooling, resampling ----------------------------------------


def conv_of(fn):
    return lambda x, w, bias_=None, bias=False, **kw: fn(x, w, bias_, **kw)


def conv(n, x, w, stride, padding, dilation, groups, bias):
    fn = getattr(F, f"conv{n}d")
    extra = [r(w[0])] if bias else []
    add(
        f"conv{n}d", conv_of(fn), [r(*x), r(*w), *extra],
        stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias,
    )


def conv_transpose(n, x, w, stride, padding, output_padding, dilation, groups, bias):
    fn = getattr(F, f"conv_transpose{n}d")
    extra = [r(w[1] * groups)] if bias else []
    add(
        f"conv_transpose{n}d", conv_of(fn), [r(*x), r(*w), *extra],
        stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups, bias=bias,
    )


def convolution():
    conv(1, (2, 2, 5), (3, 2, 3), [1], [0], [1], 1, True)
    conv(1, (1, 2, 6), (2, 2, 3), [2], [1], [1], 1, False)
    conv(1, (1, 2, 7), (2, 2, 2), [1], [2], [3], 1, True)
    conv(1, (1, 4, 5), (4, 2, 2), [1], [0], [1], 2, True)
    conv(1, (1, 3, 5), (3, 1, 3), [1], [1], [1], 3, False)
    conv(2, (1, 2, 4, 4), (2, 2, 3, 3), [1, 1], [0, 0], [1, 1], 1, True)
    conv(2, (1, 2, 5, 4), (2, 2, 3, 2), [2, 1], [1, 0], [1, 1], 1, False)
    conv(2, (1, 1, 5, 5), (1, 1, 2, 2), [1, 2], [1, 2], [2, 1], 1, True)
    conv(2, (1, 4, 3, 3), (2, 2, 2, 2), [1, 1], [0, 0], [1, 1], 2, True)
    conv(2, (1, 2, 4, 4), (4, 1, 3, 3), [2, 2], [1, 1], [1, 1], 2, False)
    conv(3, (1, 2, 3, 3, 3), (2, 2, 2, 2, 2), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, True)
    conv(3, (1, 2, 3, 2, 4), (2, 1, 2, 1, 2), [2, 1, 1], [1, 0, 1], [1, 1, 2], 2, False)
    conv_transpose(1, (1, 2, 4), (2, 3, 3), [1], [0], [0], [1], 1, True)
    conv_transpose(1, (1, 2, 4), (2, 2, 3), [2], [1], [1], [1], 1, False)
    conv_transpose(1, (1, 4, 3), (4, 1, 2), [3], [0], [2], [2], 2, True)
    conv_transpose(2, (1, 2, 3, 3), (2, 2, 2, 2), [1, 1], [0, 0], [0, 0], [1, 1], 1, True)
    conv_transpose(2, (1, 2, 2, 3), (2, 1, 3, 2), [2, 3], [1, 0], [1, 2], [1, 2], 1, False)
    conv_transpose(2, (1, 2, 2, 2), (2, 2, 2, 2), [2, 2], [0, 1], [0, 0], [1, 1], 2, True)
    conv_transpose(3, (1, 2, 2, 2, 2), (2, 1, 2, 2, 2), [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], 1, True)
    conv_transpose(3, (1, 2, 2, 1, 2), (2, 1, 2, 1, 2), [2, 1, 2], [1, 0, 0], [1, 0, 1], [1, 1, 1], 2, False)

    add("unfold", F.unfold, [r(1, 2, 3, 4)], kernel_size=[2, 2], stride=[1, 1], padding=[0, 0], dilation=[1, 1])
    add("unfold", F.unfold, [r(1, 1, 4, 5)], kernel_size=[2, 3], stride=[2, 1], padding=[1, 0], dilation=[2, 1])
    add("fold", F.fold, [r(1, 8, 6)], output_size=[3, 4], kernel_size=[2, 2], stride=[1, 1], padding=[0, 0], dilation=[1, 1])
    add("fold", F.fold, [r(1, 4, 6)], output_size=[3, 4], kernel_size=[2, 2], stride=[2, 2], padding=[1, 1], dilation=[1, 1])

    def max_pool(n, x, kernel_size, stride, padding, dilation, **marks):
        data = x if isinstance(x, torch.Tensor) else distinct(*x)
        add(
            f"max_pool{n}d", getattr(F, f"max_pool{n}d"), [data],
            kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=False, **marks,
        )

    max_pool(1, (1, 2, 6), [2], [2], [0], [1])
    max_pool(1, (1, 2, 7), [3], [2], [1], [2])
    max_pool(1, t([[[1.0, 1.0, 0.0, 2.0, 2.0, 2.0]]]), [3], [3], [0], [1], ties=True)
    max_pool(2, (1, 2, 4, 4), [2, 2], [2, 2], [0, 0], [1, 1])
    max_pool(2, (1, 1, 5, 5), [3, 2], [1, 2], [1, 0], [1, 2])
    max_pool(2, torch.zeros(1, 1, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1], ties=True)
    max_pool(3, (1, 1, 3, 4, 3), [2, 2, 2], [1, 2, 1], [0, 0, 1], [1, 1, 1])
    max_pool(3, (1, 1, 2, 4, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1])

    def avg_pool(n, x, kernel_size, stride, padding, count_include_pad):
        add(
            f"avg_pool{n}d", getattr(F, f"avg_pool{n}d"), [r(*x)],
            kernel_size=kernel_size, stride=stride, padding=padding,
            ceil_mode=False, count_include_pad=count_include_pad,
        )

    avg_pool(1, (1, 2, 6), [2], [2], [0], True)
    avg_pool(1, (1, 2, 5), [3], [1], [1], True)
    avg_pool(1, (1, 2, 5), [3], [2], [1], False)
    avg_pool(2, (1, 2, 4, 4), [2, 2], [2, 2], [0, 0], True)
    avg_pool(2, (1, 1, 4, 5), [3, 2], [2, 1], [1, 1], True)
    avg_pool(2, (1, 1, 4, 5), [3, 2], [2, 1], [1, 1], False)
    avg_pool(3, (1, 1, 2, 4, 4), [2, 2, 2], [1, 2, 2], [0, 0, 0], True)
    avg_pool(3, (1, 1, 3, 2, 3), [2, 2, 2], [2, 1, 1], [1, 0, 1], False)
    add("adaptive_avg_pool1d", F.adaptive_avg_pool1d, [r(1, 2, 5)], output_size=[3])
    add("adaptive_avg_pool1d", F.adaptive_avg_pool1d, [r(1, 2, 6)], output_size=[2])
    add("adaptive_avg_pool2d", F.adaptive_avg_pool2d, [r(1, 2, 4, 5)], output_size=[2, 3])
    add("adaptive_avg_pool2d", F.adaptive_avg_pool2d, [r(1, 2, 3, 3)], output_size=[1, 1])
    add("adaptive_max_pool2d", F.adaptive_max_pool2d, [distinct(1, 2, 4, 5)], output_size=[2, 3])
    add("adaptive_max_pool2d", F.adaptive_max_pool2d, [distinct(1, 2, 3, 3)], output_size=[1, 1])

    def interpolate(x, size, mode, align_corners):
        add("interpolate", F.interpolate, [r(*x)], size=size, mode=mode, align_corners=align_corners)

    interpolate((1, 2, 3), [6], "nearest", None)
    interpolate((1, 1, 2, 3), [4, 6], "nearest", None)
    interpolate((1, 1, 5, 4), [3, 2], "nearest", None)
    interpolate((1, 1, 2, 3), [5, 4], "nearest", None)
    for align in [False, True]:
        interpolate((1, 1, 2, 3), [4, 6], "bilinear", align)
        interpolate((1, 1, 5, 4), [3, 2], "bilinear", align)
        interpolate((1, 2, 2, 3), [3, 5], "bilinear", align)
    add("pixel_shuffle", F.pixel_shuffle, [r(1, 4, 2, 3)], upscale_factor=2)
    add("pixel_shuffle", F.pixel_shuffle, [r(1, 9, 1, 2)], upscale_factor=3)

    # pad: torch's order, last dimension first, (before, after) each
    add("pad", F.pad, [r(2, 3)], pad=[1, 2], mode="constant", value=0.0)
    add("pad", F.pad, [r(2, 3)], pad=[1, 0, 0, 2], mode="constant", value=1.5)
    add("pad", F.pad, [r(3, 4)], pad=[-1, 1, 1, -1], mode="constant", value=0.5)
    for mode in ["reflect", "replicate", "circular"]:
        add("pad", F.pad, [r(1, 2, 4)], pad=[2, 1], mode=mode, value=None)
        add("pad", F.pad, [r(1, 1, 3, 4)], pad=[1, 2, 2, 1], mode=mode, value=None)


# ---- activations -------------------------------------------------------------


def hardsigmoid(x):
    """Computes hardsigmoid. The gradient of F.hardsigmoid has the factor 1/6 in single precision; here it is in double precision."""
    return F.relu6(x + 3) / 6


def activations():
    for name in ["relu", "relu6", "selu", "silu", "mish", "softsign", "hardsigmoid", "hardswish", "logsigmoid", "tanhshrink"]:
        fn = getattr(F, name) if name != "hardsigmoid" else hardsigmoid
        add(name, fn, [u(-5, 5, 2, 3)])
    add("leaky_relu", F.leaky_relu, [r(2, 3)], negative_slope=0.01)
    add("leaky_relu", F.leaky_relu, [r(2, 3)], negative_slope=0.3)
    add("elu", F.elu, [r(2, 3)], alpha=1.0)
    add("elu", F.elu, [r(2, 3)], alpha=0.5)
    add("celu", F.celu, [r(2, 3)], alpha=1.0)
    add("celu", F.celu, [r(2, 3)], alpha=2.0)
    add("gelu", F.gelu, [r(2, 3)], approximate="none")
    add("gelu", F.gelu, [r(2, 3)], approximate="tanh")
    add("softplus", F.softplus, [r(2, 3)], beta=1.0, threshold=20.0)
    add("softplus", F.softplus, [r(2, 3)], beta=2.5, threshold=20.0)
    add("softplus", F.softplus, [t([-30.0, 19.5, 25.0])], beta=1.0, threshold=20.0)
    add("hardtanh", F.hardtanh, [t([-1.7, -0.4, 0.3, 1.6])], min_val=-1.0, max_val=1.0)
    add("hardtanh", F.hardtanh, [t([-1.7, -0.4, 0.3, 1.6])], min_val=-0.5, max_val=2.0)
    add("glu", F.glu, [r(2, 4)], dim=1)
    add("glu", F.glu, [r(4, 2)], dim=0)
    add("softshrink", F.softshrink, [t([-1.7, -0.4, 0.3, 0.8])], lambd=0.5)
    add("hardshrink", F.hardshrink, [t([-1.7, -0.4, 0.3, 0.8])], lambd=0.5)
    add("threshold", F.threshold, [t([-1.7, -0.4, 0.3, 0.8])], threshold=0.1, value=-2.0)
    add("prelu", F.prelu, [r(2, 3), t([0.25])])
    add("prelu", F.prelu, [r(2, 3, 2), t([0.25, -0.1, 0.6])])
    # at the kinks
    for name, at in [
        ("relu", [0.0, -0.0, 1.0]),
        ("relu6", [0.0, 6.0, 3.0]),
        ("selu", [0.0, 1.0]),
        ("hardsigmoid", [-3.0, 3.0, 0.0]),
        ("hardswish", [-3.0, 3.0, 0.0]),
        ("softsign", [0.0, 1.0]),
    ]:
        add(name, getattr(F, name) if name != "hardsigmoid" else hardsigmoid, [t(at)], kink=True)
    add("leaky_relu", F.leaky_relu, [t([0.0, 1.0])], negative_slope=0.2, kink=True)
    add("elu", F.elu, [t([0.0, 1.0])], alpha=0.5, kink=True)
    add("celu", F.celu, [t([0.0, 1.0])], alpha=2.0, kink=True)
    add("hardtanh", F.hardtanh, [t([-1.0, 1.0, 0.0])], min_val=-1.0, max_val=1.0, kink=True)
    add("softshrink", F.softshrink, [t([-0.5, 0.5, 0.0])], lambd=0.5, kink=True)
    add("hardshrink", F.hardshrink, [t([-0.5, 0.5, 0.0])], lambd=0.5, kink=True)
    add("threshold", F.threshold, [t([0.1, 0.2])], threshold=0.1, value=-2.0, kink=True)
    add("prelu", F.prelu, [t([0.0, -1.0]), t([0.25])], kink=True)
    wide = t([-INF, INF, math.nan, -1000.0, 1000.0, 0.0])
    for name in ["relu", "silu", "mish", "logsigmoid", "selu"]:
        add(name, getattr(F, name), [wide], special=True)
    for approximate in ["none", "tanh"]:
        add("gelu", F.gelu, [t([-1000.0, 1000.0, math.nan, 0.0, INF])], approximate=approximate, special=True)


# ---- normalisation -----------------------------------------------------------


def norms():
    layer_norm = lambda x, w=None, bias=None, *, normalized_shape, affine, eps: F.layer_norm(x, normalized_shape, w, bias, eps)
    add("layer_norm", layer_norm, [r(2, 4), r(4), r(4)], normalized_shape=[4], affine=True, eps=1e-5)
    add("layer_norm", layer_norm, [r(2, 4)], normalized_shape=[4], affine=False, eps=1e-5)
    add("layer_norm", layer_norm, [r(2, 3, 2), r(3, 2), r(3, 2)], normalized_shape=[3, 2], affine=True, eps=0.1)
    rms_norm = lambda x, w=None, *, normalized_shape, affine, eps: F.rms_norm(x, normalized_shape, w, eps)
    add("rms_norm", rms_norm, [r(2, 4), r(4)], normalized_shape=[4], affine=True, eps=1e-6)
    add("rms_norm", rms_norm, [r(2, 3, 2)], normalized_shape=[3, 2], affine=False, eps=1e-3)
    group_norm = lambda x, w=None, bias=None, *, num_groups, affine, eps: F.group_norm(x, num_groups, w, bias, eps)
    add("group_norm", group_norm, [r(2, 4, 2), r(4), r(4)], num_groups=2, affine=True, eps=1e-5)
    add("group_norm", group_norm, [r(2, 2, 2, 2)], num_groups=1, affine=False, eps=1e-5)
    instance_norm = lambda x, w=None, bias=None, *, affine, eps: F.instance_norm(x, weight=w, bias=bias, eps=eps)
    add("instance_norm", instance_norm, [r(2, 2, 4), r(2), r(2)], affine=True, eps=1e-5)
    add("instance_norm", instance_norm, [r(1, 2, 2, 3)], affine=False, eps=1e-5)

    # batch_norm: inputs x, running mean, running variance, then weight and bias when affine;
    # outputs y and, in training, the new running mean and variance.
    def batch_norm(x, mean, var, w=None, bias=None, *, training, momentum, eps, affine):
        mean, var = mean.clone(), var.clone()
        y = F.batch_norm(x, mean, var, w, bias, training, momentum, eps)
        return (y, mean, var) if training else y

    for shape in [(4, 3), (2, 3, 2), (2, 2, 2, 2)]:
        n = shape[1]
        for training in [True, False]:
            affine = shape != (4, 3) or training
            extra = [r(n), r(n)] if affine else []
            add(
                "batch_norm", batch_norm, [r(*shape), r(n), p(n), *extra], _nograd=(1, 2), _buffers=(1, 2),
                training=training, momentum=0.1 if n == 3 else 0.3, eps=1e-5, affine=affine,
            )
    add("local_response_norm", F.local_response_norm, [r(1, 5, 2)], size=3, alpha=0.1, beta=0.75, k=1.0)
    add("local_response_norm", F.local_response_norm, [r(1, 4, 2, 2)], size=2, alpha=0.5, beta=0.5, k=2.0)
    add("normalize", F.normalize, [r(2, 3)], p=2.0, dim=1, eps=1e-12)
    add("normalize", F.normalize, [r(2, 3)], p=1.0, dim=0, eps=1e-12)
    add("cosine_similarity", F.cosine_similarity, [r(2, 3), r(2, 3)], dim=1, eps=1e-8)
    add("cosine_similarity", F.cosine_similarity, [r(3, 2), r(1, 2)], dim=0, eps=1e-8)
    add("pairwise_distance", F.pairwise_distance, [r(2, 3), r(2, 3)], p=2.0, eps=1e-6, keepdim=False)
    add("pairwise_distance", F.pairwise_distance, [r(2, 3), r(3)], p=1.0, eps=1e-6, keepdim=True)
    cdist = lambda x, y, p: torch.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist")
    add("cdist", cdist, [r(3, 2), r(4, 2)], p=2.0)
    add("cdist", cdist, [r(2, 2, 3), r(2, 3, 3)], p=2.0)
    add("cdist", cdist, [t([[0.0, 1.0], [2.0, 2.0]]), t([[0.0, 1.0], [5.0, 6.0]])], p=2.0, kink=True)
    add("cross", torch.linalg.cross, [r(2, 3), r(2, 3)], dim=-1)
    add("cross", torch.linalg.cross, [r(3, 2), r(3, 2)], dim=0)


# ---- losses ------------------------------------------------------------------


def losses():
    # cross_entropy, nll_loss: inputs x, target, then the class weights when weight is true
    def cross_entropy(x, target_, w=None, *, target, weight, ignore_index, label_smoothing, reduction):
        kw = {} if ignore_index is None else {"ignore_index": ignore_index}
        return F.cross_entropy(x, target_, weight=w, label_smoothing=label_smoothing, reduction=reduction, **kw)

    def ce(x, target_, kind="index", weight=None, ignore_index=None, label_smoothing=0.0, reduction="mean"):
        extra = [] if weight is None else [weight]
        add(
            "cross_entropy", cross_entropy, [x, target_, *extra], _nograd=(2,), target=kind, weight=weight is not None,
            ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction,
        )

    ids = t_int([2, 0, 1])
    for reduction in ["mean", "sum", "none"]:
        ce(r(3, 4), ids, reduction=reduction)
        ce(r(3, 4), ids, weight=p(4), reduction=reduction)
        ce(r(3, 4), t_int([2, 1, 3]), ignore_index=1, reduction=reduction)
        ce(r(3, 4), F.softmax(r(3, 4), 1).mul(1000).round().div(1000), kind="prob", reduction=reduction)
    ce(r(3, 4), ids, label_smoothing=0.1)
    ce(r(3, 4), ids, weight=p(4), label_smoothing=0.2)
    ce(r(3, 4), t_int([2, -100, 3]), weight=p(4), ignore_index=-100, label_smoothing=0.2)
    ce(r(2, 3), t([[0.25, 0.5, 0.25], [0.125, 0.75, 0.125]]), kind="prob", weight=p(3), label_smoothing=0.1)
    ce(r(2, 3, 2), t_int([[0, 2], [1, 1]]))
    ce(r(2, 3, 2), t_int([[0, 2], [1, 1]]), weight=p(3), reduction="none")
    ce(r(4), t_int(2))

    def nll(x, target_, w=None, *, weight, ignore_index, reduction):
        kw = {} if ignore_index is None else {"ignore_index": ignore_index}
        return F.nll_loss(x, target_, weight=w, reduction=reduction, **kw)

    for reduction in ["mean", "sum", "none"]:
        add("nll_loss", nll, [r(3, 4), ids], weight=False, ignore_index=None, reduction=reduction)
        add("nll_loss", nll, [r(3, 4), ids, p(4)], _nograd=(2,), weight=True, ignore_index=1, reduction=reduction)
    add("nll_loss", nll, [r(2, 3, 2), t_int([[0, 2], [1, 1]])], weight=False, ignore_index=None, reduction="mean")

    for reduction in ["mean", "sum", "none"]:
        add("mse_loss", F.mse_loss, pair((2, 3), (2, 3)), reduction=reduction)
        add("l1_loss", F.l1_loss, pair((2, 3), (2, 3)), reduction=reduction)
        add("kl_div", F.kl_div, [r(2, 3), u(0.1, 0.9, 2, 3)], log_target=False, reduction=reduction)
        add("kl_div", F.kl_div, [r(2, 3), r(2, 3)], log_target=True, reduction=reduction)
    add("kl_div", F.kl_div, [r(2, 3), u(0.1, 0.9, 2, 3)], log_target=False, reduction="batchmean")
    add("kl_div", F.kl_div, [r(2, 3), r(2, 3)], log_target=True, reduction="batchmean")
    add("l1_loss", F.l1_loss, [t([1.0, 2.0]), t([1.0, 3.0])], reduction="sum", kink=True)
    near, far = t([[0.3, -1.7, 0.4], [2.1, -0.2, 0.9]]), t([[0.1, 0.4, 1.9], [1.8, 0.3, -0.8]])
    for reduction, width in [("mean", 1.0), ("none", 0.4), ("sum", 1.6)]:
        add("smooth_l1_loss", F.smooth_l1_loss, [near, far], beta=width, reduction=reduction)
        add("huber_loss", F.huber_loss, [near, far], delta=width, reduction=reduction)
    add("smooth_l1_loss", F.smooth_l1_loss, [t([0.0, 1.0, -1.0]), t([0.0, 0.0, 0.0])], beta=1.0, reduction="none", kink=True)
    add("huber_loss", F.huber_loss, [t([0.0, 1.0, -1.0]), t([0.0, 0.0, 0.0])], delta=1.0, reduction="none", kink=True)

    # binary_cross_entropy: inputs x, target, then weight, then pos_weight when those are true
    def bce(x, y, w=None, *, weight, reduction):
        return F.binary_cross_entropy(x, y, w, reduction=reduction)

    def bce_logits(x, y, *rest, weight, pos_weight, reduction):
        rest = list(rest)
        w = rest.pop(0) if weight else None
        pw = rest.pop(0) if pos_weight else None
        return F.binary_cross_entropy_with_logits(x, y, weight=w, pos_weight=pw, reduction=reduction)

    prob = lambda *shape: u(0.1, 0.9, *shape)
    for reduction in ["mean", "sum", "none"]:
        add("binary_cross_entropy", bce, [prob(2, 3), prob(2, 3)], weight=False, reduction=reduction)
        add("binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3)], weight=False, pos_weight=False, reduction=reduction)
    add("binary_cross_entropy", bce, [prob(2, 3), prob(2, 3), p(2, 3)], _nograd=(2,), weight=True, reduction="mean")
    add("binary_cross_entropy", bce, [t([0.0, 1.0, 0.0]), t([1.0, 0.0, 0.0])], weight=False, reduction="none", special=True)
    add(
        "binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3), p(2, 3)], _nograd=(2,),
        weight=True, pos_weight=False, reduction="mean",
    )
    add(
        "binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3), p(3)], _nograd=(2,),
        weight=False, pos_weight=True, reduction="mean",
    )
    add(
        "binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3), p(2, 3), p(3)], _nograd=(2, 3),
        weight=True, pos_weight=True, reduction="sum",
    )
    big = [t([-1000.0, 1000.0, 0.0, 1000.0]), t([0.0, 1.0, 1.0, 0.0])]
    add("binary_cross_entropy_with_logits", bce_logits, big, weight=False, pos_weight=False, reduction="none", special=True)

    signs = t([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
    spread = t([[0.4, 0.3, 1.5], [1.6, -0.7, 0.2]])
    add("hinge_embedding_loss", F.hinge_embedding_loss, [spread, signs], _nograd=(1,), margin=1.0, reduction="mean")
    add("hinge_embedding_loss", F.hinge_embedding_loss, [spread, signs], _nograd=(1,), margin=2.0, reduction="none")
    row = t([1.0, -1.0, 1.0])
    ranked = [t([0.3, 1.2, -0.4]), t([0.9, 0.5, -1.6]), row]
    add("margin_ranking_loss", F.margin_ranking_loss, ranked, _nograd=(2,), margin=0.0, reduction="mean")
    add("margin_ranking_loss", F.margin_ranking_loss, ranked, _nograd=(2,), margin=0.5, reduction="sum")
    add("cosine_embedding_loss", F.cosine_embedding_loss, [r(3, 4), r(3, 4), row], _nograd=(2,), margin=0.0, reduction="mean")
    add("cosine_embedding_loss", F.cosine_embedding_loss, [p(3, 4), p(3, 4), row], _nograd=(2,), margin=0.2, reduction="none")
    for swap in [False, True]:
        add(
            "triplet_margin_loss", F.triplet_margin_loss, [r(3, 4), r(3, 4), r(3, 4)],
            margin=5.0, p=2.0, eps=1e-6, swap=swap, reduction="none" if swap else "mean",
        )
    for full in [False, True]:
        add("gaussian_nll_loss", F.gaussian_nll_loss, [r(2, 3), r(2, 3), p(2, 3)], full=full, eps=1e-6, reduction="none" if full else "mean")
    for log_input, full, reduction in [(True, False, "mean"), (False, False, "sum"), (True, True, "none"), (False, True, "mean")]:
        # full: Stirling's term, only where the target is above one
        counts_ = t([[0.0, 2.0, 3.0], [0.5, 4.0, 7.0]])
        add(
            "poisson_nll_loss", F.poisson_nll_loss, [p(2, 3), counts_], _nograd=(1,),
            log_input=log_input, full=full, eps=1e-8, reduction=reduction,
        )
    add("soft_margin_loss", F.soft_margin_loss, [r(2, 3), signs], _nograd=(1,), reduction="mean")
    add("soft_margin_loss", F.soft_margin_loss, [r(2, 3), signs], _nograd=(1,), reduction="none")


# ---- attention ---------------------------------------------------------------


def rope(x, base, offset):
    """x: [..., T, D].  Rotates (x[i], x[i + D/2]) by (offset + t) * base^(-2i/D)."""
    length, d = x.shape[-2:]
    rate = base ** (-torch.arange(0, d, 2) / d)
    angle = (offset + torch.arange(length)).unsqueeze(1) * rate
    angle = torch.cat([angle, angle], dim=-1)
    lo, hi = x[..., : d // 2], x[..., d // 2 :]
    return x * angle.cos() + torch.cat([-hi, lo], dim=-1) * angle.sin()


def attention():
    # inputs q, k, v, then the mask unless mask is "none" (bool: true takes part)
    def sdpa(q, k, v, m=None, *, mask, is_causal, scale, enable_gqa):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)

    def case(q, k, v, m=None, *, mask="none", is_causal=False, scale=None, enable_gqa=False, **marks):
        extra = [] if m is None else [m]
        add(
            "scaled_dot_product_attention", sdpa, [q, k, v, *extra],
            mask=mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa, **marks,
        )

    qkv = lambda: [r(1, 2, 3, 2), r(1, 2, 3, 2), r(1, 2, 3, 2)]
    case(*qkv())
    case(r(2, 1, 2, 3), r(2, 1, 3, 3), r(2, 1, 3, 2))
    case(*qkv(), is_causal=True)
    case(r(1, 1, 2, 3), r(1, 1, 4, 3), r(1, 1, 4, 2), is_causal=True)
    case(*qkv(), r(3, 3), mask="float")
    case(*qkv(), r(1, 2, 3, 3), mask="float")
    keep = t_bool([[True, False, True], [True, True, False], [False, True, True]])
    case(*qkv(), keep, mask="bool")
    case(*qkv(), scale=0.3)
    case(*qkv(), is_causal=True, scale=1.0)
    case(r(1, 4, 2, 2), r(1, 2, 3, 2), r(1, 2, 3, 2), enable_gqa=True)
    case(r(1, 4, 3, 2), r(1, 2, 3, 2), r(1, 2, 3, 2), is_causal=True, enable_gqa=True)
    none_left = t_bool([[True, False, True], [False, False, False]])
    case(r(1, 1, 2, 2), r(1, 1, 3, 2), r(1, 1, 3, 2), none_left, mask="bool", kink=True)
    add("rope", rope, [r(1, 2, 3, 4)], base=10000.0, offset=0)
    add("rope", rope, [r(2, 3, 6)], base=100.0, offset=5)
