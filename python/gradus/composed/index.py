"""Writing to places that tensors name."""

from .._native import arange, as_tensor, zeros, zeros_like


def index_fill(input, dim, index, value):
    """With a number in the places that `index` names along an axis."""
    chosen = zeros(input.shape[dim], dtype=input.dtype).index_put((index,), as_tensor(1, dtype=input.dtype)) != 0
    shape = [1] * input.dim()
    shape[dim] = -1
    return input.masked_fill(chosen.reshape(shape), value)


def index_put(input, indices, values, accumulate=False):
    """With values in the places that tensors of indices name together."""
    if accumulate:
        spread = zeros_like(input)
        flat = arange(input.numel()).reshape(input.shape)[tuple(indices)]
        values = as_tensor(values, dtype=input.dtype).expand(tuple(flat.shape))
        spread = spread.reshape(-1).scatter_add(0, flat.reshape(-1), values.reshape(-1))
        return input + spread.reshape(input.shape)
    result = input.clone()
    result[tuple(indices)] = values
    return result


def index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """With slices of a source combined in at positions along an axis by "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}.")
    shape = [1] * source.dim()
    shape[dim] = -1
    return input.scatter_reduce(dim, index.reshape(shape).expand(tuple(source.shape)), source, reduce, include_self=include_self)


def masked_scatter(input, mask, source):
    """With the elements of a source, in order, where a mask holds."""
    result = input.clone()
    mask = mask.expand(tuple(input.shape))
    result[mask] = source.reshape(-1)[: int(mask.sum())]
    return result


def unravel_index(indices, shape):
    """Positions in a vector as positions in a shape."""
    found = []
    for extent in reversed(shape):
        found.append(indices % extent)
        indices = indices // extent
    return tuple(reversed(found))


def put(input, index, source, accumulate=False):
    """With elements of a source in the places that `index` names among all elements, in row-major order."""
    flat = input.reshape(-1)
    return flat.index_put((index.reshape(-1) % max(flat.shape[0], 1),), source.reshape(-1), accumulate).reshape(input.shape)


def _replaced(whole, part, src):
    """A copy of `whole` with another value in the part that a function takes of it."""
    result = whole.clone()
    place = part(result)
    if tuple(place.shape) != tuple(src.shape):
        raise RuntimeError(f"expected src to have a size equal to the part of self: {list(src.shape)}, not {list(place.shape)}")
    place.copy_(src)
    return result


def select_scatter(input, src, dim, index):
    """With `src` as what `select` takes."""
    return _replaced(input, lambda x: x.select(dim, index), src)


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """With `src` as a slice along an axis."""
    return _replaced(input, lambda x: x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)], src)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """With `src` as a diagonal."""
    return _replaced(input, lambda x: x.diagonal(offset, dim1, dim2), src)
