"""A compiled function notices changes of everything that it reads; its own changes take effect, or raise an error that names them."""

import copy
import dataclasses
import pickle
import warnings
from collections import deque

import numpy as np
import pytest

import gradus
from gradus import nn, optim
from oracle import needs_torch, torch


class Bare:
    pass


class WithDefault:
    value = 1.0


class Slotted:
    __slots__ = ("value",)

    def __init__(self):
        self.value = 2.0


class Computed:
    def __init__(self):
        self.hidden = {"value": 2.0}

    @property
    def value(self):
        return self.hidden["value"]


class Callable:
    def __init__(self):
        self.factor = 2.0

    def __call__(self, x):
        return x * self.factor


@dataclasses.dataclass
class Config:
    n: float = 2.0


CONFIG = Config()
BY_NAME = {"config": CONFIG}


def find_config():
    return BY_NAME.get("config")


class Net(nn.Module):
    scale = 1.0

    def __init__(self):
        super().__init__()
        self.factors, self.settings, self.config = [1.0, 2.0], {"add": 1.0}, Config()
        self.parts = [Bare(), Bare()]
        for part in self.parts:
            part.value = 1.0

    def forward(self, x):
        for part in self.parts:
            x = x * part.value
        config = self.config
        return x * self.factors[0] * config.n * self.scale + self.settings["add"]


def changes_of_net():
    net = Net()
    yield lambda x: net(x)
    net.factors[0] = 5.0
    yield
    net.settings["add"] = 7.0
    yield
    net.config.n = 3.0
    yield
    net.parts[1].value = 4.0
    yield
    net.parts.append(net.parts[1])
    yield
    net.scale = 2.0
    yield
    del net.scale
    Net.scale = 11.0
    yield
    Net.scale = 1.0
    yield


def changes_of_objects():
    of_class, slotted, computed, called, array, members = WithDefault(), Slotted(), Computed(), Callable(), np.ones(2), {1, 2}
    yield lambda x: called(x) * of_class.value + slotted.value + computed.value + float(array.sum()) + sum(members) + find_config().n
    of_class.value = 4.0
    yield
    del of_class.value
    yield
    slotted.value = 9.0
    yield
    computed.hidden["value"] = 5.0
    yield
    called.factor = 0.5
    yield
    array[1] = 3.0
    yield
    members.add(10)
    yield
    CONFIG.n = 8.0
    yield
    CONFIG.n = 2.0
    yield


def changes_of_nests():
    tensors, by_name, numbers = [gradus.ones(2), gradus.ones(2)], {"w": gradus.ones(2)}, [1]
    layers = [nn.Identity(), nn.ReLU()]
    yield lambda x: layers[0](x - 2) * tensors[1] + by_name["w"] + (x + 1 if isinstance(numbers[0], float) else x)
    tensors[1] = gradus.full((2,), 3.0)
    yield
    by_name["w"] = gradus.full((2,), 4.0)
    yield
    layers.reverse()
    yield
    numbers[0] = 1.0  # equal, but of another type
    yield
    tensors[1].mul_(2)
    yield


def changes_by_name():
    thing, name = Bare(), "first"
    thing.first, thing.second = 1.0, 2.0
    yield lambda x: x * getattr(thing, name) + getattr(thing, "missing", 0.0)
    thing.first = 3.0
    yield
    name = "second"
    yield
    thing.second = 5.0
    yield
    thing.missing = 7.0
    yield


@pytest.mark.parametrize("changes", [changes_of_net, changes_of_objects, changes_of_nests, changes_by_name])
def test_changes_of_all_read_values_take_effect(changes):
    steps, x = changes(), gradus.ones(2)
    f = next(steps)
    compiled = gradus.jit(f)
    assert compiled(x).tolist() == f(x).tolist()
    for _ in steps:
        assert compiled(x).tolist() == f(x).tolist()
        programs = compiled._programs
        compiled(x)
        assert compiled._programs == programs


def test_added_and_removed_hooks_take_effect():
    w, x, factor = nn.Parameter(gradus.ones(2)), gradus.ones(2), 3.0
    step = gradus.jit(lambda x: (w * x).sum().backward())
    leaf = gradus.ones(2, requires_grad=True)

    def grad():
        w.grad = None
        step(x)
        return w.grad.tolist()

    assert grad() == [1.0, 1.0]
    handle = w.register_hook(lambda g: g * factor)
    assert grad() == [3.0, 3.0]
    factor = 5.0
    assert grad() == [5.0, 5.0]
    handle.remove()
    assert grad() == [1.0, 1.0]
    with leaf.register_hook(lambda g: g * 7):
        step(leaf)
    assert leaf.grad.tolist() == [7.0, 7.0]


