"""Gradients computed inside of a compiled function: they equal those of eager runs, and those of PyTorch.

Each case is a program that makes functions, compiles them with `jit` (or not) and returns what it observed."""

import numpy
import pytest

import gradus
from oracle import needs_torch, same, torch

V = [1.0, 2.0, 0.5]


def leaf(t, values=(1.0, 2.0, 3.0)):
    return t.tensor(list(values), dtype=t.float64, requires_grad=True)


def vector(t, values=V):
    return t.tensor(list(values), dtype=t.float64)


def copies(*tensors):
    """Copies gradients, because PyTorch adds to them in place."""
    return [x if x is None else x.detach().clone() for x in tensors]


def layers(t, *sizes):
    parts = []
    for n, m in zip(sizes, sizes[1:]):
        parts += [t.nn.Linear(n, m), t.nn.Tanh()]
    net = t.nn.Sequential(*parts).double()
    with t.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_((t.arange(p.numel(), dtype=t.float64).reshape(p.shape) - 2) / (5 + i))
    return net


def gradients(net):
    return copies(*(p.grad for p in net.parameters()))


def added_to_what_was_there(t, jit):
    w, found = leaf(t), []

    def f(x):
        (w * w * x).sum().backward()
        return w.grad * 2

    f = jit(f)
    for scale in (1.0, 1.0, 3.0):
        found += copies(f(vector(t) * scale), w.grad)
    w.grad = None
    return found + copies(f(vector(t)), w.grad)


def clipped_after_adding(t, jit):
    net, found = layers(t, 3, 2), []

    def f(x):
        net(x).pow(2).sum().backward()
        return t.nn.utils.clip_grad_norm_(net.parameters(), 0.1)

    f = jit(f)
    for i in range(3):
        found += copies(f(t.ones(2, 3, dtype=t.float64) * (i + 1))) + gradients(net)
    return found


def whole_steps(t, jit):
    """Runs complete steps with `zero_grad()` first, last, or never."""
    found = []
    for when in ("first", "last", "never"):
        net = layers(t, 3, 2)
        opt = t.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)

        def step(x):
            if when == "first":
                opt.zero_grad()
            loss = net(x).pow(2).sum()
            loss.backward()
            opt.step()
            if when == "last":
                opt.zero_grad()
            return loss

        step = jit(step)
        for i in range(3):
            found += copies(step(t.ones(2, 3, dtype=t.float64))) + [p.detach().clone() for p in net.parameters()] + gradients(net)
    return found


def arguments(t, jit):
    """Passes leaves, and tensors computed from leaves, as arguments."""
    x, base, found = leaf(t), leaf(t, (3.0, 4.0, 5.0)), []

    def f(x, y):
        h = x * y
        h.retain_grad()
        (h**3).sum().backward()
        return h.grad * 1, None if x.grad is None else x.grad * 1

    f = jit(f)
    for _ in range(2):
        found += copies(*f(x, base * 2), x.grad, base.grad)
    x.grad = None
    found += copies(*f(x, vector(t)), x.grad) + copies(*f(vector(t), x), x.grad)
    both = base.sin()
    return found + copies(*f(both * 2, both + 1), base.grad)


def for_some_alone(t, jit):
    w, v = leaf(t), leaf(t, (2.0, 1.0, 2.0))

    def f(x):
        loss = (w * x * v).pow(2).sum()
        loss.backward(inputs=[v])
        return loss

    f = jit(f)
    return copies(f(vector(t)), v.grad, w.grad) + copies(f(vector(t)), v.grad, w.grad)


def for_inner_tensors(t, jit):
    w = leaf(t)

    def f(x):
        h = w * x
        h.pow(2).sum().backward(inputs=[h, w], retain_graph=True)
        first = h.grad * 1
        h.pow(3).sum().backward()  # `retain_grad` was not called
        return first, h.grad * 1, w.grad * 1

    f = jit(f)
    return copies(*f(vector(t)), w.grad) + copies(*f(vector(t)), w.grad)


def without_touching_anyone(t, jit):
    w, v = leaf(t), leaf(t, (2.0, 1.0, 2.0))

    def f(x):
        a, b = t.autograd.grad((w * x * v).pow(3).sum(), [w, v])
        (c,) = t.autograd.grad((w * x).sum(), [v], allow_unused=True)
        return a + b, c

    f = jit(f)
    return copies(*f(vector(t)), w.grad, v.grad, *f(vector(t) * 2))


