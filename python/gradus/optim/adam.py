"""Adam and its kin: averages of gradients over averages of their sizes."""

import math

from ..core import maximum, zeros_like
from .optimizer import Optimizer, check, counted


class _Adaptive(Optimizer):
    """Two averages per parameter."""

    def __init__(self, params, lr, betas, eps, weight_decay, **more):
        check(lr=(lr, 0, None), eps=(eps, 0, None), beta1=(betas[0], 0, 1), beta2=(betas[1], 0, 1),
              weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **more))

    def _begin(self, p, grad, state, group, second="exp_avg_sq"):
        """The number of the step, the gradient with what pulls parameters towards zero, and the average of gradients."""
        if "exp_avg" not in state:
            state["exp_avg"], state[second] = zeros_like(p), zeros_like(p)
        step = counted(state)
        decay = group["weight_decay"]
        if decay != 0:
            if group.get("decoupled_weight_decay"):
                p.mul_(1 - group["lr"] * decay)
            else:
                grad = grad.add(p, alpha=decay)
        state["exp_avg"].lerp_(grad, 1 - group["betas"][0])
        return step, grad

    def _square(self, grad, state, group):
        beta2 = group["betas"][1]
        return state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)


class Adam(_Adaptive):
    """Adam (Kingma and Ba, 2014), with AMSGrad if asked for."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize,
                         decoupled_weight_decay=decoupled_weight_decay)

    def _update(self, p, grad, state, group):
        step, grad = self._begin(p, grad, state, group)
        square = self._square(grad, state, group)
        if group["amsgrad"]:
            if "max_exp_avg_sq" not in state:
                state["max_exp_avg_sq"] = zeros_like(p)
            state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], square))
            square = state["max_exp_avg_sq"]
        beta1, beta2 = group["betas"]
        size = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(group["eps"])
        p.addcdiv_(state["exp_avg"], size, value=-group["lr"] / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay is no part of the gradient (Loshchilov and Hutter, 2017)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)


class Adamax(_Adaptive):
    """Adam with the largest gradient in place of the mean square."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def _update(self, p, grad, state, group):
        step, grad = self._begin(p, grad, state, group, second="exp_inf")
        beta1, beta2 = group["betas"]
        state["exp_inf"].copy_(maximum(state["exp_inf"] * beta2, grad.abs() + group["eps"]))
        p.addcdiv_(state["exp_avg"], state["exp_inf"], value=-group["lr"] / (1 - beta1**step))


class NAdam(_Adaptive):
    """Adam with Nesterov's momentum."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check(momentum_decay=(momentum_decay, 0, None))
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay,
                         decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)

    def _update(self, p, grad, state, group):
        step, grad = self._begin(p, grad, state, group)
        beta1, beta2 = group["betas"]
        mu, following = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product = state["mu_product"] = float(state.get("mu_product", 1.0)) * mu
        size = (self._square(grad, state, group) / (1 - beta2**step)).sqrt().add_(group["eps"])
        p.addcdiv_(grad, size, value=-group["lr"] * (1 - mu) / (1 - product))
        p.addcdiv_(state["exp_avg"], size, value=-group["lr"] * following / (1 - product * following))


class RAdam(_Adaptive):
    """Adam that scales only once it has seen enough to know the scale."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        super().__init__(params, lr, betas, eps, weight_decay, decoupled_weight_decay=decoupled_weight_decay,
                         maximize=maximize)

    def _update(self, p, grad, state, group):
        step, grad = self._begin(p, grad, state, group)
        square = self._square(grad, state, group)
        beta1, beta2 = group["betas"]
        correction2 = 1 - beta2**step
        direction = state["exp_avg"] / (1 - beta1**step)
        # The length of the approximated moving average: how many gradients the average square stands for.
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / correction2
        if length > 5.0:
            rect = math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            direction = direction * (math.sqrt(correction2) * rect) / (square.sqrt() + group["eps"])
        p.add_(direction, alpha=-group["lr"])
