"""Distributions of repeated trials: binomial, negative binomial, geometric, multinomial."""

import math

from ..core import arange, finfo, lgamma, poisson, rand, where, zeros
from ..nn import functional as F
from . import constraints
from .counted import _gamma, _Sampled
from .discrete import Categorical, _one_of
from .distribution import Distribution, numbers


def _both(probs, logits):
    """Returns probabilities and logits, from either."""
    if logits is not None:
        return logits.sigmoid(), logits
    tiny = finfo(probs.dtype).eps
    inner = probs.clamp(tiny, 1 - tiny)
    return probs, inner.log() - (-inner).log1p()


class _Tried(_Sampled):
    """Base of distributions of trials with a success probability, passed as `probs` or `logits`."""

    def _given(self, probs, logits, *others):
        """Stores the probabilities; returns the other parameters, broadcast to one shape."""
        self._from = [*[name for name in self.arg_constraints if name not in ("probs", "logits")], *_one_of(probs, logits)]
        given, *others = numbers(probs if logits is None else logits, *others)
        self.probs, self.logits = _both(given if logits is None else None, given if logits is not None else None)
        return [x.to(given.dtype) for x in others]

    def _parameter_names(self):
        return self._from

    @property
    def param_shape(self):
        """The shape of the parameters."""
        return self.logits.shape


def _successes(n, p):
    """Draws from binomial distributions. For many trials, draws the median of as many uniform draws, and continues with the draws on one
    side of it (Devroye, Non-Uniform Random Variate Generation, X.4.3). The last few draws are made one by one."""
    found, n, p = zeros(tuple(n.shape), dtype=n.dtype), n.clone(), p.clone()
    while bool((n > 16).any()):
        middle = (n / 2).floor() + 1
        below, above = _gamma(middle), _gamma(n + 1 - middle)
        at, many = below / (below + above), n > 16
        left = many & (at <= p)
        right = many & ~left
        found = where(left, found + middle, found)
        p = where(left, (p - at) / (1 - at), where(right, p / at, p)).clamp(0, 1)
        n = where(left, n - middle, where(right, middle - 1, n))
    for k in range(int(n.max()) if n.numel() else 0):
        found = found + ((rand(tuple(n.shape), dtype=n.dtype) < p) & (k < n)).to(n.dtype)
    return found


class Binomial(_Tried):
    """The binomial distribution: the number of successes of `total_count` trials.

    >>> import gradus
    >>> round(gradus.distributions.Binomial(2, 0.5).log_prob(gradus.tensor(1.0)).exp().item(), 4)
    0.5
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}
    _parts = {"probs": 0, "logits": 0, "total_count": 0}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        (self.total_count,) = self._given(probs, logits, total_count)
        super().__init__(self.logits.shape, validate_args=validate_args)

    @property
    def support(self):
        """The support."""
        return constraints.integer_interval(0, self.total_count.detach())

    @property
    def mean(self):
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self):
        """The mode."""
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self):
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, probs, logits, total_count):
        return _successes(total_count.double(), probs.double())

    def _log_prob(self, value):
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * F.softplus(self.logits)

    def entropy(self):
        """Computes the entropy; all distributions of the batch must have the same `total_count`."""
        values = self.enumerate_support(False)
        log = self._log_prob(values)
        return -(log.exp() * log).sum(0)

    def enumerate_support(self, expand=True):
        """Returns all values; all distributions of the batch must have the same `total_count`."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = arange(most + 1, dtype=self.logits.dtype).reshape(-1, *[1] * len(self._batch))
        return values.expand(most + 1, *self._batch) if expand else values


class NegativeBinomial(_Tried):
    """The negative binomial distribution: the number of successes before `total_count` failures.

    >>> import gradus
    >>> round(gradus.distributions.NegativeBinomial(1.0, 0.5).log_prob(gradus.tensor(1.0)).exp().item(), 4)
    0.25
    """

    arg_constraints = {"total_count": constraints.nonnegative, "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parts = {"probs": 0, "logits": 0, "total_count": 0}

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        (self.total_count,) = self._given(probs, logits, total_count)
        super().__init__(self.logits.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        """The mode."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self):
        """The variance."""
        return self.mean / (-self.logits).sigmoid()

    def _draw(self, probs, logits, total_count):
        return poisson(_gamma(total_count) * logits.double().exp())

    def _log_prob(self, value):
        n = self.total_count
        ways = ((n + value).lgamma() - (value + 1).lgamma() - n.lgamma()).masked_fill(n + value == 0, 0.0)
        return n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits) + ways


class Geometric(_Tried):
    """The geometric distribution: the number of failures before the first success.

    >>> import gradus
    >>> gradus.distributions.Geometric(0.25).mean.item()
    3.0
    """

    arg_constraints = {"probs": constraints.Constraint("GreaterThan(lower_bound=0.0) and at most 1", lambda x: (x > 0) & (x <= 1)),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parts = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._given(probs, logits)
        super().__init__(self.logits.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The mean."""
        return 1 / self.probs - 1

    @property
    def mode(self):
        """The mode."""
        return self.probs * 0

    @property
    def variance(self):
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def _draw(self, probs, logits):
        u = (1 - rand(tuple(probs.shape), dtype=probs.dtype)).clamp(min=finfo(probs.dtype).tiny)
        return (u.log() / (-probs).log1p()).floor()

    def _log_prob(self, value):
        sure = (self.probs == 1) & (value == 0)
        return value * (-where(sure, 0.0, self.probs)).log1p() + self.probs.log()

    def entropy(self):
        """Computes the entropy."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Multinomial(Distribution):
    """The multinomial distribution: counts of classes in `total_count` draws.

    >>> import gradus
    >>> drawn = gradus.distributions.Multinomial(5, gradus.tensor([0.0, 1.0, 0.0]))
    >>> drawn.sample()
    tensor([0., 5., 0.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parts = {"probs": 1, "logits": 1}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._from = total_count, _one_of(probs, logits)
        classes = Categorical(probs, logits, validate_args)
        self.probs, self.logits = classes.probs, classes.logits
        super().__init__(classes._batch, self.logits.shape[-1:], validate_args)

    def _parameter_names(self):
        return self._from

    @property
    def support(self):
        """The support."""
        n = self.total_count
        return constraints.Constraint("Multinomial()", lambda x: (x >= 0).all(-1) & (x.sum(-1) <= n), 1, True)

    @property
    def mean(self):
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self):
        """The variance of each count."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        """Draws counts from each distribution."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        drawn = Categorical(logits=self.logits, validate_args=False).sample((self.total_count, *shape))
        return F.one_hot(drawn, self.logits.shape[-1]).sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        """Computes the logarithm of the probability of these counts."""
        if self._validate_args:
            self._validate_sample(value)
        logits = self.logits.masked_fill((value == 0) & (self.logits == -float("inf")), 0.0)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        """Computes the entropy: that of the ordered draws, minus that of the order given the counts."""
        each = Binomial(self.total_count, probs=self.probs, validate_args=False)
        counts = each.enumerate_support(False)
        forgotten = (each._log_prob(counts).exp() * lgamma(counts + 1)).sum((0, -1))
        classes = Categorical(logits=self.logits, validate_args=False)
        return self.total_count * classes.entropy() - math.lgamma(self.total_count + 1) + forgotten
