"""Distributions of vectors."""

import math

from ..core import as_tensor, broadcast_tensors, eye, randn
from .. import linalg
from . import constraints
from .distribution import Located, numbers, violated


class MultivariateNormal(Located):
    """The normal distribution of vectors, with a mean and one of: covariance, its inverse, its Cholesky factor.

    >>> import gradus
    >>> from gradus.distributions import MultivariateNormal
    >>> normal = MultivariateNormal(gradus.zeros(2), gradus.eye(2))
    >>> round(normal.log_prob(gradus.zeros(2)).item(), 4), tuple(normal.sample((3,)).shape)
    (-1.8379, (3, 2))
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    _parts = {"loc": 1, "_factor": 2}

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        (loc,) = numbers(loc)
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        matrix = as_tensor(given[0])
        if matrix.dim() < 2 or tuple(matrix.shape[-2:]) != (loc.shape[-1],) * 2:
            raise ValueError(f"a mean of {tuple(loc.shape)} needs a matrix of {(loc.shape[-1],) * 2}, not {tuple(matrix.shape)}")
        self._from = "scale_tril" if scale_tril is not None else "precision_matrix" if covariance_matrix is None else "covariance_matrix"
        constraint = self.arg_constraints[self._from]
        checked = self._validate_args if validate_args is None else validate_args
        if checked and violated(constraint, matrix):
            raise ValueError(f"Expected parameter {self._from} (Tensor of shape {tuple(matrix.shape)}) of distribution MultivariateNormal "
                             f"to satisfy the constraint {constraint!r}, but found invalid values:\n{matrix.detach()}")
        if scale_tril is not None:
            factor = matrix
        elif covariance_matrix is not None:
            factor = matrix.cholesky()
        else:
            inverse = matrix.cholesky()
            factor = linalg.inv(inverse @ inverse.mT).cholesky()
        mean, _ = broadcast_tensors(loc.unsqueeze(-1), factor[..., :1])
        self.loc = mean.squeeze(-1)
        self._factor = factor.expand(*self.loc.shape, loc.shape[-1])
        super().__init__(self.loc.shape[:-1], self.loc.shape[-1:], validate_args)

    def _parameter_names(self):
        return ["loc", self._from]

    def _unchecked(self):
        return ["loc"]

    @property
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._factor

    @property
    def covariance_matrix(self):
        """The covariance."""
        return self._factor @ self._factor.mT

    @property
    def precision_matrix(self):
        """The inverse of the covariance."""
        n = self.loc.shape[-1]
        return eye(n, dtype=self.loc.dtype).expand(tuple(self._factor.shape)).cholesky_solve(self._factor)

    @property
    def variance(self):
        """The variance of each component."""
        return (self._factor**2).sum(-1)

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        z = randn(self._extended(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self._factor @ z.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self._factor.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        away = (value - self.loc).unsqueeze(-1)
        factor = self._factor.expand(*away.shape[:-2], *self._factor.shape[-2:])
        whitened = linalg.solve_triangular(factor, away, upper=False).squeeze(-1)
        return -0.5 * (self.loc.shape[-1] * math.log(2 * math.pi) + (whitened**2).sum(-1)) - self._half_log_det()

    def entropy(self):
        """Computes the entropy."""
        return 0.5 * self.loc.shape[-1] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
