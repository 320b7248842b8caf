"""Compiled functions that read and change outside objects: every call has the effects of the uncompiled function."""

import array
import contextvars
import copy
import functools
import itertools
import random
import time
import warnings
import weakref

import numpy as np
import pytest

import gradus
from gradus import nn
from gradus.nn import functional as F
from oracle import BOTH, compare, needs_torch, torch


@pytest.mark.parametrize("other", BOTH)
def test_arguments_that_are_also_written_outside(other):
    def run(t, jit):
        kept, seen = t.zeros(2), []

        @jit
        def outside_written(x):
            kept.add_(1)
            return x * 2

        @jit
        def argument_written(x):
            x.add_(1)
            return kept * 2

        @jit
        def both(x, y):
            x.add_(1)
            y.mul_(2)
            return x + y

        for f in (outside_written, argument_written):
            for x in (t.ones(2), kept, kept[:1].expand(2) * 1, kept.view(2), kept, t.ones(2)):
                seen += f(x).tolist() + kept.tolist() + x.tolist()
        for f, a, b in ((outside_written, kept[1:], None), (argument_written, kept[:1], None), (both, slice(0, 2), slice(1, 3)),
                        (both, slice(0, 1), slice(2, 3)), (both, slice(0, 2), slice(1, 3))):
            if b is None:
                seen += f(a).tolist() + kept.tolist()
            else:
                base = t.arange(3.0)
                seen += f(base[a], base[b]).tolist() + base.tolist()
        return seen

    compare(run, other)


def test_views_that_are_only_read_make_one_program():
    f, data = gradus.jit(lambda x, y: (x * y).sum()), gradus.arange(12.0).reshape(2, 6)
    assert [f(data[:, i : i + 3], data[:, i + 1 : i + 4]).item() for i in range(3)] == [178.0, 238.0, 310.0]
    assert f._programs == 1


@pytest.mark.parametrize("other", BOTH)
def test_reads_of_requires_grad(other):
    def run(t, jit):
        model, seen = t.nn.Sequential(t.nn.Linear(1, 1), t.nn.Linear(1, 1)), []
        with t.no_grad():
            for i, p in enumerate(model.parameters()):
                p.fill_(i + 1.0)
        f = jit(lambda x: x + sum((p * p).sum() for p in model.parameters() if p.requires_grad))
        for frozen in (0, 1, 2, 0):
            for i, layer in enumerate(model):
                layer.requires_grad_(i >= frozen)
            x = t.ones(1)
            seen += [f(x).sum().item()] if frozen < 2 else [1.0]
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_lists_and_dictionaries_of_modules(other):
    def run(t, jit):
        nn = t.nn
        layers, by_name, seen, x = nn.ModuleList([nn.Tanh()]), nn.ModuleDict({"a": nn.Sigmoid()}), [], t.tensor([-1.0, 0.5])

        def go(x):
            for layer in layers:
                x = layer(x)
            for layer in by_name.values():
                x = layer(x)
            return x + sum(1.0 for _ in layers.named_parameters()) + len(layers)

        f = jit(go)
        changes = [lambda: layers.append(nn.ReLU()), lambda: by_name.update({"b": nn.Tanh()}), lambda: by_name.pop("a"),
                   lambda: layers.append(nn.Identity()), lambda: layers.insert(0, nn.ReLU()), lambda: layers.__delitem__(0),
                   lambda: layers.append(nn.PReLU()), lambda: layers.__setitem__(0, nn.Identity())]
        seen += f(x).tolist()
        for change in changes:
            change()
            seen += f(x).tolist()
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_each_grad_mode_has_its_program(other):
    def run(t, jit):
        x = t.ones(2, requires_grad=True)
        f = jit(lambda x: (x * 2) + float(t.is_grad_enabled()))
        g = jit(lambda x: x * t.tensor([0.1]))
        seen = []
        for _ in range(2):
            seen += [*f(x).tolist(), f(x).requires_grad]
            with t.no_grad():
                seen += [*f(x).tolist(), f(x).requires_grad]
            y = t.ones(1, dtype=t.float32)
            seen.append(str(g(y).dtype).split(".")[1] == "float64")
            t.set_default_dtype(t.float64)
            seen.append(str(g(y).dtype).split(".")[1] == "float64")
            t.set_default_dtype(t.float32)
        return seen

    compare(run, other)


def scaled(x, by=[2.0], *, plus={"n": 1.0}):  # noqa: B006 (that it changes is the point)
    return x * by[0] + plus["n"]


def other_code(x, by, *, plus):
    return x - by[0]


VARIABLE = contextvars.ContextVar("VARIABLE", default=1.0)
TABLE = {"n": 2.0}


@functools.lru_cache
def looked_up(n):
    return TABLE["n"] * n


class Thing:
    value = 1.0


