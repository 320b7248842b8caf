"""Functions that make tensors: ranges, windows, random draws."""

import math
from builtins import range as _range

from .. import _native
from .._native import arange, as_tensor, randint, tensor


def asarray(obj, *, dtype=None, copy=None):
    """`as_tensor`, or with `copy` a copy."""
    return tensor(obj, dtype=dtype) if copy else as_tensor(obj, dtype=dtype)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """Returns a scalar tensor."""
    return tensor(s, dtype=_native.get_default_dtype() if dtype is None else dtype, device=device, requires_grad=requires_grad)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False):
    """Returns a tensor of these extents. Elements are in row-major order; the strides are ignored.

    >>> import gradus
    >>> gradus.empty_strided((2, 3), (1, 2)).shape
    gradus.Size([2, 3])
    """
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} and {len(size)}")
    return _native.empty(tuple(size), dtype=dtype, device=device, requires_grad=requires_grad)


def empty_permuted(size, physical_layout, *, dtype=None, device=None, requires_grad=False):
    """Returns a tensor of these extents. Elements are in row-major order; the order of axes is ignored.

    >>> import gradus
    >>> gradus.empty_permuted((2, 3), (1, 0)).shape
    gradus.Size([2, 3])
    """
    if sorted(physical_layout) != list(_range(len(size))):
        raise RuntimeError(f"physical_layout {tuple(physical_layout)} is not an order of {len(size)} axes")
    return _native.empty(tuple(size), dtype=dtype, device=device, requires_grad=requires_grad)


def range(start=0, end=None, step=1, *, dtype=None):
    """`arange` including its end."""
    start, end = (0, start) if end is None else (start, end)
    count = math.floor((end - start) / step) + 1
    return start + arange(count, dtype=_native.get_default_dtype() if dtype is None else dtype) * step


def randint_like(input, low=0, high=None, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    """Random integers in the shape of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    made = randint(low, high, tuple(input.shape), device=input.device if device is None else device).to(input.dtype if dtype is None else dtype)
    return made.requires_grad_() if requires_grad else made


def _small_rates(rate, generator):
    """Draws from Poisson distributions of small rates: counts uniform factors whose product stays above `exp(-rate)`."""
    least, product, count = (-rate).exp(), _native.ones(tuple(rate.shape), dtype=rate.dtype), _native.zeros_like(rate)
    while True:
        product = product * _native.rand(tuple(rate.shape), dtype=rate.dtype, generator=generator)
        if not bool((product > least).any()):
            return count
        count = count + (product > least)


def _large_rates(rate, generator):
    """Draws from Poisson distributions of large rates, by transformed rejection (Hörmann, 1993)."""
    b = 0.931 + 2.53 * rate.sqrt()
    a, shape = 0.02483 * b - 0.059, tuple(rate.shape)
    found, missing = _native.zeros_like(rate), rate >= 0
    while bool(missing.any()):
        u = _native.rand(shape, dtype=rate.dtype, generator=generator) - 0.5
        v = 1 - _native.rand(shape, dtype=rate.dtype, generator=generator)
        near = 0.5 - u.abs()
        k = ((2 * a / near + b) * u + rate + 0.43).floor()
        height = (v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (near * near) + b)).log()
        fits = height <= k * rate.log() - rate - (k.clamp(min=0) + 1).lgamma()
        kept = (k >= 0) & ((near >= 0.013) | (v <= near)) & fits
        found = _native.where(missing & kept, k, found)
        missing = missing & ~kept
    return found


def bernoulli(input, p=None, *, generator=None):
    """Draws ones with the probabilities of a tensor, or with the probability `p` in its shape; zeros otherwise."""
    return _native.bernoulli(input if p is None else _native.full_like(input, p), generator=generator)


def poisson(input, generator=None):
    """Draws from Poisson distributions with the rates of a tensor; infinity for an infinite rate."""
    rate = input.detach().double()
    if not bool((rate >= 0).all()):  # NaN too
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    endless = rate.isinf()
    if bool(endless.any()):
        return _native.where(endless, rate, poisson(rate.masked_fill(endless, 0.0), generator)).to(input.dtype)
    few = _small_rates(rate.clamp(max=10), generator)
    many = rate > 10
    if bool(many.any()):
        few = _native.where(many, _large_rates(rate.clamp(min=10), generator), few)
    return few.to(input.dtype)


def _window(terms, length, periodic, dtype):
    """Returns a window that is a sum of cosines."""
    if length == 1:
        return _native.ones(1, dtype=dtype)
    turn = 2 * math.pi / (length if periodic else length - 1)
    n = arange(length, dtype=_native.float64)
    total = sum(a * (n * (k * turn)).cos() for k, a in enumerate(terms))
    return total.to(_native.get_default_dtype() if dtype is None else dtype)


def hann_window(window_length, periodic=True, *, dtype=None):
    """Computes the Hann window: a raised cosine."""
    return _window([0.5, -0.5], window_length, periodic, dtype)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None):
    """Computes the Hamming window: a raised cosine that does not reach zero."""
    return _window([alpha, -beta], window_length, periodic, dtype)


def blackman_window(window_length, periodic=True, *, dtype=None):
    """Computes the Blackman window: a sum of two cosines."""
    return _window([0.42, -0.5, 0.08], window_length, periodic, dtype)


def bartlett_window(window_length, periodic=True, *, dtype=None):
    """Computes the Bartlett window: triangular."""
    if window_length == 1:
        return _native.ones(1, dtype=dtype)
    n = arange(window_length, dtype=_native.float64) * (2 / (window_length if periodic else window_length - 1))
    return (1 - (n - 1).abs()).to(_native.get_default_dtype() if dtype is None else dtype)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None):
    """Computes the Kaiser window, from Bessel functions."""
    from .bessel import i0

    if window_length == 1:
        return _native.ones(1, dtype=dtype)
    n = arange(window_length, dtype=_native.float64) * (2 / (window_length if periodic else window_length - 1)) - 1
    total = i0(beta * (1 - n * n).clamp(min=0).sqrt()) / i0(tensor(float(beta), dtype=_native.float64))
    return total.to(_native.get_default_dtype() if dtype is None else dtype)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """Returns a tensor that shares memory with an object with a buffer, such as bytes or an array; copies if the buffer is read-only.

    >>> import gradus
    >>> gradus.frombuffer(b"\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00", dtype=gradus.int32)
    tensor([1, 2], dtype=gradus.int32)
    """
    import numpy

    size = dtype.itemsize
    read = numpy.frombuffer(buffer, numpy.uint8, count if count < 0 else count * size, offset)
    if len(read) == 0 or len(read) % size:
        raise ValueError(f"{len(read)} bytes from offset {offset} on cannot be divided into elements of {size} bytes")
    made = _native.from_numpy(read).view(dtype)
    return made.requires_grad_() if requires_grad else made
