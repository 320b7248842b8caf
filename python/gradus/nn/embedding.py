"""Rows of a table by index: `embedding`, `embedding_bag`, and the limit on the norm of the rows that they read."""

from .. import _native
from ..core import arange, float64, full_like, no_grad, ones, where, zeros
from ..transforms import custom_vjp


@custom_vjp
def _with_scaled_gradient(rows, scale):
    return rows * 1


_with_scaled_gradient.defvjp(lambda inputs, outputs, cotangents: [cotangents[0] * inputs[1], inputs[1] * 0])


def _by_frequency(rows, indices, count):
    """Returns the rows, with gradients divided by the frequency of their index."""
    flat = indices.reshape(-1)
    times = zeros((count,), dtype=float64).scatter_add(0, flat, ones(flat.shape, dtype=float64))
    scale = (1 / times[flat]).reshape(*indices.shape, 1).to(rows.dtype)
    return _with_scaled_gradient(rows, scale)


def embedding_renorm_(weight, indices, max_norm, norm_type=2.0):
    """Scales the rows of `weight` at `indices` in place, such that no norm exceeds `max_norm`.

    >>> import gradus
    >>> gradus.embedding_renorm_(gradus.tensor([[3.0, 4.0], [6.0, 8.0]]), gradus.tensor([1]), 5.0)
    tensor([[3., 4.],
            [3., 4.]])
    """
    with no_grad():
        found = weight.detach()
        norms = found.norm(norm_type, 1)
        read = zeros((found.shape[0],), dtype=found.dtype).index_fill(0, indices.reshape(-1), 1.0) > 0
        factor = where(read & (norms > max_norm), max_norm / (norms + 1e-7), full_like(norms, 1.0))
        weight.copy_(found * factor.unsqueeze(1))
    return weight


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of `weight` at integer indices.

    Row `padding_idx` receives no gradient. With `max_norm`, rows with larger norm are first scaled to that norm, in
    place. With `scale_grad_by_freq`, the gradient of a row is divided by the frequency of its index. Gradients are dense, also
    with `sparse`.

    >>> import gradus
    >>> gradus.nn.functional.embedding(gradus.tensor([1, 0]), gradus.eye(2))
    tensor([[0., 1.],
            [1., 0.]])
    """
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    rows = _native.embedding(input, weight, padding_idx)
    return _by_frequency(rows, input, weight.shape[0]) if scale_grad_by_freq else rows


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Sums, means or maxima of rows of a table per bag. A bag is a row of `input`, or the part from one offset to the next.

    `max_norm`, `scale_grad_by_freq` and `sparse` are those of `embedding`.

    >>> import gradus
    >>> table = gradus.eye(3)
    >>> gradus.nn.functional.embedding_bag(gradus.tensor([0, 1, 1]), table, gradus.tensor([0, 2]), mode="sum")
    tensor([[1., 1., 0.],
            [0., 1., 0.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode {mode!r} is not one of 'sum', 'mean', 'max'")
    if (input.dim() == 1) != (offsets is not None):
        raise ValueError("offsets are required for a vector of indices, and not allowed for a matrix of bags")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("per_sample_weights need mode 'sum'")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("max mode does not support scaling the gradient by the frequency or sparse weights")
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    if input.dim() == 2:
        bags = arange(input.shape[0]).repeat_interleave(input.shape[1])
        count, input = input.shape[0], input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        starts = offsets[:-1] if include_last_offset else offsets
        count = starts.shape[0]
        bags = (arange(input.shape[0]).unsqueeze(1) >= starts.unsqueeze(0)).long().sum(1) - 1
    kept = ones(input.shape, dtype=weight.dtype) if padding_idx is None else (input != padding_idx % weight.shape[0]).to(weight.dtype)
    rows = embedding(input, weight, scale_grad_by_freq=scale_grad_by_freq)
    width = weight.shape[1]
    index = bags.unsqueeze(1).expand(bags.shape[0], width)
    if mode == "max":
        low = zeros((count, width), dtype=weight.dtype)
        if padding_idx is not None:
            chosen = kept.bool()
            rows, index = rows[chosen], index[chosen]
        return low.scatter_reduce(0, index, rows, "amax", include_self=False)
    scale = kept if per_sample_weights is None else kept * per_sample_weights
    total = zeros((count, width), dtype=weight.dtype).scatter_add(0, index, rows * scale.unsqueeze(1))
    if mode == "sum":
        return total
    sizes = zeros((count,), dtype=weight.dtype).scatter_add(0, bags, kept)
    return total / sizes.clamp(min=1).unsqueeze(1)


from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
