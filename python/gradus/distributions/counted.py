"""Poisson, gamma and Dirichlet distributions, and related ones."""

from ..core import igamma, is_grad_enabled, no_grad, ones, poisson, rand, randn, stack, where, zeros
from ..nn import functional as F
from . import constraints
from .distribution import Distribution, numbers


def _gamma(concentration):
    """Draws from gamma distributions of rate 1, by the method of Marsaglia and Tsang (2000): transformed normal draws, most of
    which are accepted."""
    wide = concentration.detach().double()
    # For a concentration below 1, draws with the concentration plus 1 and scales the draw down.
    d = where(wide < 1, wide + 1, wide) - 1 / 3
    c, shape = 1 / (9 * d).sqrt(), tuple(wide.shape)
    found, missing = zeros(shape, dtype=wide.dtype), ones(shape, dtype=wide.dtype) > 0
    while bool(missing.any()):
        z, u = randn(shape, dtype=wide.dtype), 1 - rand(shape, dtype=wide.dtype)
        cube = (1 + c * z) ** 3
        kept = (cube > 0) & (u.log() < 0.5 * z * z + d * (1 - cube + cube.clamp(min=1e-300).log()))
        found = where(missing & kept, d * cube, found)
        missing = missing & ~kept
    smaller = (1 - rand(shape, dtype=wide.dtype)).log() / wide
    x = (found.clamp(min=1e-300).log() + where(wide < 1, smaller, 0.0)).exp()
    if not concentration.requires_grad or not is_grad_enabled():
        return x
    with no_grad():
        slope = _draw_derivative(wide, x)
    return x + slope * (concentration.double() - wide)


def _draw_derivative(a, x):
    """Computes the derivative of a gamma draw `x` with respect to its concentration `a` at constant quantile. The distribution function
    and both its derivatives are computed by a series in `x`. For large `a`, the cube root of a draw is nearly normal."""
    large = a > 1e3
    few, draws = where(large, 1.0, a), where(large, 1.0, x)
    term, above = draws / few, (few + 1).digamma() - draws.log()
    total, n = zeros(tuple(a.shape), dtype=a.dtype), 1
    while bool((term.abs() * (above.abs() + 1) > 1e-17 * total.abs()).any()) and n < 1000:
        total = total + term * above
        term, above, n = term * draws / (few + n), above + 1 / (few + n), n + 1
    root = (x / a) ** (1 / 3)
    return where(large, root**3 + root**2 * (1 / (6 * a) - 1.5 * (root - 1)), total)


class _Sampled(Distribution):
    """Base of distributions whose draws come from `_draw`."""

    def sample(self, sample_shape=()):
        """Draws from each distribution."""
        with no_grad():
            shape = self._extended(sample_shape)
            own = self._draw(*[getattr(self, name).detach().expand(shape) for name in self._parts])
            return own.to(getattr(self, next(iter(self._parts))).dtype)

    def log_prob(self, value):
        """Computes the logarithm of the density or probability."""
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)


