"""Functions of neural networks: those of the native module under PyTorch's names, and compositions of them."""

import itertools
import math
import warnings

from ..core import (  # noqa: F401
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d,
    avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d,
    conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,
    linear, bilinear, one_hot, dropout, scaled_dot_product_attention,
    batch_norm, group_norm, layer_norm, rms_norm, normalize,
    relu, relu6, leaky_relu, prelu, elu, selu, celu, gelu, silu, mish, softplus, softsign, sigmoid, logsigmoid,
    tanh, tanhshrink, softshrink, hardshrink, hardtanh, hardsigmoid, hardswish, threshold, glu,
    softmax, log_softmax,
    mse_loss, l1_loss, smooth_l1_loss, huber_loss, cross_entropy, nll_loss, kl_div,
    binary_cross_entropy, binary_cross_entropy_with_logits, poisson_nll_loss,
    hinge_embedding_loss, margin_ranking_loss, cosine_embedding_loss, triplet_margin_loss, soft_margin_loss,
    cosine_similarity, pairwise_distance,
    pad, unfold, fold, pixel_shuffle, pixel_unshuffle,
    channel_shuffle, constant_pad_nd, full_like, no_grad, ones, pdist, rand, rand_like, stack, uint8, where, zeros_like,
)
from .. import _native, core as _core
from .._examples import documented as _documented


def softmin(input, dim=None, dtype=None):
    """`softmax(-input)`."""
    return softmax(-input, dim=dim, dtype=dtype)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """Normalizes each channel of each sample to mean zero and variance one; running statistics are averaged over samples."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    result = _native.instance_norm(input, weight=weight, bias=bias, eps=eps)
    if running_mean is not None:
        axes = tuple(range(2, input.dim()))
        with no_grad():
            mean, var = input.mean(axes).mean(0), input.var(axes).mean(0)
            mean, var = running_mean.lerp(mean, momentum), running_var.lerp(var, momentum)
            running_mean.copy_(mean)
            running_var.copy_(var)
    return result


def _adaptive_max_pool(input, output_size, return_indices, axes, pool):
    """Computes the native pool, and the positions of the maxima: the window of output `i` of `k` over `n` is `i·n/k … (i+1)·n/k`, rounded outwards."""
    sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * axes
    if len(sizes) != axes or input.dim() < axes + 1:
        raise ValueError(f"an adaptive pool over {axes} axes of {tuple(input.shape)} cannot have the size {output_size}")
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
            inner = math.prod(y - x for x, y in window[axis + 1:])
            place = place * extents[axis] + a + inside // inner % (b - a)
        places.append(place)
    return values, stack(places, -1).reshape(*lead, *sizes)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Computes the maxima of `output_size` windows; with `return_indices` also their positions."""
    return _adaptive_max_pool(input, output_size, return_indices, 1, _native.adaptive_max_pool1d)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Computes the maxima of `output_size` windows; with `return_indices` also their positions."""
    return _adaptive_max_pool(input, output_size, return_indices, 2, _native.adaptive_max_pool2d)


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Computes the maxima of `output_size` windows; with `return_indices` also their positions."""
    return _adaptive_max_pool(input, output_size, return_indices, 3, _native.adaptive_max_pool3d)


def _with_indices(pool):
    """Wraps a pool to always return the positions of its maxima."""
    def found(input, *args, **kwargs):
        kwargs.pop("return_indices", None)
        return pool(input, *args, **kwargs, return_indices=True)

    found.__name__ = found.__qualname__ = f"{pool.__name__}_with_indices"
    found.__module__, found.__doc__ = __name__, f"`{pool.__name__}` with the positions of the maxima."
    return found


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_with_indices, (max_pool1d, max_pool2d, max_pool3d))
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    _with_indices, (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d))


