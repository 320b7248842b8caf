"""Optimizers that scale gradients by their past magnitudes and keep no average of the gradients themselves."""

from .optimizer import Optimizer, check


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

    _kind = "RMSprop"

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check(lr=(lr, 0, None), eps=(eps, 0, None), alpha=(alpha, 0, None), momentum=(momentum, 0, None),
              weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, maximize=maximize))


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

    _kind = "Adagrad"

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check(lr=(lr, 0, None), lr_decay=(lr_decay, 0, None), weight_decay=(weight_decay, 0, None), eps=(eps, 0, None),
              initial_accumulator_value=(initial_accumulator_value, 0, None))
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, maximize=maximize))


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

    _kind = "Adadelta"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check(lr=(lr, 0, None), rho=(rho, 0, 1), eps=(eps, 0, None), weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize))


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

    _kind = "Adafactor"

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check(lr=(lr, 0, None), weight_decay=(weight_decay, 0, None))
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if d < 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                      maximize=maximize))
