"""Distributions made of others: transformed distributions and mixtures."""

import copy

from ..core import no_grad
from .distribution import Distribution
from .transforms import ComposeTransform


class TransformedDistribution(Distribution):
    """A distribution transformed by invertible functions.

    >>> import gradus
    >>> from gradus.distributions import Normal, TanhTransform, TransformedDistribution
    >>> squashed = TransformedDistribution(Normal(0.0, 1.0), TanhTransform())
    >>> round(squashed.log_prob(gradus.tensor(0.5)).item(), 4)
    -0.7821
    """

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.base_dist = base_distribution
        self.transforms = list(transforms) if isinstance(transforms, (list, tuple)) else [transforms]
        super().__init__(base_distribution._batch, base_distribution._event, validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @property
    def support(self):
        """The support."""
        return ComposeTransform(self.transforms).codomain if self.transforms else self.base_dist.support

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()):
        """Draws from each distribution, without gradients."""
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        """Computes the logarithm of the density."""
        total = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            stretch = transform.log_abs_det_jacobian(before, value)
            apart = len(self._event) - getattr(transform, "event_dim", 0)  # event axes to which it applies elementwise
            total = total - (stretch.flatten(-apart).sum(-1) if apart > 0 else stretch)
            value = before
        return self.base_dist.log_prob(value) + total

    def cdf(self, value):
        """Computes the cumulative distribution function, for increasing functions."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self.base_dist.cdf(value)

    def icdf(self, value):
        """Computes the inverse cumulative distribution function, for increasing functions."""
        return self._transformed(self.base_dist.icdf(value))

    def expand(self, batch_shape, _instance=None):
        """Returns the distribution with its parameters broadcast to another batch shape."""
        new = copy.copy(self)  # keeps its class, whose parameters are those of the base
        new.base_dist, new._batch = self.base_dist.expand(batch_shape), tuple(batch_shape)
        return new

    def __repr__(self):
        return f"TransformedDistribution({self.base_dist}, {self.transforms})"


class MixtureSameFamily(Distribution):
    """A mixture of distributions along the last batch axis, selected by a `Categorical`.

    >>> import gradus
    >>> from gradus.distributions import Categorical, MixtureSameFamily, Normal
    >>> both = MixtureSameFamily(Categorical(gradus.ones(2)), Normal(gradus.tensor([-1.0, 1.0]), 1.0))
    >>> both.mean.item(), round(both.log_prob(gradus.tensor(0.0)).item(), 4)
    (0.0, -1.4189)
    """

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        super().__init__(component_distribution._batch[:-1], component_distribution._event, validate_args)

    support = property(lambda self: self.component_distribution.support)

    def _mixture_weights(self):
        """Returns the mixture weights, with an axis of extent 1 for each event axis."""
        shares = self.mixture_distribution.probs
        return shares.reshape(*shares.shape, *[1] * len(self._event))

    def _weighted_sum(self, x):
        return (self._mixture_weights() * x).sum(-1 - len(self._event))

    @property
    def mean(self):
        """The mean."""
        return self._weighted_sum(self.component_distribution.mean)

    @property
    def variance(self):
        """The variance."""
        own, around = self.component_distribution, self.mean.unsqueeze(-1 - len(self._event))
        return self._weighted_sum(own.variance + (own.mean - around) ** 2)

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        return (self.component_distribution.cdf(value.unsqueeze(-1)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        """Computes the logarithm of the density or probability."""
        each = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self._event)))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=()):
        """Draws from each distribution, without gradients."""
        with no_grad():
            shape, axis = self._extended(sample_shape), -1 - len(self._event)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            places = chosen.reshape(*chosen.shape, *[1] * (1 + len(self._event)))
            places = places.expand(*chosen.shape, 1, *self._event)
            return drawn.gather(axis % drawn.dim(), places).squeeze(axis).reshape(shape)

    def expand(self, batch_shape, _instance=None):
        """Returns the distribution with its parameters broadcast to another batch shape."""
        own = self.component_distribution
        return MixtureSameFamily(self.mixture_distribution.expand(batch_shape), own.expand((*batch_shape, own._batch[-1])))

    def __repr__(self):
        return f"MixtureSameFamily({self.mixture_distribution}, {self.component_distribution})"
