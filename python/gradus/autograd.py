"""Gradients of recorded operations, under PyTorch's names."""

from types import SimpleNamespace

from . import _native, transforms
from .core import Tensor, enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from .gradcheck import gradcheck, gradgradcheck  # noqa: F401


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


class set_detect_anomaly:
    """Makes backward passes look for NaN, from the call on; as a context, until its end. The first call that makes one raises.

    >>> import gradus
    >>> x = gradus.tensor(0.0, requires_grad=True)
    >>> with gradus.autograd.set_detect_anomaly(True):
    ...     try:
    ...         (x.sqrt() * 0).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    sqrt: the gradient of operand 0 is NaN (operands float32[])
    """

    def __init__(self, mode, check_nan=True):
        self._before = _native._look_for_nan(bool(mode) and check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _native._look_for_nan(self._before)


class detect_anomaly:
    """A context in which backward passes look for NaN, and raise where the first one is made.

    >>> import gradus
    >>> with gradus.autograd.detect_anomaly():
    ...     gradus.ones(2, requires_grad=True).sum().backward()
    """

    def __init__(self, check_nan=True):
        self._on = check_nan

    def __enter__(self):
        self._before = _native._look_for_nan(self._on)

    def __exit__(self, *exc):
        _native._look_for_nan(self._before)


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


def _jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivatives of every element of `func(inputs)`; of a tuple of inputs, a tuple."""
    places = 0 if isinstance(inputs, Tensor) else tuple(range(len(inputs)))
    return transforms.jacobian(func, places)(*_listed(inputs))


functional = SimpleNamespace(
    jacobian=_jacobian,
    hessian=lambda func, inputs: transforms.hessian(func)(inputs),
    vjp=_vjp, jvp=_jvp, hvp=_hvp,
)
