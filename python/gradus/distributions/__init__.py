"""Distributions: draws, densities, entropies, under PyTorch's names."""

from . import constraints, transforms
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .divergence import kl_divergence
from .continuous import Normal, Uniform
from .counted import Beta, Chi2, Dirichlet, Gamma, Poisson
from .distribution import Distribution
from .drawn import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, LogNormal
from .independent import Independent
from .multivariate import MultivariateNormal
from .transformed import MixtureSameFamily, TransformedDistribution
from .transforms import (AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform, TanhTransform,
                         Transform)

__all__ = ["AffineTransform", "Bernoulli", "Beta", "Categorical", "Cauchy", "Chi2", "ComposeTransform", "Dirichlet",
           "Distribution", "ExpTransform", "Exponential", "Gamma", "Gumbel", "HalfNormal", "Independent", "Laplace",
           "LogNormal", "MixtureSameFamily", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson",
           "SigmoidTransform", "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "constraints",
           "kl_divergence", "transforms"]
