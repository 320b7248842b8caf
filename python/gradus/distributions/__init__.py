"""Distributions: draws, densities, entropies, under PyTorch's names."""

from . import constraints
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .divergence import kl_divergence
from .continuous import Normal, Uniform
from .distribution import Distribution
from .drawn import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, LogNormal
from .independent import Independent
from .multivariate import MultivariateNormal

__all__ = ["Bernoulli", "Categorical", "Cauchy", "Distribution", "Exponential", "Gumbel", "HalfNormal", "Independent", "Laplace",
           "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Uniform", "constraints", "kl_divergence"]
