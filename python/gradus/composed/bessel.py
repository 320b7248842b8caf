"""Modified Bessel functions of the first kind.

Up to 30 by the rule of trapezes over a whole period of their integral, which has no error to speak of there; beyond by the
series for large arguments.
"""

import math

from .._native import arange, where

_POINTS, _FAR, _TERMS = 32, 30.0, 24


def _near(x, odd):
    """The mean of `cosh(x cos t)`, or of `cos t sinh(x cos t)`, over a quarter of a turn."""
    t = (arange(_POINTS, dtype=x.dtype) + 0.5) * (math.pi / 2 / _POINTS)
    c = t.cos()
    inner = x.unsqueeze(-1) * c
    return (inner.sinh() * c).mean(-1) if odd else inner.cosh().mean(-1)


def _far(x, order):
    """`exp(-x) sqrt(2 pi x)` times the function, for large `x`."""
    term, total = 1.0, 1.0
    for k in range(1, _TERMS):
        term = term * -(4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
        total = total + term
    return total


def _bessel(x, order, scaled):
    x = x if x.is_floating_point() else x.float()
    size = x.abs()
    small, large = size.clamp(max=_FAR), size.clamp(min=_FAR)
    near, far = _near(small, order == 1), _far(large, order) / (2 * math.pi * large).sqrt()
    near = near * (-small).exp() if scaled else near
    far = far if scaled else far * large.exp()
    result = where(size <= _FAR, near, far)
    return result * x.sign() if order == 1 else result


def i0(input):
    """The modified Bessel function of order 0."""
    return _bessel(input, 0, False)


def _i0e(input):
    """`exp(-|x|) i0(x)`."""
    return _bessel(input, 0, True)


def _i1(input):
    """The modified Bessel function of order 1."""
    return _bessel(input, 1, False)


def _i1e(input):
    """`exp(-|x|) i1(x)`."""
    return _bessel(input, 1, True)