def test_hooks_after_accumulation_are_part_of_every_call():
    def run(t, compiled):
        rate, x, seen = 0.25, t.ones(2, requires_grad=True), []

        def step(p):
            with t.no_grad():
                p -= rate * p.grad
            p.grad = None

        def f(x):
            loss = (x * x * 2).sum()
            loss.backward()
            return loss.detach(), x.detach() * 1

        f = gradus.jit(f) if compiled else f
        handle = x.register_post_accumulate_grad_hook(step)
        for i in range(5):
            rate = 0.25 if i < 3 else 0.5
            seen += [y.tolist() for y in (*f(x), x)] + [x.grad is None]
        handle.remove()
        f(x)
        return [*seen, x.tolist(), x.grad.tolist()]

    found = run(gradus, True)
    assert found == run(gradus, False) and found[1] == [0.0, 0.0]
    if torch is not None:
        assert found == run(torch, False)


def test_values_that_hooks_store_remain_after_the_call():
    kept, counted, x = [], [], gradus.ones(2, requires_grad=True)
    f = gradus.jit(lambda x: (x * 2).sum().backward())
    with x.register_post_accumulate_grad_hook(lambda p: kept.append(p.grad)):
        f(x)
    assert [g.tolist() for g in kept] == [[2.0, 2.0]]
    x.grad = None
    x.register_post_accumulate_grad_hook(lambda p: counted.append(1))
    with pytest.warns(UserWarning, match="changes `counted`"):
        for _ in range(3):
            f(x)
    assert counted == [1, 1, 1] and x.grad.tolist() == [6.0, 6.0]


def test_changes_inside_objects_of_the_package_take_effect():
    plain, x = gradus.distributions.Normal(0.0, 1.0), gradus.tensor([0.5])
    outer = gradus.distributions.Independent(gradus.distributions.Normal(gradus.zeros(1), 1.0), 1)
    holder = Bare()
    holder.all = [plain]
    functions = [lambda x: plain.log_prob(x), lambda x: outer.log_prob(x), lambda x: holder.all[0].log_prob(x), lambda x: x + plain.loc]
    functions = [(gradus.jit(f), f) for f in functions]
    for loc in (0.0, 1.0, 2.0):
        plain.loc, outer.base_dist.loc = gradus.tensor(loc), gradus.tensor([loc - 3])
        for compiled, f in functions:
            assert compiled(x).tolist() == f(x).tolist()
            compiled(x)
    assert [compiled._programs for compiled, _ in functions] == [3, 3, 3, 3]

    @gradus.custom_vjp
    def rounded(x):
        return x.round()

    slope = gradus.jit(gradus.grad(lambda x: rounded(x).sum()))
    for k in (1.0, 5.0):
        rounded.defvjp(lambda inputs, outputs, cotangents: [cotangents[0] * k])
        assert slope(x).tolist() == [k]


