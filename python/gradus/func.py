"""Transforms of functions under the names of `torch.func`."""

from .core import stack
from .nn.stateless import functional_call  # noqa: F401
from .transforms import custom_jvp, custom_vjp, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap  # noqa: F401
from .transforms import grad, value_and_grad


def stack_module_state(models):
    """Returns the parameters and buffers of several models of the same class, each stacked along a new first axis, for `vmap`.

    >>> import gradus
    >>> params, buffers = gradus.func.stack_module_state([gradus.nn.Linear(2, 3) for _ in range(4)])
    >>> tuple(params["weight"].shape), params["weight"].is_leaf, buffers
    ((4, 3, 2), True, {})
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")

    def stacked(of):
        found = {}
        for name, first in of(models[0]):
            parts = [dict(of(model))[name].detach() for model in models]
            found[name] = stack(parts).requires_grad_(first.requires_grad)
        return found

    return stacked(lambda model: model.named_parameters()), stacked(lambda model: model.named_buffers())


def grad_and_value(func, argnums=0, has_aux=False):
    """Returns a function that computes the gradient of `func` and its value.

    >>> import gradus
    >>> gradus.func.grad_and_value(lambda x: x * x)(gradus.tensor(3.0))
    (tensor(6.), tensor(9.))
    """
    both = value_and_grad(func, argnums, has_aux)

    def differentiated(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return grads, value

    return differentiated


__all__ = [
    "custom_jvp", "custom_vjp", "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "value_and_grad", "vjp", "vmap",
]
