"""Transforms of Python functions: they are traced once, and the graphs are transformed.

Arguments and results may be tensors or lists, tuples and dictionaries of them; anything else is part of the program.
"""

import functools
import math

from . import _names, _native
from ._examples import documented as _documented
from ._native import Tensor, _flatten, jit

__all__ = [
    "grad", "value_and_grad", "vjp", "jvp", "linearize", "vmap", "jacobian", "jacrev", "jacfwd", "hessian", "hvp", "jit",
    "checkpoint", "custom_jvp", "custom_vjp", "cond", "switch", "while_loop", "scan", "trace",
]


class _Flat:
    """Wraps a function of nested arguments as a function of a list of tensors; stores the structure of its result."""

    def __init__(self, function, args, kwargs=None, argnums=None):
        self.function, self.args, self.kwargs = function, list(args), kwargs or {}
        self.argnums = range(len(self.args)) if argnums is None else argnums
        self.tensors, self.parts = [], []
        for i in self.argnums:
            tensors, structure = _flatten(self.args[i])
            self.parts.append((len(tensors), structure))
            self.tensors += tensors
        self.structure = None

    def __call__(self, tensors):
        args, at = list(self.args), 0
        for i, (n, structure) in zip(self.argnums, self.parts):
            args[i] = structure.build(tensors[at : at + n])
            at += n
        outs, self.structure = _flatten(self.function(*args, **self.kwargs))
        return outs

    def like_arguments(self, tensors):
        """Nests tensors like the arguments: one object per argument."""
        built, at = [], 0
        for n, structure in self.parts:
            built.append(structure.build(tensors[at : at + n]))
            at += n
        return built


def _argument_indices(argnums, args):
    several = isinstance(argnums, (tuple, list))
    places = list(argnums) if several else [argnums]
    for i in places:
        if not -len(args) <= i < len(args):
            raise ValueError(f"argnums {argnums} is out of range for a call with {len(args)} arguments")
    return several, [i % len(args) for i in places]


def _called_at_once(name, given):
    """Raises an error for `grad(f, x)`, which would return a function that is never called."""
    if isinstance(given, Tensor):
        raise TypeError(f"{name}(function) returns a function; write {name}(function)(x), not {name}(function, x)")


def value_and_grad(function, argnums=0, has_aux=False):
    """Returns a function that returns `function`'s value, a scalar, and its gradients for the arguments at `argnums`.

    >>> import gradus
    >>> gradus.value_and_grad(lambda x: (x ** 3).sum())(gradus.tensor([1.0, 2.0]))
    (tensor(9.), tensor([ 3., 12.]))
    """
    _called_at_once("grad", argnums)

    @functools.wraps(function)
    def differentiated(*args, **kwargs):
        several, places = _argument_indices(argnums, args)
        flat = _Flat(function, args, kwargs, places)
        if not all(t.dtype.is_floating_point or t.dtype.is_complex for t in flat.tensors):
            raise TypeError("gradients need float tensors; select others with argnums")
        outs, grads = _native._value_and_grad(flat.tensors, flat)
        result = flat.structure.build(outs)
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise TypeError("with has_aux the function must return a value and auxiliary results")
        if not has_aux and not isinstance(result, Tensor):
            raise TypeError("the function must return one scalar tensor; set has_aux=True if it returns more")
        grads = flat.like_arguments(grads)
        return result, tuple(grads) if several else grads[0]

    return differentiated


