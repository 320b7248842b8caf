"""Writes to positions given by index tensors and masks."""

from .._native import arange, as_tensor, broadcast_tensors, full, int64, stack, where, zeros
from .._native import bool as bool_


def index_put(input, indices, values, accumulate=False):
    """Returns a copy with values at positions given by index tensors."""
    if accumulate:
        flat = arange(input.numel()).reshape(input.shape)[tuple(indices)]
        values = as_tensor(values, dtype=input.dtype).expand(tuple(flat.shape))
        return input.reshape(-1).scatter_add(0, flat.reshape(-1), values.reshape(-1)).reshape(input.shape)
    result = input.clone()
    result[tuple(indices)] = values
    return result


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """Returns a copy with slices of a source combined in at positions along an axis by "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}.")
    if input.dim() == 0:
        return index_reduce(input.reshape(1), dim, index, source, reduce, include_self=include_self).reshape(())
    source = source if source.dim() else source.reshape(1)
    shape = [1] * source.dim()
    shape[dim] = -1
    return input.scatter_reduce(dim, index.reshape(shape).expand(tuple(source.shape)), source, reduce, include_self=include_self)


def masked_scatter(input, mask, source):
    """Returns a copy with the elements of a source, in order, where a mask is true."""
    if input.dtype != source.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}")
    input, mask = broadcast_tensors(input, mask)
    place = mask.reshape(-1).to(int64).cumsum(0) - 1
    needed = 0 if mask._is_traced or not mask.numel() else int(place[-1]) + 1
    if needed > source.numel():
        raise RuntimeError(f"masked_scatter: the source has {source.numel()} elements, but the mask selects {needed}")
    if source.numel() == 0:
        return input.clone()
    taken = source.reshape(-1)[place.clamp(0, source.numel() - 1)].reshape(input.shape)
    return where(mask.to(bool_), taken, input)


def nonzero_static(input, *, size, fill_value=-1):
    """Returns the positions of the first `size` non-zero elements, a row each; rows of `fill_value` follow if there are fewer.

    >>> import gradus
    >>> gradus.nonzero_static(gradus.tensor([0.0, 3.0, 4.0]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    hit = (input != 0).reshape(-1)
    number = hit.to(int64).cumsum(0) - 1
    # Zero elements, and non-zero ones beyond `size`, are written to one extra row, which is dropped.
    row = number.clamp(max=size).masked_fill(~hit, size)
    flat = full((size + 1,), -1, dtype=int64).scatter(0, row, arange(hit.shape[0]))[:size]
    if input.dim() == 0:
        return zeros((size, 0), dtype=int64)
    places = unravel_index(flat.clamp(min=0), tuple(max(extent, 1) for extent in input.shape))
    return stack([where(flat < 0, fill_value, place) for place in places], 1)


def unravel_index(indices, shape):
    """Converts flat positions to positions in a shape."""
    found = []
    for extent in reversed((shape,) if isinstance(shape, int) else tuple(shape)):
        found.append(indices % extent)
        indices = indices // extent
    return tuple(reversed(found))


def put(input, index, source, accumulate=False):
    """Returns a copy with elements of a source at the row-major positions `index`."""
    flat, index = input.reshape(-1), index.reshape(-1)
    n = flat.shape[0]
    wrong = (index < -n) | (index >= n)
    if not index._is_traced and bool(wrong.any()):
        raise IndexError(f"out of range: tried to access index {index[wrong][0].item()} on a tensor of {n} elements.")
    return flat.index_put((index % max(n, 1),), source.reshape(-1), accumulate).reshape(input.shape)


def _replaced(whole, part, src):
    """Returns a copy of `whole` with another value in the part that a view function selects."""
    result = whole.clone()
    place = part(result)
    if tuple(place.shape) != tuple(src.shape):
        raise RuntimeError(f"expected src to have a size equal to the part of self: {list(src.shape)}, not {list(place.shape)}")
    place.copy_(src)
    return result


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """Returns a copy with `src` in the part that `as_strided` selects."""
    return _replaced(input, lambda x: x.as_strided(tuple(size), tuple(stride), 0 if storage_offset is None else storage_offset), src)


def select_scatter(input, src, dim, index):
    """Returns a copy with `src` in the part that `select` selects."""
    return _replaced(input, lambda x: x.select(dim, index), src)


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """Returns a copy with `src` in a slice along an axis."""
    return _replaced(input, lambda x: x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)], src)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """Returns a copy with `src` on a diagonal."""
    return _replaced(input, lambda x: x.diagonal(offset, dim1, dim2), src)
