"""Distributions: draws, densities, entropies, under PyTorch's names."""

from . import constraints, transforms
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .divergence import kl_divergence, register_kl
from .continuous import Normal, Uniform
from .counted import Beta, Chi2, Dirichlet, Gamma, Poisson
from .distribution import Distribution
from .drawn import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, LogNormal
from .independent import Independent
from .multivariate import MultivariateNormal
from .relaxed import OneHotCategoricalStraightThrough, RelaxedBernoulli, RelaxedOneHotCategorical
from .tails import HalfCauchy, InverseGamma, Pareto, StudentT, Weibull
from .transformed import MixtureSameFamily, TransformedDistribution
from .transforms import (AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform, SoftplusTransform,
                         TanhTransform, Transform)
from .trials import Binomial, Geometric, Multinomial, NegativeBinomial

__all__ = ["AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ComposeTransform",
           "Dirichlet", "Distribution", "ExpTransform", "Exponential", "Gamma", "Geometric", "Gumbel", "HalfCauchy",
           "HalfNormal", "Independent", "InverseGamma", "Laplace", "LogNormal", "MixtureSameFamily", "Multinomial",
           "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
           "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "SigmoidTransform", "SoftplusTransform",
           "StudentT",
           "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "Weibull", "constraints",
           "kl_divergence", "register_kl", "transforms"]