def grad(function, argnums=0, has_aux=False):
    """Returns a function that returns the gradients of `function`, whose value is a scalar.

    >>> import gradus
    >>> square = gradus.grad(lambda x: x ** 3)
    >>> gradus.grad(square)(gradus.tensor(2.0))
    tensor(12.)
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def differentiated(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return differentiated


def vjp(function, *primals):
    """Computes the value of `function` at `primals`, and the map from cotangents of this value to cotangents of `primals`.

    >>> import gradus
    >>> y, pull = gradus.vjp(lambda x: x.sin(), gradus.tensor(0.0))
    >>> pull(gradus.tensor(2.0))
    (tensor(2.),)
    """
    flat = _Flat(function, primals)
    outs, map_back = _native._vjp(flat.tensors, flat)

    def pull(cotangents):
        given, _ = _flatten(cotangents)
        return tuple(flat.like_arguments(map_back(given)))

    return flat.structure.build(outs), pull


def jvp(function, primals, tangents):
    """Computes the value of `function` at `primals` and its tangent along `tangents`.

    >>> import gradus
    >>> gradus.jvp(lambda x: x.exp(), (gradus.tensor(0.0),), (gradus.tensor(3.0),))
    (tensor(1.), tensor(3.))
    """
    flat = _Flat(function, primals)
    along = [t for tangent in tangents for t in _flatten(tangent)[0]]
    outs, tangents_out = _native._jvp(flat.tensors, along, flat)
    return flat.structure.build(outs), flat.structure.build(tangents_out)


def linearize(function, *primals):
    """Computes the value of `function` at `primals`, and its linear part there as a function of tangents."""
    flat = _Flat(function, primals)
    outs, map_on = _native._linearize(flat.tensors, flat)

    def push(*tangents):
        return flat.structure.build(map_on([t for tangent in tangents for t in _flatten(tangent)[0]]))

    return flat.structure.build(outs), push


def hvp(function, primals, vectors):
    """Computes the product of the Hessian of a scalar function with vectors, without the Hessian.

    >>> import gradus
    >>> gradus.hvp(lambda x: (x ** 3).sum(), (gradus.tensor([1.0, 2.0]),), (gradus.tensor([1.0, 1.0]),))
    (tensor([ 6., 12.]),)
    >>> gradus.hvp(lambda x: (x ** 3).sum(), gradus.tensor([1.0, 2.0]), gradus.tensor([1.0, 1.0]))
    tensor([ 6., 12.])
    """
    one = isinstance(primals, Tensor)
    primals, vectors = ((primals,), (vectors,)) if one else (primals, vectors)
    flat = _Flat(function, primals)
    along = [t for vector in vectors for t in _flatten(vector)[0]]
    found = tuple(flat.like_arguments(_native._hvp(flat.tensors, along, flat)))
    return found[0] if one else found


def _filled(nest, leaves):
    """Replaces each number in a nested structure by the item with that index."""
    if isinstance(nest, Tensor):
        return leaves[int(nest)]
    if isinstance(nest, dict):
        return {name: _filled(part, leaves) for name, part in nest.items()}
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(_filled(part, leaves) for part in nest))
    return type(nest)(_filled(part, leaves) for part in nest) if isinstance(nest, (tuple, list)) else nest


def _check_argnums(argnums):
    if not all(isinstance(i, int) for i in (argnums if isinstance(argnums, (tuple, list)) else [argnums])):
        raise TypeError(f"argnums must be integers, not {argnums!r}")


def jacobian(function, argnums=0, *inputs, has_aux=False, chunk_size=None, randomness="error"):
    """Returns a function that returns the derivatives of every element of `function`'s value for every element of an argument.

    >>> import gradus
    >>> gradus.jacobian(lambda x: x ** 2)(gradus.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])

    With arguments instead of `argnums` it is called immediately.

    >>> gradus.jacobian(lambda x: x ** 2, gradus.tensor([3.0]))
    tensor([[6.]])
    """
    if isinstance(argnums, Tensor) or inputs:  # as in `autograd.functional`: the function and its arguments
        return jacobian(function)(argnums, *inputs)
    _check_argnums(argnums)

    @functools.wraps(function)
    def derived(*args, **kwargs):
        several, places = _argument_indices(argnums, args)
        flat = _Flat((lambda *a, **k: function(*a, **k)[0]) if has_aux else function, args, kwargs, places)
        shapes = []

        def along(k):
            def one(tensors):
                outs = flat([*flat.tensors[:k], tensors[0], *flat.tensors[k + 1 :]])
                shapes[:] = [tuple(out.shape) for out in outs]
                return outs if len(outs) == 1 else [_native.cat([out.reshape(-1) for out in outs])]

            found = _native._jacobian(flat.tensors[k], one)
            if len(shapes) == 1:
                return [found]
            parts = found.split([math.prod(shape) for shape in shapes])
            return [part.reshape(*shape, *flat.tensors[k].shape) for part, shape in zip(parts, shapes)]

        by_argument = [along(k) for k in range(len(flat.tensors))]
        leaves = [flat.like_arguments(list(of_output)) for of_output in zip(*by_argument)]
        leaves = [tuple(leaf) if several else leaf[0] for leaf in leaves]
        found = _filled(flat.structure.build([_native.tensor(i) for i in range(len(leaves))]), leaves)
        return (found, function(*args, **kwargs)[1]) if has_aux else found

    return derived


jacrev = jacfwd = jacobian


def hessian(function, argnums=0, *inputs):
    """Returns a function that computes the second derivatives of `function` for an argument; both may be nested.

    >>> import gradus
    >>> gradus.hessian(lambda x: (x ** 3).sum())(gradus.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    if isinstance(argnums, Tensor) or inputs:
        return hessian(function)(argnums, *inputs)
    _check_argnums(argnums)
    if not isinstance(argnums, int):
        return jacobian(jacobian(function, argnums), argnums)

    def scalar(out):
        if not isinstance(out, Tensor) or out.dim():
            raise _Several
        return [out]

    @functools.wraps(function)
    def derived(*args, **kwargs):
        _, (place,) = _argument_indices(argnums, args)
        try:
            if isinstance(args[place], Tensor):
                return _native._hessian(args[place], lambda x: scalar(function(*args[:place], x[0], *args[place + 1 :], **kwargs)))
        except _Several:
            pass
        return jacobian(jacobian(function, argnums), argnums)(*args, **kwargs)

    return derived


class _Several(Exception):
    """Raised if a function returns something other than a scalar."""


def _axes(dims, argument, number):
    """Returns the axis of each tensor of an argument: one for all, or nested as the argument is."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(_flatten(argument)[0])
    parts = argument
    if isinstance(argument, dict) and isinstance(dims, dict) and set(dims) == set(argument):
        dims, parts = [dims[k] for k in argument], list(argument.values())
    if not isinstance(dims, (tuple, list)) or not isinstance(parts, (tuple, list)) or len(dims) != len(parts):
        raise ValueError(f"in_dims {dims} are not nested as argument {number} is")
    return [axis for d, part in zip(dims, parts) for axis in _axes(d, part, number)]


def vmap(function, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`function` over a batch: arguments are sliced along `in_dims` (`None` is shared by all), results are stacked.

    `in_dims` may be nested as the arguments are. Random draws inside are the same for all of the batch, so
    `randomness="different"` raises an error. `chunk_size` has no effect.

    >>> import gradus
    >>> dot = gradus.vmap(lambda a, b: (a * b).sum())
    >>> dot(gradus.ones(3, 2), gradus.ones(3, 2))
    tensor([2., 2., 2.])
    """

    _called_at_once("vmap", in_dims)
    if randomness not in ("error", "same"):
        raise ValueError(f"randomness {randomness!r}: draws inside vmap are the same for the entire batch; draw outside")

    @functools.wraps(function)
    def batched(*args, **kwargs):
        flat = _Flat(function, args, kwargs)
        dims = in_dims if isinstance(in_dims, (tuple, list)) else [in_dims] * len(args)
        if len(dims) != len(args):
            raise ValueError(f"in_dims {in_dims} does not fit a call with {len(args)} arguments")
        axes = [axis for i, (dim, arg) in enumerate(zip(dims, args)) for axis in _axes(dim, arg, i)]
        outs = _native._vmap(flat.tensors, axes, flat)
        ends = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outs)
        return flat.structure.build([out.movedim(0, end) if end else out for out, end in zip(outs, ends)])

    return batched


