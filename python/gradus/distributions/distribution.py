"""What all distributions share."""

from ..core import Tensor, as_tensor, broadcast_tensors, float32, get_default_dtype, no_grad


def numbers(*given):
    """Parameters as tensors of one shape."""
    dtype = next((x.dtype for x in given if isinstance(x, Tensor) and x.is_floating_point()), get_default_dtype() or float32)
    return broadcast_tensors(*[x if isinstance(x, Tensor) else as_tensor(x, dtype=dtype) for x in given])


class Distribution:
    """The base of all distributions: `batch_shape` of independent ones, each over an `event_shape`."""

    has_rsample = False

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch, self._event = tuple(batch_shape), tuple(event_shape)

    @property
    def batch_shape(self):
        """The shape of the distributions."""
        return _size(self._batch)

    @property
    def event_shape(self):
        """The shape of one draw from one of them."""
        return _size(self._event)

    def _extended(self, sample_shape=()):
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return shape + self._batch + self._event

    def sample(self, sample_shape=()):
        """A draw from each, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """A draw from each that gradients of the parameters pass through."""
        raise NotImplementedError(f"{type(self).__name__} has no draws that gradients pass through; use sample()")

    def log_prob(self, value):
        """The logarithm of the density or probability of a value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()


def _size(shape):
    from .._results import Size

    return Size(shape)


class Located(Distribution):
    """A distribution around its `loc`, where its density is largest."""

    @property
    def mean(self):
        """The mean."""
        return self.loc

    @property
    def mode(self):
        """Where the density is largest."""
        return self.loc