def penalty_on_gradients(t, jit):
    net = layers(t, 3, 4, 1)

    def f(real, fake):
        mixed = (0.3 * real + 0.7 * fake).requires_grad_(True)
        out = net(mixed)
        (g,) = t.autograd.grad(out, mixed, grad_outputs=t.ones_like(out), create_graph=True, retain_graph=True)
        penalty = ((g.norm(2, dim=1) - 1) ** 2).mean()
        (net(real).mean() - net(fake).mean() + 10 * penalty).backward()
        return penalty

    f = jit(f)
    real, fake = t.arange(6, dtype=t.float64).reshape(2, 3) / 4, t.ones(2, 3, dtype=t.float64)
    return copies(f(real, fake)) + gradients(net) + copies(f(real, fake * 2)) + gradients(net)


def third_derivatives(t, jit):
    w = leaf(t)

    def f(x):
        (g,) = t.autograd.grad((w * x).pow(4).sum(), w, create_graph=True)
        (h,) = t.autograd.grad(g.sum(), w, create_graph=True)
        (k,) = t.autograd.grad((g * h).sum(), w)
        return g, h, k

    return copies(*jit(f)(vector(t)))


def second_derivatives_for_inner_tensors(t, jit):
    w = leaf(t)

    def f(x):
        h = (w * x).sin()
        k = h * h
        (g,) = t.autograd.grad((k**2).sum(), h, create_graph=True)
        return g, *t.autograd.grad(g.pow(2).sum(), [h, k])

    return copies(*jit(f)(vector(t)))


def learning_to_learn(t, jit):
    w = leaf(t)

    def f(x, y):
        fast = w
        for _ in range(2):
            (g,) = t.autograd.grad(((fast * x - y) ** 2).mean(), fast, create_graph=True)
            fast = fast - 0.1 * g
        loss = ((fast * x - y) ** 2).mean()
        loss.backward()
        return loss

    return copies(jit(f)(vector(t), vector(t) * 0 + 1), w.grad)


def leaves_made_inside(t, jit):
    w = leaf(t)

    def f(x):
        a, b = t.zeros_like(x, requires_grad=True), t.zeros_like(x, requires_grad=True)
        x = x.detach().clone()
        x.requires_grad_()
        ((x + a + 3 * b) * w).pow(2).sum().backward()
        return a.grad, b.grad, x.grad, x + 0.1 * x.grad.sign()

    f = jit(f)
    return copies(*f(vector(t)), w.grad) + copies(*f(vector(t)), w.grad)


def several_steps_in_one(t, jit):
    w = leaf(t)
    opt = t.optim.SGD([w], lr=0.1)

    def f(x):
        for _ in range(3):
            opt.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            opt.step()
        return loss

    f = jit(f)
    return copies(f(vector(t)), w, w.grad) + copies(f(vector(t)), w, w.grad)


def hooks(t, jit):
    w = leaf(t)
    w.register_hook(lambda g: g * 10)

    def f(x):
        h = w * x
        h.register_hook(lambda g: g + 1)
        (h**2).sum().backward()
        return w.grad * 1

    f = jit(f)
    return copies(f(vector(t)), w.grad) + copies(f(vector(t)), w.grad)


def what_requires_gradients(t, jit):
    w = leaf(t)

    def f(x):
        h = w * x
        with t.no_grad():
            without = h * 2
        found = (h, x, h.detach(), without)
        return t.tensor([float(y.requires_grad) for y in found] + [float(y.is_leaf) for y in found])

    f = jit(f)
    return [f(vector(t)), f(leaf(t)), f(w * 1)]


CASES = [
    added_to_what_was_there, clipped_after_adding, whole_steps, arguments, for_some_alone, for_inner_tensors,
    without_touching_anyone, penalty_on_gradients, third_derivatives, second_derivatives_for_inner_tensors,
    learning_to_learn, leaves_made_inside, several_steps_in_one, hooks, what_requires_gradients,
]


@needs_torch
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_same_eagerly_and_as_in_pytorch(case):
    theirs = case(torch, lambda f: f)
    for compile in (lambda f: f, gradus.jit):
        ours = case(gradus, compile)
        assert [x is None for x in ours] == [x is None for x in theirs]
        same(ours, theirs, rtol=1e-10, atol=1e-12, what=case.__name__)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_same_compiled(case):
    eager, compiled = case(gradus, lambda f: f), case(gradus, gradus.jit)
    assert [x is None for x in compiled] == [x is None for x in eager]
    same(compiled, eager, rtol=1e-10, atol=1e-12, what=case.__name__)


def test_batch_norm_learns_eagerly_after_it_was_traced():
    m = gradus.nn.BatchNorm1d(4)
    x = gradus.randn(8, 4)
    gradus.jit(lambda x: m(x))(x)
    m(x).pow(3).sum().backward()
    again = gradus.nn.BatchNorm1d(4)
    again(x).pow(3).sum().backward()
    assert numpy.array_equal(m.weight.grad.numpy(), again.weight.grad.numpy())
    assert numpy.any(m.weight.grad.numpy() != 0)
