"""Runs every line of the table of functions without another library: compiled, differentiated as a function, batched.

Compiled and batched results must equal eager ones; gradients of traced functions must equal those of recorded operations.
"""

import numpy as np
import pytest

import gradus
from oracle import differentiable, flat, same, tensors
from test_against_torch import CASES

# The shapes of results or of intermediate values of these functions depend on data, so a trace must refuse them.
DATA = ("t.unique", "t.bincount", "t.masked_select", "t.nonzero", "t.nanmedian", "t.histc", "t.segment_reduce")


def by_mask(text, inputs):
    return text == "x[y]" and np.asarray(inputs[1]).dtype == bool


def depends_on_data(text, inputs):
    return text.startswith(DATA) or by_mask(text, inputs)


def function(text, count):
    f = eval(f"lambda {', '.join('xyzw'[:count])}: {text}", {"t": gradus, "F": gradus.nn.functional})

    def listed(*args):
        result = f(*args)
        return list(result) if isinstance(result, tuple) else result

    return listed


def arrays_of(inputs, dtype):
    return [np.asarray(a, dtype) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for a in inputs]


TRACED = [case for case in CASES if case[1] and not depends_on_data(*case[:2])]
REFUSED = [case for case in CASES if case[1] and depends_on_data(*case[:2])]


@pytest.mark.parametrize("text, inputs, options", REFUSED, ids=[case[0] for case in REFUSED])
def test_shapes_that_depend_on_data_are_refused(text, inputs, options):
    with pytest.raises(RuntimeError, match="trace"):
        gradus.jit(function(text, len(inputs)))(*tensors(gradus, inputs, grad=False))


@pytest.mark.parametrize("dtype, bound", [(np.float64, 1e-11), (np.float32, 2e-5)], ids=["f64", "f32"])
@pytest.mark.parametrize("text, inputs, options", TRACED, ids=[case[0] for case in TRACED])
def test_compiled(text, inputs, options, dtype, bound):
    f, given = function(text, len(inputs)), tensors(gradus, arrays_of(inputs, dtype), grad=False)
    same(gradus.jit(f)(*given), f(*given), rtol=bound, atol=bound)


@pytest.mark.parametrize("text, inputs, options", TRACED, ids=[case[0] for case in TRACED])
def test_gradient_of_the_function(text, inputs, options):
    if not options.get("grad", True):
        pytest.skip("not differentiated")
    f, given = function(text, len(inputs)), tensors(gradus, inputs)
    for i in options.get("constant", ()):
        given[i] = given[i].detach()
    results = flat(f(*given))
    rng = np.random.default_rng(1)
    cotangents = [gradus.tensor(rng.standard_normal(tuple(y.shape))) for y in results]
    chosen = [differentiable(y) for y in results]
    if not any(chosen):
        pytest.skip("nothing to differentiate")

    def scalar(*args):
        return sum((y * c).sum() for y, c, kept in zip(flat(f(*args)), cotangents, chosen) if kept)

    scalar(*given).backward()
    places = [i for i, x in enumerate(given) if differentiable(x)]
    expected = [gradus.zeros_like(given[i]) if given[i].grad is None else given[i].grad for i in places]
    plain = [x.detach() for x in given]
    grads = gradus.grad(scalar, argnums=tuple(places))
    same(list(grads(*plain)), expected, rtol=1e-9, atol=1e-9, what="traced")
    same(list(gradus.jit(grads)(*plain)), expected, rtol=1e-9, atol=1e-9, what="compiled")


@pytest.mark.parametrize("text, inputs, options", TRACED, ids=[case[0] for case in TRACED])
def test_batched(text, inputs, options):
    f = function(text, len(inputs))
    rng = np.random.default_rng(2)
    batches = []
    for a in arrays_of(inputs, np.float64):
        # the second row has slightly different floats, and the same other values
        second = a * (1 + 0.01 * rng.random(a.shape)) if a.dtype.kind == "f" else a
        batches.append(gradus.tensor(np.stack([a, second])))
    # copies, because `as_strided` reads the memory behind a view
    expected = [flat(f(*(b[i].clone() for b in batches))) for i in range(2)]
    result = flat(gradus.vmap(f)(*batches))
    same(result, [gradus.stack(pair) for pair in zip(*expected)], rtol=1e-9, atol=1e-9)
