"""Functions that are only composed of others, under PyTorch's names."""

import itertools
import math
from collections import namedtuple

from . import _native
from ._native import Tensor, as_tensor, broadcast_tensors, cat, int64, meshgrid, stack, where, zeros

# --- pointwise -------------------------------------------------------------------------------------------------------


def positive(input):
    """The tensor itself."""
    return +input


def true_divide(input, other):
    """`input / other`."""
    return input / other


def pow(input, exponent):
    """`input ** exponent`; either may be a number."""
    return input**exponent


def fmax(input, other):
    """The larger of both; where one is NaN, the other."""
    return where(other.isnan(), input, where(input.isnan(), other, input.maximum(other)))


def fmin(input, other):
    """The smaller of both; where one is NaN, the other."""
    return where(other.isnan(), input, where(input.isnan(), other, input.minimum(other)))


def logaddexp2(input, other):
    """`log2(2**input + 2**other)`, without overflow."""
    log2 = math.log(2.0)
    return (input * log2).logaddexp(other * log2) / log2


def mvlgamma(input, p):
    """The logarithm of the gamma function of `p` dimensions."""
    total = p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = total + (input - i / 2).lgamma()
    return total


# --- reductions ------------------------------------------------------------------------------------------------------

_aminmax = namedtuple("aminmax", ["min", "max"])
_kthvalue = namedtuple("kthvalue", ["values", "indices"])


def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest."""
    return _aminmax(input.amin(dim, keepdim), input.amax(dim, keepdim))


def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Variance and mean."""
    correction = int(unbiased) if correction is None else correction
    return input.var(dim, correction=correction, keepdim=keepdim), input.mean(dim, keepdim)


def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    """Standard deviation and mean."""
    correction = int(unbiased) if correction is None else correction
    return input.std(dim, correction=correction, keepdim=keepdim), input.mean(dim, keepdim)


def nansum(input, dim=None, keepdim=False):
    """The sum of what is not NaN."""
    return input.masked_fill(input.isnan(), 0).sum(dim, keepdim)


def nanmean(input, dim=None, keepdim=False):
    """The mean of what is not NaN."""
    return nansum(input, dim, keepdim) / (~input.isnan()).sum(dim, keepdim)


def kthvalue(input, k, dim=-1, keepdim=False):
    """The `k`-th smallest, counted from 1, and where it is."""
    values, indices = input.sort(dim)
    values, indices = values.select(dim, k - 1), indices.select(dim, k - 1)
    return _kthvalue(values.unsqueeze(dim), indices.unsqueeze(dim)) if keepdim else _kthvalue(values, indices)


def quantile(input, q, dim=None, keepdim=False):
    """The value that a share `q` of elements is below, on the line between the two nearest."""
    x, axis = (input.reshape(-1), 0) if dim is None else (input, dim)
    n = x.shape[axis]
    values = x.sort(axis)[0].movedim(axis, -1)

    def at(share):
        place = min(max(share, 0.0), 1.0) * (n - 1)
        low = math.floor(place)
        a, b = values[..., low], values[..., min(low + 1, n - 1)]
        return a + (b - a) * (place - low)

    many = isinstance(q, Tensor) and q.dim() == 1
    out = [at(float(share)) for share in (q.tolist() if many else [q])]
    if keepdim:
        out = [y.reshape((1,) * input.dim()) if dim is None else y.unsqueeze(dim) for y in out]
    return stack(out, 0) if many else out[0]


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


# --- movement --------------------------------------------------------------------------------------------------------


def _atleast(axes, tensors, place):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    placed = tuple(place(as_tensor(x)) if as_tensor(x).dim() < axes else x for x in tensors)
    return placed if len(placed) > 1 else placed[0]


def atleast_1d(*tensors):
    """With one axis or more."""
    return _atleast(1, tensors, lambda x: x.reshape(1))


def atleast_2d(*tensors):
    """With two axes or more; new ones in front."""
    return _atleast(2, tensors, lambda x: x.reshape(1, -1))


def atleast_3d(*tensors):
    """With three axes or more."""
    return _atleast(3, tensors, lambda x: x.unsqueeze(-1) if x.dim() == 2 else x.reshape(1, -1, 1))



def hstack(tensors):
    """Side by side: along the second axis, vectors along their only one."""
    tensors = [atleast_1d(x) for x in tensors]
    return cat(tensors, 0 if tensors[0].dim() == 1 else 1)


def vstack(tensors):
    """One below the other: along the first axis, vectors as rows."""
    return cat([atleast_2d(x) for x in tensors], 0)


row_stack = vstack


def dstack(tensors):
    """One behind the other: along the third axis."""
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors):
    """Side by side, vectors as columns."""
    return cat([x.reshape(-1, 1) if x.dim() <= 1 else x for x in tensors], 1)


