"""Contexts and decorators that turn recording on or off; limits of dtypes; compositions as methods."""

import numpy as np
import pytest

import gradus
from oracle import array, torch


def test_contexts_nest_and_come_back():
    x = gradus.ones(2, requires_grad=True)
    with gradus.no_grad():
        assert not gradus.is_grad_enabled() and not (x * 2).requires_grad
        with gradus.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with pytest.raises(KeyError), gradus.no_grad():
        raise KeyError
    assert gradus.is_grad_enabled()
    mode = gradus.no_grad()
    with mode:
        with mode:
            pass
        assert not gradus.is_grad_enabled()
    assert gradus.is_grad_enabled()


def test_decorators():
    x = gradus.ones(2, requires_grad=True)

    @gradus.no_grad()
    def f(a, b=2):
        """Its own words."""
        return a * b

    @gradus.no_grad
    def g(a):
        return a * 2

    assert not f(x, b=3).requires_grad and not g(x).requires_grad and f.__doc__ == "Its own words."
    inside = gradus.enable_grad()(lambda a: a * 2)
    with gradus.no_grad():
        assert inside(x).requires_grad

    @gradus.inference_mode()
    def h(a):
        return a * 2

    assert not h(x).requires_grad

    @gradus.no_grad()
    def numbers():
        yield gradus.is_grad_enabled()
        yield gradus.is_grad_enabled()

    seen = []
    for value in numbers():
        seen.append((value, gradus.is_grad_enabled()))
    assert seen == [(False, True), (False, True)]

    class Model:
        @gradus.no_grad()
        def twice(self, a):
            return a * 2

    assert not Model().twice(x).requires_grad


def test_set_grad_enabled():
    x = gradus.ones(2, requires_grad=True)
    with gradus.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert gradus.is_grad_enabled()
    gradus.set_grad_enabled(False)
    assert not gradus.is_grad_enabled()
    gradus.set_grad_enabled(True)
    assert gradus.is_grad_enabled()

    @gradus.set_grad_enabled(False)
    def f(a):
        return a * 2

    assert gradus.is_grad_enabled() and not f(x).requires_grad


@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_finfo(name):
    ours, theirs = gradus.finfo(getattr(gradus, name)), np.finfo(name)
    assert ours.eps == theirs.eps and ours.max == theirs.max and ours.tiny == theirs.tiny and ours.bits == theirs.bits
    assert ours.min == theirs.min
    with pytest.raises(TypeError, match="iinfo"):
        gradus.finfo(gradus.int32)


@pytest.mark.parametrize("name", ["int64", "int32", "int8", "uint8"])
def test_iinfo(name):
    ours, theirs = gradus.iinfo(getattr(gradus, name)), np.iinfo(name)
    assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)
    with pytest.raises(TypeError, match="finfo"):
        gradus.iinfo(gradus.float32)


def test_compositions_are_methods():
    a = np.array([[1.0, np.nan, 3.0], [4.0, 0.5, 2.0]])
    x = gradus.tensor(a)
    np.testing.assert_allclose(array(x.nansum(1)), np.nansum(a, 1))
    np.testing.assert_allclose(array(x.nanmean(0)), np.nanmean(a, 0))
    np.testing.assert_allclose(array(x[1].diff()), np.diff(a[1]))
    np.testing.assert_allclose(array(x[1].quantile(0.25)), np.quantile(a[1], 0.25))
    np.testing.assert_allclose(array(gradus.quantile(x[1], gradus.tensor([0.0, 0.5, 1.0], dtype=gradus.float64))), np.quantile(a[1], [0, 0.5, 1]))
    y = gradus.fmax(x, gradus.full((2, 3), 2.0, dtype=gradus.float64))
    np.testing.assert_allclose(array(y), np.fmax(a, 2.0))
    put = gradus.index_put(gradus.zeros(3), (gradus.tensor([0, 0, 2]),), gradus.tensor([1.0, 2.0, 3.0]), accumulate=True)
    assert put.tolist() == [3.0, 0.0, 3.0]
    assert gradus.linalg.matrix_rank(gradus.tensor([[1.0, 2.0], [2.0, 4.0]])).item() == 1
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        m = np.array([[1.0, -2.0, 0.5], [3.0, 4.0, -1.0]])
        np.testing.assert_allclose(array(gradus.linalg.norm(gradus.tensor(m), order)), np.linalg.norm(m, order), rtol=1e-10)


@pytest.mark.parametrize("t", [gradus] + ([torch] if torch else []), ids=lambda t: t.__name__)
def test_views_made_without_recording_are_leaves(t):
    for whole in (t.ones(3, requires_grad=True), t.ones(3, requires_grad=True) * 2):
        for view in (lambda w: w[:2], lambda w: w[...], lambda w: w.view(-1), lambda w: w.unsqueeze(0)):
            with t.no_grad():
                part = view(whole)
            assert part.requires_grad and part.is_leaf
            whole.retain_grad()
            (part * 3).sum().backward()
            assert whole.grad is None
            assert view(whole).requires_grad and not view(whole).is_leaf
        with t.no_grad():
            part = whole.view(-1)
            part += 1
        assert part.tolist() == whole.tolist() == [whole[0].item()] * 3
    with t.no_grad():
        part = whole[:2]
    with pytest.raises(RuntimeError, match="no_grad"):
        part += 1


def test_views_made_without_recording_inside_of_jit():
    w = gradus.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def loss():
        with gradus.no_grad():
            part = w[:2]
        return (part * w[:2]).sum()

    @gradus.jit
    def compiled():
        w.grad = None
        loss().backward()

    for run in (compiled, compiled, lambda: loss().backward()):
        w.grad = None
        run()
        assert w.grad.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize("t", [gradus] + ([torch] if torch else []), ids=lambda t: t.__name__)
def test_derivatives_that_are_zero_are_known(t):
    x = t.tensor([1.0, -2.0], requires_grad=True)
    (g,) = t.autograd.grad(t.relu(x).sum(), x, create_graph=True)
    g.sum().backward()
    assert g.tolist() == [1.0, 0.0] and x.grad.tolist() == [0.0, 0.0]
