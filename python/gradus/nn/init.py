"""Initial values of parameters, under PyTorch's names. All change their tensor in place and return it."""

import functools
import math
import warnings

from .. import _native
from .._examples import documented as _documented
from ..core import empty, eye as _eye_matrix, no_grad, randn, randperm
from ..linalg import qr


def calculate_gain(nonlinearity, param=None):
    """Returns the recommended scale of weights before a nonlinearity.

    >>> from gradus.nn import init
    >>> round(init.calculate_gain("leaky_relu", 1.0), 6)
    1.0
    """
    return _native._gain(nonlinearity, 0.01 if param is None else param)


def _calculate_fan_in_and_fan_out(tensor):
    return _native._fans(tuple(tensor.shape))


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fills the tensor with draws that are uniform between `a` and `b`.

    >>> import gradus
    >>> bool((gradus.nn.init.uniform_(gradus.empty(100), 2.0, 3.0) >= 2).all())
    True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fills the tensor with normal draws.

    >>> import gradus
    >>> gradus.nn.init.normal_(gradus.empty(2), 5.0, 0.0)
    tensor([5., 5.])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fills the tensor with normal draws, truncated to the interval from `a` to `b`."""

    drawn = empty(tuple(tensor.shape), dtype=tensor.dtype).uniform_(generator=generator)
    return tensor.copy_(_native._truncated(drawn, mean, std, a, b))


@no_grad()
def constant_(tensor, val):
    """Fills the tensor with a constant."""
    return tensor.fill_(val)


def ones_(tensor):
    """Fills the tensor with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fills the tensor with zeros."""
    return constant_(tensor, 0.0)


@no_grad()
def eye_(tensor):
    """Writes the identity matrix, truncated or padded to the shape."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_eye_matrix(*tensor.shape))


@no_grad()
def dirac_(tensor, groups=1):
    """Writes convolution weights that pass as many channels as possible through unchanged."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.zero_()
    per_group = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, tensor.shape[1])):
            tensor[(group * per_group + channel, channel, *middle)] = 1.0
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fills the tensor with uniform draws of the variance 2 / (fan_in + fan_out)."""
    bound = _native._bound(_native._xavier_std(tuple(tensor.shape), gain))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fills the tensor with normal draws of the variance 2 / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, _native._xavier_std(tuple(tensor.shape), gain), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fills the tensor with uniform draws of the variance that keeps the scale of activations."""
    if 0 in tensor.shape:
        return tensor
    bound = _native._bound(_native._kaiming_std(tuple(tensor.shape), mode, calculate_gain(nonlinearity, a)))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fills the tensor with normal draws of the variance that keeps the scale of activations."""
    if 0 in tensor.shape:
        return tensor
    std = _native._kaiming_std(tuple(tensor.shape), mode, calculate_gain(nonlinearity, a))
    return normal_(tensor, 0.0, std, generator)


@no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """Makes the rows or columns, whichever there are fewer of, orthonormal."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = randn(rows, columns, generator=generator, dtype=tensor.dtype)
    q, r = qr(flat.T if rows < columns else flat)
    q = q * r.diagonal().sign()  # makes the factorization unique, and the result uniformly distributed
    return tensor.copy_((q.T if rows < columns else q).reshape(tensor.shape) * gain)


@no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fills the tensor with normal draws, with a fraction of every column set to zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor

_documented(globals())


def _older(function):
    """Returns a function under its deprecated name without the trailing `_`."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        warnings.warn(f"`nn.init.{function.__name__[:-1]}` is now deprecated in favor of `nn.init.{function.__name__}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return call


for _name in "uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse".split():
    globals()[_name] = _older(globals()[f"{_name}_"])
