"""The base class of distributions."""

import copy
import functools

from .._device import OPENED, UnsupportedDtype, first, moved
from .._native import _call_on, get_rng_state, is_tracing, set_rng_state
from ..core import Tensor, as_tensor, broadcast_tensors, float32, get_default_dtype, no_grad


def numbers(*given):
    """Converts parameters to tensors of one shape, on the device of those that are tensors."""
    device = next((x.device for x in given if isinstance(x, Tensor)), None)
    dtype = next((x.dtype for x in given if isinstance(x, Tensor) and x.is_floating_point()), get_default_dtype() or float32)
    return broadcast_tensors(*[x if isinstance(x, Tensor) else as_tensor(x, dtype=dtype, device=device) for x in given])


#: Methods that compute with parameters, on their device.
_COMPUTING = "sample rsample log_prob cdf icdf entropy _draw enumerate_support".split()


def _on_cpu(distribution):
    """Returns the distribution with all its tensors in host memory."""
    twin = copy.copy(distribution)
    parts = vars(distribution).items()
    twin.__dict__.update({name: _on_cpu(v) if isinstance(v, Distribution) else moved(v, "cpu") for name, v in parts})
    return twin


def _device_of(distribution):
    """Returns the device of a distribution's tensors, or `None` if that is the CPU."""
    parts = list(vars(distribution).values())
    return first(parts) or next(filter(None, (_device_of(part) for part in parts if isinstance(part, Distribution))), None)


def _on_parameter_device(method):
    """Wraps a method so that it makes tensors on the device of the parameters. If the device lacks a dtype, the method runs on the CPU."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        there = _device_of(self) if OPENED else None
        if there is None:
            return method(self, *args, **kwargs)
        draws = None if is_tracing() else get_rng_state()
        try:
            return _call_on(there, method, (self, *args), kwargs)
        except UnsupportedDtype:
            if draws is None:
                raise
            set_rng_state(draws)  # the same draws as on the CPU
            return moved(_call_on("cpu", method, (_on_cpu(self), *moved(args, "cpu")), moved(kwargs, "cpu")), there)

    return call


class Distribution:
    """The base of all distributions: independent distributions of shape `batch_shape`, each over values of shape `event_shape`.

    A subclass defines constraints on its parameters (`arg_constraints`) and values (`support`), and the number of axes that its
    tensors have after those of the batch (`_parts`).
    """

    has_rsample = False
    arg_constraints = {}
    support = None
    _parts = {}
    _validate_args = __debug__

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in _COMPUTING:
            if name in vars(cls) and callable(vars(cls)[name]):
                setattr(cls, name, _on_parameter_device(vars(cls)[name]))

    @staticmethod
    def set_default_validate_args(value):
        """Sets whether parameters and values are validated by default."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch, self._event = tuple(batch_shape), tuple(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name in self._unchecked() if self._validate_args else ():
            constraint, value = self.arg_constraints[name], getattr(self, name)
            if violated(constraint, value):
                raise ValueError(f"Expected parameter {name} ({_description(value)}) of distribution {self!r} to satisfy the constraint "
                                 f"{constraint!r}, but found invalid values:\n{value.detach()}")

    def _parameter_names(self):
        """Returns the names of the parameters passed to the constructor."""
        return list(self.arg_constraints)

    def _unchecked(self):
        """Returns the names of the parameters that are not validated yet."""
        return self._parameter_names()

    def _validate_sample(self, value):
        """Raises an error for an invalid value of this distribution."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        own, given = self._batch + self._event, tuple(value.shape)
        if self._event and given[len(given) - len(self._event):] != self._event:
            raise ValueError(f"The right-most size of value must match event_shape: {given} vs {self._event}.")
        for a, b in zip(reversed(given), reversed(own)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {given} vs {own}.")
        if self.support is not None and violated(self.support, value):
            raise ValueError(f"Expected value argument ({_description(value)}) to be within the support ({self.support!r}) of the "
                             f"distribution {self!r}, but found invalid values:\n{value.detach()}")

    def expand(self, batch_shape, _instance=None):
        """Returns the distribution with its parameters broadcast to another batch shape.

        >>> import gradus
        >>> gradus.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        gradus.Size([2, 3])
        """
        new, batch = copy.copy(self), tuple(batch_shape)
        for name, axes in self._parts.items():
            part = getattr(self, name)
            setattr(new, name, part.expand(*batch, *part.shape[part.dim() - axes:]))
        new._batch = batch
        return new

    def perplexity(self):
        """Computes the exponential of the entropy."""
        return self.entropy().exp()

    def __repr__(self):
        values = ((name, getattr(self, name).detach()) for name in self._parameter_names())
        return f"{type(self).__name__}({', '.join(f'{name}: {v if v.numel() == 1 else v.size()}' for name, v in values)})"

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
        """Draws from each distribution, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws from each distribution, with gradients of the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no differentiable draws; use sample()")

    def log_prob(self, value):
        """Computes the logarithm of the density or probability of a value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value):
        """Computes the cumulative distribution function."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value):
        """Computes the inverse cumulative distribution function."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def entropy(self):
        """Computes the entropy."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    @property
    def mode(self):
        """The mode."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()


def _size(shape):
    from .._results import Size

    return Size(shape)


class Located(Distribution):
    """Base of distributions whose mean and mode are `loc`."""

    @property
    def mean(self):
        """The mean."""
        return self.loc

    @property
    def mode(self):
        """The mode."""
        return self.loc


def violated(constraint, value):
    """Returns true if a value is known to violate a constraint. While a function is traced, this is not known."""
    return not is_tracing() and not bool(constraint.check(value.detach()).all())


def _description(value):
    return f"{type(value).__name__} of shape {tuple(value.shape)}"
