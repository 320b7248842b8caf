"""Distributions: draws, densities, entropies, under PyTorch's names."""

from . import constraints
from .discrete import Bernoulli, Categorical
from .divergence import kl_divergence
from .continuous import Normal, Uniform
from .distribution import Distribution
from .independent import Independent
from .multivariate import MultivariateNormal

__all__ = ["Bernoulli", "Categorical", "Distribution", "Independent", "MultivariateNormal", "Normal", "Uniform", "constraints", "kl_divergence"]
