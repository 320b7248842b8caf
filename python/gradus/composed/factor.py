"""Matrix factorizations: LU and QR in LAPACK's compact forms, Hermitian matrices given by one half, random sketches.

Functions take and return matrices on the last two axes. `linalg` exports some of them under the names of `torch.linalg`.
"""

import math
from collections import namedtuple

from .. import _native, _results
from .._native import Tensor, cat, eye, solve_triangular, where
from .movement import broadcast_shapes as _broadcast_shapes

_SVD = namedtuple("svd", "U S V")

#: The native method, which reads both halves of a matrix. `cholesky` below replaces it.
_cholesky = Tensor.cholesky


def _with_rule(forward, rule, *tensors):
    """Returns results with an explicit gradient: `rule(tensors, results, cotangents)` returns one for each tensor."""
    if any(t.requires_grad or t._is_traced for t in tensors):
        return _native._custom_vjp(list(tensors), forward, rule)
    return forward(tensors)


def _hermitian(A, upper=False):
    """Computes the Hermitian matrix of which one half is given. Its gradient is passed through, as in PyTorch."""

    def mirrored(tensors):
        (x,) = tensors
        half = x.triu() if upper else x.tril()
        other = x.triu(1) if upper else x.tril(-1)
        return [half + other.mH]

    return _with_rule(mirrored, lambda x, y, g: list(g), A)[0]


def pinverse(input, rcond=None):
    """Computes the pseudo-inverse; singular values below `rcond` times the largest count as zero."""
    if rcond is None:
        return _native.pinv(input)
    from ..linalg import pinv

    return pinv(input, rcond)


def cholesky(input, upper=False):
    """Computes the triangular factor of positive definite matrices, the lower or the upper one. Only that half of a matrix is read."""
    factor = _cholesky(_hermitian(input, upper))
    return factor.mH if upper else factor


def cholesky_solve(input, L, upper=False):
    """Solves `A x = input`, given the Cholesky factor of `A`."""
    if upper:
        return solve_triangular(L, solve_triangular(L.mH, input, upper=False), upper=True)
    return solve_triangular(L.mH, solve_triangular(L, input, upper=False), upper=True)


def cholesky_inverse(L, upper=False):
    """Computes the inverse of a matrix, by its Cholesky factor."""
    n = L.shape[-1]
    return cholesky_solve(eye(n, dtype=L.dtype).expand(tuple(L.shape)), L, upper)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """Computes the `solution` of `A X = b` for a triangular `A`, and `A` as `cloned_coefficient`.

    >>> import gradus
    >>> gradus.triangular_solve(gradus.tensor([[2.0], [4.0]]), gradus.tensor([[1.0, 0.0], [0.0, 2.0]])).solution
    tensor([[2.],
            [2.]])
    """
    batch = _broadcast_shapes(tuple(A.shape[:-2]), tuple(b.shape[:-2]))
    matrix = A.mT if transpose else A
    x = solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return _results.triangular_solve(x, A.expand(*batch, *A.shape[-2:]).clone())


def _lu_factor(A):
    """Returns both triangular factors in one matrix, and the row with which each was exchanged, counted from 1."""
    p, l, u = _native.lu(A)
    m, n = A.shape[-2:]
    least = min(m, n)
    if p.numel() == 0:
        pivots = _native.arange(1, least + 1).expand(*A.shape[:-2], least)
    else:
        pivots = _exchanges((p.real if p.is_complex() else p).argmax(-2), least)
    lower = cat([l, l.new_zeros(*l.shape[:-1], n - least)], -1).tril(-1)
    upper = cat([u, u.new_zeros(*u.shape[:-2], m - least, n)], -2)
    return lower + upper, pivots.to(_native.int32)


def _exchanges(order, count):
    """Returns the exchanges, one for each row and counted from 1, that put rows in a given order."""
    rows = order.shape[-1]
    if order._is_traced:
        now, found = _native.arange(rows).expand(*order.shape), []
        for i in range(count):
            row = order[..., i:i + 1]
            at = (now == row).to(_native.int64).argmax(-1, keepdim=True)
            now = _exchanged(now, i, at, row)
            found.append(at + 1)
        return cat(found, -1)
    every = []
    for wanted in order.reshape(-1, rows).tolist():
        now, found = list(range(rows)), []
        for i in range(count):
            j = now.index(wanted[i])
            now[i], now[j] = now[j], now[i]
            found.append(j + 1)
        every.append(found)
    return _native.tensor(every, dtype=_native.int64).reshape(*order.shape[:-1], count)


def _exchanged(order, i, at, row):
    """Exchanges the element at `i` of an order with `row`, whose position is `at`."""
    place = _native.arange(order.shape[-1])
    return where(place == i, row, where(place == at, order[..., i:i + 1], order))


