"""Distributions over integers, from probabilities or logits."""

import math

from ..core import arange, finfo, log_softmax, multinomial, no_grad, rand, softmax
from ..nn import functional as F
from . import constraints
from .distribution import Distribution, numbers


def _one_of(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ["probs" if logits is None else "logits"]


class Categorical(Distribution):
    """The categorical distribution, along the last axis of `probs` (which are normalized) or `logits`.

    >>> import gradus
    >>> from gradus.distributions import Categorical
    >>> chosen = Categorical(probs=gradus.tensor([0.0, 0.0, 1.0])).sample()
    >>> chosen.item(), round(Categorical(logits=gradus.zeros(4)).entropy().item(), 4)
    (2, 1.3863)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parts = {"probs": 1, "logits": 1}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._from = _one_of(probs, logits)
        (given,) = numbers(probs if logits is None else logits)
        if given.dim() < 1:
            raise ValueError("a categorical distribution needs at least one axis, that of its classes")
        if logits is None:
            self.probs = given / given.sum(-1, keepdim=True)
            tiny = finfo(self.probs.dtype).eps
            self.logits = self.probs.clamp(tiny, 1 - tiny).log()
        else:
            self.logits = log_softmax(given, -1)
            self.probs = softmax(given, -1)
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def _parameter_names(self):
        return self._from

    @property
    def support(self):
        """The classes."""
        return constraints.integer_interval(0, self.logits.shape[-1] - 1)

    @property
    def param_shape(self):
        """The shape of the parameters."""
        return self.logits.shape

    @property
    def mean(self):
        """NaN: classes have no mean."""
        return self.probs[..., 0] * math.nan

    @property
    def variance(self):
        """NaN: classes have no variance."""
        return self.mean

    @property
    def mode(self):
        """The mode."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape=()):
        """Draws a class from each distribution."""
        shape = self._extended(sample_shape)
        draws = math.prod(shape[: len(shape) - len(self._batch)])
        with no_grad():
            rows = self.probs.detach().reshape(-1, self.probs.shape[-1])
            return multinomial(rows, max(draws, 1), True)[:, :draws].t().reshape(shape)

    def log_prob(self, value):
        """Computes the logarithm of the probability of a class."""
        if self._validate_args:
            self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        shape = tuple((index[..., 0] + self.logits[..., 0] * 0).shape) + (1,)
        logits = self.logits.expand(*shape[:-1], self.logits.shape[-1])
        return logits.gather(-1, index.expand(shape)).squeeze(-1)

    def entropy(self):
        """Computes the entropy."""
        low = finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=low) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        """Returns all classes."""
        n = self.logits.shape[-1]
        values = arange(n).reshape(n, *[1] * len(self._batch))
        return values.expand(n, *self._batch) if expand else values


class Bernoulli(Distribution):
    """The Bernoulli distribution: 1 with a probability, else 0.

    >>> import gradus
    >>> from gradus.distributions import Bernoulli
    >>> round(Bernoulli(0.25).log_prob(gradus.tensor(1.0)).item(), 4)
    -1.3863
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    _parts = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._from = _one_of(probs, logits)
        (given,) = numbers(probs if logits is None else logits)
        if logits is None:
            tiny = finfo(given.dtype).eps
            inner = given.clamp(tiny, 1 - tiny)
            self.probs, self.logits = given, inner.log() - (-inner).log1p()
        else:
            self.probs, self.logits = given.sigmoid(), given
        super().__init__(given.shape, validate_args=validate_args)

    def _parameter_names(self):
        return self._from

    @property
    def mean(self):
        """The probability of 1."""
        return self.probs

    @property
    def variance(self):
        """The variance."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self):
        """The mode."""
        return (self.probs >= 0.5).to(self.probs.dtype)

    def sample(self, sample_shape=()):
        """Draws 0 or 1 from each distribution."""
        with no_grad():
            probs = self.probs.detach()
            return (rand(self._extended(sample_shape), dtype=probs.dtype) < probs).to(probs.dtype)

    def log_prob(self, value):
        """Computes the logarithm of the probability of 0 or 1."""
        if self._validate_args:
            self._validate_sample(value)
        value = value.to(self.logits.dtype)
        shape = (value + self.logits.detach()).shape
        return -F.binary_cross_entropy_with_logits(self.logits.expand(shape), value.expand(shape), reduction="none")

    def entropy(self):
        """Computes the entropy."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class OneHotCategorical(Categorical):
    """The categorical distribution over one-hot vectors.

    >>> import gradus
    >>> gradus.distributions.OneHotCategorical(gradus.tensor([0.0, 1.0, 0.0])).sample()
    tensor([0., 1., 0.])
    """

    support = constraints.one_hot

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, validate_args)
        self._event = tuple(self.logits.shape[-1:])

    def _classes(self):
        return Categorical(logits=self.logits, validate_args=False)

    @property
    def mean(self):
        """The probabilities."""
        return self.probs

    @property
    def variance(self):
        """The variance of each component."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self):
        """The mode."""
        return self._hot(self.probs.argmax(-1))

    def _hot(self, index):
        return F.one_hot(index, self.logits.shape[-1]).to(self.probs.dtype)

    def sample(self, sample_shape=()):
        """Draws a class from each distribution."""
        return self._hot(self._classes().sample(sample_shape))

    def log_prob(self, value):
        """Computes the logarithm of the probability of a class."""
        if self._validate_args:
            self._validate_sample(value)
        return self._classes().log_prob(value.argmax(-1))

    def enumerate_support(self, expand=True):
        """Returns all classes."""
        return self._hot(self._classes().enumerate_support(expand))
