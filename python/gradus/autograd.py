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
    """Adds the gradients of `tensors` to the leaves they depend on.

    >>> import gradus
    >>> x = gradus.tensor(3.0, requires_grad=True)
    >>> gradus.autograd.backward([x * 2, x * 5])
    >>> x.grad.item()
    7.0
    """
    outs = _listed(tensors)
    seeds = [None] * len(outs) if grad_tensors is None else _listed(grad_tensors)
    for i, (out, seed) in enumerate(zip(outs, seeds)):
        keep = retain_graph or create_graph or i + 1 < len(outs)
        out.backward(seed, retain_graph=keep, create_graph=create_graph, inputs=inputs)


class _Context:
    """What a `Function` keeps for its backward pass."""

    saved_tensors = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors, which `saved_tensors` gives back."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        """Nothing to do: what has no gradient gets none."""

    def set_materialize_grads(self, value):
        """Nothing to do: gradients that nobody asks for are zeros."""


class Function:
    """An operation with a gradient of its own: a class with static `forward(ctx, …)` and `backward(ctx, …)`.

    Both are traced, so gradients of gradients work, and both run under every transform. `backward` sees what `forward` kept
    in `ctx`: `forward` is traced once more for it.

    >>> import gradus
    >>> class Cube(gradus.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * g * x * x
    >>> x = gradus.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad.item()
    12.0
    """

    @classmethod
    def apply(cls, *args):
        """The result of `forward`; what is no tensor is handed through."""
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]

        def forward(ctx, tensors):
            given = list(args)
            for i, t in zip(places, tensors):
                given[i] = t
            return cls.forward(ctx, *given)

        several = []

        def outputs(tensors):
            found = forward(_Context(), tensors)
            several.append(isinstance(found, tuple))
            return list(found) if several[-1] else [found]

        def rule(tensors, _, cotangents):
            ctx = _Context()
            forward(ctx, tensors)
            grads = cls.backward(ctx, *cotangents)
            grads = grads if isinstance(grads, tuple) else (grads,)
            if len(grads) != len(args):
                raise RuntimeError(f"{cls.__name__}.backward gave {len(grads)} gradients for {len(args)} arguments")
            pairs = ((grads[i], t) for i, t in zip(places, tensors))
            return [_native.zeros_like(t) if g is None else g for g, t in pairs]

        found = _native._custom_vjp([args[i] for i in places], outputs, rule)
        return tuple(found) if several[0] else found[0]


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
