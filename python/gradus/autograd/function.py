"""Operations with gradients of their own."""

import functools

from .. import _native
from ..core import Tensor, no_grad


class FunctionCtx:
    """What a `Function` keeps for its backward pass."""

    saved_tensors = ()

    def __init__(self, needs_input_grad=()):
        #: Which arguments of `apply` are tensors that require gradients.
        self.needs_input_grad = needs_input_grad

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
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)

        def forward(ctx, tensors):
            given = list(args)
            for i, t in zip(places, tensors):
                given[i] = t
            return cls.forward(ctx, *given)

        several = []

        def outputs(tensors):
            found = forward(FunctionCtx(needs), tensors)
            several.append(isinstance(found, tuple))
            return list(found) if several[-1] else [found]

        def rule(tensors, _, cotangents):
            ctx = FunctionCtx(needs)
            forward(ctx, tensors)
            grads = cls.backward(ctx, *cotangents)
            grads = grads if isinstance(grads, tuple) else (grads,)
            if len(grads) != len(args):
                raise RuntimeError(f"{cls.__name__}.backward gave {len(grads)} gradients for {len(args)} arguments")
            pairs = ((grads[i], t) for i, t in zip(places, tensors))
            return [_native.zeros_like(t) if g is None else g for g, t in pairs]

        found = _native._custom_vjp([args[i] for i in places], outputs, rule)
        return tuple(found) if several[0] else found[0]


def once_differentiable(fn):
    """A `backward` whose gradients are not differentiated again.

    >>> import gradus
    >>> gradus.autograd.function.once_differentiable(lambda ctx, g: g * 2)(None, gradus.ones(1, requires_grad=True)).requires_grad
    False
    """

    @functools.wraps(fn)
    def backward(ctx, *grads):
        with no_grad():
            found = fn(ctx, *grads)
        several = isinstance(found, tuple)
        found = [g.detach() if isinstance(g, Tensor) else g for g in (found if several else (found,))]
        return tuple(found) if several else found[0]

    return backward
