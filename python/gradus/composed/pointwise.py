"""Element by element."""

import math

from .._native import Tensor, arange, as_tensor, where, zeros_like


def positive(input):
    """The tensor itself."""
    return +input


def true_divide(input, other):
    """`input / other`."""
    return input / other


def pow(input, exponent):
    """`input ** exponent`; either may be a number."""
    return input**exponent


def fmax(input, other):
    """The larger of both; where one is NaN, the other."""
    return where(other.isnan(), input, where(input.isnan(), other, input.maximum(other)))


def fmin(input, other):
    """The smaller of both; where one is NaN, the other."""
    return where(other.isnan(), input, where(input.isnan(), other, input.minimum(other)))


def logaddexp2(input, other):
    """`log2(2**input + 2**other)`, without overflow."""
    log2 = math.log(2.0)
    return (input * log2).logaddexp(other * log2) / log2


def mvlgamma(input, p):
    """The logarithm of the gamma function of `p` dimensions."""
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but is {p}")
    terms = (input.unsqueeze(-1) - arange(p, dtype=input.dtype) / 2).lgamma().sum(-1)
    return terms + p * (p - 1) / 4 * math.log(math.pi)


def isposinf(input):
    """Whether elements are plus infinity."""
    return input == math.inf


def isneginf(input):
    """Whether elements are minus infinity."""
    return input == -math.inf


def isreal(input):
    """Whether elements have no imaginary part."""
    return input.imag == 0 if input.is_complex() else zeros_like(input) == 0


def float_power(input, exponent):
    """`input ** exponent` in float64."""
    double = [x.double() if isinstance(x, Tensor) else float(x) for x in (input, exponent)]
    return double[0] ** double[1]


def ldexp(input, other):
    """`input * 2**other`."""
    return input * 2.0 ** as_tensor(other).to(input.dtype)


def rsub(input, other, *, alpha=1):
    """`other - alpha * input`."""
    return other - input * alpha
