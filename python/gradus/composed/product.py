"""Sums of products, and factors."""

from collections import namedtuple

from .. import _native
from .._native import cat, eye, ones_like, solve_triangular

_SVD = namedtuple("svd", "U S V")


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * batch1 @ batch2`."""
    return beta * input + alpha * (batch1 @ batch2)


def addmv(input, mat, vec, *, beta=1, alpha=1):
    """`beta * input + alpha * mat @ vec`."""
    return beta * input + alpha * (mat @ vec)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """`beta * input + alpha * outer(vec1, vec2)`."""
    return beta * input + alpha * vec1.outer(vec2)


def vdot(input, other):
    """The product of vectors, the first conjugated."""
    return input.conj().dot(other)


def multi_dot(tensors):
    """A chain of products of matrices, in the order that is cheapest; vectors may stand at the ends."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise ValueError(f"multi_dot takes two tensors or more, not {len(tensors)}")
    row, column = tensors[0].dim() == 1, tensors[-1].dim() == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(1)
    sizes = [x.shape[0] for x in tensors] + [tensors[-1].shape[1]]
    n = len(tensors)
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        return tensors[i] if i == j else product(i, cut[i, j]) @ product(cut[i, j] + 1, j)

    result = product(0, n - 1)
    result = result.squeeze(0) if row else result
    return result.squeeze(-1) if column else result


def chain_matmul(*matrices):
    """`multi_dot` of separate arguments."""
    return multi_dot(matrices)


def vander(x, N=None, increasing=False):
    """Powers of a vector's elements, a column each."""
    powers = _powers(x, x.shape[0] if N is None else N)
    return powers if increasing else powers.flip(1)


def _powers(x, n):
    """The first `n` powers, along a new last axis."""
    if n < 1:
        return x.unsqueeze(-1)[..., :0]
    column = x.unsqueeze(-1)
    return cat([ones_like(column), column.expand(*x.shape, n - 1)], -1).cumprod(-1)


def cov(input, *, correction=1):
    """The covariance of rows."""
    x = input.unsqueeze(0) if input.dim() < 2 else input
    x = x - x.mean(1, keepdim=True)
    result = x @ x.conj().T / (x.shape[1] - correction)
    return result.squeeze() if input.dim() < 2 else result


def corrcoef(input):
    """The correlation of rows."""
    c = cov(input)
    if c.dim() == 0:
        return c / c
    scale = c.diagonal().sqrt()
    return c / scale.unsqueeze(0) / scale.unsqueeze(1)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha *` the sum of `batch1 @ batch2` over the batch."""
    return beta * input + alpha * (batch1 @ batch2).sum(0)


def ger(input, vec2):
    """`outer`."""
    return input.outer(vec2)


def cholesky_solve(input, L, upper=False):
    """What solves `A x = input`, by the Cholesky factor of `A`."""
    if upper:
        return solve_triangular(L, solve_triangular(L.mH, input, upper=False), upper=True)
    return solve_triangular(L.mH, solve_triangular(L, input, upper=False), upper=True)


def cholesky_inverse(L, upper=False):
    """The inverse of a matrix, by its Cholesky factor."""
    n = L.shape[-1]
    return cholesky_solve(eye(n, dtype=L.dtype).expand(tuple(L.shape)), L, upper)


def _completed(q):
    """Orthonormal columns, and more of them, up to a square."""
    rows, columns = q.shape[-2:]
    if rows == columns:
        return q
    whole = eye(rows).to(q.dtype).expand(*q.shape[:-2], rows, rows)
    more = _native.qr(cat([q.detach(), whole], -1))[0][..., columns:]
    return cat([q, more], -1)


def svd(input, some=True, compute_uv=True):
    """Singular vectors and values as U, S and V, which `linalg.svd` gives transposed; `some` gives as many vectors as values.

    >>> import gradus
    >>> u, s, v = gradus.svd(gradus.ones(3, 2))
    >>> tuple(v.shape)
    (2, 2)
    >>> gradus.allclose(u @ s.diag() @ v.T, gradus.ones(3, 2), atol=1e-6)
    True
    """
    u, s, vh = _native.svd(input)
    if not compute_uv:
        return _SVD(s.new_zeros(input.shape[-2], input.shape[-2]), s, s.new_zeros(input.shape[-1], input.shape[-1]))
    return _SVD(u, s, vh.mH) if some else _SVD(_completed(u), s, _completed(vh.mH))
