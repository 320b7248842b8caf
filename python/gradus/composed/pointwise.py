"""Element by element."""

import math

from .._native import Tensor, arange, as_tensor, complex, stack, where, zeros, zeros_like


def view_as_real(input):
    """Complex numbers as pairs along a new last axis; a copy.

    >>> import gradus
    >>> gradus.view_as_real(gradus.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    return stack([input.real, input.imag], -1)


def view_as_complex(input):
    """Pairs along the last axis as complex numbers; a copy.

    >>> import gradus
    >>> gradus.view_as_complex(gradus.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if input.dim() == 0 or input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return complex(input[..., 0], input[..., 1])


def promote_types(type1, type2):
    """The dtype that two dtypes have together.

    >>> import gradus
    >>> gradus.promote_types(gradus.int64, gradus.float32)
    gradus.float32
    """
    return (zeros(1, dtype=type1) + zeros(1, dtype=type2)).dtype


def result_type(tensor1, tensor2):
    """The dtype of what two tensors or numbers give together.

    >>> import gradus
    >>> gradus.result_type(gradus.ones(2, dtype=gradus.int32), 1.5)
    gradus.float32
    """
    small = [zeros([1] * x.dim(), dtype=x.dtype) if isinstance(x, Tensor) else x for x in (tensor1, tensor2)]
    return as_tensor(small[0] + small[1]).dtype


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


def resolve_conj(input):
    """The tensor itself: nothing is conjugated later."""
    return input


def resolve_neg(input):
    """The tensor itself: nothing is negated later."""
    return input


def is_conj(input):
    """Whether it is still to be conjugated: no."""
    return False


def is_neg(input):
    """Whether it is still to be negated: no."""
    return False


def is_signed(input):
    """Whether elements may be negative."""
    return input.dtype.is_signed


def is_same_size(input, other):
    """Whether both have the same extents."""
    return tuple(input.shape) == tuple(other.shape)
