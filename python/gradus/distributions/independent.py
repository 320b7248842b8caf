"""Batches of independent distributions as one distribution."""

from . import constraints
from .distribution import Distribution


class Independent(Distribution):
    """A distribution whose last batch axes become event axes.

    >>> import gradus
    >>> from gradus.distributions import Independent, Normal
    >>> normal = Independent(Normal(gradus.zeros(3), 1.0), 1)
    >>> normal.event_shape, round(normal.log_prob(gradus.zeros(3)).item(), 4)
    (gradus.Size([3]), -2.7568)
    """

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        taken, batch = reinterpreted_batch_ndims, base_distribution._batch
        if taken > len(batch):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                             f"actual {taken} vs {len(batch)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, taken
        kept = len(batch) - taken
        super().__init__(batch[:kept], batch[kept:] + base_distribution._event, validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean, doc="The mean.")
    mode = property(lambda self: self.base_dist.mode, doc="The mode.")
    variance = property(lambda self: self.base_dist.variance, doc="The variance.")

    @property
    def support(self):
        """The support."""
        own, taken = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(own, taken) if taken else own

    def _summed(self, x):
        return x.flatten(-self.reinterpreted_batch_ndims).sum(-1) if self.reinterpreted_batch_ndims else x

    def sample(self, sample_shape=()):
        """Draws from each distribution, without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        """Computes the logarithm of the density or probability of a value."""
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self):
        """Computes the entropy."""
        return self._summed(self.base_dist.entropy())

    def expand(self, batch_shape, _instance=None):
        """Returns the distribution with its parameters broadcast to another batch shape."""
        taken = self._event[:self.reinterpreted_batch_ndims]
        return Independent(self.base_dist.expand((*batch_shape, *taken)), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