class _OfGamma(_Sampled):
    """Base of distributions whose draws are made of gamma draws, which are differentiable."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        shape = self._extended(sample_shape)
        own = self._draw(*[getattr(self, name).expand(shape) for name in self._parts])
        return own.to(getattr(self, next(iter(self._parts))).dtype)


class Gamma(_OfGamma):
    """The gamma distribution with `concentration` and `rate`.

    >>> import gradus
    >>> round(gradus.distributions.Gamma(2.0, 1.0).log_prob(gradus.tensor(1.0)).item(), 4)
    -1.0
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    _parts = {"concentration": 0, "rate": 0}

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = numbers(concentration, rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self):
        """The mode."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        """The variance."""
        return self.concentration / self.rate**2

    def _draw(self, concentration, rate):
        # Clamped above 0, which has no logarithm.
        return (_gamma(concentration) / rate.double()).clamp(min=1.2e-38)

    def _log_prob(self, value):
        a = self.concentration
        return a.xlogy(self.rate) + (a - 1).xlogy(value) - self.rate * value - a.lgamma()

    def cdf(self, value):
        """Computes the cumulative distribution function.

        >>> import gradus
        >>> round(gradus.distributions.Gamma(1.0, 1.0).cdf(gradus.tensor(2.0)).item(), 4)
        0.8647
        """
        if self._validate_args:
            self._validate_sample(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self):
        """Computes the entropy."""
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The chi-squared distribution: the sum of `df` squared normal draws.

    >>> import gradus
    >>> gradus.distributions.Chi2(3.0).mean.item()
    3.0
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        (df,) = numbers(df)
        super().__init__(0.5 * df, 0.5, validate_args)

    @property
    def df(self):
        """The degrees of freedom."""
        return self.concentration * 2


class Dirichlet(_OfGamma):
    """The Dirichlet distribution, along the last axis.

    >>> import gradus
    >>> shares = gradus.distributions.Dirichlet(gradus.ones(3))
    >>> round(shares.log_prob(gradus.tensor([0.2, 0.3, 0.5])).item(), 4), tuple(shares.sample((2,)).shape)
    (0.6931, (2, 3))
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    _parts = {"concentration": 1}

    def __init__(self, concentration, validate_args=None):
        (self.concentration,) = numbers(concentration)
        if self.concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        super().__init__(self.concentration.shape[:-1], self.concentration.shape[-1:], validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self):
        """The mode."""
        above = (self.concentration - 1).clamp(min=0)
        corner = F.one_hot(above.argmax(-1), above.shape[-1]).to(above.dtype)
        return where((self.concentration < 1).all(-1, keepdim=True), corner, above / above.sum(-1, keepdim=True))

    @property
    def variance(self):
        """The variance of each share."""
        whole = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (whole - self.concentration) / (whole**2 * (whole + 1))

    def _draw(self, concentration):
        parts = _gamma(concentration)
        return parts / parts.sum(-1, keepdim=True)

    def _log_prob(self, value):
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        """Computes the entropy."""
        a, n = self.concentration, self.concentration.shape[-1]
        whole = a.sum(-1)
        return a.lgamma().sum(-1) - whole.lgamma() - (n - whole) * whole.digamma() - ((a - 1) * a.digamma()).sum(-1)


class Beta(_OfGamma):
    """The beta distribution.

    >>> import gradus
    >>> round(gradus.distributions.Beta(2.0, 2.0).log_prob(gradus.tensor(0.5)).item(), 4)
    0.4055
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _parts = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = numbers(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _dirichlet(self):
        """Returns the Dirichlet distribution of the number and its complement to 1."""
        return Dirichlet(stack([self.concentration1, self.concentration0], -1), validate_args=False)

    @property
    def mean(self):
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        """The mode."""
        return self._dirichlet().mode[..., 0]

    @property
    def variance(self):
        """The variance."""
        return self._dirichlet().variance[..., 0]

    def _draw(self, one, zero):
        one, zero = _gamma(one), _gamma(zero)
        return one / (one + zero)

    def _log_prob(self, value):
        return self._dirichlet()._log_prob(stack([value, 1 - value], -1))

    def entropy(self):
        """Computes the entropy."""
        return self._dirichlet().entropy()


class Poisson(_Sampled):
    """The Poisson distribution with mean `rate`.

    >>> import gradus
    >>> gradus.distributions.Poisson(1.0).log_prob(gradus.tensor(0.0)).item()
    -1.0
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parts = {"rate": 0}

    def __init__(self, rate, validate_args=None):
        (self.rate,) = numbers(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.rate

    @property
    def mode(self):
        """The mode."""
        return self.rate.floor()

    @property
    def variance(self):
        """The variance."""
        return self.rate

    def _draw(self, rate):
        return poisson(rate)

    def _log_prob(self, value):
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()
