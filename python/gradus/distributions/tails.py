"""Distributions with heavy tails."""

import math

from ..core import igammac, randn
from . import constraints
from .counted import Gamma, _gamma, _OfGamma
from .distribution import Distribution, numbers
from .drawn import _Drawn


class StudentT(_OfGamma):
    """Student's t-distribution with `df` degrees of freedom.

    >>> import gradus
    >>> round(gradus.distributions.StudentT(1.0).log_prob(gradus.tensor(0.0)).item(), 4)
    -1.1447
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parts = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = numbers(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean; NaN for at most one degree of freedom."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self):
        """The mode."""
        return self.loc

    @property
    def variance(self):
        """The variance."""
        known = self.scale**2 * self.df / (self.df - 2)
        return known.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def _draw(self, df, loc, scale):
        spread = (2 * _gamma(df / 2) / df.double()).clamp(min=1.2e-38)
        return loc + scale * randn(tuple(df.shape), dtype=spread.dtype) * spread.rsqrt()

    def _log_prob(self, value):
        df, y = self.df, (value - self.loc) / self.scale
        scale = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (df / 2).lgamma() - ((df + 1) / 2).lgamma()
        return -0.5 * (df + 1) * (y * y / df).log1p() - scale

    def entropy(self):
        """Computes the entropy."""
        df, half, more = self.df, self.df / 2, (self.df + 1) / 2
        whole = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * df.log() + whole


class InverseGamma(_OfGamma):
    """The inverse gamma distribution: the reciprocal of a gamma draw.

    >>> import gradus
    >>> gradus.distributions.InverseGamma(3.0, 2.0).mean.item()
    1.0
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    _parts = {"concentration": 0, "rate": 0}

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = numbers(concentration, rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean."""
        return (self.rate / (self.concentration - 1)).masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self):
        """The mode."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        """The variance."""
        a = self.concentration
        return (self.rate**2 / ((a - 1) ** 2 * (a - 2))).masked_fill(a <= 2, math.inf)

    def _draw(self, concentration, rate):
        return rate.double() / _gamma(concentration).clamp(min=1.2e-38)

    def _log_prob(self, value):
        inverse = Gamma(self.concentration, self.rate, validate_args=False)
        return inverse._log_prob(1 / value) - 2 * value.log()

    def cdf(self, value):
        """Computes the cumulative distribution function.

        >>> import gradus
        >>> round(gradus.distributions.InverseGamma(1.0, 1.0).cdf(gradus.tensor(2.0)).item(), 4)
        0.6065
        """
        if self._validate_args:
            self._validate_sample(value)
        return igammac(self.concentration, self.rate / value)

    def entropy(self):
        """Computes the entropy."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Weibull(_Drawn):
    """The Weibull distribution with `scale` and `concentration`.

    >>> import gradus
    >>> gradus.distributions.Weibull(1.0, 1.0).log_prob(gradus.tensor(2.0)).item()
    -2.0
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parts = {"scale": 0, "concentration": 0}

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = numbers(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _moment(self, k):
        return (1 + k / self.concentration).lgamma().exp()

    @property
    def mean(self):
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def mode(self):
        """The mode."""
        k = self.concentration
        return self.scale * ((k - 1).clamp(min=0) / k) ** (1 / k)

    @property
    def variance(self):
        """The variance."""
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def _log_prob(self, value):
        k, x = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * x.log() - x**k

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def entropy(self):
        """Computes the entropy."""
        euler = 0.5772156649015329
        return euler * (1 - 1 / self.concentration) + (self.scale / self.concentration).log() + 1


class Pareto(_Drawn):
    """The Pareto distribution above `scale` with exponent `alpha`.

    >>> import gradus
    >>> gradus.distributions.Pareto(1.0, 2.0).mean.item()
    2.0
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parts = {"scale": 0, "alpha": 0}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = numbers(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def support(self):
        """The support."""
        return constraints.greater_than_eq(self.scale.detach())

    @property
    def mean(self):
        """The mean."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        """The mode."""
        return self.scale

    @property
    def variance(self):
        """The variance."""
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def _log_prob(self, value):
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self):
        """Computes the entropy."""
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class HalfCauchy(_Drawn):
    """The half-Cauchy distribution: the absolute value of a Cauchy draw.

    >>> import gradus
    >>> round(gradus.distributions.HalfCauchy(1.0).log_prob(gradus.tensor(0.0)).item(), 4)
    -0.4516
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    _parts = {"scale": 0}

    def __init__(self, scale, validate_args=None):
        (self.scale,) = numbers(scale)
        Distribution.__init__(self, self.scale.shape, validate_args=validate_args)

    @property
    def mean(self):
        """Infinity, as in PyTorch."""
        return self.scale * math.inf

    @property
    def mode(self):
        """The mode."""
        return self.scale * 0

    @property
    def variance(self):
        """Infinity, as in PyTorch."""
        return self.scale * math.inf

    def _log_prob(self, value):
        return (math.log(2 / math.pi) - self.scale.log() - ((value / self.scale) ** 2).log1p()).masked_fill(value < 0, -math.inf)

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return 2 * (value / self.scale).atan() / math.pi

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        return self.scale * (math.pi / 2 * value).tan()

    def entropy(self):
        """Computes the entropy."""
        return math.log(2 * math.pi) + self.scale.log()
