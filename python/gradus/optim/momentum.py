"""Optimizers that follow gradients, their averages or their signs."""

from .optimizer import Optimizer, check


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

    _kind = "SGD"

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check(lr=(lr, 0, None), momentum=(momentum, 0, None), weight_decay=(weight_decay, 0, None))
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))

    def load_state_dict(self, state_dict):
        """Restores state and settings. PyTorch's state has no step count; if there is an average, at least one step has been taken."""
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

    _kind = "Lion"

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False):
        check(lr=(lr, 0, None), beta1=(betas[0], 0, 1), beta2=(betas[1], 0, 1), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))


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

    _kind = "Rprop"

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check(lr=(lr, 0, None))
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize))


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

    _kind = "ASGD"

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check(lr=(lr, 0, None), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize))
