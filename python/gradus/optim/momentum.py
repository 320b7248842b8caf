"""Optimisers that go along gradients, or averages or signs of them."""

from ..core import full_like, zeros_like
from .optimizer import Optimizer, check, counted


class SGD(Optimizer):
    """Along the gradient, or along an average of past ones."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check(lr=(lr, 0, None), momentum=(momentum, 0, None), weight_decay=(weight_decay, 0, None))
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))

    def _update(self, p, grad, state, group):
        momentum = group["momentum"]
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        if momentum != 0:
            average = state.get("momentum_buffer")
            if average is None:
                average = state["momentum_buffer"] = grad.detach().clone()
            else:
                average.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(average, alpha=momentum) if group["nesterov"] else average
        p.add_(grad, alpha=-group["lr"])


class Lion(Optimizer):
    """Along the signs of an average of gradients (Chen et al., 2023)."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False):
        check(lr=(lr, 0, None), beta1=(betas[0], 0, 1), beta2=(betas[1], 0, 1), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    def _update(self, p, grad, state, group):
        beta1, beta2 = group["betas"]
        average = state.setdefault("exp_avg", None)
        if average is None:
            average = state["exp_avg"] = zeros_like(p)
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(average.lerp(grad, 1 - beta1).sign(), alpha=-group["lr"])
        average.lerp_(grad, 1 - beta2)


class Rprop(Optimizer):
    """Along the signs of gradients, each element as far as its sign has been steady."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check(lr=(lr, 0, None))
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize))

    def _update(self, p, grad, state, group):
        shrink, grow = group["etas"]
        if not state:
            state["prev"], state["step_size"] = zeros_like(p), full_like(grad, group["lr"])
        counted(state)
        agree = (grad * state["prev"]).sign()
        factor = full_like(agree, 1.0).masked_fill(agree > 0, grow).masked_fill(agree < 0, shrink)
        least, most = group["step_sizes"]
        state["step_size"].mul_(factor).clamp_(least, most)
        grad = grad.masked_fill(agree < 0, 0.0)
        p.sub_(grad.sign() * state["step_size"])
        state["prev"].copy_(grad)
