"""Parametrizations under the names of `torch.nn.utils.parametrizations`."""

from ...core import cat, eye, matrix_exp, no_grad, randn, zeros, zeros_like
from ... import linalg
from .. import functional as F
from ..conv import _ConvTransposeNd
from ..module import Module
from .parametrize import register_parametrization


def _norm_except(v, dim):
    """Returns the norms of a tensor's slices along an axis; with -1, the norm of the complete tensor."""
    axes = [axis for axis in range(v.dim()) if axis != dim % v.dim()] if dim != -1 else list(range(v.dim()))
    return (v * v).sum(axes, keepdim=dim != -1).sqrt()


class _WeightNorm(Module):
    """A unit direction times a length."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight):
        """Returns length and direction of a tensor."""
        return _norm_except(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Trains a weight's length and direction separately.

    >>> import gradus
    >>> layer = gradus.nn.utils.parametrizations.weight_norm(gradus.nn.Linear(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """A matrix divided by its largest singular value, estimated by power iteration."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim % weight.dim(), eps, n_power_iterations
        if weight.dim() > 1:
            with no_grad():
                matrix = self._as_matrix(weight)
                self.register_buffer("_u", F.normalize(randn(matrix.shape[0], dtype=weight.dtype), dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(randn(matrix.shape[1], dtype=weight.dtype), dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _as_matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix, times):
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix.detach() @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.detach().t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / u.dot(matrix @ v)

    def right_inverse(self, value):
        """Returns the value unchanged; any tensor is accepted."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its largest singular value.

    >>> import gradus
    >>> layer = gradus.nn.utils.parametrizations.spectral_norm(gradus.nn.Linear(4, 3), n_power_iterations=20)
    >>> abs(gradus.linalg.svdvals(layer.weight)[0].item() - 1) < 0.1
    True
    """
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return register_parametrization(module, name, _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps))


def _reflections(vectors, scales):
    """Returns the first columns of a product of Householder reflections, each given by a column below the diagonal."""
    n, k = vectors.shape[-2:]
    result = eye(n, k, dtype=vectors.dtype)
    below = vectors.tril(-1) + eye(n, k, dtype=vectors.dtype)
    for i in reversed(range(k)):
        v = below[..., :, i:i + 1]
        result = result - scales[..., i:i + 1].unsqueeze(-1) * v @ (v.mH @ result)
    return result


class _Orthogonal(Module):
    """A matrix whose columns, or rows if they are fewer, are orthonormal."""

    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
        self.orthogonal_map, self._wide = orthogonal_map, weight.shape[-2] < weight.shape[-1]
        if use_trivialization:
            self.register_buffer("base", None)
        elif orthogonal_map != "householder":
            raise NotImplementedError("matrix_exp and cayley need use_trivialization, since they have no inverse")
        else:
            raise NotImplementedError("orthogonal: use_trivialization=False is not supported")

    def forward(self, X):
        X = X.mT if self._wide else X
        n, k = X.shape[-2:]
        if self.orthogonal_map == "householder":
            A = X.tril(-1)
            Q = _reflections(A, 2.0 / (1.0 + (A * A.conj()).sum(-2))) * X.diagonal(0, -2, -1).detach().sign().unsqueeze(-2)
        else:
            X = X.tril()
            X = X if n == k else cat([X, zeros((*X.shape[:-2], n, n - k), dtype=X.dtype)], -1)
            A, one = X - X.mH, eye(n, dtype=X.dtype)
            Q = matrix_exp(A) if self.orthogonal_map == "matrix_exp" else linalg.solve(one - A / 2, one + A / 2)
            Q = Q[..., :k]
        Q = self.base @ Q
        return Q.mT if self._wide else Q

    def right_inverse(self, Q):
        """Returns the inverse: a base whose first columns are the orthogonalized matrix."""
        given, Q = Q, Q.mT if self._wide else Q
        n, k = Q.shape[-2:]
        if n != k:
            Q = cat([Q, randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype)], -1)
        q, r = linalg.qr(Q)
        self.base = q * r.diagonal(0, -2, -1).sign().unsqueeze(-2)
        return zeros_like(given) - eye(*given.shape[-2:], dtype=given.dtype)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keeps a weight orthogonal.

    >>> import gradus
    >>> layer = gradus.nn.utils.parametrizations.orthogonal(gradus.nn.Linear(4, 3))
    >>> gradus.allclose(layer.weight @ layer.weight.T, gradus.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