def tensor_split(input, indices_or_sections, dim=0):
    """Into so many parts, the first ones longer; or before these positions."""
    n = input.shape[dim]
    if isinstance(indices_or_sections, int):
        size, longer = divmod(n, indices_or_sections)
        ends = list(itertools.accumulate([size + 1] * longer + [size] * (indices_or_sections - longer)))[:-1]
    else:
        ends = [min(max(i + n if i < 0 else i, 0), n) for i in indices_or_sections]
    starts = [0, *ends]
    return tuple(input.narrow(dim, a, max(b - a, 0)) for a, b in zip(starts, [*ends, n]))


def hsplit(input, indices_or_sections):
    """`tensor_split` along the second axis, of vectors along their only one."""
    return tensor_split(input, indices_or_sections, 0 if input.dim() == 1 else 1)


def vsplit(input, indices_or_sections):
    """`tensor_split` along the first axis."""
    return tensor_split(input, indices_or_sections, 0)


def cartesian_prod(*tensors):
    """All choices of one element from each vector, a row each."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([x.reshape(-1) for x in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """All choices of `r` elements of a vector, a row each."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.shape[0]), r))
    return input[as_tensor(rows, dtype=int64).reshape(len(rows), r)]


def block_diag(*tensors):
    """Matrices along the diagonal of one, zeros elsewhere."""
    tensors = [atleast_2d(x) for x in tensors]
    width = sum(x.shape[1] for x in tensors)
    rows, start = [], 0
    for x in tensors:
        rows.append(_native.pad(x, (start, width - start - x.shape[1])))
        start += x.shape[1]
    return cat(rows, 0)


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes have together."""
    return tuple(broadcast_tensors(*(zeros(shape) for shape in shapes))[0].shape)


# --- indexing --------------------------------------------------------------------------------------------------------


def index_fill(input, dim, index, value):
    """With a number in the places that `index` names along an axis."""
    chosen = zeros(input.shape[dim], dtype=input.dtype).index_put((index,), as_tensor(1, dtype=input.dtype)) != 0
    shape = [1] * input.dim()
    shape[dim] = -1
    return input.masked_fill(chosen.reshape(shape), value)


def index_put(input, indices, values, accumulate=False):
    """With values in the places that tensors of indices name together."""
    if accumulate:
        spread = _native.zeros_like(input)
        flat = _native.arange(input.numel()).reshape(input.shape)[tuple(indices)]
        values = as_tensor(values, dtype=input.dtype).expand(tuple(flat.shape))
        spread = spread.reshape(-1).scatter_add(0, flat.reshape(-1), values.reshape(-1))
        return input + spread.reshape(input.shape)
    result = input.clone()
    result[tuple(indices)] = values
    return result


# --- products --------------------------------------------------------------------------------------------------------


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * batch1 @ batch2`."""
    return beta * input + alpha * (batch1 @ batch2)


def addmv(input, mat, vec, *, beta=1, alpha=1):
    """`beta * input + alpha * mat @ vec`."""
    return beta * input + alpha * (mat @ vec)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """`beta * input + alpha * outer(vec1, vec2)`."""
    return beta * input + alpha * vec1.outer(vec2)


def vdot(input, other):
    """The product of vectors, the first conjugated."""
    return input.conj().dot(other)


def multi_dot(tensors):
    """A chain of products of matrices, in the order that is cheapest; vectors may stand at the ends."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise ValueError(f"multi_dot takes two tensors or more, not {len(tensors)}")
    row, column = tensors[0].dim() == 1, tensors[-1].dim() == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(1)
    sizes = [x.shape[0] for x in tensors] + [tensors[-1].shape[1]]
    n = len(tensors)
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        return tensors[i] if i == j else product(i, cut[i, j]) @ product(cut[i, j] + 1, j)

    result = product(0, n - 1)
    result = result.squeeze(0) if row else result
    return result.squeeze(-1) if column else result


def chain_matmul(*matrices):
    """`multi_dot` of separate arguments."""
    return multi_dot(matrices)


def vander(x, N=None, increasing=False):
    """Powers of a vector's elements, a column each."""
    n = x.shape[0] if N is None else N
    powers = range(n) if increasing else range(n - 1, -1, -1)
    return stack([x**k for k in powers], 1)


def cov(input, *, correction=1):
    """The covariance of rows."""
    x = input.unsqueeze(0) if input.dim() < 2 else input
    x = x - x.mean(1, keepdim=True)
    result = x @ x.conj().T / (x.shape[1] - correction)
    return result.squeeze() if input.dim() < 2 else result


def corrcoef(input):
    """The correlation of rows."""
    c = cov(input)
    if c.dim() == 0:
        return c / c
    scale = c.diagonal().sqrt()
    return c / scale.unsqueeze(0) / scale.unsqueeze(1)


__all__ = sorted(name for name, value in list(globals().items())
                 if not name.startswith("_") and getattr(value, "__module__", None) == __name__)
