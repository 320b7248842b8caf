"""Distributions: draws, densities, entropies, under PyTorch's names."""

from . import constraints
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .divergence import kl_divergence
from .continuous import Normal, Uniform
from .counted import Beta, Chi2, Dirichlet, Gamma, Poisson
from .distribution import Distribution
from .drawn import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, LogNormal
from .independent import Independent
from .multivariate import MultivariateNormal

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma", "Gumbel",
           "HalfNormal", "Independent", "Laplace", "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson",
           "Uniform", "constraints", "kl_divergence"]
