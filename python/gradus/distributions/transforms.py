"""Invertible functions of draws, with the logarithms of their Jacobian determinants."""

import math

from ..core import Tensor, as_tensor
from ..nn import functional as F
from . import constraints


class Transform:
    """A function `y = f(x)` with an inverse (`.inv`); `log_abs_det_jacobian(x, y)` is the logarithm of its Jacobian determinant at `x`.

    >>> import gradus
    >>> exp = gradus.distributions.ExpTransform()
    >>> exp(gradus.tensor(0.0)).item(), exp.inv(gradus.tensor(1.0)).item()
    (1.0, 0.0)
    """

    bijective = True
    codomain = constraints.real

    def __init__(self, cache_size=0):
        self._cache_size, self._last = cache_size, (None, None)

    def __call__(self, x):
        y = self._call(x)
        if self._cache_size:  # the argument of the last result is cached, because the inverse may lose it by rounding
            self._last = x, y
        return y

    def _invert(self, y):
        return self._last[0] if self._last[1] is y else self._inverse(y)

    @property
    def inv(self):
        """The inverse."""
        return _Inverse(self)

    def __repr__(self):
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, of):
        super().__init__()
        self._of = of

    def _call(self, y):
        return self._of._invert(y)

    def _inverse(self, x):
        return self._of(x)

    def log_abs_det_jacobian(self, y, x):
        """Computes the negated value of the inverted function."""
        return -self._of.log_abs_det_jacobian(x, y)

    @property
    def inv(self):
        """The inverted function."""
        return self._of


class _Pointwise(Transform):
    """Base of elementwise functions: a class defines the function, its inverse, and the logarithm of the slope at `x`."""

    def log_abs_det_jacobian(self, x, y):
        """Computes the logarithm of the slope."""
        return self._log_slope(x)


class ExpTransform(_Pointwise):
    """The exponential.

    >>> import gradus
    >>> gradus.distributions.ExpTransform()(gradus.zeros(1))
    tensor([1.])
    """

    codomain = constraints.positive
    _call, _inverse = staticmethod(Tensor.exp), staticmethod(Tensor.log)
    _log_slope = staticmethod(lambda x: x)


class SigmoidTransform(_Pointwise):
    """The logistic function.

    >>> import gradus
    >>> gradus.distributions.SigmoidTransform()(gradus.zeros(1))
    tensor([0.5000])
    """

    codomain = constraints.unit_interval
    _call, _inverse = staticmethod(Tensor.sigmoid), staticmethod(lambda y: y.log() - (-y).log1p())
    _log_slope = staticmethod(lambda x: -F.softplus(-x) - F.softplus(x))


class TanhTransform(_Pointwise):
    """The hyperbolic tangent.

    >>> import gradus
    >>> gradus.distributions.TanhTransform()(gradus.zeros(1))
    tensor([0.])
    """

    codomain = constraints.interval(-1.0, 1.0)
    _call, _inverse = staticmethod(Tensor.tanh), staticmethod(Tensor.atanh)
    _log_slope = staticmethod(lambda x: 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x)))


class SoftplusTransform(_Pointwise):
    """`log(1 + exp(x))`.

    >>> import gradus
    >>> gradus.distributions.SoftplusTransform()(gradus.zeros(1))
    tensor([0.6931])
    """

    codomain = constraints.positive
    _call, _inverse = staticmethod(F.softplus), staticmethod(lambda y: (-(-y).expm1()).log() + y)
    _log_slope = staticmethod(lambda x: -F.softplus(-x))


class AffineTransform(Transform):
    """`loc + scale * x`, over the last `event_dim` axes.

    >>> import gradus
    >>> gradus.distributions.AffineTransform(1.0, 2.0)(gradus.ones(1))
    tensor([3.])
    """

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        """Computes the logarithm of the slope."""
        slope = self.scale if isinstance(self.scale, Tensor) else as_tensor(self.scale, dtype=x.dtype)
        slope = slope.abs().log().expand(x.shape)
        return slope.flatten(-self.event_dim).sum(-1) if self.event_dim else slope


class ComposeTransform(Transform):
    """Several functions in sequence.

    >>> import gradus
    >>> from gradus.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(gradus.zeros(1))
    tensor([1.])
    """

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = list(parts)

    @property
    def codomain(self):
        """The codomain."""
        return self.parts[-1].codomain if self.parts else constraints.real

    def _call(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y):
        for part in reversed(self.parts):
            y = part._invert(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        """Computes the sum over all functions."""
        total = 0.0
        for part in self.parts:
            out = part(x)
            total, x = total + part.log_abs_det_jacobian(x, out), out
        return total
