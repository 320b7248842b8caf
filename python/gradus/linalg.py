"""Linear algebra, under PyTorch's names."""

import math

from . import _native, _results
from ._examples import documented as _documented
from . import _ldl
from ._minors import first_bad_minor as _first_bad_minor
from ._native import Tensor, _value_error
from .composed.factor import (
    _check_pivot, cholesky as _cholesky, _completed, _first, _hermitian, _lu_factor, _lu_info, _lu_solve, _qr, orgqr as _orgqr, _with_rule,
)
from .composed.movement import broadcast_shapes as _broadcast_shapes
from .composed.product import _powers, multi_dot
from .limits import finfo

#: Raised for matrices that have no inverse or factor.
LinAlgError = _value_error()
matrix_exp = Tensor.matrix_exp
matrix_power = Tensor.matrix_power
matmul = Tensor.matmul
diagonal = Tensor.diagonal
cross = Tensor.cross


def det(A):
    """Computes the determinant."""
    return A.det()


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """Computes the `X` of `A X = B`, or, with `left=False`, of `X A = B`, for triangular `A`; `unitriangular` reads its diagonal as ones."""
    return _native.solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)


def inv(A):
    """Computes the inverse.

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
    """Eigenvalues, ascending, and vectors of Hermitian matrices, of which the lower half is read, or with `UPLO="U"` the upper one.

    >>> import gradus
    >>> gradus.linalg.eigh(gradus.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return _native.eigh(_hermitian(A, _is_upper(UPLO)))


def eigvalsh(A, UPLO="L"):
    """Eigenvalues of Hermitian matrices, ascending; `UPLO` selects the half that is read.

    >>> import gradus
    >>> gradus.linalg.eigvalsh(gradus.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return _native.eigvalsh(_hermitian(A, _is_upper(UPLO)))


def _is_upper(UPLO):
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO in ("U", "u")


def cholesky(A, *, upper=False):
    """Computes the triangular factor of positive definite matrices, of which the half that is returned is read.

    >>> import gradus
    >>> gradus.linalg.cholesky(gradus.tensor([[4.0, 2.0], [2.0, 5.0]]), upper=True)
    tensor([[2., 1.],
            [0., 2.]])
    """
    return _cholesky(A, upper)


def svdvals(A, *, driver=None):
    """Computes the singular values, descending.

    >>> import gradus
    >>> gradus.linalg.svdvals(gradus.tensor([[0.0, 3.0], [2.0, 0.0]]))
    tensor([3., 2.])
    """
    return _native.svdvals(A)


def svd(A, full_matrices=True, *, driver=None):
    """Singular vectors and values: U, S, Vh. Without `full_matrices`, as many vectors as values.

    >>> import gradus
    >>> u, s, vh = gradus.linalg.svd(gradus.ones(3, 2))
    >>> tuple(u.shape), tuple(s.shape), tuple(vh.shape)
    ((3, 3), (2,), (2, 2))
    """
    u, s, vh = _native.svd(A)
    return _results.svd(_completed(u), s, _completed(vh.mH).mH) if full_matrices else _results.svd(u, s, vh)


def qr(A, mode="reduced"):
    """Returns an orthogonal and an upper triangular factor; `mode` is "reduced", "complete" or "r", which returns the second only.

    >>> import gradus
    >>> q, r = gradus.linalg.qr(gradus.ones(3, 2), mode="complete")
    >>> tuple(q.shape), tuple(r.shape)
    ((3, 3), (3, 2))
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr received unrecognized mode {mode!r}: it is one of 'reduced' (default), 'r', or 'complete'")
    return _qr(A, mode)


def solve(A, B, *, left=True):
    """Computes the `X` of `A X = B`, or, with `left=False`, of `X A = B`.

    `B` holds vectors, one for each matrix, if it has one axis or the shape of `A` without the last axis. Otherwise it holds
    matrices, and the axes before the last two broadcast.

    >>> import gradus
    >>> gradus.linalg.solve(gradus.tensor([[2.0]]), gradus.tensor([[8.0]]), left=False)
    tensor([[4.]])
    >>> gradus.linalg.solve(gradus.eye(2).expand(3, 2, 2), gradus.ones(3, 2)).shape
    gradus.Size([3, 2])
    """
    if left:
        return _native.solve(A, B)
    if B.dim() == 0 or _holds_vectors(A, B):
        raise RuntimeError(f"linalg.solve: X A = B needs a matrix B; shapes {tuple(A.shape)} and {tuple(B.shape)} make it vectors")
    right = B.mT
    # An additional axis prevents the transposed matrices from being interpreted as vectors.
    return _native.solve(A.mT, right.unsqueeze(0) if right.dim() < A.dim() else right).mT


def _holds_vectors(A, B):
    return B.dim() == 1 or tuple(B.shape) == tuple(A.shape[:-1])


def solve_ex(A, B, *, left=True, check_errors=False):
    """Solves as `solve` does. Instead of raising an error, also returns the index of the first zero pivot of `A`, counted from 1, or 0.

    The solution of a singular matrix is NaN.

    >>> import gradus
    >>> gradus.linalg.solve_ex(gradus.tensor([[1.0, 2.0], [2.0, 4.0]]), gradus.ones(2)).info
    tensor(2, dtype=gradus.int32)
    """
    info = _lu_info(_native.lu(A.detach())[2])
    singular = (info != 0).unsqueeze(-1).unsqueeze(-1)
    regular = _native.where(singular, _native.eye(A.shape[-1], dtype=A.dtype), A)
    x = solve(regular, B, left=left)
    x = x.masked_fill(singular.squeeze(-1) if _holds_vectors(A, B) else singular, math.nan)
    return _checked(_results.solve_ex(x, info), check_errors, "linalg.solve_ex: a matrix is singular")


def lstsq(A, B, rcond=None, *, driver=None):
    """Computes the `solution` with the least sum of squares of `A X - B`, these sums as `residuals`, the `rank` and the `singular_values`.

    As in PyTorch, `driver` decides which of the last three are computed; the others are empty: "gelsy" (the default) computes the
    rank, "gels" the residuals, "gelsd" and "gelss" all three. Residuals are computed for matrices of full rank with more rows than columns.

    >>> import gradus
    >>> gradus.linalg.lstsq(gradus.ones(2, 1), gradus.tensor([[1.0], [3.0]])).solution
    tensor([[2.]])
    """
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but got {driver}")
    vectors = A.dim() - 1 == B.dim()
    right = B.unsqueeze(-1) if vectors else B
    m, n = A.shape[-2:]
    x = (_native.pinv(A) if rcond is None or driver == "gels" else pinv(A, rtol=rcond)) @ right
    none = x.detach().real.new_zeros(0) if x.is_complex() else x.new_zeros(0)
    values = svdvals(A.detach())
    rank = none.to(_native.int64) if driver == "gels" else _rank(values, A, None, rcond)
    residuals = none
    if m > n and (driver == "gels" or driver != "gelsy" and bool((rank == n).all())):
        missed = A @ x - right
        residuals = (missed.real.square() + missed.imag.square() if missed.is_complex() else missed.square()).sum(-2)
    return _results.lstsq(x.squeeze(-1) if vectors else x, residuals, rank, values if driver in ("gelsd", "gelss") else none)


def _tolerance(largest, A, atol, rtol):
    """Returns the threshold below which singular values count as zero: the larger of `atol` and `rtol` times the largest value. Both may be tensors."""
    if rtol is None:
        rtol = max(A.shape[-2:]) * finfo(A.dtype).eps
        if isinstance(atol, Tensor):
            rtol = _native.where(atol > 0, 0.0, rtol)
        elif atol:
            rtol = 0.0
    atol = 0.0 if atol is None else atol
    return (_native.ones_like(largest) * atol).maximum(rtol * largest)


def _largest(values, dim=-1, keepdim=False):
    """Computes the maximum of non-negative values along an axis, 0 if there is none."""
    return values.amax(dim, keepdim) if values.shape[dim] else values.sum(dim, keepdim)


def _rank(values, A, atol, rtol):
    return (values > _tolerance(_largest(values), A, atol, rtol).unsqueeze(-1)).sum(-1)


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """Computes the pseudo-inverse; singular values below `atol`, or `rtol` times the largest, count as zero.

    >>> import gradus
    >>> gradus.linalg.pinv(gradus.tensor([[4.0, 0.0], [0.0, 0.1]]), atol=0.5)
    tensor([[0.2500, 0.0000],
            [0.0000, 0.0000]])
    """
    rtol = rcond if rtol is None else rtol
    if atol is None and rtol is None and not hermitian:
        return _native.pinv(A)

    def inverse(tensors):
        (x,) = tensors
        if hermitian:
            s, u = _native.eigh(_hermitian(x))
            vh = u.mH
        else:
            u, s, vh = _native.svd(x)
        kept = s.abs() > _tolerance(_largest(s.abs()), x, atol, rtol).unsqueeze(-1)
        return [(vh.mH * _native.where(kept, 1 / s.masked_fill(~kept, 1.0), 0.0).unsqueeze(-2).to(vh.dtype)) @ u.mH]

    def rule(tensors, results, cotangents):
        (x,), (y,), (g,) = tensors, results, cotangents
        yh, gh = y.mH, g.mH
        left, right = gh @ y, y @ gh
        return [(left - x @ (y @ left)) @ yh + yh @ (right - (right @ y) @ x) - yh @ g @ yh]

    return _with_rule(inverse, rule, A)[0]


def vander(x, *, N=None):
    """Computes the Vandermonde matrix: powers of elements along a new last axis, from 0 on.

    >>> import gradus
    >>> gradus.linalg.vander(gradus.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    x = x.unsqueeze(-1) if x.dim() == 0 else x
    N = x.shape[-1] if N is None else N
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, N)


def vecdot(x, y, *, dim=-1):
    """Inner products of vectors along an axis, with the first conjugated."""
    return (x.conj() * y).sum(dim)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """Computes the norm of vectors along axes, or of all elements."""
    x = x if dtype is None else x.to(dtype)
    if dim is None:
        y = x.reshape(-1).norm(ord, 0)
        return y.reshape((1,) * x.dim()) if keepdim else y
    return x.norm(ord, dim, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """Computes the norm of matrices: Frobenius, nuclear, or by sums of rows, of columns, or singular values."""
    A = A if dtype is None else A.to(dtype)
    rows, columns = (d % A.dim() for d in dim)
    if ord == "fro":
        return A.norm(2, (rows, columns), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = A.abs().sum(along, keepdim=True)
        y = _largest(sums, across, True) if ord > 0 else sums.amin(across, keepdim=True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        y = values.sum(-1) if ord == "nuc" else _largest(values) if ord > 0 else values.amin(-1)
        if keepdim:
            y = y.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns))
        return y
    else:
        raise ValueError(f"matrix_norm: {ord!r} is not one of 'fro', 'nuc', inf, -inf, 1, -1, 2, -2")
    return y if keepdim else y.squeeze((rows, columns))


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """`matrix_norm` if two axes or an order of matrix norms are given, else `vector_norm`."""
    if dim is None and ord is not None and A.dim() == 2 or isinstance(dim, (tuple, list)) and len(dim) == 2:
        return matrix_norm(A, "fro" if ord is None else ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """Returns the number of singular values above `atol` and above `rtol` times the largest; the tolerances are numbers or one per matrix.

    >>> import gradus
    >>> gradus.linalg.matrix_rank(gradus.tensor([[4.0, 0.0], [0.0, 0.1]]), atol=0.5)
    tensor(1)
    """
    values = eigvalsh(A.detach()).abs() if hermitian else svdvals(A.detach())
    return _rank(values, A, tol, 0.0) if tol is not None else _rank(values, A, atol, rtol)


def cond(A, p=None):
    """Computes the norm of matrices times that of their inverses, infinity for singular ones; by default the quotient of the singular values."""
    if p in (None, 2, -2, "nuc"):
        values = svdvals(A)
        if p == "nuc":
            return values.sum(-1) * (1 / values).sum(-1)
        return values.amin(-1) / values.amax(-1) if p == -2 else values.amax(-1) / values.amin(-1)
    inverse, info = inv_ex(A)
    return (matrix_norm(A, p) * matrix_norm(inverse, p)).masked_fill(info != 0, math.inf)


def lu(A, *, pivot=True):
    """Returns a permutation, a unit lower and an upper triangular factor, `P`, `L` and `U`.

    >>> import gradus
    >>> gradus.linalg.lu(gradus.tensor([[0.0, 2.0], [4.0, 8.0]])).U
    tensor([[4., 8.],
            [0., 2.]])
    """
    _check_pivot(pivot)
    return _native.lu(A)


def lu_factor(A, *, pivot=True):
    """Returns both triangular factors in one matrix, and the row with which each was exchanged, counted from 1.

    A pivot that is zero raises an error. For complex matrices the pivot has the largest sum of the absolute values of its real and
    imaginary part, as in LAPACK.

    >>> import gradus
    >>> gradus.linalg.lu_factor(gradus.tensor([[0.0, 2.0], [4.0, 8.0]])).pivots
    tensor([2, 2], dtype=gradus.int32)
    """
    factors, pivots, info = lu_factor_ex(A, pivot=pivot)
    if not info._is_traced and bool((info != 0).any()):
        raise LinAlgError(f"linalg.lu_factor: a pivot is zero (info {info.tolist()}): lu_factor_ex returns the factors without this error")
    return _results.lu_factor(factors, pivots)


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """Factors as `lu_factor` does, and also returns the index of the first zero pivot, counted from 1, or 0.

    >>> import gradus
    >>> gradus.linalg.lu_factor_ex(gradus.zeros(2, 2)).info
    tensor(1, dtype=gradus.int32)
    """
    _check_pivot(pivot)
    factors, pivots = _lu_factor(A)
    info = _lu_info(factors)
    if check_errors and bool((info != 0).any()):
        raise LinAlgError(f"linalg.lu_factor_ex: a pivot is zero (info {info.tolist()})")
    return _results.lu_factor_ex(factors, pivots, info)


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """Computes the `X` of `A X = B`, or of `X A = B`, by the factors of `lu_factor`; with `adjoint` of the adjoint of `A`.

    >>> import gradus
    >>> factors = gradus.linalg.lu_factor(gradus.tensor([[0.0, 2.0], [4.0, 8.0]]))
    >>> gradus.linalg.lu_solve(*factors, gradus.tensor([[2.0], [4.0]]))
    tensor([[-1.],
            [ 1.]])
    """
    if not left:  # the adjoint of `X A = B`
        return _lu_solve(LU, pivots, B.mH, not adjoint).mH
    return _lu_solve(LU, pivots, B, adjoint)


def householder_product(A, tau):
    """Computes the first columns of the product of Householder's reflections, whose vectors are below the diagonal of `A`.

    >>> import gradus
    >>> a = gradus.tensor([[3.0], [4.0]])
    >>> gradus.linalg.householder_product(*gradus.geqrf(a))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return _orgqr(A, tau)


def ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """Returns the factors `L D Lᵀ` of symmetric or Hermitian matrices in LAPACK's compact form, pivots, and the first zero of `D`, or 0.

    >>> import gradus
    >>> gradus.linalg.ldl_factor_ex(gradus.tensor([[4.0, 2.0], [2.0, 5.0]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 4.0000]])
    """
    n, lead = A.shape[-1], tuple(A.shape[:-2])
    parts = [_ldl.factored(a, hermitian) for a in A.detach().reshape(math.prod(lead), n, n).unbind(0)] if n else []
    info = _native.tensor([part[2] for part in parts] or [0] * math.prod(lead), dtype=_native.int32).reshape(lead)
    if check_errors and bool((info != 0).any()):
        raise LinAlgError(f"linalg.ldl_factor_ex: D has a zero on its diagonal (info {info.tolist()})")
    factors = _native.stack([part[0] for part in parts]).reshape(tuple(A.shape)) if parts else A.detach().clone()
    pivots = _native.tensor([part[1] for part in parts], dtype=_native.int32).reshape(*lead, n)
    return _results.ldl_factor_ex(factors, pivots, info)


def ldl_factor(A, *, hermitian=False):
    """Returns the factors `L D Lᵀ` of symmetric or Hermitian matrices in LAPACK's compact form, and pivots.

    >>> import gradus
    >>> gradus.linalg.ldl_factor(gradus.tensor([[0.0, 2.0], [2.0, 0.0]])).pivots
    tensor([-2, -2], dtype=gradus.int32)
    """
    return _results.ldl_factor(*ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2])