def test_values_read_through_c_code(monkeypatch):
    factors, raw, numbers, thing = [2.0], bytearray(b"ab"), array.array("d", [1.0, 2.0]), Thing()
    weak, seen_by_memory = weakref.ref(thing), memoryview(raw)
    part = functools.partial(lambda x, factors, offset: x * factors[0] + offset["n"], factors=factors, offset={"n": 0.0})
    functions = {
        "defaults": lambda x: scaled(x),
        "itself": scaled,
        "partial": lambda x: part(x),
        "partial itself": part,
        "bytes": lambda x: x * raw[0] + seen_by_memory[1],
        "array": lambda x: x * numbers[1],
        "variable": lambda x: x * VARIABLE.get(),
        "weak": lambda x: x * weak().value,
        "remembered": lambda x: x * looked_up(3),
        "replaced": lambda x: F.relu(x) + gradus.exp(x),
    }
    compiled = {name: gradus.jit(f) for name, f in functions.items()}

    def check():
        x = gradus.tensor([1.5])
        for name, f in functions.items():
            assert compiled[name](x).tolist() == f(x).tolist(), name

    check()
    scaled.__defaults__[0][0] = 3.0
    check()
    scaled.__kwdefaults__["plus"]["n"] = 4.0
    check()
    monkeypatch.setattr(scaled, "__defaults__", ([5.0],))
    check()
    monkeypatch.setattr(scaled, "__code__", other_code.__code__)
    check()
    factors[0] = 7.0
    check()
    part.keywords["offset"]["n"] = 8.0
    check()
    raw[0], raw[1] = 1, 2
    check()
    numbers[1] = 9.0
    check()
    VARIABLE.set(10.0)
    check()
    thing.value = 11.0
    check()
    TABLE["n"] = 12.0
    check()
    looked_up.cache_clear()
    check()
    monkeypatch.setattr(F, "relu", F.tanh)
    check()
    monkeypatch.setattr(gradus, "exp", gradus.cos)
    check()
    x = gradus.ones(1)
    programs = [f._programs for f in compiled.values()]
    assert [f(x).item() for f in compiled.values()] and [f._programs for f in compiled.values()] == programs


def test_zeros_of_different_sign_differ():
    sign = {"of": 0.0}
    f, g, x = gradus.jit(lambda x, zero: x / zero), gradus.jit(lambda x: x / sign["of"]), gradus.ones(1)
    for zero in (0.0, -0.0, 0.0):
        sign["of"] = zero
        assert f(x, zero).tolist() == g(x).tolist() == [float("-inf") if str(zero)[0] == "-" else float("inf")]
    h = gradus.jit(lambda x, z: x * z)
    assert [h(x, z).imag.item().hex() for z in (complex(1, 0.0), complex(1, -0.0))] == ["0x0.0p+0", "0x0.0p+0"]
    assert h._programs == 2


def test_elements_read_by_python():
    n, other, table = gradus.tensor(2), gradus.zeros(1), gradus.tensor([1.0, 2.0])

    def f(x):
        for _ in range(n):
            x = x * 2
        return x + sum(table.tolist()) + (10 if n > 3 else 0) if int(n) % 2 == 0 else x + other

    compiled, x = gradus.jit(lambda x: f(x)), gradus.ones(1)
    assert gradus.jit(lambda x: x * table.tolist()[1])(x).item() == 2.0

    def plain(x):
        return x * 2 ** int(n)

    power = gradus.jit(plain)
    for k in (2, 3, 5, 2):
        n.fill_(k)
        assert power(x).tolist() == plain(x).tolist()
    total = gradus.tensor(0)

    def counts(x):
        total.add_(1)
        return x / total.item()

    with pytest.raises(RuntimeError, match="written to has no elements"):
        gradus.jit(counts)(x)
    del compiled


def test_a_function_that_reads_ever_different_values_runs_uncompiled_with_a_warning():
    count = [0]
    f, x = gradus.jit(lambda x: x * count[0]), gradus.ones(1)
    with pytest.warns(UserWarning, match="`count` is different at every call"):
        for i in range(20):
            count[0] = i
            assert f(x).item() == i
    assert f._programs < 12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            assert f(x).item() == 19.0


def test_copies_of_views_share_memory_as_the_views_do():
    base = gradus.arange(4.0)
    model = {"base": base, "part": base[1:3], "again": base.view(2, 2)}
    twin = copy.deepcopy(model)
    twin["part"].fill_(9.0)
    assert twin["base"].tolist() == [0.0, 9.0, 9.0, 3.0] and twin["again"].tolist() == [[0.0, 9.0], [9.0, 3.0]]
    assert base.tolist() == [0.0, 1.0, 2.0, 3.0]
    alone = copy.deepcopy(base[1:3])
    alone.fill_(5.0)
    assert alone.tolist() == [5.0, 5.0] and base.tolist() == [0.0, 1.0, 2.0, 3.0]
    layer = nn.Linear(2, 2)
    layer.tied = layer.weight.data
    other = copy.deepcopy(layer)
    other.tied.zero_()
    assert other.weight.tolist() == [[0.0, 0.0], [0.0, 0.0]] and layer.weight.abs().sum().item() > 0


def test_shallow_copies_keep_the_class():
    p = nn.Parameter(gradus.ones(2))
    twin = copy.copy(p)
    assert type(twin) is nn.Parameter and twin.requires_grad and twin.is_leaf
    with gradus.no_grad():
        twin.fill_(3.0)
    assert p.tolist() == [3.0, 3.0]


