"""Modified Bessel functions and incomplete gamma functions that are also methods of `Tensor`."""

from .. import _native
from .._native import Tensor, as_tensor
from .pointwise import result_type


def _floats(x):
    """Converts to floats: integers get the default dtype."""
    x = as_tensor(x)
    return x if x.is_floating_point() or x.is_complex() else x.to(_native.get_default_dtype())


def _pair(input, other):
    """Converts two operands, one of which may be a number, to float tensors of their common dtype."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError(f"expected a Tensor and a Tensor or number, but got ({type(input).__name__}, {type(other).__name__})")
    dtype = result_type(input, other)
    dtype = dtype if dtype.is_floating_point or dtype.is_complex else _native.get_default_dtype()
    return as_tensor(input).to(dtype), as_tensor(other).to(dtype)


def _of_one(name, input):
    """Computes a special function of the core."""
    return _native._pointwise(name, _floats(input))


def i0(input):
    """Computes the modified Bessel function of order 0."""
    return _of_one("bessel_i0", input)


class _Derivative:
    """A derivative that PyTorch does not implement: raises in a backward pass."""

    def __init__(self, name):
        self.name = name

    def __call__(self, grad):
        raise NotImplementedError(f"the derivative for '{self.name}: input' is not implemented.")


def _incomplete(name, input, other):
    """Computes an incomplete gamma function. As in PyTorch, a backward pass to `input` raises an error; transforms of functions
    compute that derivative."""
    a, x = _native.broadcast_tensors(*_pair(input, other))
    if _native.is_tracing() or not (a.requires_grad and _native.is_grad_enabled()):
        return _native._pointwise(name, a, x)
    zeros = a.masked_fill(~a.isnan(), 0)
    zeros.register_hook(_Derivative(name))
    return _native._pointwise(name, a.detach(), x) + zeros


def igamma(input, other):
    """Computes the regularised lower incomplete gamma function P(`input`, `other`).

    >>> import gradus
    >>> gradus.igamma(gradus.tensor([1.0]), gradus.tensor([2.0]))
    tensor([0.8647])
    """
    return _incomplete("igamma", input, other)


def igammac(input, other):
    """Computes the regularised upper incomplete gamma function, `1 - igamma`, accurate where it is small.

    >>> import gradus
    >>> gradus.igammac(gradus.tensor([1.0]), gradus.tensor([2.0]))
    tensor([0.1353])
    """
    return _incomplete("igammac", input, other)
