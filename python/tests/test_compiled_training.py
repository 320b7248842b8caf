"""Training steps as one compiled function: the same numbers as eagerly, for every optimiser, with rates that change."""

import numpy as np
import pytest

import gradus
from gradus import nn, optim
from oracle import array

OPTIMISERS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}), ("Adam", {"lr": 0.05}), ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05}), ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("Adadelta", {}), ("Adamax", {"lr": 0.05}), ("NAdam", {"lr": 0.02}), ("RAdam", {"lr": 0.05}), ("Lion", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05, "weight_decay": 0.1}), ("Rprop", {"lr": 0.01}),
]
X = np.random.default_rng(0).standard_normal((40, 6, 3))
Y = np.tanh(X @ np.array([[1.0, -1.0], [0.5, 2.0], [-1.5, 0.3]]))


def make(name, options):
    gradus.manual_seed(4)
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    opt = getattr(optim, name)(net.parameters(), **options)
    schedule = optim.lr_scheduler.ExponentialLR(opt, 0.97)

    def step(x, y):
        opt.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        return loss

    return net, opt, schedule, step


def run(step, schedule, steps=range(25)):
    losses = []
    for i in steps:
        losses.append(step(gradus.tensor(X[i]), gradus.tensor(Y[i])).item())
        schedule.step()
    return losses


@pytest.mark.parametrize("name, options", OPTIMISERS, ids=[f"{n}-{o}" for n, o in OPTIMISERS])
def test_same_as_eager(name, options):
    net, opt, schedule, step = make(name, options)
    twin, twin_opt, twin_schedule, twin_step = make(name, options)
    compiled = gradus.jit(twin_step)
    np.testing.assert_allclose(run(compiled, twin_schedule), run(step, schedule), rtol=1e-9)
    assert compiled._programs == 1
    for a, b in zip(net.parameters(), twin.parameters()):
        np.testing.assert_allclose(array(b), array(a), rtol=1e-8, atol=1e-11)
    assert [s["step"] for s in twin_opt.state.values()] == [25] * 4


def test_state_is_saved_from_and_loaded_into_compiled_training(tmp_path):
    options = {"lr": 0.05}
    net, opt, schedule, step = make("Adam", options)
    compiled = gradus.jit(step)
    run(compiled, schedule, range(10))
    gradus.save({"net": net.state_dict(), "opt": opt.state_dict(), "rate": schedule.state_dict()}, tmp_path / "run")
    expected = run(compiled, schedule, range(10, 20))
    saved = gradus.load(tmp_path / "run")
    net, opt, schedule, step = make("Adam", options)
    net.load_state_dict(saved["net"])
    opt.load_state_dict(saved["opt"])
    schedule.load_state_dict(saved["rate"])
    np.testing.assert_allclose(run(gradus.jit(step), schedule, range(10, 20)), expected, rtol=1e-10)


def test_state_loaded_after_compiling():
    net, opt, schedule, step = make("Adam", {"lr": 0.05})
    compiled = gradus.jit(step)
    begin = {k: v.clone() for k, v in net.state_dict().items()}, opt.state_dict(), schedule.state_dict()
    first = run(compiled, schedule, range(5))
    middle = {"net": net.state_dict(), "opt": opt.state_dict()}
    middle = {k: plain(v) for k, v in middle.items()}
    rates = schedule.state_dict()
    second = run(compiled, schedule, range(5, 10))
    net.load_state_dict(middle["net"])
    opt.load_state_dict(middle["opt"])
    schedule.load_state_dict(rates)
    np.testing.assert_allclose(run(compiled, schedule, range(5, 10)), second, rtol=1e-10)
    net.load_state_dict(begin[0])  # and from the start, without state
    opt.load_state_dict(begin[1])
    schedule.load_state_dict(begin[2])
    np.testing.assert_allclose(run(compiled, schedule, range(5)), first, rtol=1e-10)
    assert compiled._programs == 1


