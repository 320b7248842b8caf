"""Images resampled by cubic splines: a matrix for each axis."""

from .. import _native
from ..core import arange

_A = -0.75  # how steep the spline is at its neighbours, as PyTorch has it


def _weights(distance):
    """How much a place counts, by its distance."""
    near = ((_A + 2) * distance - (_A + 3)) * distance * distance + 1
    far = ((_A * distance - 5 * _A) * distance + 8 * _A) * distance - 4 * _A
    return near.where(distance <= 1, far).masked_fill(distance >= 2, 0)


def _matrix(n, size, scale, align_corners, dtype):
    """The weights of `n` places for each of `size`; places beyond the edge are those at it."""
    out = arange(size, dtype=dtype)
    if align_corners:
        place = out * ((n - 1) / (size - 1) if size > 1 else 0.0)
    else:
        place = (out + 0.5) * (n / size if scale is None else 1 / scale) - 0.5
    low, total = place.floor(), 0
    for k in (-1, 0, 1, 2):
        column = (low + k).clamp(0, n - 1).long()
        total = total + _native.one_hot(column, n).to(dtype) * _weights((place - low - k).abs()).unsqueeze(1)
    return total


def bicubic(input, size, scale_factor, align_corners, recompute_scale_factor):
    """Two axes resampled."""
    if input.dim() != 4:
        raise NotImplementedError(f"Got {input.dim()}D input, but bicubic mode needs 4D input")
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    pairs = [tuple(x) if isinstance(x, (tuple, list)) else (x, x) for x in (size, scale_factor)]
    size, scales = pairs
    if size[0] is None:
        size = [int(n * s) for n, s in zip(input.shape[2:], scales)]
    if recompute_scale_factor:
        scales = (None, None)
    rows, columns = (_matrix(n, m, s, align_corners, input.dtype) for n, m, s in zip(input.shape[2:], size, scales))
    return rows @ input @ columns.transpose(0, 1)