def checkpoint(function, *args, use_reentrant=None, **kwargs):
    """`function(*args)`, whose inner values are recomputed for its gradient instead of stored."""
    flat = _Flat(function, args, kwargs)
    outs = _native._checkpoint(flat.tensors, flat)
    return flat.structure.build(outs)


class custom_vjp:
    """A function with an explicit gradient: `defvjp(rule)` with `rule(inputs, outputs, cotangents)` returning one per input.

    >>> import gradus
    >>> @gradus.custom_vjp
    ... def rounded(x):
    ...     return x.round()
    >>> rounded.defvjp(lambda inputs, outputs, cotangents: [cotangents[0]])
    >>> gradus.grad(lambda x: (3 * rounded(x)).sum())(gradus.tensor([0.2, 1.7]))
    tensor([3., 3.])
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function, self.rule = function, None

    def defvjp(self, rule):
        """Sets the gradient rule."""
        self.rule = rule

    def __call__(self, *args):
        if self.rule is None:
            raise TypeError(f"{self.function.__name__} has no rule yet: call defvjp")
        flat = _Flat(self.function, args)
        outs = _native._custom_vjp(flat.tensors, flat, lambda x, y, g: list(self.rule(x, y, g)))
        return flat.structure.build(outs)


class custom_jvp:
    """A function with explicit tangents: `defjvp(rule)` with `rule(inputs, outputs, tangents)` returning one per output.

    The rule must be linear in the tangents. Gradients are its transpose, so one rule serves forward and reverse mode.

    >>> import gradus
    >>> @gradus.custom_jvp
    ... def rounded(x):
    ...     return x.round()
    >>> rounded.defjvp(lambda inputs, outputs, tangents: [3 * tangents[0]])
    >>> gradus.grad(lambda x: rounded(x).sum())(gradus.tensor([0.2, 1.7]))
    tensor([3., 3.])
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function, self.rule = function, None

    def defjvp(self, rule):
        """Sets the rule for tangents."""
        self.rule = rule

    def __call__(self, *args):
        if self.rule is None:
            raise TypeError(f"{self.function.__name__} has no rule yet: call defjvp")
        flat = _Flat(self.function, args)
        outs = _native._custom_jvp(flat.tensors, flat, lambda x, y, t: list(self.rule(x, y, t)))
        return flat.structure.build(outs)