def _dropout_channels(input, p, training, axes):
    """Drops complete channels: one draw for each, broadcast over the axes after it.

    As in PyTorch the channels are the second axis. Without a batch they are the first axis, but only for one axis of positions. With 2
    or 3 axes of positions, inputs of other ranks are accepted with a warning.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    rank = input.dim()
    if axes == 1:
        if rank not in (2, 3):
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to provide "
                               "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension.")
    elif rank not in (axes + 1, axes + 2):
        if rank < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        warnings.warn(f"dropout{axes}d: expected {axes + 1} or {axes + 2} axes, got {rank}; complete elements of the second axis are dropped", stacklevel=3)
    elif axes == 2 and rank == 3:
        warnings.warn("dropout2d: an input of 3 axes is read as (N, C, L), as PyTorch does; use dropout1d instead", stacklevel=3)
    if not training or p == 0.0:
        return input
    alone = (axes == 1 and rank == 2) or (axes == 3 and rank != 5)  # without a batch
    channels = input.shape[:1] if alone else input.shape[:2]
    return input * dropout(ones((*channels, *(1,) * (rank - len(channels))), dtype=input.dtype), p, True)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Drops complete channels of `(N, C, L)` or `(C, L)`."""
    return _dropout_channels(input, p, training, 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Drops complete channels of `(N, C, H, W)` or `(C, H, W)`."""
    return _dropout_channels(input, p, training, 2)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Drops complete channels of `(N, C, D, H, W)` or `(C, D, H, W)`."""
    return _dropout_channels(input, p, training, 3)


def _alpha_dropout(input, p, training, shape):
    """Sets elements to the lower limit of `selu`, with one draw per element of `shape`, then restores mean and variance."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input * 0
    low = -1.7580993408473766  # -scale * alpha of selu
    a = 1.0 / math.sqrt((1.0 - p) * (1.0 + p * low * low))
    keep = (rand(shape) >= p).to(input.dtype)
    return (input * keep + low * (1 - keep)) * a - a * low * p


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Sets elements to the lower limit of `selu`, and scales the result to keep mean and variance."""
    return _alpha_dropout(input, p, training, tuple(input.shape))


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of complete channels."""
    if training and p > 0 and input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _alpha_dropout(input, p, training, (*input.shape[:2], *[1] * (input.dim() - 2)))


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Returns a differentiable draw from a categorical distribution (Gumbel-softmax); with `hard`, one-hot."""
    uniform = rand_like(logits).clamp(min=1e-30)
    soft = softmax((logits - (-uniform.log()).log()) / tau, dim=dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim=dim, keepdim=True)
    chosen = zeros_like(soft).scatter(dim, index, full_like(soft, 1.0))
    return chosen - soft.detach() + soft


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Multiplies negative elements by random numbers, or by the mean of these numbers if not `training`."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slope = rand_like(input) * (upper - lower) + lower
    return where(input >= 0, input, input * slope)


def _lp_pool(pool, input, norm_type, kernel_size, axes, stride, ceil_mode):
    """Computes the p-norm of each window, from the mean of the powers that `pool` returns."""
    elements = math.prod(kernel_size) if isinstance(kernel_size, (tuple, list)) else kernel_size**axes
    mean = pool(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return (relu(mean * elements)) ** (1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Computes the norm of each window over one axis."""
    return _lp_pool(avg_pool1d, input, norm_type, kernel_size, 1, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Computes the norm of each window over two axes."""
    return _lp_pool(avg_pool2d, input, norm_type, kernel_size, 2, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Computes the norm of each window over three axes.

    >>> import gradus
    >>> from gradus.nn import functional as F
    >>> F.lp_pool3d(gradus.arange(8.0).reshape(1, 1, 2, 2, 2), 2, 2)
    tensor([[[[[11.8322]]]]])
    """
    return _lp_pool(avg_pool3d, input, norm_type, kernel_size, 3, stride, ceil_mode)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Resamples the last axes: `mode` is `"nearest"`, `"nearest-exact"`, `"linear"`, `"bilinear"`, `"trilinear"`, `"bicubic"` or `"area"`."""
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    axes = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}.get(mode, input.dim())
    if input.dim() != axes:
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {axes}D input")
    is_float = input.is_floating_point() or input.is_complex()
    if mode not in ("nearest", "nearest-exact") and not is_float and not (input.dtype == uint8 and mode in ("bilinear", "bicubic")):
        raise NotImplementedError(f"interpolate with mode {mode!r} is not implemented for {str(input.dtype).split('.')[1]}: convert to a float dtype")
    if antialias or mode == "bicubic" or (mode == "bilinear" and input.dtype == uint8):
        return _resampled(input, size, scale_factor, bool(align_corners), recompute_scale_factor, mode, antialias)
    return _native.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides each element by a power of the mean square of adjacent channels."""
    if input.is_floating_point() or input.is_complex() or input.numel() == 0:
        return _native.local_response_norm(input, size, alpha, beta, k)
    # PyTorch's mean of integers is an integer.
    squares = constant_pad_nd(input.long().square().movedim(1, -1), (size // 2, (size - 1) // 2))
    mean = squares.unfold(-1, size, 1).sum(-1).div(size, rounding_mode="trunc").movedim(-1, 1)
    return input / (mean * alpha + k) ** beta


def _in_place(function, arguments="", gives="1."):
    def change(input, *args, **kwargs):
        return input.copy_(function(input, *args, **kwargs))

    change.__name__ = change.__qualname__ = f"{function.__name__}_"
    change.__doc__ = (f"In place: `{function.__name__}`.\n\n    >>> import gradus\n"
                      f"    >>> gradus.nn.functional.{function.__name__}_(gradus.ones(1){arguments})\n    tensor([{gives}])\n    ")
    change.__module__ = __name__
    return change


relu_, elu_, celu_, leaky_relu_, hardtanh_, rrelu_ = map(_in_place, (relu, elu, celu, leaky_relu, hardtanh, rrelu))
selu_, threshold_ = _in_place(selu, gives="1.0507"), _in_place(threshold, ", 2.0, 5.0", "5.")


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """`interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate(mode="nearest")`."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate(mode="bilinear", align_corners=True)`."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# At the end, because these modules use the functions above.
from .ctc import ctc_loss  # noqa: E402, F401
from .in_place import install as _writing_in_place  # noqa: E402
from .legacy_loss import install as _older_arguments  # noqa: E402
from .embedding import embedding, embedding_bag, embedding_renorm_  # noqa: E402, F401
from .grid import (  # noqa: E402, F401
    affine_grid, affine_grid_generator, grid_sample, grid_sampler, grid_sampler_2d, grid_sampler_3d,
)
from .heads import multi_head_attention_forward  # noqa: E402, F401
from .resize import resampled as _resampled  # noqa: E402, F401
from .margin import (  # noqa: E402, F401
    gaussian_nll_loss, linear_cross_entropy, multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss,
    triplet_margin_with_distance_loss,
)
from .unpool import (  # noqa: E402, F401
    fractional_max_pool2d, fractional_max_pool2d_with_indices, fractional_max_pool3d, fractional_max_pool3d_with_indices, max_unpool1d,
    max_unpool2d, max_unpool3d,
)

_documented(globals())
_older_arguments(globals())
_writing_in_place(globals())


def __getattr__(name):
    """Looks up all other functions of tensors in `gradus`."""
    found = None if name.startswith("_") else getattr(_core, name, None)
    if not callable(found) or isinstance(found, type):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found

from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
