"""Tensors of given numbers."""

import math

from .. import _native
from .._native import arange, as_tensor, randint, tensor


def asarray(obj, *, dtype=None, copy=None):
    """`as_tensor`, or with `copy` a tensor of its own."""
    return tensor(obj, dtype=dtype) if copy else as_tensor(obj, dtype=dtype)


def scalar_tensor(s, *, dtype=None):
    """A tensor without axes."""
    return tensor(s, dtype=_native.float32 if dtype is None else dtype)


def range(start=0, end=None, step=1, *, dtype=None):
    """`arange` with its end."""
    start, end = (0, start) if end is None else (start, end)
    count = math.floor((end - start) / step) + 1
    return start + arange(count, dtype=_native.float32 if dtype is None else dtype) * step


def randint_like(input, low=0, high=None, *, dtype=None):
    """Random integers in the shape of another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape)).to(input.dtype if dtype is None else dtype)


def _few(rate, generator):
    """Draws of small rates: how many uniform numbers have a product above `exp(-rate)`."""
    least, product, count = (-rate).exp(), _native.ones(tuple(rate.shape), dtype=rate.dtype), _native.zeros_like(rate)
    while True:
        product = product * _native.rand(tuple(rate.shape), dtype=rate.dtype, generator=generator)
        if not bool((product > least).any()):
            return count
        count = count + (product > least)


def _many(rate, generator):
    """Draws of large rates, by transformed rejection (Hörmann, 1993): a cheap draw of about the right shape, most of which are kept."""
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


def poisson(input, generator=None):
    """How often things happen, drawn for the rates of a tensor."""
    rate = input.detach().double()
    if bool((rate < 0).any()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    few = _few(rate.clamp(max=10), generator)
    many = rate > 10
    if bool(many.any()):
        few = _native.where(many, _many(rate.clamp(min=10), generator), few)
    return few.to(input.dtype)


def _window(terms, length, periodic, dtype):
    """A sum of cosines over a window."""
    if length == 1:
        return _native.ones(1, dtype=dtype)
    turn = 2 * math.pi / (length if periodic else length - 1)
    n = arange(length, dtype=_native.float64)
    total = sum(a * (n * (k * turn)).cos() for k, a in enumerate(terms))
    return total.to(_native.float32 if dtype is None else dtype)


def hann_window(window_length, periodic=True, *, dtype=None):
    """Half a wave of a raised cosine."""
    return _window([0.5, -0.5], window_length, periodic, dtype)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None):
    """A raised cosine that does not reach zero."""
    return _window([alpha, -beta], window_length, periodic, dtype)


def blackman_window(window_length, periodic=True, *, dtype=None):
    """A sum of two cosines."""
    return _window([0.42, -0.5, 0.08], window_length, periodic, dtype)


def bartlett_window(window_length, periodic=True, *, dtype=None):
    """Up and down in straight lines."""
    if window_length == 1:
        return _native.ones(1, dtype=dtype)
    n = arange(window_length, dtype=_native.float64) * (2 / (window_length if periodic else window_length - 1))
    return (1 - (n - 1).abs()).to(_native.float32 if dtype is None else dtype)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None):
    """Of Bessel functions, with most of its energy in few frequencies."""
    from .bessel import i0

    if window_length == 1:
        return _native.ones(1, dtype=dtype)
    n = arange(window_length, dtype=_native.float64) * (2 / (window_length if periodic else window_length - 1)) - 1
    total = i0(beta * (1 - n * n).clamp(min=0).sqrt()) / i0(tensor(float(beta), dtype=_native.float64))
    return total.to(_native.float32 if dtype is None else dtype)


def _typed(name):
    def make(*data):
        dtype = getattr(_native, name)
        if len(data) == 1 and not isinstance(data[0], int):
            return tensor(data[0], dtype=dtype)
        return _native.zeros(data or (0,), dtype=dtype)

    make.__doc__ = f"A tensor of `{name}` from data, or of given extents: PyTorch's older way to say `tensor(…, dtype={name})`."
    make.__module__ = __name__
    return make


FloatTensor, DoubleTensor, HalfTensor = _typed("float32"), _typed("float64"), _typed("float16")
LongTensor, IntTensor, ByteTensor, BoolTensor = _typed("int64"), _typed("int32"), _typed("uint8"), _typed("bool")


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor of the memory of bytes, an array or anything else with a buffer; of a copy if that cannot be written to.

    >>> import gradus
    >>> gradus.frombuffer(b"\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00", dtype=gradus.int32)
    tensor([1, 2], dtype=gradus.int32)
    """
    import numpy

    size = dtype.itemsize
    read = numpy.frombuffer(buffer, numpy.uint8, count if count < 0 else count * size, offset)
    if len(read) == 0 or len(read) % size:
        raise ValueError(f"{len(read)} bytes from offset {offset} on are not some elements of {size} bytes each")
    made = _native.from_numpy(read).view(dtype)
    return made.requires_grad_() if requires_grad else made
