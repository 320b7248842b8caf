"""Gradients of recorded operations, under PyTorch's names."""

from .. import _native
from ..core import Tensor, enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from . import functional  # noqa: F401
from .functional import _listed
from .function import Function  # noqa: F401
from .gradcheck import gradcheck, gradgradcheck  # noqa: F401


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """Computes the gradients of recorded `outputs` for `inputs`, without changing any `.grad`.

    With `materialize_grads`, inputs without a gradient get zeros. With `is_grads_batched`, computes gradients for each slice of
    `grad_outputs` along the first axis.

    >>> import gradus
    >>> x = gradus.tensor(3.0, requires_grad=True)
    >>> (g,) = gradus.autograd.grad(x**3, x, create_graph=True)
    >>> gradus.autograd.grad(g, x)[0].item()
    18.0
    """
    outs = _listed(outputs)
    seeds = _cotangents(outs, grad_outputs)
    inputs = _listed(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    if is_grads_batched:
        count = next(len(seed) for seed in seeds if seed is not None)
        rows = [[None if seed is None else seed[i] for seed in seeds] for i in range(count)]
        found = [grad(outs, inputs, row, i + 1 < count or retain_graph, create_graph, True, allow_unused, False, materialize_grads)
                 for i, row in enumerate(rows)]
        return tuple(None if column[0] is None else _native.stack(list(column)) for column in zip(*found))
    for i, (out, seed) in enumerate(zip(outs, seeds)):
        if seed is None and out.numel() != 1:
            raise RuntimeError(f"grad can be implicitly created only for scalar outputs, and output {i} has shape {list(out.shape)}: pass "
                               "`grad_outputs`, one tensor of the shape of each output")
    found = _native._autograd_grad(outs, inputs, seeds, retain_graph, create_graph, bool(allow_unused) or materialize_grads)
    if materialize_grads:
        found = tuple(_native.zeros_like(x.detach()) if g is None else g for g, x in zip(found, inputs))
    return found


def _cotangents(outs, given):
    """Returns a cotangent or `None` for each of `outs`. Arrays become tensors with the dtype and device of their output."""
    if given is None:
        return [None] * len(outs)
    seeds = [given] if hasattr(given, "__array__") else list(given)
    if len(seeds) < len(outs):
        raise RuntimeError(f"got {len(outs)} tensors and {len(seeds)} gradients")
    return [seed if seed is None or isinstance(seed, _native.Tensor) else _native.tensor(seed, dtype=out.dtype).to(out.device)
            for out, seed in zip(outs, seeds)]


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of `tensors` to the leaves they depend on.

    >>> import gradus
    >>> x = gradus.tensor(3.0, requires_grad=True)
    >>> gradus.autograd.backward([x * 2, x * 5])
    >>> x.grad.item()
    7.0
    """
    outs = _listed(tensors)
    seeds = _cotangents(outs, grad_tensors)
    for i, (out, seed) in enumerate(zip(outs, seeds)):
        keep = retain_graph or create_graph or i + 1 < len(outs)
        out.backward(seed, retain_graph=keep, create_graph=create_graph, inputs=inputs)


class _Tensors(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor)


class Variable(metaclass=_Tensors):
    """PyTorch's old class of tensors with gradients: creates a tensor, and every tensor is an instance.

    >>> import gradus
    >>> x = gradus.autograd.Variable(gradus.ones(2), requires_grad=True)
    >>> type(x).__name__, x.requires_grad, isinstance(gradus.ones(2), gradus.autograd.Variable)
    ('Tensor', True, True)
    """

    def __new__(cls, data=None, requires_grad=False):
        return (_native.zeros(0) if data is None else data.detach()).requires_grad_(requires_grad)


class set_detect_anomaly:
    """Makes backward passes check for NaN; as a context, until its end. The first operation that produces NaN raises an error.

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
    """A context in which backward passes check for NaN, and raise at the operation that produces the first.

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
