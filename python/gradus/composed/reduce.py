"""Reductions over axes: extremes, moments, differences, integrals."""

import math
from collections import namedtuple

from .._native import Tensor, arange, as_tensor, cat, full, int64, ones, uint8, where
from .._native import bool as bool_
from .order import searchsorted as _searchsorted


_aminmax = namedtuple("aminmax", ["min", "max"])
_nanmedian = namedtuple("nanmedian", ["values", "indices"])
_norm = Tensor.norm

#: Up to this many test elements, `isin` compares all pairs.
_FEW = 16


def aminmax(input, *, dim=None, keepdim=False):
    """Computes the minimum and the maximum."""
    return _aminmax(input.amin(dim, keepdim), input.amax(dim, keepdim))


def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Variance and mean."""
    return input._spread_and_mean(False, dim, unbiased, keepdim, correction)


def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Standard deviation and mean."""
    return input._spread_and_mean(True, dim, unbiased, keepdim, correction)


def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """Computes the sum, ignoring NaN; with `dtype` in that dtype."""
    return input.masked_fill(input.isnan(), 0).sum(dim, keepdim, dtype=dtype)


def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """Computes the mean, ignoring NaN; with `dtype` in that dtype."""
    return nansum(input, dim, keepdim, dtype=dtype) / (~input.isnan()).sum(dim, keepdim)


def norm(input, p=None, dim=None, keepdim=False, *, dtype=None):
    """Computes the `p`-norm of elements, 2 by default; with `dtype` in that dtype."""
    return _norm(input if dtype is None else input.to(dtype), p, dim, keepdim)


