"""All functions and names of the package's top level in one place: `gradus` gives them out, the other modules use them.

Most functions are methods of `Tensor` taken by their own name (`gradus.exp(x)` is `x.exp()`); the tables below list them.
What has no method comes from the native module, from `composed` or from `grad_mode`.
"""

import functools
import math

from . import _native, composed
from ._native import *  # noqa: F403
from ._native import Tensor
from .composed import *  # noqa: F403
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from .limits import finfo, iinfo  # noqa: F401

# Taken as they are, since every nanosecond counts on small tensors.
_ELEMENTWISE = """
abs absolute neg negative sign sgn signbit exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan asin
arcsin acos arccos atan arctan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma sinc floor ceil trunc
fix frac round rad2deg deg2rad isnan isinf isfinite logical_not bitwise_not angle conj logit nan_to_num clamp clip clamp_min
clamp_max real imag

add sub subtract mul multiply div divide fmod remainder floor_divide maximum minimum atan2 arctan2 hypot copysign logaddexp
xlogy heaviside eq ne not_equal lt less le less_equal gt greater ge greater_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift isclose allclose equal lerp addcmul addcdiv

relu relu6 selu silu mish logsigmoid softsign tanhshrink hardsigmoid hardswish
""".split()

# Wrapped, so that the first argument can also be given by its name, `input`.
_OTHERS = """
sum prod mean any all amax amin max min argmax argmin var std norm logsumexp cumsum cumprod cummax cummin logcumsumexp sort
argsort topk median count_nonzero bincount unique

reshape permute transpose swapaxes swapdims t movedim broadcast_to squeeze unsqueeze flatten unflatten narrow select split
chunk unbind tile repeat_interleave flip fliplr flipud roll rot90 ravel tril triu diag diagonal diag_embed trace clone detach

gather index_select take take_along_dim masked_select masked_fill scatter scatter_add scatter_reduce index_add index_copy
nonzero argwhere cross

matmul mm bmm mv dot outer inner kron addmm matrix_power matrix_exp det logdet inverse cholesky

softmax log_softmax
""".split()


def _with_input(method):
    @functools.wraps(method)
    def function(input, *args, **kwargs):
        return method(input, *args, **kwargs)

    return function


for _name in _ELEMENTWISE:
    if not hasattr(_native, _name):
        globals()[_name] = getattr(Tensor, _name)
for _name in _OTHERS:
    if not hasattr(_native, _name):
        globals()[_name] = _with_input(getattr(Tensor, _name))

# Where PyTorch takes functions as methods too.
for _name in composed.__all__:
    if not hasattr(Tensor, _name) and _name not in composed.FUNCTIONS_ONLY:
        setattr(Tensor, _name, getattr(composed, _name))

# Fourier transforms are given out by the module `fft` alone.
for _name in "fft fftfreq fftn fftshift ifft ifftn ifftshift irfft rfft rfftfreq rfftn".split():
    globals().pop(_name, None)
inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None
concat = concatenate = _native.cat
arctanh, arcsinh, arccosh = Tensor.atanh, Tensor.asinh, Tensor.acosh


def polygamma(n, input):
    """The `n`-th derivative of `digamma`."""
    return input.polygamma(n)


def is_floating_point(input):
    """Whether elements are real floats."""
    return input.is_floating_point()


def is_complex(input):
    """Whether elements are complex."""
    return input.is_complex()


def is_nonzero(input):
    """Whether the one element is not zero."""
    return bool(input)


def _new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """A tensor of one number, with this one's dtype unless another is given."""
    return _native.full(size, fill_value, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


class Recorded:
    """That a tensor was computed from others; which ones the native module knows."""

    def __repr__(self):
        return "<Recorded>"


if not hasattr(Tensor, "new_full"):
    Tensor.new_full = _new_full
if not hasattr(Tensor, "grad_fn"):
    Tensor.grad_fn = property(lambda self: None if self.is_leaf else Recorded())
