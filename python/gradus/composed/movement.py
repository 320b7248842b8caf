"""Movements of elements: joining, splitting, repeating."""

import itertools
import math

from .. import _native
from .._native import Tensor, arange, as_tensor, broadcast_tensors, cat, int64, meshgrid, ones, stack, where, zeros
from .._native import pad as _pad


def _atleast(axes, tensors, place):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    placed = tuple(place(as_tensor(x)) if as_tensor(x).dim() < axes else x for x in tensors)
    return placed if len(placed) > 1 else placed[0]


def atleast_1d(*tensors):
    """Adds axes up to one."""
    return _atleast(1, tensors, lambda x: x.reshape(1))


def atleast_2d(*tensors):
    """Adds axes in front, up to two."""
    return _atleast(2, tensors, lambda x: x.reshape(1, -1))


def atleast_3d(*tensors):
    """Adds axes up to three."""
    return _atleast(3, tensors, lambda x: x.unsqueeze(-1) if x.dim() == 2 else x.reshape(1, -1, 1))



def hstack(tensors):
    """Concatenates along the second axis; vectors along their only axis."""
    ranks = [x.dim() for x in tensors]
    if 0 in ranks:
        tensors = [x if x.dim() else x.reshape(1) for x in tensors]
    return cat(tensors, 1 if ranks and ranks[0] > 1 else 0)


def vstack(tensors):
    """Concatenates along the first axis; vectors as rows."""
    ranks = [x.dim() for x in tensors]
    if ranks.count(1) == len(ranks):
        return stack(tensors)
    return cat(tensors if min(ranks) > 1 else [x if x.dim() > 1 else x.reshape(1, -1) for x in tensors])


row_stack = vstack


def dstack(tensors):
    """Concatenates along the third axis."""
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors):
    """Concatenates along the second axis; vectors as columns."""
    return cat([x.reshape(-1, 1) if x.dim() <= 1 else x for x in tensors], 1)


def tensor_split(input, indices_or_sections, dim=0):
    """Splits into this many parts, the first ones longer, or before these positions."""
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = input.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype != int64 or indices_or_sections.dim() > 1:
            raise RuntimeError("tensor_split expected a zero- or one-dimensional tensor of int64, but got "
                               f"{indices_or_sections.dim()} dims of {indices_or_sections.dtype}")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if not 0 < indices_or_sections < 2**24:
            raise RuntimeError(f"number of sections must be larger than 0 and small enough to be listed, got {indices_or_sections}")
        size, longer = divmod(n, indices_or_sections)
        ends = list(itertools.accumulate([size + 1] * longer + [size] * (indices_or_sections - longer)))[:-1]
    else:
        ends = [min(max(i + n if i < 0 else i, 0), n) for i in indices_or_sections]
    starts = [0, *ends]
    return tuple(input.narrow(dim, a, max(b - a, 0)) for a, b in zip(starts, [*ends, n]))


def _split_evenly(input, indices_or_sections, dim):
    if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or input.shape[dim] % indices_or_sections):
        raise RuntimeError(f"a dimension of size {input.shape[dim]} is not divisible into {indices_or_sections} sections")
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input, indices_or_sections):
    """Splits into equal parts along the second axis; vectors along their only axis."""
    return _split_evenly(input, indices_or_sections, 0 if input.dim() == 1 else 1)


def vsplit(input, indices_or_sections):
    """Splits into equal parts along the first axis."""
    return _split_evenly(input, indices_or_sections, 0)


def cartesian_prod(*tensors):
    """Returns the Cartesian product of vectors, one combination per row."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([x.reshape(-1) for x in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """Returns all combinations of `r` elements of a vector, one per row."""
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input[:0]
    n = input.shape[0]
    # Subtracting i from the i-th of strictly ascending positions gives ascending positions.
    wide = n + r - 1 if with_replacement and n else n
    _native._reserve(math.comb(wide, r) * r, 8)
    if wide < r:
        return input.new_empty((0, r))
    import numpy as np  # only here: importing the package does not import NumPy

    # Positions depend on extents alone. NumPy computes them, so that a trace sees a constant.
    rows = np.arange(max(wide - r + 1, 0)).reshape(-1, 1)
    for taken in range(1, r):
        # Extends each row by every later position after which enough positions remain.
        counts = wide - r + taken - rows[:, -1]
        chosen = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(chosen)) - (np.cumsum(counts) - counts)[chosen]
        rows = np.concatenate([rows[chosen], (rows[chosen, -1] + 1 + within)[:, None]], 1)
    return input[_native.tensor(rows - np.arange(r) if with_replacement else rows)]


def block_diag(*tensors):
    """Returns a matrix with these matrices along its diagonal, zeros elsewhere."""
    tensors = [atleast_2d(x) for x in tensors]
    width = sum(x.shape[1] for x in tensors)
    rows, start = [], 0
    for x in tensors:
        rows.append(_pad(x, (start, width - start - x.shape[1])))
        start += x.shape[1]
    return cat(rows, 0)


def broadcast_shapes(*shapes):
    """Computes the broadcast shape of these shapes."""
    return tuple(broadcast_tensors(*(zeros(shape) for shape in shapes))[0].shape)


def constant_pad_nd(input, pad, value=0):
    """Pads with `value`; `pad` holds two widths per axis, from the last axis on."""
    if not isinstance(value, complex):
        return _pad(input, list(pad), "constant", value)
    inside = _pad(ones(tuple(input.shape)), list(pad), "constant", 0) != 0
    return where(inside, _pad(input, list(pad), "constant", 0), value)


def moveaxis(input, source, destination):
    """`movedim`."""
    return input.movedim(source, destination)


def split_with_sizes(input, split_sizes, dim=0):
    """`split` with a size for each part."""
    return input.split(list(split_sizes), dim)


def dsplit(input, indices_or_sections):
    """Splits into equal parts along the third axis."""
    return _split_evenly(input, indices_or_sections, 2)


def diagflat(input, offset=0):
    """Returns a matrix with all elements on its diagonal."""
    return input.reshape(-1).diag(offset)


def channel_shuffle(input, groups):
    """Interleaves the channels of groups."""
    n, channels, *rest = input.shape
    return input.reshape(n, groups, channels // groups, *rest).transpose(1, 2).reshape(n, channels, *rest)


def sum_to_size(input, *size):
    """Computes the sum over the axes along which a tensor of this size is broadcast."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if not size:
        return input.sum()
    lead = input.dim() - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, input.shape[max(lead, 0):])):
        raise RuntimeError(f"size {list(size)} is not expandable to size {list(input.shape)}.")
    if not size:
        return input.sum()
    axes = [*range(lead), *(lead + i for i, n in enumerate(size) if n == 1 and input.shape[lead + i] != 1)]
    return (input.sum(axes, keepdim=True) if axes else input).reshape(size)
