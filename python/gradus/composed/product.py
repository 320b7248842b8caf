"""Sums of products, powers and covariances."""

from .. import _native
from .._native import cat, complex, ones_like
from .pointwise import result_type


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * batch1 @ batch2`."""
    return _native._accumulated(input, batch1.bmm(batch2), beta, alpha)


def addmv(input, mat, vec, *, beta=1, alpha=1):
    """`beta * input + alpha * mat @ vec`."""
    return _native._accumulated(input, mat.mv(vec), beta, alpha)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """`beta * input + alpha * outer(vec1, vec2)`."""
    return _native._accumulated(input, vec1.outer(vec2), beta, alpha)


def vdot(input, other):
    """Computes the inner product of vectors, with the first conjugated."""
    return input.conj().dot(other)


def multi_dot(tensors):
    """Multiplies a chain of matrices, in the order that is cheapest; the first and last may be vectors."""
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
    """Computes `multi_dot` of its arguments."""
    return multi_dot(matrices)


def vander(x, N=None, increasing=False):
    """Computes the Vandermonde matrix: powers of a vector's elements, one column each."""
    powers = _powers(x, x.shape[0] if N is None else N)
    return powers if increasing else powers.flip(1)


def _powers(x, n):
    """Returns the first `n` powers, along a new last axis."""
    if n < 1:
        return x.unsqueeze(-1)[..., :0]
    column = x.unsqueeze(-1)
    return cat([ones_like(column), column.expand(*x.shape, n - 1)], -1).cumprod(-1)


def cov(input, *, correction=1, fweights=None, aweights=None):
    """Computes the covariance of rows. `fweights` are repetition counts of columns, `aweights` their weights.

    >>> import gradus
    >>> gradus.cov(gradus.tensor([1.0, 2.0, 4.0]), fweights=gradus.tensor([1, 1, 2]))
    tensor(2.2500)
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    x = input.reshape(1, -1) if input.dim() < 2 else input
    for name, weights, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if weights is None:
            continue
        if weights.dim() > 1 or weights.numel() != x.shape[1]:
            raise RuntimeError(f"cov(): expected {name} to have one element for each of {x.shape[1]} observations, not shape {list(weights.shape)}")
        if weights.is_floating_point() is whole or weights.is_complex():
            raise RuntimeError(f"cov(): expected {name} to have {'integral' if whole else 'floating point'} dtype but got {weights.dtype}")
        if not weights._is_traced and bool((weights < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if aweights is not None:
        # `total - lost` cancels, so the weights are converted to the dtype of the result first.
        aweights = aweights.to(result_type(x.real if x.is_complex() else x, aweights))
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        total = x.shape[1]
        mean, norm = x.sum(1, keepdim=True) / total, max(total - correction, 0)
    else:
        total = weights.sum()
        mean = (x * weights).sum(1, keepdim=True) / total
        lost = correction if aweights is None else correction * (weights * aweights).sum() / total
        norm = (total - lost).clamp(min=0)
    x = x - mean
    other = (x if weights is None else x * weights).mT
    return (x @ (other.conj() if other.is_complex() else other) / norm).squeeze()


def corrcoef(input):
    """Computes the correlation of rows."""
    c = cov(input)
    if c.dim() == 0:
        return c / c
    scale = (c.real if c.is_complex() else c).diagonal().sqrt()
    c = c / scale.unsqueeze(0) / scale.unsqueeze(1)
    return complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha *` the sum of `batch1 @ batch2` over the batch."""
    return _native._accumulated(input, batch1.bmm(batch2).sum(0), beta, alpha)


def ger(input, vec2):
    """Computes the outer product, as `outer` does."""
    return input.outer(vec2)
