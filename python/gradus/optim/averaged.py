"""Gradient descent with an average of the parameters."""

from .momentum import zeros_of
from .optimizer import Optimizer, check, present


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky, 1992): `state["ax"]` is the average of parameters from step `t0` on.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([1.0]))
    >>> opt = gradus.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> 0 < w.item() < 1
    True
    """

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check(lr=(lr, 0, None), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize))

    def _state(self, p, group):
        return {"ax": zeros_of(p)}

    def _numbers(self, group, state):
        # Uses the rate and averaging weight of the previous step.
        step, lr, lambd = state["step"], group["lr"], group["lambd"]
        eta, mu = float(state.get("eta", lr)), float(state.get("mu", 1.0))
        state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])
        return eta, 1 - lambd * eta, mu

    def _update(self, p, grad, state, group, eta, kept, share):
        if present(group, "weight_decay"):
            grad = grad.add(p, alpha=group["weight_decay"])
        p.mul_(kept).add_(grad, alpha=-eta)
        average = state["ax"]
        average.add_((p - average) * share)
