"""Functions of PyTorch's private helpers that programs use: they join tensors into one vector and split it again.

>>> import gradus
>>> from gradus._utils import _flatten_dense_tensors, _unflatten_dense_tensors
>>> flat = _flatten_dense_tensors([gradus.ones(2), gradus.zeros(1, 2)])
>>> flat.tolist(), [tuple(x.shape) for x in _unflatten_dense_tensors(flat, [gradus.ones(2), gradus.zeros(1, 2)])]
([1.0, 1.0, 0.0, 0.0], [(2,), (1, 2)])
"""

from ._native import cat


def _flatten_dense_tensors(tensors):
    """The elements of all tensors, one after the other."""
    return cat([x.reshape(-1) for x in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """The elements of a vector in the shapes of tensors."""
    parts = flat.split([x.numel() for x in tensors])
    return tuple(part.reshape(tuple(x.shape)) for part, x in zip(parts, tensors))
