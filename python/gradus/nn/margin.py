"""Composed losses: with margins between classes, with several labels, of normal distributions."""

from .. import _native
from ..core import arange, broadcast_tensors, full_like
from .functional import cross_entropy, linear, logsigmoid, pairwise_distance, relu


def _reduced(loss, reduction):
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss.mean() if reduction == "mean" else loss.sum()


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, reduction="mean"):
    """Computes the sum of `max(0, margin - x[y] + x[i])^p` over the other classes `i`, divided by the number of classes."""
    alone = input.dim() < 2
    x, y = (input.reshape(1, -1), target.reshape(1)) if alone else (input, target)
    right = x.gather(1, y.unsqueeze(1))
    excess = relu(margin - right + x) ** p
    if weight is not None:
        excess = excess * weight[y].unsqueeze(1)
    others = arange(x.shape[1]) != y.unsqueeze(1)
    loss = (excess * others.to(x.dtype)).sum(1) / x.shape[1]
    return _reduced(loss.reshape(tuple(target.shape)) if alone else loss, reduction)


def multilabel_margin_loss(input, target, reduction="mean"):
    """Computes the sum of `max(0, 1 - x[y] + x[i])` over labels `y` and other classes `i`. Labels precede the first -1."""
    alone = input.dim() < 2
    x, y = (input.reshape(1, -1), target.reshape(1, -1)) if alone else (input, target)
    named = (y < 0).cumsum(1) == 0
    labels = y.clamp(min=0)
    chosen = named.to(x.dtype)
    is_label = x.new_zeros(tuple(x.shape)).scatter_add(1, labels, chosen) > 0
    right = x.gather(1, labels)
    excess = relu(1 - right.unsqueeze(2) + x.unsqueeze(1))
    counted = chosen.unsqueeze(2) * (~is_label).to(x.dtype).unsqueeze(1)
    loss = (excess * counted).sum((1, 2)) / x.shape[1]
    return _reduced(loss[0] if alone else loss, reduction)


def multilabel_soft_margin_loss(input, target, weight=None, reduction="mean"):
    """Cross entropy of a boolean per class, with the mean over classes."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.mean(-1), reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """`max(0, d(anchor, positive) - d(anchor, negative) + margin)` for any distance `d`."""
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduced(relu(near - far + margin), reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of targets under normal distributions, given their means (`input`) and variances.

    `var` has the shape of `input`, or one variance for each row of the last axis, or is a number.

    >>> import gradus
    >>> gradus.nn.functional.gaussian_nll_loss(gradus.zeros(2), gradus.ones(2), 1.0)
    tensor(0.5000)
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = full_like(input, float(var))
    elif not _native.is_tracing() and bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if tuple(var.shape) != tuple(input.shape):
        if tuple(var.shape) == tuple(input.shape[:-1]):
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(m for n, m in zip(input.shape, var.shape) if n != m) != 1:
            raise ValueError("var is of incorrect size")
    if not tuple(input.shape) == tuple(target.shape) == tuple(var.shape):
        input, target, var = broadcast_tensors(input, target, var)
    return _native.gaussian_nll_loss(input, target, var, full, eps, reduction)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`, for weights `(C, ..., features)`.

    `options` are PyTorch's memory options; they have no effect here.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    classes, *more, features = linear_weight.shape
    if input.shape[-1] != features:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), "
                           f"got {input.shape[-1]} and {features}, respectively")
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *more):
        raise RuntimeError(f"expected linear_bias shape {(classes, *more)}, got {tuple(linear_bias.shape)}")
    if more and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input")
    shape = (*input.shape[:-1], classes, *more)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, features), bias).reshape(*shape)
    return cross_entropy(logits, target, weight, -100 if ignore_index is None else ignore_index, reduction, label_smoothing)


from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