def ldl_solve(LD, pivots, B, *, hermitian=False):
    """Computes the `X` of `A X = B`, by the factors of `ldl_factor`.

    >>> import gradus
    >>> gradus.linalg.ldl_solve(*gradus.linalg.ldl_factor(gradus.tensor([[0.0, 2.0], [2.0, 0.0]])), gradus.tensor([[2.0], [4.0]]))
    tensor([[2.],
            [1.]])
    """
    lead = _broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2]))
    n, k = B.shape[-2:]
    count = math.prod(lead)
    if not count * n * k:
        return B.new_zeros(*lead, n, k)
    factors = LD.detach().expand(*lead, n, n).reshape(count, n, n).unbind(0)
    rows = pivots.expand(*lead, n).reshape(count, n).tolist()
    sides = B.detach().expand(*lead, n, k).reshape(count, n, k).unbind(0)
    found = [_ldl.solved(*each, hermitian) for each in zip(factors, rows, sides)]
    return _native.stack(found).reshape(*lead, n, k)


def matrix_sqrth(A):
    """Computes the positive definite square root of positive definite Hermitian matrices, of which the lower half is read.

    >>> import gradus
    >>> gradus.linalg.matrix_sqrth(gradus.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """

    def parts(x):
        w, v = eigh(x)
        return w.sqrt(), v

    def root(tensors):
        s, v = parts(tensors[0])
        return [(v * s.unsqueeze(-2).to(v.dtype)) @ v.mH]

    def rule(tensors, results, cotangents):
        # X dX + dX X = dA in the basis of eigenvectors: also defined for equal eigenvalues.
        s, v = parts(tensors[0])
        g = (cotangents[0] + cotangents[0].mH) / 2
        return [v @ (v.mH @ g @ v / (s.unsqueeze(-1) + s.unsqueeze(-2)).to(v.dtype)) @ v.mH]

    return _with_rule(root, rule, A)[0]


