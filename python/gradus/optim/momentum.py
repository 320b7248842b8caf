"""Optimizers that follow gradients, their averages or their signs."""

from ..core import full, zeros
from .optimizer import Optimizer, check, present


def zeros_of(p):
    """Zeros like a parameter."""
    return zeros(tuple(p.shape), dtype=p.dtype, device=p.device)


class SGD(Optimizer):
    """Gradient descent, optionally with momentum.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check(lr=(lr, 0, None), momentum=(momentum, 0, None), weight_decay=(weight_decay, 0, None))
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))

    def _state(self, p, group):
        return {"momentum_buffer": zeros_of(p)} if group["momentum"] != 0 else {}

    def _numbers(self, group, state):
        # The first gradient is not dampened.
        share = 1 if state["step"] == 1 else 1 - group["dampening"]
        return group["lr"], group["momentum"], share

    def _update(self, p, grad, state, group, lr, momentum, share):
        if present(group, "weight_decay"):
            grad = grad.add(p, alpha=group["weight_decay"])
        if present(group, "momentum"):
            average = state["momentum_buffer"].mul_(momentum).add_(grad, alpha=share)
            grad = grad.add(average, alpha=momentum) if group["nesterov"] else average
        p.add_(grad, alpha=-lr)

    def load_state_dict(self, state_dict):
        """Restores state and settings. PyTorch counts no steps here; if there is an average, the first step is past."""
        states = {}
        for number, state in state_dict["state"].items():
            kept = {name: value for name, value in state.items() if value is not None}
            if kept:
                states[number] = {"step": 1, **kept}
        super().load_state_dict({**state_dict, "state": states})


class Lion(Optimizer):
    """Lion: follows the signs of an average of gradients (Chen et al., 2023).

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Lion([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False):
        check(lr=(lr, 0, None), beta1=(betas[0], 0, 1), beta2=(betas[1], 0, 1), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    def _state(self, p, group):
        return {"exp_avg": zeros_of(p)}

    def _numbers(self, group, state):
        beta1, beta2 = group["betas"]
        return group["lr"], 1 - group["lr"] * group["weight_decay"], 1 - beta1, 1 - beta2

    def _update(self, p, grad, state, group, lr, kept, share1, share2):
        average = state["exp_avg"]
        p.mul_(kept).add_(average.lerp(grad, share1).sign(), alpha=-lr)
        average.lerp_(grad, share2)


class Rprop(Optimizer):
    """Rprop: follows the signs of gradients, with steps that grow while an element's sign is constant.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.Rprop([w])
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check(lr=(lr, 0, None))
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize))

    def _state(self, p, group):
        return {"prev": zeros_of(p), "step_size": full(tuple(p.shape), group["lr"], dtype=p.dtype, device=p.device)}

    def _numbers(self, group, state):
        return ()

    def _update(self, p, grad, state, group):
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        agree = (grad * state["prev"]).sign()
        # 1 where a gradient is zero, else the factor of the group
        factor = 1 + (agree > 0).to(p.dtype) * (grow - 1) + (agree < 0).to(p.dtype) * (shrink - 1)
        state["step_size"].mul_(factor).clamp_(least, most)
        grad = grad.masked_fill(agree < 0, 0.0)
        p.sub_(grad.sign() * state["step_size"])
        state["prev"].copy_(grad)