def _row_order(pivots, rows):
    """Returns, from the exchanges, the matrix row of each row of the factors."""
    lead, count = tuple(pivots.shape[:-1]), pivots.shape[-1]
    if pivots._is_traced:
        order = _native.arange(rows).expand(*lead, rows)
        for i in range(count):
            at = pivots[..., i:i + 1].to(_native.int64) - 1
            order = _exchanged(order, i, at, order.gather(-1, at))
        return order
    orders = [list(range(rows)) for _ in range(math.prod(lead))]
    for order, row in zip(orders, pivots.reshape(len(orders), count).tolist()):
        for i, j in enumerate(row):
            order[i], order[j - 1] = order[j - 1], order[i]
    return _native.tensor(orders, dtype=_native.int64).reshape(*lead, rows)


def lu(A, pivot=True, get_infos=False):
    """Returns both triangular factors in one matrix, and which row each was exchanged with, counted from 1; `linalg.lu_factor`.

    >>> import gradus
    >>> gradus.lu(gradus.tensor([[0.0, 2.0], [4.0, 8.0]]))[1]
    tensor([2, 2], dtype=gradus.int32)
    """
    _check_pivot(pivot)
    factors, pivots = _lu_factor(A)
    return (factors, pivots, _lu_info(factors)) if get_infos else (factors, pivots)


def _check_pivot(pivot):
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _lu_info(factors):
    """Returns the index of the first zero pivot, counted from 1; 0 if there is none."""
    return _first(factors.detach().diagonal(0, -2, -1) == 0)


def _first(bad):
    """Returns the first index, counted from 1, at which a condition is true along the last axis; 0 if there is none."""
    if bad.shape[-1] == 0:
        return _native.zeros(tuple(bad.shape[:-1]), dtype=_native.int32)
    return where(bad.any(-1), bad.to(_native.int32).argmax(-1) + 1, 0).to(_native.int32)


def lu_solve(b, LU_data, LU_pivots):
    """Solves `A X = b` with the factors that `lu` returns.

    >>> import gradus
    >>> gradus.lu_solve(gradus.tensor([[2.0], [4.0]]), *gradus.lu(gradus.tensor([[0.0, 2.0], [4.0, 8.0]])))
    tensor([[-1.],
            [ 1.]])
    """
    return _lu_solve(LU_data, LU_pivots, b)


def _lu_solve(LU, pivots, B, adjoint=False):
    order = _row_order(pivots, LU.shape[-1])
    if adjoint:
        y = solve_triangular(LU.mH, B, upper=False)
        y = solve_triangular(LU.mH, y, upper=True, unitriangular=True)
        return _rows(y, order.argsort(-1))
    y = solve_triangular(LU, _rows(B, order), upper=False, unitriangular=True)
    return solve_triangular(LU, y, upper=True)


def _rows(x, order):
    """Reorders the rows of each matrix; leading axes broadcast."""
    lead = _broadcast_shapes(tuple(x.shape[:-2]), tuple(order.shape[:-1]))
    order = order.unsqueeze(-1).expand(*lead, *x.shape[-2:])
    return x.expand(*lead, *x.shape[-2:]).gather(-2, order)


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """Returns the permutation and both triangular factors, `P`, `L` and `U`, from the result of `linalg.lu_factor`.

    >>> import gradus
    >>> gradus.lu_unpack(*gradus.linalg.lu_factor(gradus.tensor([[0.0, 2.0], [4.0, 8.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    m, n = LU_data.shape[-2:]
    least = min(m, n)
    p = l = u = LU_data.new_zeros(0)
    if unpack_pivots:
        order = _row_order(LU_pivots, m)
        p = (_native.arange(m).unsqueeze(-1) == order.unsqueeze(-2)).to(LU_data.dtype)
    if unpack_data:
        l = LU_data[..., :, :least].tril(-1) + eye(m, least, dtype=LU_data.dtype)
        u = LU_data[..., :least, :].triu()
    return _results.lu(p, l, u)


def geqrf(input):
    """QR in compact form: the triangle, Householder's vectors below it without their leading ones, and their factors `tau`.

    >>> import gradus
    >>> a, tau = gradus.geqrf(gradus.tensor([[3.0], [4.0]]))
    >>> a, tau
    (tensor([[-5.0000],
            [ 0.5000]]), tensor([1.6000]))
    """
    a, taus = input.detach().clone(), []
    for i in range(min(input.shape[-2:])):
        column = a[..., i:, i]
        first, rest = column[..., :1], column[..., 1:]
        real = first.real if first.is_complex() else first
        done = (rest == 0).all(-1, keepdim=True) & (first == real)
        beta = column.norm(2, -1, True).copysign(-real)
        beta = where(done, 1, where(real == 0, -beta.abs(), beta)).to(a.dtype)
        tau = where(done, 0, (beta - first) / beta)
        v = cat([_native.ones_like(first), where(done, rest, rest / where(done, 1, first - beta))], -1).unsqueeze(-1)
        others = a[..., i:, i + 1:]
        a[..., i:, i + 1:] = others - tau.conj().unsqueeze(-1) * (v @ (v.mH @ others))
        a[..., i:, i] = cat([where(done, first, beta), v[..., 1:, 0]], -1)
        taus.append(tau)
    return _results.geqrf(a, cat(taus, -1) if taus else a.new_zeros(*a.shape[:-2], 0))


def _reflected(vectors, tau, x, adjoint=False):
    """Computes the product of Householder's reflections, or its adjoint, times `x`. The vectors are below the diagonal."""
    count = tau.shape[-1]
    vectors = vectors[..., :count].tril(-1) + eye(vectors.shape[-2], count, dtype=vectors.dtype)
    factors = tau.conj() if adjoint and tau.is_complex() else tau
    for i in range(count) if adjoint else reversed(range(count)):
        v = vectors[..., i:i + 1]
        x = x - factors[..., i:i + 1].unsqueeze(-1) * (v @ (v.mH @ x))
    return x


