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
