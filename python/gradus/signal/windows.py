"""Window functions, under the names of `torch.signal.windows`.

Every function takes the number of samples `M`. With `sym=False` the window is periodic: it is the symmetric window of
`M + 1` samples without the last one. Samples are computed in float64 and rounded once to `dtype`.
"""

import math
from collections.abc import Iterable

from .. import _native
from .._native import arange
from ..composed.bessel import _of_one
from ..settings import strided

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
           "nuttall"]


def _made(name, M, sym, dtype, layout, device, requires_grad, samples):
    """Makes a window from `samples(n, span)`: `n` holds the sample indices, `span` is the distance between its ends."""
    dtype = _native.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if dtype not in (_native.float32, _native.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if layout is not None and layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if M < 2:
        window = _native.ones(M, dtype=dtype, device=device)
    else:
        # On the CPU, since devices may lack float64.
        window = _native._call_on("cpu", lambda: samples(arange(M, dtype=_native.float64), M - 1 if sym else M), (), {})
        window = window.to(_native._default_device() if device is None else device, dtype)
    return window.requires_grad_() if requires_grad else window


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a triangle from 0 to 1 and back.

    >>> import gradus
    >>> gradus.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _made("bartlett", M, sym, dtype, layout, device, requires_grad, lambda n, span: 1 - (n * (2 / span) - 1).abs())


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a sum of cosines with the coefficients `a`, whose signs alternate: `a[0] - a[1] cos(t) + a[2] cos(2t) - …`.

    >>> import gradus
    >>> gradus.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    a = list(a)
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def samples(n, span):
        return sum((-1) ** k * c * (n * (2 * math.pi * k / span)).cos() for k, c in enumerate(a))

    return _made("general_cosine", M, sym, dtype, layout, device, requires_grad, samples)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a raised cosine: `alpha - (1 - alpha) cos(t)`.

    >>> import gradus
    >>> gradus.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a raised cosine that does not reach 0 at its ends.

    >>> import gradus
    >>> gradus.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a raised cosine that is 0 at its ends.

    >>> import gradus
    >>> gradus.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a sum of three cosines.

    >>> import gradus
    >>> gradus.signal.windows.blackman(3).round(decimals=4).abs()
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a sum of four cosines with the smallest sidelobes.

    >>> import gradus
    >>> gradus.signal.windows.nuttall(3).round(decimals=4)
    tensor([4.0000e-04, 1.0000e+00, 4.0000e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a period of a sine, taken in the middle of each sample.

    >>> import gradus
    >>> gradus.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _made("cosine", M, sym, dtype, layout, device, requires_grad, lambda n, span: ((n + 0.5) * (math.pi / (span + 1))).sin())


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """`exp(-|n - center| / tau)`. The centre is the middle, unless `center` is given, which only periodic windows accept.

    >>> import gradus
    >>> gradus.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def samples(n, span):
        return (-(n - (span / 2 if center is None else center)).abs() / tau).exp()

    return _made("exponential", M, sym, dtype, layout, device, requires_grad, samples)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Returns a normal density with its maximum 1 in the middle and the standard deviation `std`, in samples.

    >>> import gradus
    >>> gradus.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _made("gaussian", M, sym, dtype, layout, device, requires_grad, lambda n, span: (-((n - span / 2) / std).square() / 2).exp())


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """`I0(beta sqrt(1 - t²)) / I0(beta)`, where `t` runs from -1 to 1 and `I0` is the modified Bessel function.

    >>> import gradus
    >>> gradus.signal.windows.kaiser(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def samples(n, span):
        t = n * (2 / span) - 1
        x = beta * (1 - t * t).clamp(min=0).sqrt()
        # Both functions are scaled by exp(-x), so that a large `beta` does not overflow.
        return _of_one("bessel_i0e", x) / _of_one("bessel_i0e", _native.tensor(float(beta), dtype=_native.float64)) * (x - beta).exp()

    return _made("kaiser", M, sym, dtype, layout, device, requires_grad, samples)