def orgqr(input, tau):
    """Computes the first columns of the product of Householder's reflections that `geqrf` returns: `linalg.householder_product`.

    >>> import gradus
    >>> gradus.orgqr(*gradus.geqrf(gradus.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    m, n = input.shape[-2:]
    if m < n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.shape[-1] > n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    return _reflected(input, tau, eye(m, n, dtype=input.dtype).expand(*input.shape[:-2], m, n))


def ormqr(input, tau, other, left=True, transpose=False):
    """Computes the product of `other` with the `Q` that `geqrf` returns, or with its adjoint; `Q` is on the left or on the right.

    >>> import gradus
    >>> gradus.ormqr(*gradus.geqrf(gradus.tensor([[3.0], [4.0]])), gradus.tensor([[3.0], [4.0]]), transpose=True).round()
    tensor([[-5.],
            [ 0.]])
    """
    if left:
        return _reflected(input, tau, other, transpose)
    return _reflected(input, tau, other.mH, not transpose).mH


def _qr(A, mode):
    q, r = _native.qr(A)
    if mode == "r":
        return _results.qr(A.new_zeros(0), r)
    more = A.shape[-2] - q.shape[-1]
    if mode == "reduced" or more <= 0:
        return _results.qr(q, r)
    return _results.qr(_completed(q), cat([r, r.new_zeros(*r.shape[:-2], more, r.shape[-1])], -2))


def _completed(q):
    """Completes orthonormal columns to a square matrix; the given columns stay unchanged."""
    rows, columns = q.shape[-2:]
    if rows == columns:
        return q
    square = cat([q.detach(), q.new_zeros(*q.shape[:-1], rows - columns)], -1)
    return cat([q, _native.qr(square)[0][..., columns:]], -1)


def svd(input, some=True, compute_uv=True):
    """Singular vectors and values as U, S and V (`linalg.svd` returns V transposed); with `some`, as many vectors as values.

    >>> import gradus
    >>> u, s, v = gradus.svd(gradus.ones(3, 2))
    >>> tuple(v.shape)
    (2, 2)
    >>> gradus.allclose(u @ s.diag() @ v.T, gradus.ones(3, 2), atol=1e-6)
    True
    """
    u, s, vh = _native.svd(input)
    if not compute_uv:
        sizes = [(*input.shape[:-2], n, n) for n in input.shape[-2:]]
        return _SVD(input.new_zeros(*sizes[0]), s, input.new_zeros(*sizes[1]))
    return _SVD(u, s, vh.mH) if some else _SVD(_completed(u), s, _completed(vh.mH))


def svd_lowrank(A, q=6, niter=2, M=None):
    """`q` singular vectors and values of `A - M`, as U, S and V, from a random sketch that is improved `niter` times.

    >>> import gradus
    >>> u, s, v = gradus.svd_lowrank(gradus.ones(4, 3), q=1)
    >>> gradus.allclose(u * s @ v.T, gradus.ones(4, 3), atol=1e-5)
    True
    """
    m, n = A.shape[-2:]
    if not (0 <= q <= min(m, n)):
        raise ValueError(f"q(={q}) must be a non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be a non-negative integer")
    A = A if M is None else A - M
    if m < n:
        v, s, u = svd_lowrank(A.mH, q, niter)
        return u, s, v
    basis = _native.qr(A @ _native.randn((*A.shape[:-2], n, q), dtype=A.dtype))[0]
    for _ in range(niter):
        basis = _native.qr(A.mH @ basis)[0]
        basis = _native.qr(A @ basis)[0]
    u, s, vh = _native.svd(basis.mH @ A)
    return basis @ u, s, vh.mH


def pca_lowrank(A, q=None, center=True, niter=2):
    """`svd_lowrank` of rows from which their mean is subtracted if `center` is true: V has the principal directions.

    >>> import gradus
    >>> gradus.pca_lowrank(gradus.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), q=1)[2].abs()
    tensor([[1.],
            [0.]])
    """
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
