"""Distributions that are sampled by inverting their distribution function."""

import math

from ..core import finfo, rand
from . import constraints
from .continuous import LocScale, Normal
from .distribution import Distribution, numbers

_EULER = 0.5772156649015329


class _Drawn(Distribution):
    """Base of distributions with an inverse distribution function (`icdf`)."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        dtype = getattr(self, next(iter(self._parts))).dtype
        tiny = finfo(dtype).eps / 2
        return self.icdf(rand(self._extended(sample_shape), dtype=dtype).clamp(tiny, 1 - tiny))

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)


class _Scaled(LocScale, _Drawn):
    """Base of distributions with `loc` and `scale`. A subclass defines the standard distribution: the logarithm of its density, its
    distribution function, and the inverse of that."""

    @property
    def mean(self):
        """The mean."""
        return self.loc + self.scale * self._mean

    @property
    def variance(self):
        """The variance."""
        return self.scale**2 * self._variance

    def _log_prob(self, value):
        return self._standard_log_density((value - self.loc) / self.scale) - self.scale.log()

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return self._standard_cdf((value - self.loc) / self.scale)

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self.loc + self.scale * self._standard_icdf(value)

    def entropy(self):
        """Computes the entropy."""
        return self._entropy + self.scale.log()


class Laplace(_Scaled):
    """The Laplace distribution: exponential on both sides of `loc`.

    >>> import gradus
    >>> round(gradus.distributions.Laplace(0.0, 1.0).log_prob(gradus.tensor(1.0)).item(), 4)
    -1.6931
    """

    _mean, _variance, _entropy = 0.0, 2.0, 1 + math.log(2)

    def _standard_log_density(self, x):
        return -x.abs() - math.log(2)

    def _standard_cdf(self, x):
        return 0.5 - 0.5 * x.sign() * (-x.abs()).expm1()

    def _standard_icdf(self, p):
        return -(p - 0.5).sign() * (-2 * (p - 0.5).abs()).log1p()


class Gumbel(_Scaled):
    """The Gumbel distribution, of the maximum of many draws.

    >>> import gradus
    >>> gradus.distributions.Gumbel(0.0, 1.0).log_prob(gradus.tensor(0.0)).item()
    -1.0
    """

    _mean, _variance, _entropy = _EULER, math.pi**2 / 6, 1 + _EULER

    def _standard_log_density(self, x):
        return -x - (-x).exp()

    def _standard_cdf(self, x):
        return (-(-x).exp()).exp()

    def _standard_icdf(self, p):
        return -(-p.log()).log()


class Cauchy(_Scaled):
    """The Cauchy distribution, which has no mean.

    >>> import gradus
    >>> round(gradus.distributions.Cauchy(0.0, 1.0).log_prob(gradus.tensor(0.0)).item(), 4)
    -1.1447
    """

    _mean, _variance, _entropy = math.nan, math.inf, math.log(4 * math.pi)

    def _standard_log_density(self, x):
        return -(x * x).log1p() - math.log(math.pi)

    def _standard_cdf(self, x):
        return x.atan() / math.pi + 0.5

    def _standard_icdf(self, p):
        return (math.pi * (p - 0.5)).tan()


class Exponential(_Drawn):
    """The exponential distribution with `rate`.

    >>> import gradus
    >>> round(gradus.distributions.Exponential(2.0).log_prob(gradus.tensor(1.0)).item(), 4)
    -1.3069
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    _parts = {"rate": 0}

    def __init__(self, rate, validate_args=None):
        (self.rate,) = numbers(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean."""
        return 1 / self.rate

    @property
    def mode(self):
        """The mode."""
        return self.rate * 0

    @property
    def variance(self):
        """The variance."""
        return self.rate**-2

    def _log_prob(self, value):
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return -(-value).log1p() / self.rate

    def entropy(self):
        """Computes the entropy."""
        return 1 - self.rate.log()


class LogNormal(Normal):
    """The log-normal distribution.

    >>> import gradus
    >>> round(gradus.distributions.LogNormal(0.0, 1.0).mean.item(), 4)
    1.6487
    """

    support = constraints.positive

    @property
    def mean(self):
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self):
        """The mode."""
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self):
        """The variance."""
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    def _normal(self):
        return Normal(self.loc, self.scale, validate_args=False)

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        return super().rsample(sample_shape).exp()

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return self._normal().log_prob(value.log()) - value.log()

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return self._normal().cdf(value.log())

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return super().icdf(value).exp()

    def entropy(self):
        """Computes the entropy."""
        return super().entropy() + self.loc


class HalfNormal(_Drawn):
    """The half-normal distribution: the absolute value of a normal draw with mean 0.

    >>> import gradus
    >>> round(gradus.distributions.HalfNormal(1.0).mean.item(), 4)
    0.7979
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    _parts = {"scale": 0}

    def __init__(self, scale, validate_args=None):
        (self.scale,) = numbers(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _normal(self):
        return Normal(self.scale * 0, self.scale, validate_args=False)

    @property
    def mean(self):
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self):
        """The mode."""
        return self.scale * 0

    @property
    def variance(self):
        """The variance."""
        return self.scale**2 * (1 - 2 / math.pi)

    def _log_prob(self, value):
        return (self._normal().log_prob(value) + math.log(2)).masked_fill(value < 0, -math.inf)

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return 2 * self._normal().cdf(value) - 1

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self._normal().icdf((value + 1) / 2)

    def entropy(self):
        """Computes the entropy."""
        return self._normal().entropy() - math.log(2)