def polar(A):
    """Computes the polar decomposition `U H` of a matrix: `U` has orthonormal columns, `H` is Hermitian without negative eigenvalues.

    >>> import gradus
    >>> gradus.linalg.polar(gradus.tensor([[0.0, -3.0], [2.0, 0.0]])).H
    tensor([[2., 0.],
            [0., 3.]])
    """
    if A.dim() < 2 or A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"linalg.polar: expected matrices with at least as many rows as columns, but got shape {list(A.shape)}")

    def factors(tensors):
        u, s, vh = _native.svd(tensors[0])
        return [u @ vh, (vh.mH * s.unsqueeze(-2).to(vh.dtype)) @ vh]

    def rule(tensors, results, cotangents):
        # With dU = U W + (I - U Uᴴ) dA H⁻¹, the skew W solves W H + H W = Uᴴ dA - dAᴴ U: also defined where singular values are equal.
        _, s, vh = _native.svd(tensors[0])
        (u, h), (gu, gh), v = results, cotangents, vh.mH
        skew = vh @ (u.mH @ gu - gh @ h) @ v / (s.unsqueeze(-1) + s.unsqueeze(-2)).to(v.dtype)
        skew = v @ (skew - skew.mH) @ vh
        outside = (gu - u @ (u.mH @ gu)) @ (v / s.unsqueeze(-2).to(v.dtype)) @ vh
        return [outside + u @ (gh + skew)]

    return _results.polar(*_with_rule(factors, rule, A))


