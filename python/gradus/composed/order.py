"""Functions of sorted elements: quantiles, modes, searches in sorted sequences, runs of equal elements."""

from collections import namedtuple

from .._native import Tensor, arange, as_tensor, cat, int32, int64, ones, where, zeros

_kthvalue = namedtuple("kthvalue", ["values", "indices"])
_mode = namedtuple("mode", ["values", "indices"])

#: The rules by which `quantile` chooses between the two elements nearest to a rank.
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")

#: Up to this many comparisons, `searchsorted` compares all pairs at once. Beyond, it bisects.
_ALL_PAIRS = 2**16


def kthvalue(input, k, dim=-1, keepdim=False):
    """Finds the `k`-th smallest, counted from 1, and its position."""
    if not 1 <= k <= (input.shape[dim] if input.dim() else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim % max(input.dim(), 1)}")
    if not input.dim():
        return _kthvalue(*input.sort(dim))
    values, indices = input.topk(k, dim, largest=False)
    values, indices = values.select(dim, k - 1), indices.select(dim, k - 1)
    return _kthvalue(values.unsqueeze(dim), indices.unsqueeze(dim)) if keepdim else _kthvalue(values, indices)


def _quantile(name, input, q, dim, keepdim, interpolation):
    """Sorts once and reads the elements next to the ranks `q * (n - 1)`, which are computed in the dtype of the input."""
    if not input.is_floating_point():
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got {interpolation}")
    x = input.reshape(-1) if dim is None or input.dim() == 0 else input.movedim(dim, -1)
    if x.shape[-1] == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if not isinstance(q, Tensor) and not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    shares = q if isinstance(q, Tensor) else as_tensor(float(q), dtype=input.dtype)
    if shares.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if shares.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not shares._is_traced and not bool(((shares >= 0) & (shares <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    values = x.sort(-1)[0]  # NaN is last
    absent = values.isnan()
    if name == "nanquantile":
        ranks = shares.reshape(-1) * (absent.logical_not().sum(-1, keepdim=True) - 1).to(x.dtype)
        ranks = ranks.masked_fill(absent.all(-1, keepdim=True), 0)  # which is NaN, but without a gradient
    else:
        last = x.shape[-1] - 1
        ranks = (shares.reshape(-1) * last).expand(*x.shape[:-1], shares.numel())
        ranks = ranks.masked_fill(absent.any(-1, keepdim=True), last)  # which is NaN
    if interpolation == "nearest":
        found = values.gather(-1, ranks.detach().round().to(int64))
    elif interpolation == "higher":
        found = values.gather(-1, ranks.detach().ceil().to(int64))
    else:
        below = ranks.detach().floor()
        found = values.gather(-1, below.to(int64))
        if interpolation != "lower":
            above = values.gather(-1, ranks.detach().ceil().to(int64))
            found = found.lerp(above, ranks - below if interpolation == "linear" else zeros((), dtype=x.dtype) + 0.5)
    if keepdim and dim is None:
        found = found.reshape((1,) * input.dim() + (-1,))
    elif keepdim and input.dim():
        found = found.unsqueeze(dim if dim >= 0 else dim - 1)
    return found.movedim(-1, 0) if shares.dim() else found.squeeze(-1)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """Computes the `q`-quantile; NaN if an element is NaN. `interpolation` selects the value between two elements."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """`quantile` ignoring NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def mode(input, dim=-1, keepdim=False):
    """Finds the most frequent element (the smallest of equally frequent ones), and its last position."""
    if input.dim() == 0:
        return _mode(input.clone(), zeros((), dtype=int64))
    values, order = input.sort(dim, stable=True)
    n = values.shape[dim]
    shape = [1] * input.dim()
    shape[dim] = -1
    at = arange(n).reshape(shape)
    # A run of equal elements begins where an element differs from the one before.
    begins = cat([values.narrow(dim, 0, 1) == values.narrow(dim, 0, 1), values.narrow(dim, 1, n - 1) != values.narrow(dim, 0, n - 1)], dim)
    begin = where(begins, at, 0).cummax(dim).values
    longest = (at - begin).argmax(dim, keepdim=True)
    indices = order.gather(dim, longest)
    values = input.gather(dim, indices)
    return _mode(values, indices) if keepdim else _mode(values.squeeze(dim), indices.squeeze(dim))


def _bisected(sequence, values, right):
    """Returns the number of elements of each sorted row below the values, by bisection."""
    n = sequence.shape[-1]
    low = zeros(tuple(values.shape), dtype=int64)
    high = low + n
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        inside = middle.clamp(max=n - 1)
        found = sequence[inside] if sequence.dim() == 1 else sequence.gather(-1, inside)
        after = ((found > values) if right else (found >= values)) | (low >= high)
        low, high = where(after, low, middle + 1), where(after, middle.minimum(high), high)
    return low


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Finds the positions in sorted rows at which values would be inserted: before equal elements, or with `right` after them.

    `sorter` holds the positions that sort rows which are not sorted themselves.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    right = right or side == "right"
    number = not isinstance(input, Tensor)
    together = sorted_sequence.dtype
    if number or input.dtype != together:
        together = (sorted_sequence.reshape(-1)[:0] + (input if number else input.reshape(-1)[:0])).dtype
    values, sorted_sequence = as_tensor(input, dtype=together), sorted_sequence.to(together)
    if sorted_sequence.dim() != 1 and (number or tuple(sorted_sequence.shape[:-1]) != tuple(values.shape[:-1])):
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
                           f"tensor and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} "
                           f"and input value tensor {list(values.shape)}")
    if sorter is not None:
        if sorter.dtype != int64 or tuple(sorter.shape) != tuple(sorted_sequence.shape):
            raise RuntimeError("torch.searchsorted(): sorter must be an int64 tensor with the shape of the boundaries")
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    n = sorted_sequence.shape[-1]
    if n == 0:
        places = zeros(tuple(values.shape), dtype=int64)
    elif n * values.numel() <= _ALL_PAIRS:
        rows, column = sorted_sequence.unsqueeze(-2) if sorted_sequence.dim() > 1 else sorted_sequence, values.unsqueeze(-1)
        places = ((rows > column) if right else (rows >= column)).logical_not().sum(-1)  # NaN is after all numbers
    else:
        places = _bisected(sorted_sequence, values, right)
    return places.to(int32) if out_int32 else places


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """Finds the index of the interval between boundaries that contains each value."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Removes elements, or slices along `dim`, that equal the one before."""
    if dim is None:
        x = input.reshape(-1)
    else:
        x = input.movedim(dim, 0)
        if input.numel() == 0 and (x.shape[0] != 0 or list(x.shape).count(0) > 1):
            raise RuntimeError("there are 0 sized dimensions that are not selected, so unique_consecutive cannot be applied")
    n = x.shape[0]
    changes = x[1:] != x[:-1]
    first = cat([ones(min(n, 1), dtype=changes.dtype), changes.reshape(max(n - 1, 0), -1).any(-1) if n > 1 else changes.reshape(-1)[:0]])
    places = first.nonzero().reshape(-1)
    result = [x[places] if dim is None else x[places].movedim(0, dim)]
    if return_inverse:
        inverse = first.to(int64).cumsum(0) - 1
        result.append(inverse.reshape(input.shape) if dim is None else inverse)
    if return_counts:
        ends = cat([places[1:], as_tensor([n] if n else [], dtype=int64)])
        result.append(ends - places)
    return result[0] if len(result) == 1 else tuple(result)
