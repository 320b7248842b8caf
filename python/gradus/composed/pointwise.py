"""Elementwise functions."""

import math

from .._native import bool as bool_
from .._native import Tensor, arange, as_tensor, broadcast_tensors, complex128, float32, float64, int32, int64, stack, where, zeros, zeros_like

# Largest number of terms: integers that `float32` represents; more would take minutes.
_MAX_TERMS = 2**24


def view_as_real(input):
    """Complex numbers as pairs along a new last axis.

    >>> import gradus
    >>> gradus.view_as_real(gradus.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return input._pairs()


def view_as_complex(input):
    """Pairs along the last axis as complex numbers.

    >>> import gradus
    >>> gradus.view_as_complex(gradus.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if input.dim() == 0 or input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return input._of_pairs()


def promote_types(type1, type2):
    """Returns the dtype to which two dtypes are promoted.

    >>> import gradus
    >>> gradus.promote_types(gradus.int64, gradus.float32)
    gradus.float32
    """
    return (zeros(1, dtype=type1) + zeros(1, dtype=type2)).dtype


def result_type(tensor1, tensor2):
    """Returns the dtype of an operation on two tensors or numbers.

    >>> import gradus
    >>> gradus.result_type(gradus.ones(2, dtype=gradus.int32), 1.5)
    gradus.float32
    """
    small = [zeros([1] * x.dim(), dtype=x.dtype) if isinstance(x, Tensor) else x for x in (tensor1, tensor2)]
    return as_tensor(small[0] + small[1]).dtype


def positive(input):
    """Returns the tensor itself."""
    return +input


def true_divide(input, other):
    """`input / other`."""
    return (input if isinstance(input, Tensor) or isinstance(other, Tensor) else as_tensor(input)) / other


def pow(input, exponent):
    """`input ** exponent`; either may be a number."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(f"pow() takes at least one Tensor, but got ({type(input).__name__}, {type(exponent).__name__})")
    return input**exponent


def fmax(input, other):
    """Computes the elementwise maximum; if one is NaN, the other."""
    return where(other.isnan(), input, where(input.isnan(), other, input.maximum(other)))


def fmin(input, other):
    """Computes the elementwise minimum; if one is NaN, the other."""
    return where(other.isnan(), input, where(input.isnan(), other, input.minimum(other)))


def logaddexp2(input, other):
    """`log2(2**input + 2**other)`, without overflow."""
    log2 = math.log(2.0)
    return (input * log2).logaddexp(other * log2) / log2


def mvlgamma(input, p):
    """Computes the logarithm of the gamma function of `p` dimensions."""
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but is {p}")
    if p > _MAX_TERMS:
        raise RuntimeError(f"p is {p}: there are more terms to add than {_MAX_TERMS}")
    terms = (input.unsqueeze(-1) - arange(p, dtype=input.dtype) / 2).lgamma().sum(-1)
    return terms + p * (p - 1) / 4 * math.log(math.pi)


def isposinf(input):
    """Returns true for elements that are plus infinity."""
    return input == math.inf


def isneginf(input):
    """Returns true for elements that are minus infinity."""
    return input == -math.inf


def isreal(input):
    """Returns true for elements without imaginary part."""
    return input.imag == 0 if input.is_complex() else zeros_like(input) == 0


def float_power(input, exponent):
    """`input ** exponent` in float64, or complex128 where one of both is complex."""
    is_complex = any(x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex) for x in (input, exponent))
    double = complex128 if is_complex else float64
    base, exponent = (as_tensor(x).to(double) for x in (input, exponent))
    return base**exponent


def ldexp(input, other):
    """`input * 2**other`."""
    return input * 2.0 ** as_tensor(other).to(input.dtype)


def rsub(input, other, *, alpha=1):
    """`other - alpha * input`."""
    return other - input * alpha


def resolve_conj(input):
    """Returns the tensor: conjugation is never deferred."""
    return input


def resolve_neg(input):
    """Returns the tensor: negation is never deferred."""
    return input


def is_conj(input):
    """Returns False: conjugation is never deferred."""
    return False


def is_neg(input):
    """Returns False: negation is never deferred."""
    return False


def is_signed(input):
    """Returns true if the dtype has negative values."""
    return input.dtype.is_signed


def is_same_size(input, other):
    """Returns true if both have the same extents."""
    return tuple(input.shape) == tuple(other.shape)


def nextafter(input, other):
    """Computes the next representable number after each, towards `other`.

    >>> import gradus
    >>> gradus.nextafter(gradus.tensor([1.0]), gradus.tensor([2.0])) - 1
    tensor([1.1921e-07])
    """
    if input.dtype != other.dtype or input.dtype not in (float32, float64):
        raise NotImplementedError(f"nextafter of {input.dtype} and {other.dtype} is not supported; both must be float32 or float64")
    whole, sign = (int32, 31) if input.dtype == float32 else (int64, 63)
    given, other = broadcast_tensors(input, other.detach())
    input = given.detach()
    bits = input.clone().view(whole)
    # Numbers of one sign have the order of their bits as integers.
    away = bits + where((input < other) == (input > 0), 1, -1).to(whole)
    least = where(other > 0, 1, 1 - 2**sign if sign == 31 else -(2**63) + 1).to(whole)
    moved = where(input == 0, least, away).view(input.dtype)
    result = where(input.isnan() | other.isnan(), input + other, where(input == other, other, moved))
    # The derivative with respect to the input is 1.
    return result + (given - input.masked_fill(input.isinf(), 0)).masked_fill(input.isinf(), 0) if given.requires_grad else result


def frexp(input):
    """Mantissas with magnitudes from 1/2 to 1, and exponents of 2: `input = mantissa * 2**exponent`.

    >>> import gradus
    >>> gradus.frexp(gradus.tensor([8.0, -0.75]))
    frexp(mantissa=tensor([ 0.5000, -0.7500]), exponent=tensor([4, 0], dtype=gradus.int32))
    """
    from .._results import frexp as result

    if not input.is_floating_point():
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {input.dtype}")
    plain = input.detach().isfinite() & (input.detach() != 0)
    # Subnormal numbers are scaled to normal ones first. Those of narrower dtypes are normal in float64.
    wide = where(plain, input.detach().double(), 1.0)
    tiny = wide.abs() < 2.0**-1022
    bits = where(tiny, wide * 2.0**64, wide).view(int64)
    exponent = where(plain, ((bits >> 52) & 2047) - 1022 - where(tiny, 64, 0), 0)
    # Two factors, because a single one may overflow.
    half = exponent // 2
    scale = [(2.0 ** -e.double()).to(input.dtype if input.dtype == float64 else float32) for e in (half, exponent - half)]
    return result((input * scale[0] * scale[1]).to(input.dtype), exponent.to(int32))


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """Quantizes to integers from `quant_min` to `quant_max` and back. Gradients pass within that range.

    >>> import gradus
    >>> gradus.fake_quantize_per_tensor_affine(gradus.tensor([0.26, 9.0]), 0.1, 0, 0, 10)
    tensor([0.3000, 1.0000])
    """
    q = (input.detach() * (1.0 / scale)).round() + zero_point
    value = (q.clamp(quant_min, quant_max) - zero_point) * scale
    inside = (q >= quant_min) & (q <= quant_max)
    return where(inside, input + (value - input.detach()), value)


def can_cast(from_, to):
    """Returns true if one dtype can be converted to another: not complex to real, float to integer, or number to boolean.

    >>> import gradus
    >>> gradus.can_cast(gradus.float64, gradus.float32), gradus.can_cast(gradus.float32, gradus.int64)
    (True, False)
    """
    def rank(dtype):
        return 3 if dtype.is_complex else 2 if dtype.is_floating_point else int(dtype != bool_)

    return rank(from_) <= rank(to)
