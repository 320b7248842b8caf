"""Mixed precision as PyTorch programs write it. Here everything is computed in the dtype it has, so nothing is cast or scaled."""

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


class GradScaler:
    """PyTorch's guard of small gradients in half precision; gradients here need none, so the scale is always 1.

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
        """The outputs as they are."""
        return outputs

    def unscale_(self, optimizer):
        """Nothing to undo."""

    def step(self, optimizer, *args, **kwargs):
        """A step of the optimiser."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Nothing to adapt."""

    def get_scale(self):
        """1.0"""
        return 1.0

    def is_enabled(self):
        """Whether it was made so."""
        return self._enabled

    def state_dict(self):
        """Nothing to keep."""
        return {}

    def load_state_dict(self, state_dict):
        """Nothing to restore."""
