"""Distributions with densities."""

import math

from ..core import rand, randn, where
from . import constraints
from .distribution import Distribution, Located, numbers, violated


class LocScale(Located):
    """Base of distributions over all real numbers with `loc` and `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parts = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = numbers(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)


class Normal(LocScale):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    >>> import gradus
    >>> from gradus.distributions import Normal
    >>> round(Normal(0.0, 1.0).log_prob(gradus.tensor(0.0)).item(), 4)
    -0.9189
    >>> tuple(Normal(gradus.zeros(3), 1.0).rsample((2,)).shape)
    (2, 3)
    """

    has_rsample = True

    @property
    def variance(self):
        """The variance."""
        return self.scale**2

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        return self.loc + self.scale * randn(self._extended(sample_shape), dtype=self.loc.dtype)

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) / self.scale / math.sqrt(2)).erf())

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        """Computes the entropy."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """The uniform distribution from `low` to `high`.

    >>> import gradus
    >>> from gradus.distributions import Uniform
    >>> Uniform(0.0, 2.0, validate_args=False).log_prob(gradus.tensor([1.0, 3.0]))
    tensor([-0.6931,    -inf])
    """

    has_rsample = True
    arg_constraints = {"low": constraints.real, "high": constraints.real}
    _parts = {"low": 0, "high": 0}

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = numbers(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and violated(constraints.less_than(self.high.detach()), self.low):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def support(self):
        """The support."""
        return constraints.interval(self.low.detach(), self.high.detach())

    @property
    def mean(self):
        """The mean."""
        return (self.low + self.high) / 2

    @property
    def mode(self):
        """NaN: all values are equally likely."""
        return self.high * math.nan

    @property
    def variance(self):
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        return self.low + (self.high - self.low) * rand(self._extended(sample_shape), dtype=self.low.dtype)

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        inside = (value >= self.low) & (value < self.high)
        return where(inside, -(self.high - self.low).log(), -math.inf)

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self.low + (self.high - self.low) * value

    def entropy(self):
        """Computes the entropy."""
        return (self.high - self.low).log()
