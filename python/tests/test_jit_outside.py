"""Compiled functions beside the world around them: each does what the function does without being compiled, call after call."""

import array
import contextvars
import copy
import functools
import warnings
import weakref

import pytest

import gradus
from gradus import nn, optim
from gradus.nn import functional as F

try:
    import torch
except ImportError:
    torch = None

# Whether the plain function is PyTorch's, or ours without being compiled.
BOTH = [pytest.param("gradus"), pytest.param("torch", marks=pytest.mark.skipif(torch is None, reason="PyTorch is not installed"))]


def compare(run, other="gradus"):
    """`run(t, jit)` gives numbers; they are those without `jit`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(gradus, gradus.jit)
    expected = run(gradus if other == "gradus" else torch, lambda f: f)
    assert len(found) == len(expected)
    for i, (a, b) in enumerate(zip(found, expected)):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-7, nan_ok=True), i


def training(change, t, jit, steps=9, **settings):
    """Numbers of a small training, with something done inside of each step and something between steps."""
    w = t.nn.Parameter(t.tensor([1.0, -2.0]))
    kind = settings.pop("kind", "SGD")
    opt = getattr(t.optim, kind)([w], lr=0.1, **settings)
    inside, between = change(t, opt, w)

    @jit
    def step(x):
        opt.zero_grad()
        loss = ((w - x) ** 2).sum()
        loss.backward()
        opt.step()
        given = inside(loss)
        return loss if given is None else (loss, given)

    seen = []
    for i in range(steps):
        out = step(t.tensor([0.5, i * 0.25]))
        loss, *rest = out if isinstance(out, tuple) else (out,)
        seen += [loss.item(), *w.tolist(), opt.param_groups[0]["lr"]] + rest
        between(i)
    return seen


def nothing(*_):
    pass


def steps_a_schedule(t, opt, w):
    schedule = t.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    return lambda loss: schedule.step(), nothing


def steps_schedules_in_turn(t, opt, w):
    kinds = t.optim.lr_scheduler
    schedule = kinds.SequentialLR(opt, [kinds.LinearLR(opt, 0.1, total_iters=3), kinds.CosineAnnealingLR(opt, 5)], milestones=[3])
    return lambda loss: schedule.step(), nothing


def gives_the_rate(t, opt, w):
    schedule = t.optim.lr_scheduler.StepLR(opt, 2, 0.5)

    def inside(loss):
        schedule.step()
        return schedule.get_last_lr()[0]

    return inside, nothing


def halves_the_rate(t, opt, w):
    def inside(loss):
        for group in opt.param_groups:
            group["lr"] *= 0.5

    return inside, nothing


def reads_the_rate(t, opt, w):
    def between(i):
        opt.param_groups[0]["lr"] = 0.1 / (i + 1)

    return lambda loss: opt.param_groups[0]["lr"] * 3, between


def reads_the_rate_after_a_step(t, opt, w):
    schedule = t.optim.lr_scheduler.StepLR(opt, 2, 0.5)

    def inside(loss):
        schedule.step()
        return opt.param_groups[0]["lr"] * 3

    return inside, nothing


def asks_the_schedule(t, opt, w):
    schedule = t.optim.lr_scheduler.StepLR(opt, 2, 0.5)
    return lambda loss: float(schedule.last_epoch), lambda i: schedule.step()


def forgets_state(t, opt, w):
    return nothing, lambda i: opt.state.clear() if i == 3 else None


def takes_state_out(t, opt, w):
    return nothing, lambda i: opt.state.pop(w) if i == 4 else None


def puts_in_other_state(t, opt, w):
    def between(i):
        if i == 3:
            name = "momentum_buffer" if "momentum" in opt.defaults else "exp_avg"
            opt.state[w][name] = t.ones(2)

    return nothing, between


def puts_in_another_dictionary(t, opt, w):
    def between(i):
        if i == 3:
            opt.state[w] = {name: value.clone() * 2 if hasattr(value, "clone") and name != "step" else value
                            for name, value in opt.state[w].items()}

    return nothing, between


@pytest.mark.parametrize("other", BOTH)
@pytest.mark.parametrize("change", [steps_a_schedule, steps_schedules_in_turn, gives_the_rate, halves_the_rate, reads_the_rate,
                                    reads_the_rate_after_a_step, asks_the_schedule])
def test_rates_that_change_inside(change, other):
    compare(functools.partial(training, change), other)
    compare(functools.partial(training, change, kind="Adam"), other)


@pytest.mark.parametrize("other", BOTH)
@pytest.mark.parametrize("change", [forgets_state, takes_state_out, puts_in_other_state, puts_in_another_dictionary])
def test_state_that_others_change(change, other):
    compare(functools.partial(training, change, momentum=0.9), other)
    compare(functools.partial(training, change, kind="Adam"), other)


def test_a_schedule_inside_makes_no_new_program():
    w = nn.Parameter(gradus.ones(1))
    opt = optim.SGD([w], lr=1.0)
    schedule = optim.lr_scheduler.LambdaLR(opt, lambda i: 1 / (i + 1))

    @gradus.jit
    def step():
        w.grad = gradus.ones(1)
        opt.step()
        schedule.step()

    for _ in range(3):
        step()
    assert w.item() == pytest.approx(1 - 1 - 1 / 2 - 1 / 3) and step._programs == 1 and schedule.last_epoch == 3


@pytest.mark.parametrize("other", BOTH)
def test_parameters_put_into_a_group(other):
    def run(t, jit):
        a, b = (t.nn.Parameter(t.tensor([v])) for v in (1.0, 2.0))
        opt = t.optim.SGD([a], lr=0.1)

        @jit
        def step():
            opt.zero_grad()
            (a * b * 2).sum().backward()
            opt.step()

        step()
        opt.param_groups[0]["params"][0] = b
        step()
        return [a.item(), b.item()]

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_what_hooks_of_modules_read(other):
    def run(t, jit):
        layer, k, settings = t.nn.Linear(1, 1, bias=False), 2.0, {"add": 1.0}
        with t.no_grad():
            layer.weight.fill_(3.0)

        def pre(module, args):
            return (args[0] * k,)

        layer.register_forward_pre_hook(pre)
        layer.register_forward_hook(lambda module, args, out: out + settings["add"])
        f, seen = jit(lambda x: layer(x)), []
        for _ in range(3):
            seen += [f(t.ones(1)).item(), f(t.ones(1)).item()]
            k += 1.0
            settings["add"] *= 10
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_full_backward_hooks(other):
    def run(t, jit):
        net, x, k = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Tanh(), t.nn.Linear(2, 1)), t.tensor([[0.5, -1.0]]), 2.0
        with t.no_grad():
            for i, p in enumerate(net.parameters()):
                p.copy_(t.arange(float(p.numel())).reshape(p.shape) * 0.25 - 0.5 + i)
        net[0].register_full_backward_pre_hook(lambda module, grads: (grads[0] * k,))
        net[2].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
        step, seen = jit(lambda x: net(x).sum().backward()), []
        for _ in range(3):
            net.zero_grad()
            step(x)
            seen += [v for p in net.parameters() for v in p.grad.flatten().tolist()]
            k += 1.0
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
@pytest.mark.parametrize("momentum", [None, 0.1])
def test_statistics_over_all_batches(momentum, other):
    def run(t, jit):
        norm = t.nn.BatchNorm1d(2, momentum=momentum)
        f, seen = jit(lambda x: norm(x)), []
        for i in range(5):
            if i == 3:
                norm.reset_running_stats()
            x = t.arange(6.0).reshape(3, 2) * (i + 1) - i
            seen += f(x).flatten().tolist() + norm.running_mean.tolist() + norm.running_var.tolist()
            seen.append(norm.num_batches_tracked.item())
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_arguments_that_are_written_to_elsewhere(other):
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
def test_parameters_that_are_asked_whether_they_train(other):
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
def test_modules_of_lists_and_dictionaries(other):
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
def test_modes_belong_to_the_program(other):
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


def test_what_code_in_c_hands_out(monkeypatch):
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


def test_zeros_of_two_signs_are_two():
    sign = {"of": 0.0}
    f, g, x = gradus.jit(lambda x, zero: x / zero), gradus.jit(lambda x: x / sign["of"]), gradus.ones(1)
    for zero in (0.0, -0.0, 0.0):
        sign["of"] = zero
        assert f(x, zero).tolist() == g(x).tolist() == [float("-inf") if str(zero)[0] == "-" else float("inf")]
    h = gradus.jit(lambda x, z: x * z)
    assert [h(x, z).imag.item().hex() for z in (complex(1, 0.0), complex(1, -0.0))] == ["0x0.0p+0", "0x0.0p+0"]
    assert h._programs == 2


def test_elements_that_python_looks_at():
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


def test_a_function_whose_reads_always_differ_runs_as_it_is_and_says_so():
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


@pytest.mark.parametrize("other", BOTH)
@pytest.mark.parametrize("kind", ["Adam", "AdamW", "SGD"])
def test_rates_that_are_tensors(kind, other):
    def run(t, jit):
        w, rate = t.nn.Parameter(t.tensor([1.0, -2.0])), t.tensor(0.1)
        opt = getattr(t.optim, kind)([w], lr=rate)

        @jit
        def step():
            opt.zero_grad()
            (w**2).sum().backward()
            opt.step()

        seen = []
        for i in range(5):
            step()
            rate.fill_(0.1 / (i + 2))
            seen += w.tolist()
        return seen

    compare(run, other)


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
def test_second_derivatives_of_nests():
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
