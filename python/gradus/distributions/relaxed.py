"""Differentiable relaxations of discrete distributions: by a temperature, or with straight-through gradients."""

import math

from ..core import finfo, rand
from ..nn import functional as F
from . import constraints
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .distribution import Distribution, numbers
from .transformed import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform


def _uniform(shape, dtype):
    tiny = finfo(dtype).eps
    return rand(shape, dtype=dtype).clamp(tiny, 1 - tiny)


class _Soft(Distribution):
    """Base of distributions before the squashing transform."""

    has_rsample = True

    def __init__(self, hard, temperature, event_shape, validate_args):
        self.temperature, self.probs, self.logits = numbers(temperature)[0], hard.probs, hard.logits
        super().__init__(hard._batch, event_shape, validate_args)


class LogitRelaxedBernoulli(_Soft):
    """The relaxed Bernoulli distribution, as logits."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parts = {"probs": 0, "logits": 0}

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(Bernoulli(probs, logits, validate_args), temperature, (), validate_args)

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        u = _uniform(self._extended(sample_shape), self.logits.dtype)
        return (u.log() - (-u).log1p() + self.logits) / self.temperature

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        away = self.logits - value * self.temperature
        return self.temperature.log() + away - 2 * F.softplus(away)


class ExpRelaxedCategorical(_Soft):
    """The relaxed one-hot distribution, as logarithms."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    _parts = {"probs": 1, "logits": 1}

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        hard = Categorical(probs, logits, validate_args)
        super().__init__(hard, temperature, hard.logits.shape[-1:], validate_args)

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        u = _uniform(self._extended(sample_shape), self.logits.dtype)
        return ((self.logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        n = self.logits.shape[-1]
        return (self.logits - value * self.temperature).log_softmax(-1).sum(-1) + math.lgamma(n) + (n - 1) * self.temperature.log()


class _Relaxed(TransformedDistribution):
    """Base of the transformed relaxed distributions."""

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(self._soft(temperature, probs, logits, validate_args), self._squash(), validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


class RelaxedBernoulli(_Relaxed):
    """The relaxed Bernoulli distribution: numbers between 0 and 1, nearer to either for lower temperatures.

    >>> import gradus
    >>> soft = gradus.distributions.RelaxedBernoulli(gradus.tensor(0.5), probs=gradus.tensor([0.3, 0.6]))
    >>> tuple(soft.rsample((4,)).shape)
    (4, 2)
    """

    arg_constraints, support = {}, constraints.unit_interval
    _soft, _squash = LogitRelaxedBernoulli, SigmoidTransform


class RelaxedOneHotCategorical(_Relaxed):
    """The relaxed one-hot distribution (Gumbel-softmax): nearly one-hot vectors for low temperatures.

    >>> import gradus
    >>> soft = gradus.distributions.RelaxedOneHotCategorical(gradus.tensor(0.5), logits=gradus.zeros(3))
    >>> round(soft.rsample().sum().item(), 4)
    1.0
    """

    arg_constraints, support = {}, constraints.simplex
    _soft, _squash = ExpRelaxedCategorical, ExpTransform


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot draws with straight-through gradients of the probabilities.

    >>> import gradus
    >>> p = gradus.tensor([0.0, 1.0], requires_grad=True)
    >>> gradus.distributions.OneHotCategoricalStraightThrough(probs=p).rsample().detach()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with straight-through gradients."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
