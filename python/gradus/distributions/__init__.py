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

# PyTorch has a module for each distribution.
import sys as _sys  # noqa: E402
import types as _types  # noqa: E402

from . import utils  # noqa: E402,F401

_MODULES = {
    "bernoulli": "Bernoulli", "beta": "Beta", "binomial": "Binomial", "categorical": "Categorical", "cauchy": "Cauchy", "chi2": "Chi2",
    "continuous_bernoulli": "ContinuousBernoulli", "dirichlet": "Dirichlet", "exponential": "Exponential", "fishersnedecor": "FisherSnedecor",
    "gamma": "Gamma", "geometric": "Geometric", "gumbel": "Gumbel", "half_cauchy": "HalfCauchy", "half_normal": "HalfNormal",
    "inverse_gamma": "InverseGamma", "kl": "kl_divergence register_kl", "kumaraswamy": "Kumaraswamy", "laplace": "Laplace",
    "log_normal": "LogNormal", "logistic_normal": "LogisticNormal", "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily", "multinomial": "Multinomial", "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial", "normal": "Normal", "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto", "poisson": "Poisson", "relaxed_bernoulli": "RelaxedBernoulli", "relaxed_categorical": "RelaxedOneHotCategorical",
    "studentT": "StudentT", "transformed_distribution": "TransformedDistribution", "uniform": "Uniform", "von_mises": "VonMises",
    "weibull": "Weibull", "wishart": "Wishart",
}
for _name, _values in _MODULES.items():
    _values = {value: globals()[value] for value in _values.split() if value in globals()}
    if _values and _name not in globals():
        _module = _types.ModuleType(f"{__name__}.{_name}", "Distributions of one family.")
        _module.__dict__.update(_values, Distribution=Distribution, constraints=constraints)
        _sys.modules[_module.__name__] = globals()[_name] = _module
