"""All functions and names of the package's top level: `gradus` exports them, and the other modules use them.

Most functions are methods of `Tensor` under the same name (`gradus.exp(x)` is `x.exp()`); the tables below list them.
Functions without a method come from the native module, from `composed` or from `grad_mode`.
"""

import builtins
import functools
import math

from . import _native, catalog, composed, inplace, subclass
from ._native import *  # noqa: F403
from ._native import Tensor
from ._examples import documented as _documented
from .composed import *  # noqa: F403
from ._device import located as _located
from .keywords import findable as _findable
from .keywords import with_keywords as _with_keywords
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from .limits import finfo, iinfo  # noqa: F401

_METHODS = """
abs absolute neg negative sign sgn signbit exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan asin
arcsin acos arccos atan arctan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma sinc floor ceil trunc
fix frac round rad2deg deg2rad isnan isinf isfinite logical_not bitwise_not angle conj logit nan_to_num clamp clip clamp_min
clamp_max

add sub subtract mul multiply div divide fmod remainder floor_divide maximum minimum atan2 arctan2 hypot copysign logaddexp
xlogy heaviside eq ne not_equal lt less le less_equal gt greater ge greater_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift isclose allclose equal lerp addcmul addcdiv

relu relu6 selu silu mish logsigmoid softsign tanhshrink hardsigmoid hardswish

sum prod mean any all amax amin max min argmax argmin var std norm logsumexp cumsum cumprod cummax cummin logcumsumexp sort
argsort topk median count_nonzero bincount unique

reshape permute transpose swapaxes swapdims t movedim broadcast_to squeeze unsqueeze flatten unflatten narrow select split
chunk unbind tile repeat_interleave flip fliplr flipud roll rot90 ravel tril triu diag diagonal diag_embed trace clone detach
adjoint as_strided

gather index_fill index_select take take_along_dim masked_select masked_fill scatter scatter_add scatter_reduce index_add index_copy
nonzero argwhere cross

matmul mm bmm mv dot outer inner kron addmm matrix_power matrix_exp det logdet inverse pinverse

softmax log_softmax
""".split()


# Native functions with an `out=` argument in PyTorch.
_WRITING = """
arange bernoulli cat complex empty eye full linspace logspace multinomial normal ones polar rand randint randn randperm stack
tensordot tril_indices triu_indices where zeros
""".split()

#: Functions that take `device=`, `layout=`, `pin_memory=` and `memory_format=`.
_CREATING = set("""
arange asarray bartlett_window blackman_window empty empty_permuted empty_strided eye full hamming_window hann_window kaiser_window linspace logspace normal ones
rand randint randint_like randn randperm range scalar_tensor tril_indices triu_indices zeros
""".split())

_SPREAD = {"reshape": "shape", "permute": "dims", "flip": "dims", "tile": "dims", "broadcast_to": "size"}

for _name in _METHODS:
    if not hasattr(_native, _name):
        globals()[_name] = _with_keywords(getattr(Tensor, _name), spread=_SPREAD.get(_name))
for _name in _WRITING:
    globals()[_name] = _with_keywords(getattr(_native, _name), first=None, creates=_name in _CREATING)
for _name in ("empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like"):
    globals()[_name] = _with_keywords(getattr(_native, _name), creates=True)

# Functions that are also methods in PyTorch.
for _name in composed.__all__:
    if _name in composed.REPLACING or (not hasattr(Tensor, _name) and _name not in composed.FUNCTIONS_ONLY):
        setattr(Tensor, _name, _located(getattr(composed, _name)))
for _name in composed.__all__:
    globals()[_name] = _with_keywords(getattr(composed, _name), first=None, creates=_name in _CREATING)
for _name in catalog.install(known=composed.__all__):
    globals()[_name] = _with_keywords(getattr(Tensor, _name))
inplace.install()
subclass.install()

# Fourier transforms are exported by the module `fft` only.
for _name in "fft fftfreq fftn fftshift ifft ifftn ifftshift irfft rfft rfftfreq rfftn".split():
    globals().pop(_name, None)
inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None
concat = concatenate = cat  # noqa: F405
arctanh, arcsinh, arccosh = atanh, asinh, acosh  # noqa: F405
Tensor.arctanh, Tensor.arcsinh, Tensor.arccosh = Tensor.atanh, Tensor.asinh, Tensor.acosh


# Functions that change their argument in PyTorch.
for _name in """
abs acos acosh asin asinh atan atanh ceil clamp clamp_max clamp_min clip cos cosh deg2rad detach erf erfc exp exp2 expm1 fill floor frac
i0 index_put log log10 log1p log2 logit nan_to_num neg rad2deg reciprocal relu resize_as round rsqrt sigmoid sin sinh sqrt square tan tanh trunc
xlogy zero
""".split():
    globals()[f"{_name}_"] = getattr(Tensor, f"{_name}_")


def real(input):
    """Computes the real parts."""
    return input.real


def imag(input):
    """Computes the imaginary parts."""
    return input.imag


def polygamma(n, input):
    """Computes the `n`-th derivative of `digamma`."""
    return input.polygamma(n)


def is_floating_point(input):
    """Returns true if elements are real floats."""
    return input.is_floating_point()


def is_complex(input):
    """Returns true if elements are complex."""
    return input.is_complex()


def is_nonzero(input):
    """Returns true if the only element is not zero."""
    return builtins.bool(input)  # the package has a dtype of that name


def _new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """Returns a tensor of one number, with this tensor's dtype by default."""
    kind = {"dtype": self.dtype if dtype is None else dtype, "device": self.device if device is None else device}
    return _native.full(size, fill_value, **kind, requires_grad=requires_grad)


def _new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """`empty_strided` with this tensor's dtype by default.

    >>> import gradus
    >>> gradus.zeros(1).new_empty_strided((2, 3), (1, 2)).shape
    gradus.Size([2, 3])
    """
    kind = {"dtype": self.dtype if dtype is None else dtype, "device": self.device if device is None else device}
    return empty_strided(size, stride, **kind, requires_grad=requires_grad)  # noqa: F405


_precision = ["highest"]


def set_float32_matmul_precision(precision):
    """Sets the precision of `float32` products in PyTorch; stored without effect, because products always have full precision here.

    >>> import gradus
    >>> gradus.set_float32_matmul_precision("high")
    >>> gradus.get_float32_matmul_precision()
    'high'
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision!r} is not one of 'highest', 'high', 'medium'")
    _precision[0] = precision


def get_float32_matmul_precision():
    """Returns the value set by `set_float32_matmul_precision`."""
    return _precision[0]


def _method(function):
    """Wraps a native function as a method, because it does not bind by itself."""
    return functools.wraps(function)(lambda self, *args, **kwargs: function(self, *args, **kwargs))


for _name in ("prelu", "hardshrink", "slogdet"):
    setattr(Tensor, _name, _method(getattr(_native, _name)))
Tensor.is_nonzero = is_nonzero
Tensor.new_full = _new_full
Tensor.new_empty_strided = _new_empty_strided
Tensor.__rdiv__ = Tensor.__rtruediv__
_documented({"new_full": _new_full})

_documented(globals())
_findable(globals(), "gradus")
