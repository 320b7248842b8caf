"""Optimisers that scale gradients by their past sizes and keep no average of the gradients themselves."""

import math

from ..core import finfo, full_like, zeros, zeros_like
from .optimizer import Optimizer, check, counted


def _decayed(p, grad, group):
    return grad.add(p, alpha=group["weight_decay"]) if group["weight_decay"] != 0 else grad


class RMSprop(Optimizer):
    """Gradients over the root of their mean square, or with `centered` of their variance."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check(lr=(lr, 0, None), eps=(eps, 0, None), alpha=(alpha, 0, None), momentum=(momentum, 0, None),
              weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, maximize=maximize))

    def _update(self, p, grad, state, group):
        if not state:
            state["square_avg"] = zeros_like(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = zeros_like(p)
        counted(state)
        alpha = group["alpha"]
        grad = _decayed(p, grad, group)
        variance = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            variance = variance - mean * mean
        size = variance.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            p.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, size), alpha=-group["lr"])
        else:
            p.addcdiv_(grad, size, value=-group["lr"])


class Adagrad(Optimizer):
    """Gradients over the root of the sum of their squares."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check(lr=(lr, 0, None), lr_decay=(lr_decay, 0, None), weight_decay=(weight_decay, 0, None), eps=(eps, 0, None),
              initial_accumulator_value=(initial_accumulator_value, 0, None))
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, maximize=maximize))

    def _update(self, p, grad, state, group):
        if not state:
            state["sum"] = full_like(p.detach(), group["initial_accumulator_value"])
        step = counted(state)
        grad = _decayed(p, grad, group)
        total = state["sum"].addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-group["lr"] / (1 + (step - 1) * group["lr_decay"]))


class Adadelta(Optimizer):
    """Gradients over the root of their mean square, times the root of that of the changes."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check(lr=(lr, 0, None), rho=(rho, 0, 1), eps=(eps, 0, None), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize))

    def _update(self, p, grad, state, group):
        if not state:
            state["square_avg"], state["acc_delta"] = zeros_like(p), zeros_like(p)
        counted(state)
        rho, eps = group["rho"], group["eps"]
        grad = _decayed(p, grad, group)
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        change = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(change, change, value=1 - rho)
        p.add_(change, alpha=-group["lr"])


class Adafactor(Optimizer):
    """The mean square of a matrix's gradients kept as that of its rows and that of its columns (Shazeer and Stern, 2018)."""

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check(lr=(lr, 0, None), weight_decay=(weight_decay, 0, None))
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if d < 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                      maximize=maximize))

    def _update(self, p, grad, state, group):
        if not state:
            if p.dim() > 1:
                state["row_var"] = zeros((*p.shape[:-1], 1), dtype=p.dtype)
                state["col_var"] = zeros((*p.shape[:-2], 1, p.shape[-1]), dtype=p.dtype)
            else:
                state["variance"] = zeros_like(p)
        step = counted(state)
        least, smallest = group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        share = step ** group["beta2_decay"]
        rate = max(smallest, _size(p)) * min(group["lr"], 1 / math.sqrt(step))
        if group["weight_decay"] != 0:
            p.mul_(1 - group["lr"] * group["weight_decay"])
        square = grad * grad
        if p.dim() > 1:
            rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), share)
            columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), share)
            variance = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            variance = state["variance"].lerp_(square, share)
        change = grad * variance.clamp(min=least * least).rsqrt()
        p.add_(change, alpha=-rate / max(1.0, _size(change) / group["d"]))


def _size(x):
    """The root of the mean square, as a number."""
    return math.sqrt((x * x).mean().item())