def _apply_if_valid(function, A, info):
    """Applies a function to the matrices that have no error; the results of the others are NaN."""
    wrong = (info != 0).unsqueeze(-1).unsqueeze(-1)
    return function(_native.where(wrong, _native.eye(A.shape[-1], dtype=A.dtype), A)).masked_fill(wrong, math.nan)


def _checked(result, check_errors, what):
    if check_errors and bool((result[1] != 0).any()):
        raise LinAlgError(f"{what} (info {result[1].tolist()})")
    return result


def inv_ex(A, *, check_errors=False):
    """Computes the inverse. Instead of raising an error, also returns the index of the first zero pivot, or 0 if there is an inverse.

    >>> import gradus
    >>> gradus.linalg.inv_ex(gradus.zeros(2, 2)).info
    tensor(1, dtype=gradus.int32)
    """
    info = _lu_info(_native.lu(A.detach())[2])
    return _checked(_results.inv_ex(_apply_if_valid(inv, A, info), info), check_errors, "linalg.inv_ex: a matrix is singular")


def cholesky_ex(A, *, upper=False, check_errors=False):
    """Computes the triangular factor. Instead of raising an error, also returns the order of the first minor that is not positive, or 0.

    >>> import gradus
    >>> gradus.linalg.cholesky_ex(-gradus.eye(2)).info
    tensor(1, dtype=gradus.int32)
    """
    info = _first_bad_minor(A.detach(), upper)
    factor = _apply_if_valid(lambda x: cholesky(x, upper=upper), A, info)
    return _checked(_results.cholesky_ex(factor, info), check_errors, "linalg.cholesky_ex: a matrix is not positive-definite")


def tensorinv(A, ind=2):
    """Computes the inverse of the linear map over the last axes, those after the first `ind`.

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
    """Computes the `X` whose product with `A` over all its axes is `B`; the axes in `dims` are moved to the end of `A` first.

    >>> import gradus
    >>> gradus.linalg.tensorsolve(gradus.eye(6).reshape(2, 3, 6), gradus.ones(2, 3)).shape
    gradus.Size([6])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
    return _native.solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(tuple(A.shape[B.dim():]))


_documented(globals())

from ._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
