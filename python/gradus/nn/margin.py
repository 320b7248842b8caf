"""Losses with margins between classes, and over several labels."""

from ..core import arange
from .functional import logsigmoid, pairwise_distance, relu


def _reduced(loss, reduction):
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss.mean() if reduction == "mean" else loss.sum()


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, reduction="mean"):
    """How far other classes are above the right one less a margin, to the power `p`, over the number of classes."""
    alone = input.dim() == 1
    x, y = (input.unsqueeze(0), target.reshape(1)) if alone else (input, target)
    right = x.gather(1, y.unsqueeze(1))
    excess = relu(margin - right + x) ** p
    if weight is not None:
        excess = excess * weight[y].unsqueeze(1)
    others = arange(x.shape[1]) != y.unsqueeze(1)
    loss = (excess * others.to(x.dtype)).sum(1) / x.shape[1]
    return _reduced(loss[0] if alone else loss, reduction)


def multilabel_margin_loss(input, target, reduction="mean"):
    """How far classes that are no labels are above those that are, less one. Labels stand in front of the first -1."""
    alone = input.dim() == 1
    x, y = (input.unsqueeze(0), target.unsqueeze(0)) if alone else (input, target)
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
    """Cross entropy of a truth value per class, with the mean over classes."""
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
