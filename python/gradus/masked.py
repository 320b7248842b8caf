"""Reductions and normalisations of the elements that a boolean mask selects, as in `torch.masked`.

Elements where the mask is False are replaced by the neutral element (0 in a sum, minus infinity in a
maximum). The mask broadcasts to the input. Without a mask all elements are selected.
"""

import builtins
import math

from . import _native, limits as _limits, linalg as _linalg
from ._native import bool as _bool

__all__ = """
amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm normalize prod softmax softmin std sum var
""".split()


def _input_mask(input, *args, mask=None, **kwargs):
    """Returns the mask in the shape of the input; all True if there is none."""
    if mask is None:
        return _native.zeros(tuple(input.shape), dtype=_bool).logical_not()
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.to(_bool).expand(tuple(input.shape))


def _output_mask(op, input, *args, **kwargs):
    """Returns which results of a function of this module depend on at least one selected element."""
    mask = _input_mask(input, mask=kwargs.get("mask"))
    if op.__name__ in ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"):
        return mask
    if op.__name__ == "norm":
        args = args[1:]
    return mask.any(args[0] if args else kwargs.get("dim"), keepdim=builtins.bool(kwargs.get("keepdim", False)))


def _selected(input, mask, neutral):
    """Returns the input with `neutral` where the mask is False."""
    return input if mask is None else input.masked_fill(~_input_mask(input, mask=mask), neutral)


def _lowest(dtype, sign):
    """Returns the least value of a dtype, or with `sign` -1 the largest."""
    if dtype == _bool:
        return sign < 0
    if dtype.is_floating_point:
        return -sign * math.inf
    return _limits.iinfo(dtype).min if sign > 0 else _limits.iinfo(dtype).max


