"""Operations with custom gradients: they are traced, or run untraced if they read elements."""

import numpy as np
import pytest

import gradus
from gradus.autograd import Function


class Clipped(Function):
    """A function with `setup_context`."""

    @staticmethod
    def forward(x, most):
        return x.clamp(max=most)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.most = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return gradus.where(x < ctx.most, g, 0.0), None, None


def test_setup_context_and_arguments_without_gradient():
    x = gradus.tensor([0.5, 3.0], requires_grad=True)
    (Clipped.apply(x, 1.0) * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


class OfNumpy(Function):
    @staticmethod
    def forward(ctx, x, w, times):
        ctx.save_for_backward(x, w)
        ctx.positive = int((x > 0).sum())
        return gradus.as_tensor(x.detach().numpy() * times * ctx.positive), (x.double() * w).sum(), "name"

    @staticmethod
    def backward(ctx, a, b, _):
        x, w = ctx.saved_tensors
        return a * float(np.float32(2 * ctx.positive)) + (w * b).float(), x.double() * b, None


def test_functions_can_read_elements():
    x = gradus.tensor([1.0, -2.0, 3.0], requires_grad=True)
    w = gradus.ones(3, dtype=gradus.float64, requires_grad=True)
    for _ in range(2):
        scaled, total, name = OfNumpy.apply(x, w, 2.0)
        assert scaled.tolist() == [4.0, -8.0, 12.0] and total.item() == 2.0 and name == "name"
        (scaled.sum() + 3 * total).backward()
        assert x.grad.tolist() == [7.0] * 3 and w.grad.tolist() == [3.0, -6.0, 9.0]
        x.grad = w.grad = None
    total = OfNumpy.apply(x, w, 2.0)[1]
    total.backward(retain_graph=True)
    total.backward()
    assert x.grad.tolist() == [2.0] * 3 and w.grad.tolist() == [2.0, -4.0, 6.0]
    with gradus.no_grad():
        assert not OfNumpy.apply(x, w, 2.0)[0].requires_grad
    with pytest.raises(RuntimeError, match="cannot be differentiated again"):
        gradus.autograd.grad(OfNumpy.apply(x, w, 2.0)[1], x, create_graph=True)


def test_arguments_changed_in_place():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = gradus.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = Doubled.apply(y)
    (z**2).sum().backward()
    assert z is y and y.tolist() == [2.0, 4.0] and x.grad.tolist() == [8.0, 16.0]


def test_results_without_gradients():
    class Largest(Function):
        @staticmethod
        def forward(ctx, x):
            values, places = x.max(1)
            assert values.sum().item() > 0
            ctx.mark_non_differentiable(places)
            ctx.save_for_backward(places)
            ctx.shape = x.shape
            ctx.set_materialize_grads(False)
            return values, places

        @staticmethod
        def backward(ctx, g, none):
            assert none is None
            (places,) = ctx.saved_tensors
            return gradus.zeros(ctx.shape).scatter(1, places[:, None], g[:, None])

    x = gradus.tensor([[1.0, 5.0], [7.0, 2.0]], requires_grad=True)
    values, places = Largest.apply(x)
    (values * gradus.tensor([2.0, 3.0])).sum().backward()
    assert not places.requires_grad and x.grad.tolist() == [[0.0, 2.0], [3.0, 0.0]]
