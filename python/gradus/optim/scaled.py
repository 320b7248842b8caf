"""Optimizers that scale gradients by their past magnitudes and keep no average of the gradients themselves."""

import math

from ..core import finfo, full, zeros
from .momentum import zeros_of
from .optimizer import Optimizer, check, present


def _decayed(p, grad, group):
    return grad.add(p, alpha=group["weight_decay"]) if present(group, "weight_decay") else grad


class RMSprop(Optimizer):
    """RMSprop: gradients divided by their root mean square, or with `centered` by their standard deviation.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.RMSprop([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check(lr=(lr, 0, None), eps=(eps, 0, None), alpha=(alpha, 0, None), momentum=(momentum, 0, None),
              weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, maximize=maximize))

    def _state(self, p, group):
        wanted = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return {name: zeros_of(p) for name, kept in wanted.items() if kept}

    def _numbers(self, group, state):
        return group["lr"], group["momentum"]

    def _update(self, p, grad, state, group, lr, momentum):
        alpha = group["alpha"]
        grad = _decayed(p, grad, group)
        variance = state["square_avg"].mul_(alpha).add_(grad * grad, alpha=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            variance = variance - mean * mean
        size = variance.sqrt() + group["eps"]
        if present(group, "momentum"):
            p.add_(state["momentum_buffer"].mul_(momentum).add_(grad / size), alpha=-lr)
        else:
            p.add_(grad / size, alpha=-lr)


class Adagrad(Optimizer):
    """Adagrad: gradients divided by the root of the sum of their squares.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Adagrad([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check(lr=(lr, 0, None), lr_decay=(lr_decay, 0, None), weight_decay=(weight_decay, 0, None), eps=(eps, 0, None),
              initial_accumulator_value=(initial_accumulator_value, 0, None))
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, maximize=maximize))

    def _state(self, p, group):
        return {"sum": full(tuple(p.shape), group["initial_accumulator_value"], dtype=p.dtype, device=p.device)}

    def _numbers(self, group, state):
        return (-group["lr"] / (1 + (state["step"] - 1) * group["lr_decay"]),)

    def _update(self, p, grad, state, group, rate):
        grad = _decayed(p, grad, group)
        total = state["sum"].addcmul_(grad, grad, value=1)
        p.add_(grad / (total.sqrt() + group["eps"]), alpha=rate)


class Adadelta(Optimizer):
    """Adadelta: gradients divided by their root mean square, times that of the updates.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Adadelta([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check(lr=(lr, 0, None), rho=(rho, 0, 1), eps=(eps, 0, None), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize))

    def _state(self, p, group):
        return {"square_avg": zeros_of(p), "acc_delta": zeros_of(p)}

    def _update(self, p, grad, state, group, lr):
        rho, eps = group["rho"], group["eps"]
        grad = _decayed(p, grad, group)
        square = state["square_avg"].mul_(rho).add_(grad * grad, alpha=1 - rho)
        change = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        state["acc_delta"].mul_(rho).add_(change * change, alpha=1 - rho)
        p.add_(change, alpha=-lr)


class Adafactor(Optimizer):
    """Adafactor: stores the mean square of a matrix's gradients as means of its rows and columns (Shazeer and Stern, 2018).

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Adafactor([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check(lr=(lr, 0, None), weight_decay=(weight_decay, 0, None))
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if d < 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                      maximize=maximize))

    def _state(self, p, group):
        if p.dim() <= 1:
            return {"variance": zeros_of(p)}
        rows, columns = (*p.shape[:-1], 1), (*p.shape[:-2], 1, p.shape[-1])
        return {"row_var": zeros(rows, dtype=p.dtype, device=p.device), "col_var": zeros(columns, dtype=p.dtype, device=p.device)}

    def _numbers(self, group, state):
        step, lr = state["step"], group["lr"]
        return step ** group["beta2_decay"], min(lr, 1 / math.sqrt(step)), 1 - lr * group["weight_decay"]

    def _update(self, p, grad, state, group, share, rate, kept):
        least, smallest = group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        rate = _size(p).clamp(min=smallest) * rate
        if present(group, "weight_decay"):
            p.mul_(kept)
        square = grad * grad
        if p.dim() > 1:
            rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), share)
            columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), share)
            variance = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            variance = state["variance"].lerp_(square, share)
        change = grad * variance.clamp(min=least * least).rsqrt()
        p.sub_(change * (rate / (_size(change) / group["d"]).clamp(min=1.0)))


def _size(x):
    """The root mean square."""
    return (x * x).mean().sqrt()
