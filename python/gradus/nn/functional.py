"""The functions of layers: those of the native module under PyTorch's names, and what is only composed of them."""

import itertools
import math

from ..core import (  # noqa: F401
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d,
    avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d,
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
    linear, bilinear, embedding, one_hot, dropout, scaled_dot_product_attention,
    batch_norm, group_norm, layer_norm, local_response_norm, rms_norm, normalize,
    relu, relu6, leaky_relu, prelu, elu, selu, celu, gelu, silu, mish, softplus, softsign, sigmoid, logsigmoid,
    tanh, tanhshrink, softshrink, hardshrink, hardtanh, hardsigmoid, hardswish, threshold, glu,
    softmax, log_softmax,
    mse_loss, l1_loss, smooth_l1_loss, huber_loss, cross_entropy, nll_loss, kl_div,
    binary_cross_entropy, binary_cross_entropy_with_logits, poisson_nll_loss, gaussian_nll_loss,
    hinge_embedding_loss, margin_ranking_loss, cosine_embedding_loss, triplet_margin_loss, soft_margin_loss,
    cosine_similarity, pairwise_distance,
    pad, interpolate, unfold, fold, pixel_shuffle, pixel_unshuffle,
    full_like, no_grad, ones, rand_like, stack, zeros_like,
)
from .. import _native


def softmin(input, dim=None, dtype=None):
    """`softmax(-input)`."""
    return softmax(-input, dim=dim, dtype=dtype)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """Mean zero and variance one over each channel of each sample; running statistics are those of all samples."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if running_mean is not None:
        axes = tuple(range(2, input.dim()))
        with no_grad():
            running_mean.lerp_(input.mean(axes).mean(0), momentum)
            running_var.lerp_(input.var(axes).mean(0), momentum)
    return _native.instance_norm(input, weight=weight, bias=bias, eps=eps)


def _adaptive_max_pool(input, output_size, return_indices, axes, pool):
    """The native pool, and where the maxima are: the window of output `i` of `k` over `n` is `i·n/k … (i+1)·n/k`, outwards."""
    sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * axes
    extents = input.shape[-axes:]
    sizes = [n if k is None else k for n, k in zip(extents, sizes)]
    values = pool(input, tuple(sizes))
    if not return_indices:
        return values
    windows = [[(i * n // k, -(-(i + 1) * n // k)) for i in range(k)] for n, k in zip(extents, sizes)]
    lead, places = tuple(input.shape[:-axes]), []
    for window in itertools.product(*windows):
        cell = input.detach()[(..., *(slice(a, b) for a, b in window))]
        inside = cell.reshape(*lead, -1).argmax(-1)
        place = 0
        for axis, (a, b) in enumerate(window):
            behind = math.prod(y - x for x, y in window[axis + 1:])
            place = place * extents[axis] + a + inside // behind % (b - a)
        places.append(place)
    return values, stack(places, -1).reshape(*lead, *sizes)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest of `output_size` windows; with `return_indices` also where they are."""
    return _adaptive_max_pool(input, output_size, return_indices, 1, _native.adaptive_max_pool1d)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest of `output_size` windows; with `return_indices` also where they are."""
    return _adaptive_max_pool(input, output_size, return_indices, 2, _native.adaptive_max_pool2d)


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest of `output_size` windows; with `return_indices` also where they are."""
    return _adaptive_max_pool(input, output_size, return_indices, 3, _native.adaptive_max_pool3d)


def _dropout_channels(input, p, training, axes):
    """Drops whole channels: one draw for each, spread over the axes behind it."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if input.dim() not in (axes + 1, axes + 2):
        raise ValueError(f"expected {axes + 1} or {axes + 2} axes, got {input.dim()}")
    if not training or p == 0.0:
        return input
    channels = input.shape[: input.dim() - axes]
    return input * dropout(ones(tuple(channels) + (1,) * axes, dtype=input.dtype), p, True)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels of `(N, C, L)` or `(C, L)`."""
    return _dropout_channels(input, p, training, 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels of `(N, C, H, W)` or `(C, H, W)`."""
    return _dropout_channels(input, p, training, 2)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Drops whole channels of `(N, C, D, H, W)` or `(C, D, H, W)`."""
    return _dropout_channels(input, p, training, 3)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Sets elements to the value that `selu` tends to, and scales so that mean and variance stay."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input * 0
    low = -1.7580993408473766  # -scale * alpha of selu
    a = 1.0 / math.sqrt((1.0 - p) * (1.0 + p * low * low))
    keep = (rand_like(input) >= p).to(input.dtype)
    return (input * keep + low * (1 - keep)) * a - a * low * p


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A draw from a categorical distribution that gradients pass through; with `hard`, one-hot."""
    uniform = rand_like(logits).clamp(min=1e-30)
    soft = softmax((logits - (-uniform.log()).log()) / tau, dim=dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim=dim, keepdim=True)
    chosen = zeros_like(soft).scatter(dim, index, full_like(soft, 1.0))
    return chosen - soft.detach() + soft
