"""Transforms of functions under the names of `torch.func`."""

from .nn.stateless import functional_call  # noqa: F401
from .transforms import hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap  # noqa: F401
from .transforms import grad, value_and_grad


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of `func` and its value.

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
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp", "vmap",
]
