"""Functions of PyTorch's private helpers that programs use: they join tensors into one vector and split it again.

>>> import gradus
>>> from gradus._utils import _flatten_dense_tensors, _unflatten_dense_tensors
>>> flat = _flatten_dense_tensors([gradus.ones(2), gradus.zeros(1, 2)])
>>> flat.tolist(), [tuple(x.shape) for x in _unflatten_dense_tensors(flat, [gradus.ones(2), gradus.zeros(1, 2)])]
([1.0, 1.0, 0.0, 0.0], [(2,), (1, 2)])
"""

from ._native import cat


def _flatten_dense_tensors(tensors):
    """Concatenates the elements of all tensors."""
    return cat([x.reshape(-1) for x in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Splits a vector into tensors with the shapes of others."""
    parts = flat.split([x.numel() for x in tensors])
    return tuple(part.reshape(tuple(x.shape)) for part, x in zip(parts, tensors))