def cond(predicate, true_function, false_function, *operands):
    """`true_function(*operands)` or `false_function(*operands)`, by a scalar; only one of them runs.

    Operands are passed one by one, or, as in PyTorch, as one tuple.

    >>> import gradus
    >>> x = gradus.tensor(2.0)
    >>> gradus.cond(x > 1, lambda x: x * 10, lambda x: -x, (x,))
    tensor(20.)
    """
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    if not isinstance(predicate, Tensor):  # known now
        return (true_function if predicate else false_function)(*operands)
    return switch(predicate.bool().long(), [false_function, true_function], *operands)


def switch(index, functions, *operands):
    """One of several functions of the operands, by an integer scalar; only that one runs."""
    flats = [_Flat(f, operands) for f in functions]
    outs = _native._switch(index, flats[0].tensors, flats)
    return flats[0].structure.build(outs)


def while_loop(condition, step, init, max_steps=None):
    """Applies `step` to the carried values while `condition` is true; `max_steps` makes it differentiable.

    >>> import gradus
    >>> gradus.while_loop(lambda x: x < 100, lambda x: x * 2, gradus.tensor(3.0))
    tensor(192.)
    """
    carried = (init,)
    test, body = _Flat(condition, carried), _Flat(step, carried)
    outs = _native._while_loop(body.tensors, max_steps, test, body)
    return body.like_arguments(outs)[0]


def scan(step, init, inputs=None, length=None, reverse=False, keep=None, unroll=1):
    """`step(carry, slice) -> (carry, output)` along the first axis of the inputs: the last carry, and all outputs stacked.

    >>> import gradus
    >>> gradus.scan(lambda c, x: (c + x, c * x), gradus.tensor(0.0), gradus.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    carry, carried = _flatten(init)
    stacks, stacked = _flatten(inputs)
    structure = []

    def flat(carries, slices):
        new, outs = step(carried.build(carries), stacked.build(slices))
        new, outs = _flatten(new)[0], _flatten(outs)
        structure.append(outs[1])
        return new + outs[0]

    last, outs = _native._scan(carry, stacks, flat, reverse, length, keep, unroll)
    return carried.build(last), structure[0].build(outs)


def trace(function, *args, **kwargs):
    """Returns the graph of `function` for arguments like these: it can be printed, drawn and written as equations.

    For a tensor, as in PyTorch, the sum of the diagonal.

    >>> import gradus
    >>> print(gradus.trace(lambda x: (x * x).sum(), gradus.ones(3)).equations(), end="")
    T1[i] = x[i] x[i]
    Y = T1[i]
    export Y
    """
    if isinstance(function, Tensor):
        return function.trace(*args, **kwargs)
    flat = _Flat(function, args, kwargs)
    names = [name for of, (_, structure) in zip(_names.arguments(function, len(args)), flat.parts) for name in structure.names(of)]
    return _native._trace(names, flat.tensors, flat, lambda: _names.name_outside(function))

_documented(globals())
