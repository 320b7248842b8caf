"""Cyclic learning rates."""

import math

from .. import _native
from .lr_scheduler import LRScheduler


class CyclicLR(LRScheduler):
    """Cycles between two rates (Smith, 2017), with momentum in opposite direction. `mode` determines the height of cycles: constant,
    halved each cycle, or multiplied by `gamma` each step.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0, momentum=0.9)
    >>> schedule = gradus.optim.lr_scheduler.CyclicLR(opt, base_lr=1.0, max_lr=2.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(6):
    ...     rates.append(opt.param_groups[0]["lr"])
    ...     schedule.step()
    >>> rates
    [1.0, 1.5, 2.0, 1.5, 1.0, 1.5]
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0, scale_fn=None,
                 scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        groups = optimizer.param_groups

        def each(value):
            values = list(value) if isinstance(value, (tuple, list)) else [value] * len(groups)
            if len(values) != len(groups):
                raise ValueError(f"expected {len(groups)} values, got {len(values)}")
            return values

        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError("mode is invalid and scale_fn is None")
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio, self.mode, self.gamma, self.cycle_momentum = step_size_up / self.total_size, mode, gamma, cycle_momentum
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self._own_scale = scale_fn
        self.max_lrs = each(max_lr)
        if last_epoch == -1:
            for group, rate in zip(groups, each(base_lr)):
                group["lr"] = rate
        if cycle_momentum:
            if "momentum" not in groups[0] and "betas" not in groups[0]:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            for group, low, high in zip(groups, each(base_momentum), each(max_momentum)):
                group["base_momentum"], group["max_momentum"] = low, high
        super().__init__(optimizer, last_epoch)
        self.base_lrs = each(base_lr)

    def scale_fn(self, x):
        """Returns the height of cycle or step number `x`."""
        if self._own_scale is not None:
            return self._own_scale(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        height = _native._Schedule.triangle(self.total_size, self.step_ratio).factor(self.last_epoch)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                momentum = group["max_momentum"] - (group["max_momentum"] - group["base_momentum"]) * height
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]