def _slope(input, spacing, dim, edge_order):
    """Computes the derivative along an axis by differences: `spacing` is a number, or the coordinates of the elements."""
    x = input.movedim(dim, -1)
    n = x.shape[-1]
    if n <= edge_order:
        raise RuntimeError(f"torch.gradient expected each dimension size to be at least edge_order+1: {n} is less than {edge_order + 1}")
    steps = diff(spacing) if isinstance(spacing, Tensor) and spacing.dim() else ones(n - 1, dtype=x.dtype) * spacing
    steep = diff(x) / steps
    if edge_order == 1:
        first, last = steep[..., :1], steep[..., -1:]
    else:  # derivative of the parabola through three points
        bend = diff(steep) / (steps[1:] + steps[:-1])
        first, last = steep[..., :1] - bend[..., :1] * steps[:1], steep[..., -1:] + bend[..., -1:] * steps[-1:]
    before, after = steps[:-1], steps[1:]
    inner = (steep[..., :-1] * after + steep[..., 1:] * before) / (before + after)
    return cat([first, inner, last], -1).movedim(-1, dim)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Derivatives of samples along each axis by central differences, one-sided at the ends.

    >>> import gradus
    >>> gradus.gradient(gradus.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacing = 1 if spacing is None else spacing
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    spacings = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, got {len(spacings)}")
    return tuple(_slope(input, h, d, edge_order) for h, d in zip(spacings, dims))


def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of adjacent elements, applied `n` times, of the input between `prepend` and `append`; for booleans, true where they differ."""
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n and (prepend is not None or append is not None):
        input = cat([part for part in (prepend, input, append) if part is not None], dim)
    for _ in range(min(n, input.shape[dim])):
        length = input.shape[dim]
        after, before = input.narrow(dim, 1, length - 1), input.narrow(dim, 0, length - 1)
        input = after.logical_xor(before) if input.dtype == bool_ else after - before
    return input


def nanmedian(input, dim=None, keepdim=False):
    """Computes the lower median, ignoring NaN; along an axis with its position."""
    if dim is None:
        return input[~input.isnan()].median()
    values, indices = input.sort(dim)  # NaN is last
    middle = ((~input.isnan()).sum(dim, keepdim=True) - 1).div(2, rounding_mode="floor").clamp(min=0)
    values, indices = values.gather(dim, middle), indices.gather(dim, middle)
    return _nanmedian(values, indices) if keepdim else _nanmedian(values.squeeze(dim), indices.squeeze(dim))


def msort(input):
    """Sorts along the first axis."""
    return input.sort(0)[0]


def _pieces(y, x, dx, dim):
    """Computes the areas of the trapezoids between points."""
    n = y.shape[dim]
    means = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) / 2
    if x is None:
        return means * dx
    if x.dim() > 1:
        return means * diff(x, dim=dim)
    shape = [1] * y.dim()
    shape[dim] = -1
    return means * diff(x).reshape(shape)


def trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """Computes the integral by the trapezoidal rule."""
    return _pieces(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """Computes the cumulative integral by the trapezoidal rule."""
    return _pieces(y, x, dx, dim).cumsum(dim)


trapz = trapezoid


def dist(input, other, p=2):
    """Computes the norm of a difference."""
    return (input - other).reshape(-1).norm(p, 0)


def pdist(input, p=2.0):
    """Computes the distances between all pairs of rows."""
    pairs = [(i, j) for i in range(input.shape[0]) for j in range(i + 1, input.shape[0])]
    first, second = (as_tensor([pair[k] for pair in pairs], dtype=int64) for k in (0, 1))
    return (input[first] - input[second]).norm(p, 1)


def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Returns true for elements that are among the test elements. `assume_unique` has no effect."""
    elements, test = as_tensor(elements), as_tensor(test_elements).reshape(-1)
    count = test.numel()
    if count <= _FEW or elements.is_complex() or test.is_complex():
        found = (elements.unsqueeze(-1) == test).any(-1)
    else:
        elements, test = (x.detach().to(uint8) if x.dtype == bool_ else x.detach() for x in (elements, test))
        ordered = test.sort()[0]
        limits = ordered.masked_fill(ordered.isnan(), math.inf) if ordered.is_floating_point() else ordered  # NaN is last
        found = ordered[_searchsorted(limits, elements).clamp(max=count - 1)] == elements
    return ~found if invert else found


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Combines the slices of adjacent segments of the first axis by "sum", "mean", "max", "min" or "prod".

    `lengths` holds the number of slices of each segment, or `offsets` the first slice of each and the end of the last one. `initial`
    is combined with each segment.

    >>> import gradus
    >>> gradus.segment_reduce(gradus.tensor([1.0, 2.0, 5.0]), "sum", lengths=gradus.tensor([2, 1]))
    tensor([3., 5.])
    """
    if reduce not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"segment_reduce(): unsupported reduction {reduce!r}; expected 'sum', 'mean', 'max', 'min' or 'prod'")
    if indices is not None or axis != 0 or (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): expected one of lengths and offsets, axis 0, and no indices")
    lengths = diff(offsets) if lengths is None else lengths
    if lengths.dim() != 1:
        raise NotImplementedError(f"segment_reduce(): expected lengths or offsets with one axis, but got {lengths.dim()}")
    first = 0 if offsets is None else int(offsets[0])
    total, count = int(lengths.sum()), lengths.shape[0]
    if not unsafe and (bool((lengths < 0).any()) or first or total != data.shape[0]):
        raise RuntimeError(f"segment_reduce(): expected non-negative lengths with the sum {data.shape[0]}, the extent of axis 0, but the sum is {total}")
    shape = (-1,) + (1,) * (data.dim() - 1)
    rows = data[first:first + total]
    number = arange(count).repeat_interleave(lengths.to(int64)).reshape(shape).expand(tuple(rows.shape))
    neutral = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}[reduce] if initial is None else initial
    start = full((count, *data.shape[1:]), neutral, dtype=data.dtype)
    result = start.scatter_reduce(0, number, rows, {"mean": "sum", "max": "amax", "min": "amin"}.get(reduce, reduce))
    if reduce != "mean":
        return result
    # The mean of no elements is `initial`, without it NaN.
    none = (lengths == 0).reshape(shape)
    mean = result / lengths.clamp(min=1).to(data.dtype).reshape(shape)
    return where(none, math.nan, mean) if initial is None else mean


def renorm(input, p, dim, maxnorm):
    """Scales every slice along an axis to a norm of at most `maxnorm`."""
    axes = [axis for axis in range(input.dim()) if axis != dim % input.dim()]
    norms = input.norm(p, axes, keepdim=True)
    return input * (maxnorm / (norms + 1e-7)).masked_fill(norms <= maxnorm, 1)