def test_a_function_that_counts_is_traced_at_every_call_with_a_warning():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    net, count = Counting(), 0

    def counting(x):
        nonlocal count
        count += 1
        return x * count

    f, g, x = gradus.jit(lambda x: net(x)), gradus.jit(counting), gradus.ones(1)
    with pytest.warns(UserWarning, match="changes `Counting.n`"):
        assert [f(x).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0] and net.n == 4
    with pytest.warns(UserWarning, match="changes `count`"):
        assert [g(x).item() for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_filled_cache_makes_one_more_program():
    known, made = {}, []

    def table(n):
        if n not in known:
            made.append(n)
            known[n] = float(n)
        return known[n]

    f, x = gradus.jit(lambda x: x * table(3)), gradus.ones(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [f(x).item() for _ in range(4)] == [3.0] * 4
    assert made == [3] and f._programs == 1


class Averaging(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", gradus.zeros(2))
        self.last, self.seen = None, gradus.zeros(2)

    def forward(self, x):
        self.mean = self.mean * 0.5 + x
        self.seen = self.seen + self.mean
        self.last = x * 2
        return x + self.mean


def test_tensors_assigned_inside_are_assigned_outside():
    plain, compiled = Averaging(), Averaging()
    f, states = gradus.jit(lambda x: compiled(x)), []
    for i in range(6):
        x = gradus.full((2,), float(i + 1))
        assert f(x).tolist() == plain(x).tolist()
        states.append(compiled.mean)
        for name in ("mean", "seen", "last"):
            assert getattr(compiled, name).tolist() == getattr(plain, name).tolist(), name
    assert len({tuple(s.tolist()) for s in states}) == 6  # the earlier tensors are unchanged
    assert f._programs == 2
    total = gradus.zeros(1)

    @gradus.jit
    def add(x):
        nonlocal total
        total = total + x
        return total * 2

    assert [add(gradus.ones(1)).item() for _ in range(4)] == [2.0, 4.0, 6.0, 8.0] and total.item() == 4.0


def test_tensors_stored_in_containers_remain_after_the_call():
    kept, by_name, last, in_a_set = [], {"a": {}}, deque(maxlen=2), set()

    @gradus.jit
    def f(x):
        kept.append(x * 2)
        by_name["a"]["n"] = x + 1
        by_name["pair"] = (x + 2, kept[-1])
        last.append((x - 1).view(1, -1))
        return x

    with pytest.warns(UserWarning, match="changes `(kept|by_name|last)`"):
        for i in range(12):
            f(gradus.tensor([float(i)]))
    assert [k.item() for k in kept] == [2.0 * i for i in range(12)] and by_name["a"]["n"].item() == 12.0
    assert by_name["pair"][0].item() == 13.0 and by_name["pair"][1] is kept[-1]
    assert [y.tolist() for y in last] == [[[9.0]], [[10.0]]]
    gradus.jit(lambda x: in_a_set.add(x * 2))(gradus.ones(1))
    assert [y.item() for y in in_a_set] == [2.0]


def test_one_tensor_as_several_arguments():
    def f(x, y):
        x.add_(1)
        return y * 2

    compiled = gradus.jit(f)
    found = []
    for function in (f, compiled):
        x, other = gradus.arange(4.0).reshape(2, 2), gradus.zeros(2, 2)
        results = [function(x, other), function(x, x), function(x, x[0]), function(x[1], x), function(x.T, x), function(other, x)]
        found.append([r.tolist() for r in [*results, x, other]])
    assert found[0] == found[1]


@needs_torch
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "RMSprop"])
def test_parameters_frozen_temporarily(name):
    found = []
    for t, jit in ((torch, lambda f: f), (gradus, gradus.jit)):
        w, v = (t.nn.Parameter(t.tensor([0.5, -1.0, 2.0][i:] + [1.5][:i])) for i in (0, 1))
        opt = getattr(t.optim, name)([w, v], lr=0.1)

        @jit
        def step(x):
            opt.zero_grad()
            loss = ((w * v - x) ** 2).sum()
            loss.backward()
            opt.step()
            return loss

        for i in range(7):
            w.requires_grad_(not 2 <= i < 5)
            step(t.tensor([1.0, 0.5, i * 0.1]))
        found.append([p.detach().numpy() for p in (w, v)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_a_failed_step_does_not_count():
    w = nn.Parameter(gradus.ones(3))
    opt = optim.Adam([w], lr=0.1)

    @gradus.jit
    def step(i):
        opt.zero_grad()
        (w[i] ** 2).sum().backward()
        opt.step()

    step(gradus.tensor([0, 1]))
    with pytest.raises(IndexError):
        step(gradus.tensor([0, 9]))
    assert opt.state[w]["step"] == 1
    step(gradus.tensor([0, 1]))
    assert opt.state[w]["step"] == 2


def test_a_parameter_written_without_recording_is_still_a_leaf():
    w, v = gradus.tensor([3.0, 0.5], requires_grad=True), gradus.ones(2, requires_grad=True)

    @gradus.jit
    def f(x):
        with gradus.no_grad():
            w.clamp_(-1, 1)
        return (w * x * v).sum()

    loss = f(gradus.tensor([2.0, 4.0]))
    loss.backward()
    assert w.tolist() == [1.0, 0.5] and w.grad.tolist() == [2.0, 4.0] and v.grad.tolist() == [2.0, 2.0]


def test_an_argument_that_is_also_found_outside():
    w = gradus.tensor([2.0], requires_grad=True)
    f = gradus.jit(lambda x: (w * x).sum().backward())
    for times in (1, 2):
        f(w)
        assert w.grad.tolist() == [4.0 * times]
    f(gradus.tensor([1.0], requires_grad=True))
    assert w.grad.tolist() == [9.0]


double = gradus.jit(lambda x: x * 2)


@gradus.jit
def tripled(x):
    return x * 3


def test_copies_of_compiled_functions_and_generators():
    x = gradus.ones(1)
    assert copy.deepcopy(double)(x).item() == 2.0 and pickle.loads(pickle.dumps(tripled)) is tripled
    net = gradus.compile(nn.Linear(1, 1))
    twin = copy.deepcopy(net)
    with gradus.no_grad():
        net.weight.fill_(5.0), twin.weight.fill_(1.0), net.bias.zero_(), twin.bias.zero_()
    assert net(x).item() == 5.0 and twin(x).item() == 1.0
    generator = gradus.Generator().manual_seed(3)
    gradus.rand(2, generator=generator)
    for other in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
        state = generator.get_state().clone()
        assert other.initial_seed() == 3
        assert gradus.rand(3, generator=other).tolist() == gradus.rand(3, generator=generator).tolist()
        generator.set_state(state)
