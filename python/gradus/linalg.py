"""Linear algebra, under PyTorch's names."""

import math

from ._examples import documented as _documented
from ._native import (  # noqa: F401
    Tensor, _value_error, eig, eigh, eigvals, eigvalsh, inv, lstsq, lu, pinv, qr, slogdet, solve, solve_triangular, svd, svdvals,
)
from .composed.product import _powers, multi_dot
from .limits import finfo

#: What is raised for matrices that have no inverse or factor.
LinAlgError = _value_error()
det = Tensor.det
cholesky = Tensor.cholesky
matrix_exp = Tensor.matrix_exp
matrix_power = Tensor.matrix_power
matmul = Tensor.matmul
diagonal = Tensor.diagonal
cross = Tensor.cross


def vander(x, *, N=None):
    """The powers of elements along a new last axis, from 0 on.

    >>> import gradus
    >>> gradus.linalg.vander(gradus.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    if N is not None and N <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, x.shape[-1] if N is None else N)


def vecdot(x, y, *, dim=-1):
    """Products of vectors along an axis, the first conjugated."""
    return (x.conj() * y).sum(dim)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of vectors along axes, or of all elements."""
    x = x if dtype is None else x.to(dtype)
    if dim is None:
        y = x.reshape(-1).norm(ord, 0)
        return y.reshape((1,) * x.dim()) if keepdim else y
    return x.norm(ord, dim, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices: Frobenius, nuclear, or by sums of rows, of columns, or singular values."""
    A = A if dtype is None else A.to(dtype)
    rows, columns = (d % A.dim() for d in dim)
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = A.abs().sum(along, keepdim=True)
        y = sums.amax(across, keepdim=True) if ord > 0 else sums.amin(across, keepdim=True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        y = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
        if keepdim:
            y = y.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns))
        return y
    else:
        raise ValueError(f"matrix_norm: {ord!r} is not one of 'fro', 'nuc', inf, -inf, 1, -1, 2, -2")
    return y if keepdim else y.squeeze((rows, columns))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """`matrix_norm` where two axes or an order of matrices are given, else `vector_norm`."""
    if dim is None and ord is not None and A.dim() == 2 or isinstance(dim, (tuple, list)) and len(dim) == 2:
        return matrix_norm(A, "fro" if ord is None else ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def matrix_rank(A, *, tol=None, rtol=None, hermitian=False):
    """How many singular values are not negligible."""
    values = svdvals(A)
    if tol is None:
        tol = values.amax(-1, keepdim=True) * max(A.shape[-2:]) * (finfo(A.dtype).eps if rtol is None else rtol)
    return (values > tol).sum(-1)


def cond(A, p=None):
    """The largest singular value over the smallest."""
    if p not in (None, 2):
        return matrix_norm(A, p) * matrix_norm(inv(A), p)
    values = svdvals(A)
    return values.amax(-1) / values.amin(-1)

_documented(globals())
