"""PyTorch's interface to mixed precision. Here every operation uses the dtype of its operands, so nothing is cast or scaled."""

import functools

from .grad_mode import _decorated


class autocast:
    """A context or decorator in which PyTorch would compute in a narrower dtype; here it changes nothing.

    >>> import gradus
    >>> with gradus.autocast("cpu", dtype=gradus.bfloat16):
    ...     y = gradus.ones(2, 2) @ gradus.ones(2, 2)
    >>> y.dtype
    gradus.float32
    """

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        self.device, self.enabled = str(device_type), enabled
        self._arguments = (device_type, dtype, enabled, cache_enabled)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def __call__(self, function):
        return _decorated(function, lambda: autocast(*self._arguments))


def is_autocast_enabled(device_type=None):
    """Returns `False`: operations use the dtype of their operands.

    >>> import gradus
    >>> with gradus.autocast("cpu"):
    ...     gradus.is_autocast_enabled()
    False
    """
    return False


def custom_fwd(fwd=None, *, device_type=None, cast_inputs=None):
    """Decorates the `forward` of an `autograd.Function`; has no effect, because nothing is cast.

    >>> import gradus
    >>> @gradus.amp.custom_fwd(device_type="cpu")
    ... def forward(ctx, x):
    ...     return x
    """
    return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs) if fwd is None else fwd


def custom_bwd(bwd=None, *, device_type=None):
    """Decorates the `backward` of an `autograd.Function`; has no effect.

    >>> import gradus
    >>> @gradus.amp.custom_bwd(device_type="cpu")
    ... def backward(ctx, grad):
    ...     return grad
    """
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


class GradScaler:
    """PyTorch's gradient scaler for half precision; the scale is always 1 here.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.ones(1))
    >>> optimizer, scaler = gradus.optim.SGD([w], lr=0.5), gradus.amp.GradScaler()
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.item(), scaler.get_scale()
    (0.5, 1.0)
    """

    def __init__(self, device="cpu", init_scale=1.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._enabled = enabled

    def scale(self, outputs):
        """Returns the outputs unchanged."""
        return outputs

    def unscale_(self, optimizer):
        """Has no effect."""

    def step(self, optimizer, *args, **kwargs):
        """Runs a step of the optimizer."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Has no effect."""

    def get_scale(self):
        """Returns 1.0."""
        return 1.0

    def is_enabled(self):
        """Returns the argument `enabled` of the constructor."""
        return self._enabled

    def state_dict(self):
        """Returns an empty state."""
        return {}

    def load_state_dict(self, state_dict):
        """Has no effect."""
