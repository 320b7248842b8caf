"""Over axes: extremes, moments, quantiles, order."""

import math
from collections import namedtuple

from .._native import Tensor, arange, as_tensor, cat, float64, int64, ones, stack


_aminmax = namedtuple("aminmax", ["min", "max"])
_kthvalue = namedtuple("kthvalue", ["values", "indices"])
_mode = namedtuple("mode", ["values", "indices"])
_nanmedian = namedtuple("nanmedian", ["values", "indices"])


def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest."""
    return _aminmax(input.amin(dim, keepdim), input.amax(dim, keepdim))


def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Variance and mean."""
    return input._spread_and_mean(False, dim, unbiased, keepdim, correction)


def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Standard deviation and mean."""
    return input._spread_and_mean(True, dim, unbiased, keepdim, correction)


def nansum(input, dim=None, keepdim=False):
    """The sum of what is not NaN."""
    return input.masked_fill(input.isnan(), 0).sum(dim, keepdim)


def nanmean(input, dim=None, keepdim=False):
    """The mean of what is not NaN."""
    return nansum(input, dim, keepdim) / (~input.isnan()).sum(dim, keepdim)


def kthvalue(input, k, dim=-1, keepdim=False):
    """The `k`-th smallest, counted from 1, and where it is."""
    if not 1 <= k <= (input.shape[dim] if input.dim() else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim % max(input.dim(), 1)}")
    if not input.dim():
        return _kthvalue(*input.sort(dim))
    values, indices = input.topk(k, dim, largest=False)
    values, indices = values.select(dim, k - 1), indices.select(dim, k - 1)
    return _kthvalue(values.unsqueeze(dim), indices.unsqueeze(dim)) if keepdim else _kthvalue(values, indices)


def _quantile(name, input, q, dim, keepdim):
    """The value that a share `q` of the elements which are no NaN is below."""
    if not input.is_floating_point():
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    x, axis = (input.reshape(-1), 0) if dim is None else (input, dim)
    if x.shape[axis] == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    values = x.sort(axis)[0].movedim(axis, -1)  # NaN is last
    absent = values.isnan().to(int64).sum(-1, keepdim=True)
    last = x.shape[axis] - 1 - (absent if name == "nanquantile" else absent * 0)

    def at(share):
        if not 0.0 <= share <= 1.0:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {share:g}")
        place = share * last.clamp(min=0).to(float64)
        place = place if name == "nanquantile" else place.where(absent == 0, last.to(float64))
        low = place.floor().to(int64)
        a, b = values.gather(-1, low), values.gather(-1, (low + 1).minimum(last.clamp(min=0)))
        return (a + (b - a) * (place - low).to(a.dtype)).squeeze(-1)

    many = isinstance(q, Tensor) and q.dim() == 1
    out = [at(float(share)) for share in (q.tolist() if many else [q])]
    if keepdim:
        out = [y.reshape((1,) * input.dim()) if dim is None else y.unsqueeze(dim) for y in out]
    return stack(out, 0) if many else out[0]


def quantile(input, q, dim=None, keepdim=False):
    """The value that a share `q` of elements is below, on the line between the two nearest; NaN if there is one."""
    return _quantile("quantile", input, q, dim, keepdim)


def nanquantile(input, q, dim=None, keepdim=False):
    """`quantile` of what is not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim)


