"""Gradients of recorded operations, under PyTorch's names."""

from types import SimpleNamespace

from . import _native, transforms
from .core import Tensor, enable_grad, no_grad, set_grad_enabled  # noqa: F401


def _listed(x):
    return [x] if isinstance(x, Tensor) else list(x)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """The gradients of recorded `outputs` for `inputs`, without touching anyone's `.grad`.

    >>> import gradus
    >>> x = gradus.tensor(3.0, requires_grad=True)
    >>> (g,) = gradus.autograd.grad(x**3, x, create_graph=True)
    >>> gradus.autograd.grad(g, x)[0].item()
    18.0
    """
    outs = _listed(outputs)
    seeds = [None] * len(outs) if grad_outputs is None else _listed(grad_outputs)
    return _native._autograd_grad(outs, _listed(inputs), seeds, retain_graph, create_graph, allow_unused)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of `tensors` to the leaves they depend on."""
    outs = _listed(tensors)
    seeds = [None] * len(outs) if grad_tensors is None else _listed(grad_tensors)
    for i, (out, seed) in enumerate(zip(outs, seeds)):
        keep = retain_graph or create_graph or i + 1 < len(outs)
        out.backward(seed, retain_graph=keep, create_graph=create_graph, inputs=inputs)


def _vjp(func, inputs, v=None):
    """`func(inputs)`, and what a cotangent of it becomes for the inputs."""
    several = not isinstance(inputs, Tensor)
    value, pull = transforms.vjp(func, *_listed(inputs))
    found = pull(value.new_tensor(1.0) if v is None else v)
    return value, found if several else found[0]


def _jvp(func, inputs, v):
    """`func(inputs)`, and its tangent along `v`."""
    return transforms.jvp(func, _listed(inputs), _listed(v))


def _hvp(func, inputs, v):
    """`func(inputs)`, a scalar, and the product of its Hessian with `v`."""
    several = not isinstance(inputs, Tensor)
    found = transforms.hvp(func, _listed(inputs), _listed(v))
    return func(*_listed(inputs)), found if several else found[0]


functional = SimpleNamespace(
    jacobian=lambda func, inputs: transforms.jacobian(func)(inputs),
    hessian=lambda func, inputs: transforms.hessian(func)(inputs),
    vjp=_vjp, jvp=_jvp, hvp=_hvp,
)