def plain(value):
    """Returns a copy that shares no memory."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.clone() if isinstance(value, gradus.Tensor) else value


def test_eager_steps_between_compiled_ones():
    net, opt, schedule, step = make("AdamW", {"lr": 0.05})
    twin, twin_opt, twin_schedule, twin_step = make("AdamW", {"lr": 0.05})
    compiled = gradus.jit(twin_step)
    expected = run(step, schedule, range(12))
    found = run(compiled, twin_schedule, range(4)) + run(twin_step, twin_schedule, range(4, 8)) + run(compiled, twin_schedule, range(8, 12))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_modes_and_statistics_of_layers():
    gradus.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    f = gradus.jit(lambda x: net(x))
    x = gradus.randn(32, 3)
    before = array(net[1].running_mean).copy()
    a, b = array(f(x)), array(f(x))
    assert (a != b).any(), "dropout draws anew in every run"
    assert net[1].num_batches_tracked.item() == 2 and (array(net[1].running_mean) != before).any()
    net.eval()
    np.testing.assert_array_equal(array(f(x)), array(f(x)))
    np.testing.assert_allclose(array(f(x)), array(net(x)), rtol=1e-5, atol=1e-6)
    assert net[1].num_batches_tracked.item() == 2 and f._programs == 2


def test_parameters_changed_outside_are_read():
    layer = nn.Linear(2, 1)
    f = gradus.jit(lambda x: layer(x))
    x = gradus.ones(1, 2)
    f(x)
    layer.load_state_dict({"weight": np.array([[3.0, 4.0]], np.float32), "bias": np.array([0.5], np.float32)})
    assert f(x).tolist() == [[7.5]]


def test_lbfgs_cannot_be_compiled():
    w = nn.Parameter(gradus.ones(2))
    opt = optim.LBFGS([w])
    with pytest.raises(RuntimeError, match="LBFGS"):
        gradus.jit(lambda x: opt.step(lambda: (w * x).sum()))(gradus.ones(2))


def test_functional_call_under_transforms():
    net = nn.Linear(3, 1).double()
    params = dict(net.named_parameters())
    x = gradus.tensor(X[0])

    def loss(p, row):
        return (nn.functional_call(net, p, (row,)) ** 2).sum()

    grads = gradus.vmap(gradus.grad(loss), in_dims=(None, 0))({k: v.detach() for k, v in params.items()}, x)
    for i in range(6):
        net.zero_grad()
        loss(params, x[i]).backward()
        np.testing.assert_allclose(array(grads["weight"][i]), array(net.weight.grad), rtol=1e-10)


RATE = 2.0


def scaled(x):
    return x * RATE


def test_changed_outside_numbers_make_another_program():
    global RATE
    factor = 3

    @gradus.jit
    def f(x):
        return scaled(x) + factor

    x = gradus.ones(2)
    assert f(x).tolist() == [5, 5]
    factor = 10
    assert f(x).tolist() == [12, 12]
    RATE = 5.0
    assert f(x).tolist() == [15, 15]
    RATE, factor = 2.0, 3
    assert f(x).tolist() == [5, 5]


def test_arguments_are_changed_in_place():
    @gradus.jit
    def f(x, rest):
        x += 1
        rest["y"].mul_(2)
        return x * 10

    x, rest = gradus.zeros(2), {"y": gradus.ones(2), "z": gradus.ones(2)}
    for n in (1, 2):
        assert f(x, rest).tolist() == [10 * n] * 2
        assert x.tolist() == [n, n] and rest["y"].tolist() == [2**n] * 2 and rest["z"].tolist() == [1, 1]
    whole = gradus.zeros(2, 2)
    f(whole[0], rest)
    assert whole.tolist() == [[1, 1], [0, 0]]


def test_an_argument_changed_in_place_is_differentiated():
    w = gradus.ones(2, requires_grad=True)

    @gradus.jit
    def f(x):
        x.mul_(x)
        return x.sum()

    x = w * 3
    f(x).backward()
    assert x.tolist() == [9, 9] and w.grad.tolist() == [18, 18]


def passes(compiled):
    """Runs backward passes inside of a function and steps outside; returns the gradients after each call."""
    gradus.manual_seed(4)
    net = nn.Linear(3, 2).double()
    opt, found = optim.SGD(net.parameters(), lr=0.1), []

    def backward(x, y):
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    def fresh(x, y):
        opt.zero_grad()
        loss = backward(x, y)
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        return loss

    def note(value=None):
        found.append([value, *(None if p.grad is None else p.grad.clone() for p in net.parameters())])

    if compiled:
        backward_, fresh_ = gradus.jit(backward), gradus.jit(fresh)
    else:
        backward_, fresh_ = backward, fresh
    for x, y in zip(X[:4], Y[:4]):  # added up over two calls
        for _ in range(2):
            note(backward_(gradus.tensor(x), gradus.tensor(y)))
        opt.step()
        opt.zero_grad()
    for x, y in zip(X[4:7], Y[4:7]):  # replaced by each call
        note(fresh_(gradus.tensor(x), gradus.tensor(y)))
        opt.step()
    forget = gradus.jit(lambda x: (opt.zero_grad(), x * 2)[1]) if compiled else lambda x: (opt.zero_grad(), x * 2)[1]
    forget(gradus.ones(1))
    note()
    return found


def test_gradients_of_a_backward_pass_inside_remain_after_the_call():
    for ours, eager in zip(passes(True), passes(False)):
        for a, b in zip(ours, eager):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(array(a), array(b), rtol=1e-12)


def test_a_compiled_step_leaves_the_gradients():
    w = nn.Parameter(gradus.ones(2))
    opt = optim.SGD([w], lr=0.5)

    @gradus.jit
    def step():
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()

    step()
    assert w.grad.tolist() == [2.0, 2.0] and w.tolist() == [0.0, 0.0]


def test_gradients_set_outside_are_read():
    w = nn.Parameter(gradus.zeros(2))
    opt = optim.SGD([w], lr=0.5)
    step = gradus.jit(lambda: opt.step())
    total = gradus.jit(lambda: w.grad.sum())
    for value in (1.0, 4.0):
        w.grad, before = gradus.full((2,), value), w.detach().clone()
        assert total().item() == 2 * value and w.grad.tolist() == [value] * 2
        step()
        assert (w - before).tolist() == [-value / 2] * 2
    w.grad, before = None, w.detach().clone()
    step()  # another program, which is empty
    assert w.tolist() == before.tolist()


@pytest.mark.parametrize("copy", [lambda b: b.clone(), lambda b: b.detach().clone(), lambda b: gradus.clone(b) * 1])
def test_outside_tensors_are_copied_at_every_call(copy):
    b = gradus.ones(3)
    f = gradus.jit(lambda x: copy(b) + x)
    f(gradus.zeros(3))
    b.mul_(5)
    assert f(gradus.zeros(3)).tolist() == [5.0, 5.0, 5.0]
    flag = gradus.tensor([True, False])
    g = gradus.jit(lambda: copy(flag) if copy(flag).dtype is gradus.bool else copy(flag).bool())
    g()
    flag.copy_(gradus.tensor([False, True]))
    assert g().tolist() == [False, True]


@pytest.mark.parametrize("name, options, changes", [
    ("SGD", {"lr": 0.1, "momentum": 0.5}, {"weight_decay": 0.2, "momentum": 0.9}), ("SGD", {"lr": 0.1, "momentum": 0.5}, {"nesterov": True}),
    ("SGD", {"lr": 0.1}, {"maximize": True}), ("Adam", {"lr": 0.1}, {"weight_decay": 0.2, "betas": (0.5, 0.9)}), ("Adam", {"lr": 0.1}, {"eps": 0.1}),
    ("AdamW", {"lr": 0.1}, {"weight_decay": 0.5}), ("RMSprop", {"lr": 0.1}, {"alpha": 0.5, "eps": 0.1}), ("Adadelta", {}, {"rho": 0.5}),
    ("Adagrad", {"lr": 0.1}, {"lr_decay": 0.3, "eps": 0.1}), ("Rprop", {}, {"etas": (0.3, 1.5)}), ("Adafactor", {"lr": 0.1}, {"d": 2.0}),
    ("Lion", {"lr": 0.1}, {"weight_decay": 0.3}), ("NAdam", {"lr": 0.1}, {"momentum_decay": 0.1}), ("ASGD", {"lr": 0.1}, {"lambd": 0.1, "weight_decay": 0.1}),
])
def test_settings_changed_later_take_effect(name, options, changes):
    found = []
    for compiled in (False, True):
        _, opt, schedule, step = make(name, options)
        step = gradus.jit(step) if compiled else step
        losses = run(step, schedule, range(4))
        opt.param_groups[0].update(changes)
        found.append(losses + run(step, schedule, range(4, 8)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_a_weight_decay_that_changes_makes_no_new_program():
    _, opt, schedule, step = make("AdamW", {"lr": 0.1})
    step = gradus.jit(step)
    for i in range(4):
        opt.param_groups[0]["weight_decay"] = 0.1 * (i + 1)
        run(step, schedule, range(i, i + 1))
    assert step._programs == 1


def test_a_group_added_later_takes_effect():
    v, w = nn.Parameter(gradus.ones(1)), nn.Parameter(gradus.ones(1))
    opt = optim.SGD([v], lr=0.5)

    @gradus.jit
    def step():
        opt.zero_grad()
        (v * w).sum().backward()
        opt.step()

    step()
    opt.add_param_group({"params": [w]})
    step()
    assert v.tolist() == [0.0] and w.tolist() == [0.75]


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor, self.sizes, self.parts = 2.0, [1, 2], nn.ModuleList([nn.Identity()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x * self.factor + sum(self.sizes)


def test_changed_settings_of_modules_take_effect():
    net = Scaled()
    f, x = gradus.jit(lambda x: net(x)), gradus.ones(2)
    assert f(x).tolist() == [5.0, 5.0]
    net.factor = 3.0
    assert f(x).tolist() == [6.0, 6.0]
    net.sizes = [7]
    assert f(x).tolist() == [10.0, 10.0]
    net.parts.append(nn.Threshold(5.0, 0.0))
    assert f(x).tolist() == [7.0, 7.0]
    handle = net.register_forward_hook(lambda module, args, out: out * 10)
    assert f(x).tolist() == [70.0, 70.0]
    handle.remove()
    assert f(x).tolist() == [7.0, 7.0]
    drop = nn.Dropout(1.0)
    g = gradus.jit(lambda x: drop(x))
    assert g(x).tolist() == [0.0, 0.0]
    drop.p = 0.0
    assert g(x).tolist() == [1.0, 1.0]
    programs = f._programs
    net.train(net.training)
    f(x)
    assert f._programs == programs


def test_layers_replaced_or_converted_later_take_effect():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    f = gradus.jit(lambda x: net(x))
    f(gradus.ones(1, 2))
    net[0] = nn.Linear(2, 3)
    assert tuple(f(gradus.ones(1, 2)).shape) == (1, 3)
    net[0].weight = nn.Parameter(gradus.ones(3, 2))
    net[0].bias = None
    assert f(gradus.ones(1, 2)).tolist() == [[2.0, 2.0, 2.0]]
    net.double()
    assert f(gradus.ones(1, 2).double()).dtype == gradus.float64


class Settings:
    def __init__(self):
        self.rate, self.inner = 2.0, {"more": 1.0}

    def scaled(self, x):
        return self.twice(x) + self.inner["more"]

    def twice(self, x):
        return x * self.rate


SETTINGS, OUTSIDE, LIST = Settings(), gradus.ones(2), [1.0, 2.0]


def test_changed_attributes_and_names_take_effect(monkeypatch):
    x, settings = gradus.ones(2), Settings()
    f = gradus.jit(lambda x: settings.scaled(x))
    g = gradus.jit(lambda x: x * SETTINGS.rate + OUTSIDE + LIST[0])
    h = gradus.jit(settings.scaled)
    assert f(x).tolist() == [3.0, 3.0] and g(x).tolist() == [4.0, 4.0] and h(x).tolist() == [3.0, 3.0]
    settings.rate = 5.0
    settings.inner["more"] = 0.5
    assert f(x).tolist() == [5.5, 5.5] and h(x).tolist() == [5.5, 5.5]
    monkeypatch.setattr(SETTINGS, "rate", 10.0)
    assert g(x).tolist() == [12.0, 12.0]
    monkeypatch.setitem(globals(), "OUTSIDE", gradus.zeros(2))
    assert g(x).tolist() == [11.0, 11.0]
    LIST[0] = 0.0
    assert g(x).tolist() == [10.0, 10.0]
    LIST[0] = 1.0


class Trainer:
    """Counts steps under the name of a method that it calls."""

    def __init__(self):
        self.w = nn.Parameter(gradus.ones(2))
        self.opt, self.step, self.scale = optim.SGD([self.w], lr=0.5), 0, 1.0

    @gradus.jit
    def train(self, x):
        self.opt.zero_grad()
        loss = (self.w * x).sum() * self.scale
        loss.backward()
        self.opt.step()
        return loss


def test_unread_attributes_make_no_new_program():
    trainer, x = Trainer(), gradus.ones(2)
    for i in range(3):
        trainer.train(x)
        trainer.step += 1
    assert Trainer.train._programs == 1 and trainer.w.tolist() == [-0.5, -0.5]
    trainer.scale = 3.0
    trainer.train(x)
    assert Trainer.train._programs == 2 and trainer.w.tolist() == [-2.0, -2.0]
