"""Compares gradients with finite differences."""

from ..core import Tensor, allclose, enable_grad, no_grad, ones_like, rand_like, stack, zeros_like
from .. import _native


def _outputs(func, inputs):
    """Returns the differentiable results of a function. Complex results are returned as two real tensors."""
    found = func(*inputs)
    found = [y for y in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(y, Tensor)]
    parts = [part for y in found for part in ((y.real, y.imag) if y.is_complex() else (y,))]
    return [y for y in parts if y.dtype.is_floating_point]


def _given(inputs):
    """Returns the inputs as a tuple, and the indices of those that require gradients."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    return inputs, [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]


def _differences(func, inputs, place, eps):
    """Computes the Jacobian of each output for an input by central differences, one element at a time. Real and imaginary parts of a
    complex input are changed separately, which gives the parts of its gradient."""
    x, rows = inputs[place], []
    flat = x.detach().reshape(-1)
    for i in range(flat.shape[0]):
        rows.append([0] * len(_outputs(func, inputs)))
        for direction in (1, 1j) if x.is_complex() else (1,):
            ends = []
            for step in (eps, -eps):
                moved = flat.clone()
                moved[i] += step * direction
                given = [moved.reshape(x.shape) if k == place else y for k, y in enumerate(inputs)]
                with no_grad():
                    ends.append([y.detach().reshape(-1).clone() for y in _outputs(func, given)])
            rows[-1] = [total + (a - b) / (2 * eps) * direction for total, a, b in zip(rows[-1], *ends)]
    return [stack(column) for column in zip(*rows)]


def _gradients(func, inputs, place):
    """Computes these Jacobians by backward passes, one for each element of each output."""
    found = []
    for k in range(len(_outputs(func, inputs))):
        with enable_grad():
            y = _outputs(func, inputs)[k]
        columns = []
        for i in range(y.numel()):
            seed = zeros_like(y).detach().reshape(-1)
            seed[i] = 1
            g = None
            if y.requires_grad:
                (g,) = _native._autograd_grad([y], [inputs[place]], [seed.reshape(y.shape)], True, False, True)
            columns.append((zeros_like(inputs[place]) if g is None else g).detach().reshape(-1))
        found.append(stack(columns, 1))
    return found


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Returns true if gradients of `func` agree with differences of its values, for all inputs that require them (in `float64`).

    >>> import gradus
    >>> x = gradus.randn(3, dtype=gradus.float64, requires_grad=True)
    >>> gradus.autograd.gradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    inputs, wanted = _given(inputs)
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    for i in wanted:
        for k, (analytical, numerical) in enumerate(zip(_gradients(func, inputs, i), _differences(func, inputs, i, eps))):
            if not allclose(analytical, numerical, rtol=rtol, atol=atol):
                if raise_exception:
                    raise RuntimeError(f"Jacobian mismatch for output {k} with respect to input {i},\nnumerical:{numerical}\nanalytical:{analytical}\n")
                return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False, raise_exception=True,
                  nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False, check_fwd_over_rev=False,
                  check_rev_over_rev=True, fast_mode=False, masked=False):
    """`gradcheck` of the gradients of `func`, for inputs and cotangents.

    >>> import gradus
    >>> x = gradus.randn(3, dtype=gradus.float64, requires_grad=True)
    >>> gradus.autograd.gradgradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    inputs, wanted = _given(inputs)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        grad_outputs = [rand_like(y.detach()) + ones_like(y.detach()) for y in outputs]
    cotangents = [g.detach().requires_grad_() for g in ([grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs)]

    def gradients(*given):
        own, seeds = list(given[:len(inputs)]), list(given[len(inputs):])
        leaves = [own[i] if own[i].requires_grad else own[i].detach().requires_grad_() for i in wanted]
        for i, leaf in zip(wanted, leaves):
            own[i] = leaf
        with enable_grad():
            found = _native._autograd_grad(_outputs(func, own), leaves, seeds, True, True, True)
        return tuple(zeros_like(x) if g is None else g for g, x in zip(found, leaves))

    return gradcheck(gradients, (*inputs, *cotangents), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
