"""Gradient clipping, in place."""

import math

from ...core import Tensor, no_grad, stack, tensor


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Returns the norm of all tensors as if they were one vector.

    >>> import gradus
    >>> gradus.nn.utils.get_total_norm([gradus.tensor([3.0]), gradus.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    p = float(norm_type)
    if not tensors:
        return tensor(0.0)
    norms = stack([_norm(t.flatten(), p) for t in tensors])
    total = _norm(norms, p)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {p} for gradients from `parameters` is non-finite, so it cannot be clipped.")
    return total


def _norm(vector, p):
    if p == math.inf:
        return vector.abs().max()
    if p == 2.0:
        return (vector * vector).sum().sqrt()
    return vector.abs().pow(p).sum().pow(1.0 / p)


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients to a total norm of at most `max_norm`; returns the norm before.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.tensor([3.0, 4.0]))
    >>> (w * w / 2).sum().backward()
    >>> gradus.nn.utils.clip_grad_norm_([w], 1.0).item()
    5.0
    >>> [round(g, 4) for g in w.grad.tolist()]
    [0.6, 0.8]
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales all gradients so that `total_norm` becomes at most `max_norm`.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.ones(1))
    >>> w.grad = gradus.tensor([4.0])
    >>> gradus.nn.utils.clip_grads_with_norm_([w], 1.0, gradus.tensor(8.0))
    >>> w.grad
    tensor([0.5000])
    """
    # No branch on the norm, which would wait for the device and break tracing.
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(scale.to(grad.dtype))


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of all gradients to `-clip_value … clip_value`.

    >>> import gradus
    >>> w = gradus.nn.Parameter(gradus.ones(2))
    >>> w.grad = gradus.tensor([5.0, -0.5])
    >>> gradus.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    for grad in _gradients(parameters):
        grad.clamp_(min=-float(clip_value), max=float(clip_value))
