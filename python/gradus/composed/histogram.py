"""Histograms in one and more dimensions."""

from collections import namedtuple

from .._native import Tensor, int64, linspace, ones, tensor, zeros
from .._native import bool as bool_
from .order import searchsorted

_histogram = namedtuple("histogram", ["hist", "bin_edges"])
_histogramdd = namedtuple("histogramdd", ["hist", "bin_edges"])


def _ends(low, high, dtype):
    """Returns the ends of the range of elements; extended by half a unit each way if all are equal."""
    low, high = tensor(low, dtype=dtype), tensor(high, dtype=dtype)
    if not bool(low.isfinite() & high.isfinite()):
        raise RuntimeError(f"range of [{low.item()}, {high.item()}] is not finite")
    if bool(low > high):
        raise RuntimeError("max must be larger than min")
    return (low - 0.5, high + 0.5) if bool(low == high) else (low, high)


def histc(input, bins=100, min=0, max=0):
    """Returns the number of elements in each of equal intervals between `min` and `max`; if these are equal, between the extremes of the elements."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    if min == max and input.numel():
        min, max = input.min().item(), input.max().item()
    if min == max:
        min, max = min - 1, max + 1
    if not -float("inf") < min < max < float("inf"):
        raise RuntimeError(f"range of [{min}, {max}] is not finite" if min <= max or min != min or max != max else "max must be larger than min")
    inside = input[(input >= min) & (input <= max)]
    place = ((inside - min) * (bins / (max - min))).floor().clamp(0, bins - 1).to(int64)
    return place.bincount(minlength=bins).to(input.dtype)


def histogramdd(input, bins, range=None, weight=None, density=False):
    """Returns the number of points, the vectors along the last axis, in each cell of a grid. `bins` holds a number or the edges for each axis.

    >>> import gradus
    >>> gradus.histogramdd(gradus.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    axes = input.shape[-1]
    points = input.reshape(-1, axes) if input.numel() else input.reshape(0, axes)
    bins = [bins] * axes if isinstance(bins, int) else list(bins)
    if len(bins) != axes:
        raise RuntimeError(f"torch.histogramdd: expected {axes} sequences of bin edges or numbers of bins, but got {len(bins)}")
    edges = []
    for axis, bin in enumerate(bins):
        if isinstance(bin, Tensor):
            edges.append(bin)
            continue
        if range is not None:
            low, high = range[2 * axis], range[2 * axis + 1]
        elif points.shape[0]:
            low, high = points[:, axis].min().item(), points[:, axis].max().item()
        else:
            low, high = 0.0, 1.0
        low, high = _ends(low, high, input.dtype)
        edges.append(linspace(low.item(), high.item(), bin + 1, dtype=input.dtype))
    weights = ones(points.shape[0], dtype=input.dtype) if weight is None else weight.reshape(-1)
    inside, cell, cells = ones(points.shape[0], dtype=bool_), zeros(points.shape[0], dtype=int64), 1
    for axis, edge in enumerate(edges):
        x, count = points[:, axis].contiguous(), edge.shape[0] - 1
        # The last interval contains its upper end.
        at = (searchsorted(edge, x, right=True) - 1).masked_fill(x == edge[-1], count - 1)
        inside = inside & (x >= edge[0]) & (x <= edge[-1])
        cell, cells = cell * count + at.clamp(0, count - 1), cells * count
    hist = zeros(cells, dtype=input.dtype).index_add(0, cell, weights.masked_fill(~inside, 0))
    hist = hist.reshape(tuple(edge.shape[0] - 1 for edge in edges))
    if density:
        hist = hist / hist.sum()
        for axis, edge in enumerate(edges):
            shape = [1] * axes
            shape[axis] = -1
            hist = hist / (edge[1:] - edge[:-1]).reshape(shape)
    return _histogramdd(hist, tuple(edges))


def histogram(input, bins, *, range=None, weight=None, density=False):
    """Returns the number of elements between adjacent edges, and the edges; `bins` is a number of equal intervals or holds the edges.

    >>> import gradus
    >>> gradus.histogram(gradus.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    hist, edges = histogramdd(input.reshape(-1, 1), [bins], range, weight, density)
    return _histogram(hist, edges[0])