@needs_torch
def test_second_derivatives_of_nested_arguments():
    def numbers(nest):
        if isinstance(nest, dict):
            return [n for key in sorted(nest) for n in numbers(nest[key])]
        return [n for part in nest for n in numbers(part)] if isinstance(nest, (tuple, list)) else nest.flatten().tolist()

    def run(t):
        hessian, x, y = t.func.hessian, t.tensor([1.0, 2.0]), t.tensor([0.5])
        args = {"a": x, "b": y}
        return [
            numbers(hessian(lambda p: (p["a"] ** 3).sum() * p["b"].sum())(args)),
            numbers(hessian(lambda x: x**3)(x)),
            numbers(hessian(lambda x, y: (x**3).sum() * y, argnums=(0, 1))(x, y)),
            numbers(hessian(lambda x: (x.sum() ** 3, {"v": x**2}))(x)),
            numbers(hessian(lambda p: (p[0] ** 2).sum() * p[1] ** 3)((x, y))),
        ]

    assert run(gradus) == run(torch)


def test_masks_of_expanded_tensors():
    x = gradus.zeros(3, 1)
    x.expand(3, 4).masked_fill_(gradus.tensor([[True], [False], [True]]), 5.0)
    assert x.tolist() == [[5.0], [0.0], [5.0]]
    x[1:].expand(2, 4).masked_fill_(gradus.tensor([[True, False, True, False]]), 7.0)
    assert x.tolist() == [[5.0], [7.0], [7.0]]


@pytest.mark.parametrize("other", BOTH)
def test_tensors_are_made_anew_at_every_call(other):
    def run(t, jit):
        @jit
        def counted(i):
            number = t.tensor([1.0, 2.0])
            number += 1
            filled = t.full((2,), 2.0)
            filled[0] = 5
            return t.zeros(3).scatter_add_(0, i, t.ones(2)), filled.mul_(number), t.zeros(2, 2).index_add_(0, i, t.ones(2, 2))

        @jit
        def fitted(x):
            z, w = t.zeros(2, requires_grad=True), t.tensor([1.0, 2.0], requires_grad=True)
            opt = t.optim.SGD([z], lr=0.1)
            for _ in range(3):
                opt.zero_grad()
                ((z - x) * w).pow(2).sum().backward()
                opt.step()
                with t.no_grad():
                    w -= 0.01 * w.grad
                w.grad = None
            return z.detach(), w.detach()

        seen = []
        for i in range(12):
            seen += [n for part in (*counted(t.tensor([0, 1])), *fitted(t.tensor([1.0, i]))) for n in part.flatten().tolist()]
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_assignments_by_a_mask(other):
    def run(t, jit):
        known = t.tensor([True, False, True])

        @jit
        def f(x):
            y = x.clone()
            y[y < 0] = 0
            y[:, y[0] > 1] = -1.0
            y[0, y[1] == 0] = t.tensor(7.0)
            y[x.sum(1) > 0] = 9
            return y, x[:, known], x[:, known].sum() * known.sum()

        seen = []
        for i in range(4):
            if i == 2:
                known[1] = True
            seen += [n for part in f(t.tensor([[1.5, -2.0, 0.5], [-1.0, 3.0, -4.0 + i]])) for n in part.flatten().tolist()]
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_gradients_that_are_always_zero(other):
    def run(t, jit):
        seen = []
        for name in ("sign", "floor", "round", "detach"):
            w, v = (t.ones(2, requires_grad=True) for _ in range(2))
            jit(lambda x: ((getattr(w, name)() * x).sum() + v.sum()).backward())(t.ones(2))
            seen += [w.grad is None, *([] if w.grad is None else w.grad.tolist())]
        net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.LeakyReLU(), t.nn.Linear(3, 1))

        @jit
        def penalty(x):
            x = (x * 1).requires_grad_(True)
            y = net(x)
            (g,) = t.autograd.grad(y, x, grad_outputs=t.ones_like(y), create_graph=True)
            g.pow(2).sum().backward()

        penalty(t.ones(3, 2))
        return seen + [p.grad is None for p in net.parameters()] + net[0].bias.grad.tolist()

    compare(run, other)


def test_clocks_random_numbers_and_iterators_are_read_at_every_call():
    dice, numbers, draws, generator = random.Random(3), iter(range(100)), np.random.RandomState(1), np.random.default_rng(2)
    functions = [lambda x: x * dice.random(), lambda x: x * dice.randint(1, 1000), lambda x: x + next(numbers), lambda x: x * draws.rand(),
                 lambda x: x + time.perf_counter(), lambda x: x * random.random(), lambda x: x * np.random.rand(), lambda x: x * generator.random(), lambda x: x + sum(itertools.islice(numbers, 2))]
    for f in functions:
        compiled, x = gradus.jit(f), gradus.ones(1, dtype=gradus.float64)
        with pytest.warns(UserWarning, match="runs without being compiled"):
            assert len({compiled(x).item() for _ in range(12)}) == 12
