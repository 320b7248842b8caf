"""Resamples images by cubic splines, with antialiasing, or as bytes: one matrix for each axis."""

from .. import _native
from ..core import arange, float64, uint8

_A = -0.75  # PyTorch's coefficient of the cubic spline


def _weights(distance, a=_A):
    """Computes the weight of a position, by its distance."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return near.where(distance <= 1, far).masked_fill(distance >= 2, 0)


def _interpolation_matrix(n, size, scale, align_corners, dtype, cubic=True):
    """Computes the weights of `n` elements for each of `size`; positions beyond the edge use the element at the edge."""
    out = arange(size, dtype=dtype)
    if align_corners:
        place = out * ((n - 1) / (size - 1) if size > 1 else 0.0)
    else:
        place = (out + 0.5) * (n / size if scale is None else 1 / scale) - 0.5
    if not cubic:
        place = place.clamp(min=0)
    low, total = place.floor(), 0
    for k in (-1, 0, 1, 2) if cubic else (0, 1):
        column, distance = (low + k).clamp(0, n - 1).long(), (place - low - k).abs()
        share = _weights(distance) if cubic else 1 - distance
        total = total + _native.one_hot(column, n).to(dtype) * share.unsqueeze(1)
    return total


def _antialias_matrix(n, size, scale, align_corners, dtype, cubic):
    """Computes these weights with antialiasing: when images get smaller, each element is a weighted mean of all elements it covers."""
    step = ((n - 1) / (size - 1) if size > 1 else 0.0) if align_corners else n / size if scale is None else 1 / scale
    wide = max(step, 1.0)
    middle = (arange(size, dtype=dtype).unsqueeze(1) + 0.5) * step
    reach, place = (2 if cubic else 1) * wide, arange(n, dtype=dtype)
    first, end = (middle - reach + 0.5).trunc().clamp(min=0), (middle + reach + 0.5).trunc().clamp(max=n)
    distance = ((place - middle + 0.5) / wide).abs()
    weights = _weights(distance, -0.5) if cubic else (1 - distance).clamp(min=0)
    weights = weights.masked_fill((place < first) | (place >= end), 0)
    return weights / weights.sum(1, keepdim=True)


def resampled(input, size, scale_factor, align_corners, recompute_scale_factor, mode="bicubic", antialias=False):
    """Resamples two axes."""
    if input.dim() != 4:
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs 4D input")
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    pairs = [tuple(x) if isinstance(x, (tuple, list)) else (x, x) for x in (size, scale_factor)]
    size, scales = pairs
    if size[0] is None:
        size = [int(n * s) for n, s in zip(input.shape[2:], scales)]
    if not all(1 <= n < 2**31 for n in size):
        raise ValueError(f"interpolate: size {list(size)} must be at least 1 and at most {2**31 - 1} on every axis")
    input.new_empty((*input.shape[:2], *size))  # raises an error before the work if the result does not fit into memory
    if recompute_scale_factor:
        scales = (None, None)
    axes, dtype = list(zip(input.shape[2:], size, scales)), float64 if input.dtype == uint8 else input.dtype
    make = _antialias_matrix if antialias else _interpolation_matrix
    rows, columns = (make(*axis, align_corners, dtype, mode == "bicubic") for axis in axes)
    if input.dtype == uint8:
        return _resample_bytes(rows, _resample_bytes(columns, input.transpose(2, 3)).transpose(2, 3))
    return rows @ input @ columns.transpose(0, 1)


def _resample_bytes(weights, input):
    """`weights @ input` for bytes, with 16-bit weights as in PyTorch, rounded to the nearest byte."""
    bits, most = 0, float(weights.max())
    while bits < 22 and int(0.5 + most * 2 ** (bits + 1)) < 1 << 15:
        bits += 1
    whole = weights * 2.0**bits
    whole = (whole + 0.5 * whole.sign()).trunc()
    sums = whole @ input.to(float64) + 2.0 ** (bits - 1)
    return (sums / 2.0**bits).floor().clamp(0, 255).to(uint8)


from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
