"""Operations with user-defined gradients."""

import functools

from .. import _native
from ..core import Tensor, no_grad


#: Errors of a traced function that reads elements, or requests gradients of tensors from outside of the trace.
_TRACED = ("has no elements while", "does not require gradients")


class _NeedsElements(RuntimeError):
    """Raised by a function that cannot be traced."""


class FunctionCtx:
    """Storage of a `Function` for its backward pass."""

    saved_tensors = ()
    _non_differentiable = _dirty = ()
    _zeros = True

    def __init__(self, needs_input_grad=()):
        #: Which arguments of `apply` are tensors that require gradients.
        self.needs_input_grad = needs_input_grad

    def save_for_backward(self, *tensors):
        """Saves tensors, which `saved_tensors` returns."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        """Marks results without gradients."""
        self._non_differentiable = tensors

    def mark_dirty(self, *tensors):
        """Marks arguments that were changed in place and are results."""
        if any(t._is_traced for t in tensors):
            raise _NeedsElements
        self._dirty = tensors

    def set_materialize_grads(self, value):
        """Sets whether gradients of unused results are zeros or `None`; in a traced function they are zeros."""
        self._zeros = value


class Function:
    """An operation with a user-defined gradient: a class with static `forward(ctx, …)` and `backward(ctx, …)`; or with `forward(…)`
    and `setup_context(ctx, inputs, output)`.

    Both are traced, so gradients of gradients work, and both run under every transform. `backward` sees what `forward` stored
    in `ctx`: `forward` is traced once more for it. If one of them reads elements (`if x > 0`, NumPy), both run untraced
    instead, outside of transforms and with first derivatives only.

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

    #: True once the function has read elements.
    _reads_elements = False
    #: Stores what `backward` needs, if `forward` takes no `ctx`.
    setup_context = None

    @classmethod
    def apply(cls, *args):
        """Returns the result of `forward`; objects other than tensors are passed through."""
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)

        def forward(ctx, tensors):
            given = list(args)
            for i, t in zip(places, tensors):
                given[i] = t
            if not hasattr(cls, "forward"):
                raise NotImplementedError(f"{cls.__name__} has no forward method: define it as a static method")
            if cls.setup_context is None:
                return cls.forward(ctx, *given)
            output = cls.forward(*given)
            cls.setup_context(ctx, tuple(given), output)
            return output

        several = []

        def outputs(tensors):
            found = forward(FunctionCtx(needs), tensors)
            several.append(isinstance(found, tuple))
            return list(found) if several[-1] else [found]

        def rule(tensors, _, cotangents):
            ctx = FunctionCtx(needs)
            forward(ctx, tensors)
            grads = cls._gradients(cls.backward(ctx, *cotangents), len(args))
            pairs = ((grads[i], t) for i, t in zip(places, tensors))
            return [_native.zeros_like(t) if g is None else g for g, t in pairs]

        if hasattr(cls, "backward") and (not cls._reads_elements or _native.is_tracing()):
            try:
                found = _native._custom_vjp([args[i] for i in places], outputs, rule)
                return tuple(found) if several[0] else found[0]
            except RuntimeError as error:
                if _native.is_tracing() or not (isinstance(error, _NeedsElements) or any(text in str(error) for text in _TRACED)):
                    raise
                cls._reads_elements = True
        return cls._run_untraced(args, needs, forward)

    @classmethod
    def _check_backward(cls, needs):
        """Raises an error that names the arguments without gradient, if `backward` is missing."""
        if not hasattr(cls, "backward"):
            which = ", ".join(str(i) for i, needed in enumerate(needs) if needed)
            raise NotImplementedError(
                f"{cls.__name__} has no backward method, so there is no gradient of its argument(s) {which}: define "
                f"`{cls.__name__}.backward(ctx, *grad_outputs)` as a static method, or detach these arguments")

    @classmethod
    def _run_untraced(cls, args, needs, forward):
        """Runs `forward` untraced, so that it can read elements. Hooks of the results collect their gradients. Each argument has a gate,
        a tensor on which all results depend; its hook returns the argument's gradient, computed by `backward`."""
        ctx, recorded = FunctionCtx(needs), any(needs) and _native.is_grad_enabled()
        gates = {i: args[i].unsqueeze(0) for i, needed in enumerate(needs) if needed and recorded}
        with no_grad():
            found = forward(ctx, [a for a in args if isinstance(a, Tensor)])
        if not recorded:
            return found
        results = list(found) if isinstance(found, tuple) else [found]
        types = [(tuple(r.shape), r.dtype) if isinstance(r, Tensor) else None for r in results]
        come, given = [None] * len(results), []

        def note(k, g):
            given.clear()
            come[k] = g

        def open_gate(i, zeros):
            if _native.is_grad_enabled():
                raise RuntimeError(f"{cls.__name__} reads elements, so its gradients cannot be differentiated again")
            if not given:
                cls._check_backward(needs)
                missing = (_native.zeros(t[0], dtype=t[1]) if t and ctx._zeros else None for t in types)
                given.append(cls._gradients(cls.backward(ctx, *(m if g is None else g for g, m in zip(come, missing))), len(args)))
                come[:] = [None] * len(come)
            return zeros if given[0][i] is None else given[0][i].unsqueeze(0)

        for i, gate in gates.items():
            gate.register_hook(functools.partial(open_gate, i))
        none = sum(gate.reshape(-1)[:0].sum().real for gate in gates.values())  # 0, which depends on the gates
        for k, r in enumerate(results):
            if not isinstance(r, Tensor) or not (r.is_floating_point() or r.is_complex()) or any(r is t for t in ctx._non_differentiable):
                continue
            own = r.detach() + none.to(r.dtype)
            own.register_hook(functools.partial(note, k))
            dirty = any(r is t for t in ctx._dirty)
            if dirty and r.is_leaf and r.requires_grad:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            results[k] = r._become(own) if dirty else own
        return tuple(results) if isinstance(found, tuple) else results[0]

    @classmethod
    def _gradients(cls, grads, count):
        """Checks the number of gradients that `backward` returned."""
        grads = grads if isinstance(grads, tuple) else (grads,)
        while len(grads) > count and grads[-1] is None:  # for omitted arguments
            grads = grads[:-1]
        if len(grads) != count:
            raise RuntimeError(f"{cls.__name__}.backward returned {len(grads)} gradients for {count} arguments")
        return grads


def once_differentiable(fn):
    """Wraps a `backward` whose gradients are not differentiated again.

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