def _counted(dtype):
    """Returns the dtype of sums and products: int64 for integers and booleans."""
    return dtype if dtype.is_floating_point or dtype.is_complex else _native.int64


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the sum of the selected elements; 0 where there are none.

    >>> import gradus
    >>> x, mask = gradus.tensor([[1.0, 2.0], [3.0, 4.0]]), gradus.tensor([[True, False], [True, True]])
    >>> gradus.masked.sum(x, 1, mask=mask)
    tensor([1., 7.])
    """
    return _selected(input, mask, 0).sum(dim, keepdim=keepdim, dtype=_counted(input.dtype) if dtype is None else dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the product of the selected elements; 1 where there are none.

    >>> import gradus
    >>> gradus.masked.prod(gradus.tensor([2.0, 3.0, 4.0]), mask=gradus.tensor([True, False, True]))
    tensor(8.)
    """
    return _selected(input, mask, 1).prod(dim, keepdim=keepdim, dtype=_counted(input.dtype) if dtype is None else dtype)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Computes the running sum of the selected elements.

    >>> import gradus
    >>> gradus.masked.cumsum(gradus.tensor([2.0, 3.0, 4.0]), 0, mask=gradus.tensor([True, False, True]))
    tensor([2., 2., 6.])
    """
    dtype = input.dtype if dtype is None else dtype
    return _selected(input, mask, 0).cumsum(dim, dtype=dtype).to(dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Computes the running product of the selected elements.

    >>> import gradus
    >>> gradus.masked.cumprod(gradus.tensor([2.0, 3.0, 4.0]), 0, mask=gradus.tensor([True, False, True]))
    tensor([2., 2., 8.])
    """
    dtype = input.dtype if dtype is None else dtype
    return _selected(input, mask, 1).cumprod(dim, dtype=dtype).to(dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the largest of the selected elements.

    >>> import gradus
    >>> gradus.masked.amax(gradus.tensor([2.0, 3.0, 9.0]), mask=gradus.tensor([True, True, False]))
    tensor(3.)
    """
    return _selected(input, mask, _lowest(input.dtype, 1)).amax(dim, keepdim).to(input.dtype if dtype is None else dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the smallest of the selected elements.

    >>> import gradus
    >>> gradus.masked.amin(gradus.tensor([2.0, 3.0, 9.0]), mask=gradus.tensor([False, True, True]))
    tensor(3.)
    """
    return _selected(input, mask, _lowest(input.dtype, -1)).amin(dim, keepdim).to(input.dtype if dtype is None else dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Returns the position of the largest selected element, in the dtype of the input.

    >>> import gradus
    >>> gradus.masked.argmax(gradus.tensor([2, 3, 9]), mask=gradus.tensor([True, True, False]))
    tensor(1)
    """
    return _selected(input, mask, _lowest(input.dtype, 1)).argmax(dim, keepdim).to(input.dtype if dtype is None else dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Returns the position of the smallest selected element, in the dtype of the input.

    >>> import gradus
    >>> gradus.masked.argmin(gradus.tensor([2, 3, 9]), mask=gradus.tensor([False, True, True]))
    tensor(1)
    """
    return _selected(input, mask, _lowest(input.dtype, -1)).argmin(dim, keepdim).to(input.dtype if dtype is None else dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the mean of the selected elements; NaN where there are none.

    >>> import gradus
    >>> gradus.masked.mean(gradus.tensor([2.0, 3.0, 4.0]), mask=gradus.tensor([True, False, True]))
    tensor(3.)
    """
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean(): the output dtype must be a floating point or complex dtype, not {dtype}")
    count = _input_mask(input, mask=mask).sum(dim, keepdim=keepdim)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Computes the median of the selected elements along an axis, of an even number the lower; NaN where there are none.

    >>> import gradus
    >>> gradus.masked.median(gradus.tensor([2.0, 3.0, 4.0]), mask=gradus.tensor([True, False, True]))
    tensor(2.)
    """
    floating = input.is_floating_point()
    found = _selected(input if floating else input.to(_native.float32), mask, math.nan).nanmedian(dim, keepdim).values
    if floating:
        return found
    if builtins.bool(found.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(input.dtype if dtype is None else dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the logarithm of the sum of the exponentials of the selected elements.

    >>> import gradus
    >>> gradus.masked.logsumexp(gradus.tensor([0.0, 9.0, 0.0]), 0, mask=gradus.tensor([True, False, True]))
    tensor(0.6931)
    """
    floating = input.is_floating_point() or input.is_complex()
    neutral = -math.inf if floating else _lowest(input.dtype, 1)
    dim = tuple(range(input.dim())) if dim is None else dim
    result = _selected(input, mask, neutral).logsumexp(dim, keepdim)
    return result.to(input.dtype if dtype is None else dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """`log(exp(input) + exp(other))` of the selected elements of each.

    >>> import gradus
    >>> mask = gradus.tensor([True, False])
    >>> gradus.masked.logaddexp(gradus.tensor([0.0, 1.0]), gradus.tensor([0.0, 1.0]), input_mask=mask)
    tensor([0.6931, 1.0000])
    """
    first, second = _selected(input, input_mask, -math.inf), _selected(other, other_mask, -math.inf)
    return first.logaddexp(second).to(input.dtype if dtype is None else dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Computes the vector norm of the selected elements.

    >>> import gradus
    >>> gradus.masked.norm(gradus.tensor([3.0, 9.0, 4.0]), mask=gradus.tensor([True, False, True]))
    tensor(5.)
    """
    kept = _selected(input, mask, math.inf if ord == -math.inf else 0)
    return _linalg.vector_norm(kept, ord, dim, builtins.bool(keepdim), dtype=input.dtype if dtype is None else dtype)


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask):
    """Computes the variance of the selected elements."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    correction = correction if correction is not None else 0 if unbiased is False else 1
    floating = input.is_floating_point() or input.is_complex()
    dtype = dtype if dtype is not None else input.dtype if floating else _native.float32
    inner = dtype if dtype.is_floating_point or dtype.is_complex else _native.float32
    count = _input_mask(input, mask=mask).sum(dim, keepdim=True)
    x = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    total = sum(x * x.conj(), dim, keepdim=keepdim, dtype=inner, mask=mask)
    count = count.reshape(total.shape)
    if correction:
        count = (count.to(total.real.dtype) - correction).clamp(min=0)
    return (total / count).to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Computes the variance of the selected elements.

    >>> import gradus
    >>> gradus.masked.var(gradus.tensor([2.0, 9.0, 4.0]), mask=gradus.tensor([True, False, True]))
    tensor(2.)
    """
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Computes the standard deviation of the selected elements.

    >>> import gradus
    >>> gradus.masked.std(gradus.tensor([2.0, 9.0, 4.0]), unbiased=False, mask=gradus.tensor([True, False, True]))
    tensor(1.)
    """
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input, dim, *, dtype=None, mask=None):
    """`softmax` over the selected elements; the others get 0.

    >>> import gradus
    >>> gradus.masked.softmax(gradus.tensor([0.0, 9.0, 0.0]), 0, mask=gradus.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    dtype = input.dtype if dtype is None else dtype
    return _selected(input, mask, _lowest(input.dtype, 1)).to(dtype).softmax(dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """`log_softmax` over the selected elements; the others get minus infinity.

    >>> import gradus
    >>> gradus.masked.log_softmax(gradus.tensor([0.0, 9.0, 0.0]), 0, mask=gradus.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    dtype = input.dtype if dtype is None else dtype
    return _selected(input, mask, _lowest(input.dtype, 1)).to(dtype).log_softmax(dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """`softmin` over the selected elements; the others get 0.

    >>> import gradus
    >>> gradus.masked.softmin(gradus.tensor([0.0, -9.0, 0.0]), 0, mask=gradus.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    dtype = input.dtype if dtype is None else dtype
    return (-_selected(input, mask, _lowest(input.dtype, -1)).to(dtype)).softmax(dim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Divides the selected elements by their norm along an axis, which is at least `eps`; the others get 0.

    >>> import gradus
    >>> gradus.masked.normalize(gradus.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=gradus.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=input.dtype if dtype is None else dtype, mask=mask)
    return _selected(input, mask, 0) / _native.where(length < eps, eps, length).to(length.dtype)

from ._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
