"""Adam and its variants: averages of gradients, scaled by averages of their magnitudes."""

from .optimizer import Optimizer, check


class _Adaptive(Optimizer):
    """Checks the settings that all variants have."""

    def __init__(self, params, lr, betas, eps, weight_decay, **more):
        check(lr=(lr, 0, None), eps=(eps, 0, None), beta1=(betas[0], 0, 1), beta2=(betas[1], 0, 1),
              weight_decay=(weight_decay, 0, None))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **more))


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

    _kind = "Adam"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize,
                         decoupled_weight_decay=decoupled_weight_decay)


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

    _kind = "Adamax"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)


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

    _kind = "NAdam"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check(momentum_decay=(momentum_decay, 0, None))
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay,
                         decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)


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

    _kind = "RAdam"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        super().__init__(params, lr, betas, eps, weight_decay, decoupled_weight_decay=decoupled_weight_decay,
                         maximize=maximize)
