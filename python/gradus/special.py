"""Special functions, under the names of `torch.special`."""

import math

from .composed import bessel as _bessel
from .core import (  # noqa: F401
    as_tensor, digamma, erf, erfc, erfinv, exp2, expm1, i0, lgamma, log1p, log_softmax, logit, logsumexp, mvlgamma, polygamma, round,
    sigmoid, sinc, softmax, where, xlogy,
)

expit, psi, gammaln, multigammaln = sigmoid, digamma, lgamma, mvlgamma


def entr(input):
    """`-x log x`; 0 at 0, minus infinity below.

    >>> import gradus
    >>> gradus.special.entr(gradus.tensor([0.5, -1.0]))
    tensor([0.3466,   -inf])
    """
    return where(input < 0, -math.inf, -xlogy(input, input))


def xlog1py(input, other):
    """`x log(1 + y)`; 0 where `x` is.

    >>> import gradus
    >>> gradus.special.xlog1py(gradus.tensor([0.0, 2.0]), gradus.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    input, other = as_tensor(input), as_tensor(other)
    none = (input == 0) & ~other.isnan()
    return where(none, 0.0, input * other.masked_fill(none, 0).log1p())


def ndtr(input):
    """How likely a standard normal number is smaller.

    >>> import gradus
    >>> gradus.special.ndtr(gradus.tensor([0.0]))
    tensor([0.5000])
    """
    return erfc(-input / math.sqrt(2)) / 2


def ndtri(input):
    """The number that a standard normal one is smaller than with this probability.

    >>> import gradus
    >>> gradus.special.ndtri(gradus.tensor([0.5]))
    tensor([0.])
    """
    return (2 * input - 1).erfinv() * math.sqrt(2)


def erfcx(input):
    """`exp(x²) erfc(x)`, also where the factors are too large and too small.

    >>> import gradus
    >>> gradus.special.erfcx(gradus.tensor(100.0))
    tensor(0.0056)
    """
    near = input.clamp(max=5.0)
    far = input.clamp(min=5.0)
    tail = far
    for k in range(60, 0, -1):  # the continued fraction, from its end
        tail = far + (k / 2) / tail
    return where(input <= 5.0, (near * near).exp() * erfc(near), 1 / (tail * math.sqrt(math.pi)))


def log_ndtr(input):
    """The logarithm of `ndtr`, also far to the left.

    >>> import gradus
    >>> gradus.special.log_ndtr(gradus.tensor(-10.0))
    tensor(-53.2313)
    """
    scaled = input / math.sqrt(2)
    left, right = scaled.clamp(max=-1.0), scaled.clamp(min=-1.0)
    return where(scaled < -1.0, (erfcx(-left) / 2).log() - left * left, (-erfc(right) / 2).log1p())


def i0e(input):
    """`exp(-|x|) i0(x)`.

    >>> import gradus
    >>> gradus.special.i0e(gradus.tensor([0.0]))
    tensor([1.])
    """
    return _bessel._i0e(input)


def i1(input):
    """The modified Bessel function of order 1.

    >>> import gradus
    >>> gradus.special.i1(gradus.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """
    return _bessel._i1(input)


def i1e(input):
    """`exp(-|x|) i1(x)`.

    >>> import gradus
    >>> gradus.special.i1e(gradus.tensor([1.0]))
    tensor([0.2079])
    """
    return _bessel._i1e(input)
