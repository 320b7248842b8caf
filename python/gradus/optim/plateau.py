"""Learning rates that decrease when a metric stops improving."""

import math

from .lr_scheduler import LRScheduler


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a metric has not improved for `patience` steps.

    >>> import gradus
    >>> opt = gradus.optim.SGD([gradus.nn.Parameter(gradus.zeros(1))], lr=1.0)
    >>> schedule = gradus.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     schedule.step(1.0)
    >>> rates
    [1.0, 1.0, 1.0, 0.1]
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"mode {mode} or threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        n = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * n
        if len(self.min_lrs) != n:
            raise ValueError(f"expected {n} min_lrs, got {len(self.min_lrs)}")
        self.last_epoch = 0
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self._last_lr = self._rates()

    def is_better(self, a, best):
        """Returns true if a metric is better than the best by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold if self.threshold_mode == "abs" else self.threshold * best * sign
        if math.isinf(best):
            margin = 0
        return sign * a < sign * best - margin

    def step(self, metrics, epoch=None):
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                new = max(group["lr"] * self.factor, least)
                if group["lr"] - new > self.eps:
                    group["lr"] = new
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()