def _slope(input, spacing, dim, edge_order):
    """The derivative along an axis by differences: `spacing` is a number, or where elements stand."""
    x = input.movedim(dim, -1)
    n = x.shape[-1]
    if n <= edge_order:
        raise RuntimeError(f"torch.gradient expected each dimension size to be at least edge_order+1: {n} is less than {edge_order + 1}")
    steps = diff(spacing) if isinstance(spacing, Tensor) and spacing.dim() else ones(n - 1, dtype=x.dtype) * spacing
    steep = diff(x) / steps
    if edge_order == 1:
        first, last = steep[..., :1], steep[..., -1:]
    else:  # of the parabola through three
        bend = diff(steep) / (steps[1:] + steps[:-1])
        first, last = steep[..., :1] - bend[..., :1] * steps[:1], steep[..., -1:] + bend[..., -1:] * steps[-1:]
    before, after = steps[:-1], steps[1:]
    inner = (steep[..., :-1] * after + steep[..., 1:] * before) / (before + after)
    return cat([first, inner, last], -1).movedim(-1, dim)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Derivatives of samples along each axis by central differences, at the ends by those of one side.

    >>> import gradus
    >>> gradus.gradient(gradus.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    spacings = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, got {len(spacings)}")
    return tuple(_slope(input, h, d, edge_order) for h, d in zip(spacings, dims))


def diff(input, n=1, dim=-1):
    """Differences between neighbours, `n` times over."""
    for _ in range(n):
        length = input.shape[dim]
        input = input.narrow(dim, 1, length - 1) - input.narrow(dim, 0, length - 1)
    return input


def searchsorted(sorted_sequence, values, *, right=False):
    """Where in a sorted sequence values would stand: before equals, or with `right` behind them."""
    number = not isinstance(values, Tensor)
    v = as_tensor(values).unsqueeze(-1)
    s = sorted_sequence.unsqueeze(-2) if sorted_sequence.dim() > 1 else sorted_sequence
    below = s <= v if right else s < v
    places = below.to(int64).sum(-1)
    return places.reshape(()) if number else places


def bucketize(input, boundaries, *, right=False):
    """Between which boundaries values lie."""
    return searchsorted(boundaries, input, right=right)


def nanmedian(input, dim=None, keepdim=False):
    """The lower median of what is not NaN; along an axis with where it stands."""
    if dim is None:
        return input[~input.isnan()].median()
    values, indices = input.sort(dim)  # NaN is last
    middle = ((~input.isnan()).sum(dim, keepdim=True) - 1).div(2, rounding_mode="floor").clamp(min=0)
    values, indices = values.gather(dim, middle), indices.gather(dim, middle)
    return _nanmedian(values, indices) if keepdim else _nanmedian(values.squeeze(dim), indices.squeeze(dim))


def mode(input, dim=-1, keepdim=False):
    """The most frequent element, of equally frequent ones the smallest, and the last place where it stands."""
    axis = dim % input.dim()
    alike = input.unsqueeze(axis) == input.unsqueeze(axis + 1)
    counts = alike.to(int64).sum(axis + 1)
    most = counts == counts.amax(axis, keepdim=True)
    large = input.amax(axis, keepdim=True)
    values = input.where(most, large).amin(axis, keepdim=True)  # where not among the most frequent, one that loses
    shape = [1] * input.dim()
    shape[axis] = -1
    places = arange(input.shape[axis]).reshape(shape).expand(tuple(input.shape))
    indices = ((input == values) * (places + 1)).amax(axis, keepdim=True) - 1
    values = input.gather(axis, indices)
    return _mode(values, indices) if keepdim else _mode(values.squeeze(axis), indices.squeeze(axis))


def msort(input):
    """Sorted along the first axis."""
    return input.sort(0)[0]


def _pieces(y, x, dx, dim):
    """The areas between points of a line."""
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
    """The integral of a line through points."""
    return _pieces(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """The integral of a line through points up to each but the first."""
    return _pieces(y, x, dx, dim).cumsum(dim)


trapz = trapezoid


def dist(input, other, p=2):
    """The norm of a difference."""
    return (input - other).reshape(-1).norm(p, 0)


def pdist(input, p=2.0):
    """The distances between all pairs of rows."""
    pairs = [(i, j) for i in range(input.shape[0]) for j in range(i + 1, input.shape[0])]
    first, second = (as_tensor([pair[k] for pair in pairs], dtype=int64) for k in (0, 1))
    return (input[first] - input[second]).norm(p, 1)


def isin(elements, test_elements, *, invert=False):
    """Whether elements are among others."""
    found = (as_tensor(elements).unsqueeze(-1) == as_tensor(test_elements).reshape(-1)).any(-1)
    return ~found if invert else found


def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of equal intervals."""
    if min == 0 and max == 0:
        min, max = input.min().item(), input.max().item()
        if min == max:
            min, max = min - 1, max + 1
    inside = input[(input >= min) & (input <= max)]
    place = ((inside - min) * (bins / (max - min))).floor().clamp(0, bins - 1).to(int64)
    return place.bincount(minlength=bins).to(input.dtype)


def unique_consecutive(input, return_inverse=False, return_counts=False):
    """A vector without elements that equal the one before."""
    x = input.reshape(-1)
    first = cat([x[:1] == x[:1], x[1:] != x[:-1]])
    places = first.nonzero().reshape(-1)
    result = [x[places]]
    if return_inverse:
        result.append((first.to(int64).cumsum(0) - 1).reshape(input.shape))
    if return_counts:
        ends = cat([places[1:], as_tensor([x.shape[0]], dtype=int64)])
        result.append(ends - places)
    return result[0] if len(result) == 1 else tuple(result)


def renorm(input, p, dim, maxnorm):
    """With every slice along an axis shortened to a norm of at most `maxnorm`."""
    axes = [axis for axis in range(input.dim()) if axis != dim % input.dim()]
    norms = input.norm(p, axes, keepdim=True)
    return input * (maxnorm / (norms + 1e-7)).masked_fill(norms <= maxnorm, 1)
