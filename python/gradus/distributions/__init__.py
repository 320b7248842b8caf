"""Distributions: draws, densities, entropies, under PyTorch's names."""

from .discrete import Bernoulli, Categorical
from .divergence import kl_divergence
from .continuous import Normal, Uniform
from .distribution import Distribution

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]
