"""Adam and its variants: averages of gradients, scaled by averages of their magnitudes."""

import math

from ..core import maximum
from .momentum import zeros_of
from .optimizer import Optimizer, check, present


class _Adaptive(Optimizer):
    """Two averages per parameter: of gradients, and of their squares."""

    _second = "exp_avg_sq"

    def __init__(self, params, lr, betas, eps, weight_decay, **more):
        check(lr=(lr, 0, None), eps=(eps, 0, None), beta1=(betas[0], 0, 1), beta2=(betas[1], 0, 1),
              weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **more))

    def _state(self, p, group):
        return {"exp_avg": zeros_of(p), self._second: zeros_of(p)}

    def _numbers(self, group, state):
        """Returns the decay factor of parameters, the weights of new gradients and of old squares, and a subclass's numbers."""
        beta1, beta2 = group["betas"]
        kept = 1 - group["lr"] * group["weight_decay"]
        return (kept, 1 - beta1, beta2, 1 - beta2, *self._rates(group, state, beta1, beta2))

    def _rates(self, group, state, beta1, beta2):
        raise NotImplementedError

    def _update(self, p, grad, state, group, kept, share1, beta2, share2, *rates):
        if present(group, "weight_decay"):
            if group.get("decoupled_weight_decay"):
                p.mul_(kept)
            else:
                grad = grad.add(p, alpha=group["weight_decay"])
        mean = state["exp_avg"].lerp_(grad, share1)
        if self._second == "exp_avg_sq":
            state["exp_avg_sq"].mul_(beta2).add_(grad * grad, alpha=share2)
        self._move(p, grad, mean, state, group, beta2, *rates)


class Adam(_Adaptive):
    """Adam (Kingma and Ba, 2014), optionally with AMSGrad.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize,
                         decoupled_weight_decay=decoupled_weight_decay)

    def _state(self, p, group):
        more = {"max_exp_avg_sq": zeros_of(p)} if group["amsgrad"] else {}
        return {**super()._state(p, group), **more}

    def _rates(self, group, state, beta1, beta2):
        step = state["step"]
        return -group["lr"] / (1 - beta1**step), math.sqrt(1 - beta2**step)

    def _move(self, p, grad, mean, state, group, beta2, rate, correction):
        square = state["exp_avg_sq"]
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], square))
        p.add_(mean / (square.sqrt() / correction + group["eps"]), alpha=rate)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017).

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)


class Adamax(_Adaptive):
    """Adam with the largest gradient instead of the mean square.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Adamax([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    _second = "exp_inf"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def _rates(self, group, state, beta1, beta2):
        return (-group["lr"] / (1 - beta1 ** state["step"]),)

    def _move(self, p, grad, mean, state, group, beta2, rate):
        largest = state["exp_inf"].copy_(maximum(state["exp_inf"] * beta2, grad.abs() + group["eps"]))
        p.add_(mean / largest, alpha=rate)


class NAdam(_Adaptive):
    """Adam with Nesterov's momentum.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.NAdam([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check(momentum_decay=(momentum_decay, 0, None))
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay,
                         decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)

    def _rates(self, group, state, beta1, beta2):
        step, lr = state["step"], group["lr"]
        mu, following = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product = state["mu_product"] = float(state.get("mu_product", 1.0)) * mu
        return 1 - beta2**step, -lr * (1 - mu) / (1 - product), -lr * following / (1 - product * following)

    def _move(self, p, grad, mean, state, group, beta2, correction, rate, following):
        size = (state["exp_avg_sq"] / correction).sqrt() + group["eps"]
        p.add_((grad * rate + mean * following) / size)


class RAdam(_Adaptive):
    """Adam that scales only after the variance estimate is reliable (RAdam).

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.RAdam([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        super().__init__(params, lr, betas, eps, weight_decay, decoupled_weight_decay=decoupled_weight_decay,
                         maximize=maximize)

    def _rates(self, group, state, beta1, beta2):
        step = state["step"]
        rate, correction = -group["lr"] / (1 - beta1**step), 1 - beta2**step
        # The effective number of gradients in the average square.
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / correction
        if length <= 5.0:
            return rate, 0.0
        rect = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
        return 0.0, rate * math.sqrt(correction) * rect

    def _move(self, p, grad, mean, state, group, beta2, plain, scaled):
        p.add_(mean * (scaled / (state["exp_avg_sq"].sqrt() + group["eps"]) + plain))
