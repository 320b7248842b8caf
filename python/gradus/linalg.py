"""Linear algebra, under PyTorch's names."""

import math

from . import _native, _results
from ._examples import documented as _documented
from ._native import Tensor, _value_error, lu, solve_triangular  # noqa: F401
from .composed.product import _completed, _powers, multi_dot
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


def inv(A):
    """The inverse.

    >>> import gradus
    >>> gradus.linalg.inv(gradus.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _native.inv(A)


def slogdet(A):
    """Sign and logarithm of the determinant.

    >>> import gradus
    >>> gradus.linalg.slogdet(gradus.eye(2)).logabsdet
    tensor(0.)
    """
    return _native.slogdet(A)


def eig(A):
    """Eigenvalues and vectors, complex.

    >>> import gradus
    >>> gradus.linalg.eig(gradus.eye(2)).eigenvalues.real
    tensor([1., 1.])
    """
    return _native.eig(A)


def eigvals(A):
    """Eigenvalues, complex.

    >>> import gradus
    >>> gradus.linalg.eigvals(gradus.eye(2)).real
    tensor([1., 1.])
    """
    return _native.eigvals(A)


def eigh(A, UPLO="L"):
    """Eigenvalues, ascending, and vectors of Hermitian matrices; both halves are taken to be equal.

    >>> import gradus
    >>> gradus.linalg.eigh(gradus.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return _native.eigh(A)


def eigvalsh(A, UPLO="L"):
    """Eigenvalues of Hermitian matrices, ascending.

    >>> import gradus
    >>> gradus.linalg.eigvalsh(gradus.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return _native.eigvalsh(A)


def svdvals(A, *, driver=None):
    """The singular values, descending.

    >>> import gradus
    >>> gradus.linalg.svdvals(gradus.tensor([[0.0, 3.0], [2.0, 0.0]]))
    tensor([3., 2.])
    """
    return _native.svdvals(A)


def svd(A, full_matrices=True, *, driver=None):
    """Singular vectors and values: U, S, Vh. Without `full_matrices` as many vectors as values.

    >>> import gradus
    >>> u, s, vh = gradus.linalg.svd(gradus.ones(3, 2))
    >>> tuple(u.shape), tuple(s.shape), tuple(vh.shape)
    ((3, 3), (2,), (2, 2))
    """
    u, s, vh = _native.svd(A)
    return _results.svd(_completed(u), s, _completed(vh.mH).mH) if full_matrices else _results.svd(u, s, vh)


def qr(A, mode="reduced"):
    """An orthogonal and an upper triangular factor; `mode` is "reduced", "complete" or "r", which is the second alone.

    >>> import gradus
    >>> q, r = gradus.linalg.qr(gradus.ones(3, 2), mode="complete")
    >>> tuple(q.shape), tuple(r.shape)
    ((3, 3), (3, 2))
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr received unrecognized mode {mode!r}: it is one of 'reduced' (default), 'r', or 'complete'")
    q, r = _native.qr(A)
    if mode == "r":
        return _results.qr(A.new_zeros(0), r)
    more = A.shape[-2] - q.shape[-1]
    if mode == "reduced" or more <= 0:
        return _results.qr(q, r)
    rows = r.new_zeros(*r.shape[:-2], more, r.shape[-1])
    return _results.qr(_completed(q), _native.cat([r, rows], -2))


def solve(A, B, *, left=True):
    """The `X` of `A X = B`, or, with `left=False`, of `X A = B`.

    >>> import gradus
    >>> gradus.linalg.solve(gradus.tensor([[2.0]]), gradus.tensor([[8.0]]), left=False)
    tensor([[4.]])
    """
    return _native.solve(A, B) if left else _native.solve(A.mT, B.mT).mT


def lstsq(A, B, rcond=None, *, driver=None):
    """The `X` with the least sum of squares of `A X - B`, as `solution`.

    >>> import gradus
    >>> gradus.linalg.lstsq(gradus.ones(2, 1), gradus.tensor([[1.0], [3.0]])).solution
    tensor([[2.]])
    """
    return _native.lstsq(A, B)


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverse; singular values below `atol`, or `rtol` times the largest, count as zero.

    >>> import gradus
    >>> gradus.linalg.pinv(gradus.tensor([[4.0, 0.0], [0.0, 0.1]]), atol=0.5)
    tensor([[0.2500, 0.0000],
            [0.0000, 0.0000]])
    """
    rtol = rcond if rtol is None else rtol
    if atol is None and rtol is None:
        return _native.pinv(A)
    u, s, vh = _native.svd(A)
    least = s.amax(-1, keepdim=True) * (0.0 if rtol is None else rtol)
    kept = s > (least if atol is None else least.clamp(min=atol))
    return (vh.mH * _native.where(kept, 1 / s.masked_fill(~kept, 1.0), 0.0).unsqueeze(-2).to(vh.dtype)) @ u.mH


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


def lu_factor(A, *, pivot=True):
    """Both triangular factors in one matrix, and which row each was exchanged with, counted from 1.

    >>> import gradus
    >>> gradus.linalg.lu_factor(gradus.tensor([[0.0, 2.0], [4.0, 8.0]])).pivots
    tensor([2, 2], dtype=gradus.int32)
    """
    if not pivot:
        raise NotImplementedError("linalg.lu_factor without exchanging rows is not known")
    p, l, u = lu(A)
    m, n = A.shape[-2:]
    least = min(m, n)
    rows = p.real if p.is_complex() else p
    order = rows.argmax(-2).reshape(-1, m)
    pivots = _native.tensor([_exchanges(row, least) for row in order.tolist()], dtype=_native.int32)
    lower = _native.cat([l, l.new_zeros(*l.shape[:-1], n - least)], -1).tril(-1)
    upper = _native.cat([u, u.new_zeros(*u.shape[:-2], m - least, n)], -2)
    return _results.lu_factor(lower + upper, pivots.reshape(*A.shape[:-2], least))


def _exchanges(order, count):
    """The exchanges, one for each place, that put rows in an order."""
    now, found = list(range(len(order))), []
    for i in range(count):
        j = now.index(order[i])
        now[i], now[j] = now[j], now[i]
        found.append(j + 1)
    return found


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """The `X` of `A X = B`, or of `X A = B`, by the factors of `lu_factor`; with `adjoint` of the adjoint of `A`.

    >>> import gradus
    >>> factors = gradus.linalg.lu_factor(gradus.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> gradus.linalg.lu_solve(*factors, gradus.tensor([[2.0], [4.0]]))
    tensor([[-1.],
            [ 1.]])
    """
    if not left:  # the adjoint of `X A = B`
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    n = LU.shape[-1]
    orders = [list(range(n)) for _ in range(math.prod(LU.shape[:-2]))]
    for order, row in zip(orders, pivots.reshape(-1, n).tolist()):
        for i, j in enumerate(row):
            order[i], order[j - 1] = order[j - 1], order[i]
    order = _native.tensor(orders, dtype=_native.int64).reshape(*LU.shape[:-2], n)
    if adjoint:
        y = solve_triangular(LU.mH, B, upper=False)
        y = solve_triangular(LU.mH, y, upper=True, unitriangular=True)
        return y.take_along_dim(order.argsort(-1).unsqueeze(-1), -2)
    y = B.take_along_dim(order.unsqueeze(-1), -2)
    y = solve_triangular(LU, y, upper=False, unitriangular=True)
    return solve_triangular(LU, y, upper=True)


def _first(bad):
    """The first place, counted from 1, where something is wrong along the last axis; 0 where nothing is."""
    return _native.where(bad.any(-1), bad.to(_native.int32).argmax(-1) + 1, 0).to(_native.int32)


def _where_right(function, A, info):
    """The function of those matrices that have nothing wrong, NaN for the others."""
    wrong = (info != 0).unsqueeze(-1).unsqueeze(-1)
    return function(_native.where(wrong, _native.eye(A.shape[-1], dtype=A.dtype), A)).masked_fill(wrong, math.nan)


def _checked(result, check_errors, what):
    if check_errors and bool((result[1] != 0).any()):
        raise LinAlgError(f"{what} (info {result[1].tolist()})")
    return result


def inv_ex(A, *, check_errors=False):
    """The inverse, and the first pivot that is zero instead of an error; 0 where there is an inverse.

    >>> import gradus
    >>> gradus.linalg.inv_ex(gradus.zeros(2, 2)).info
    tensor(1, dtype=gradus.int32)
    """
    info = _first(lu(A.detach())[2].diagonal(0, -2, -1) == 0)
    return _checked(_results.inv_ex(_where_right(inv, A, info), info), check_errors, "linalg.inv_ex: a matrix is singular")


def cholesky_ex(A, *, upper=False, check_errors=False):
    """The triangular factor, and the order of the first minor that is not positive instead of an error; 0 where there is a factor.

    >>> import gradus
    >>> gradus.linalg.cholesky_ex(-gradus.eye(2)).info
    tensor(1, dtype=gradus.int32)
    """
    minors = [eigvalsh(A.detach()[..., :k, :k])[..., 0] for k in range(1, A.shape[-1] + 1)]
    info = _first(_native.stack(minors, -1) <= 0)
    factor = _where_right(cholesky, A, info)
    factor = factor.mH if upper else factor
    return _checked(_results.cholesky_ex(factor, info), check_errors, "linalg.cholesky_ex: a matrix is not positive-definite")


def tensorinv(A, ind=2):
    """The inverse of a product over the last axes: those behind the first `ind`.

    >>> import gradus
    >>> gradus.linalg.tensorinv(gradus.eye(6).reshape(2, 3, 6), ind=2).shape
    gradus.Size([6, 2, 3])
    """
    if ind < 1:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {list(A.shape)}")
    return inv(A.reshape(math.prod(rows), -1)).reshape(columns + rows)


def tensorsolve(A, B, dims=None):
    """The `X` whose product with `A` over all its axes is `B`; the axes in `dims` are moved to the end of `A` first.

    >>> import gradus
    >>> gradus.linalg.tensorsolve(gradus.eye(6).reshape(2, 3, 6), gradus.ones(2, 3)).shape
    gradus.Size([6])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
    return _native.solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(tuple(A.shape[B.dim():]))


_documented(globals())
