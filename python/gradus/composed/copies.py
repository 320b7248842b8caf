"""Functions that copy the result of a view: `view_copy`, `unbind_copy` and others."""

from .. import _native
from .._native import Tensor

_VIEWS = """
as_strided detach diagonal expand narrow permute select split split_with_sizes squeeze t transpose unbind unfold unsqueeze view
""".split()


def _copied(result):
    return result.clone() if isinstance(result, Tensor) else tuple(part.clone() for part in result)


def _of(name):
    def copy(input, *args, **kwargs):
        return _copied(getattr(input, name)(*args, **kwargs))

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"`{name}` in memory of its own."
    return copy


for _name in _VIEWS:
    globals()[f"{_name}_copy"] = _of(_name)


def alias_copy(input):
    """Returns a copy of the elements."""
    return input.clone()


def view_as_real_copy(input):
    """Pairs of real and imaginary parts, copied."""
    return input._pairs().clone()


def view_as_complex_copy(input):
    """Pairs along the last axis as complex numbers, copied."""
    return input._of_pairs().clone()


def slice_copy(input, dim=0, start=None, end=None, step=1):
    """Returns a slice along an axis, copied."""
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)].clone()


def unsafe_chunk(input, chunks, dim=0):
    """`chunk` whose parts do not share memory with the input."""
    return _copied(input.chunk(chunks, dim))


def unsafe_split(input, split_size, dim=0):
    """`split` whose parts do not share memory with the input."""
    return _copied(input.split(split_size, dim))


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split_with_sizes` whose parts do not share memory with the input."""
    return _copied(input.split(list(split_sizes), dim))


def conj_physical(input):
    """Computes the complex conjugate."""
    return input.conj()


def fill(input, value):
    """Returns a tensor of one value in the shape and dtype of another; gradients go to the value, if it is a tensor."""
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(f"fill only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions.")
        return value.to(input.dtype).expand(tuple(input.shape)).clone()
    return _native.full_like(input, value)
