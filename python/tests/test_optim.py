"""Every optimiser over 50 steps and every schedule against PyTorch's; state dictionaries both ways."""

import math

import numpy as np
import pytest

import gradus
from gradus import nn, optim
from oracle import array, needs_torch, torch

rng = np.random.default_rng(11)
W, B = rng.standard_normal((3, 4)), rng.standard_normal(4)
X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 4))

CASES = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3}), ("SGD", {"lr": 0.001, "maximize": True}),
    ("Adam", {"lr": 0.05}), ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1}), ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-4}),
    ("AdamW", {"lr": 0.05}), ("AdamW", {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.01, "lr": 0.005}),
    ("Adagrad", {"lr": 0.1}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {}), ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.05}),
    ("Adamax", {"lr": 0.02}), ("Adamax", {"lr": 0.02, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.02}), ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}), ("NAdam", {"weight_decay": 0.1}),
    ("RAdam", {"lr": 0.02}), ("RAdam", {"lr": 0.02, "weight_decay": 0.1}), ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adafactor", {}), ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 1.5}), ("Rprop", {"lr": 0.01}),
    ("ASGD", {"lr": 0.1}), ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 10, "weight_decay": 0.1}),
    ("LBFGS", {"lr": 0.5, "max_iter": 4}), ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 6, "history_size": 3}),
]


def problem(library, make):
    """Makes a small network with a curved loss: its parameters, its optimiser, and the closure of a step."""
    w = library.tensor(W, requires_grad=True)
    b = library.tensor(B, requires_grad=True)
    x, y = library.tensor(X), library.tensor(Y)
    opt = make([w, b])

    def closure():
        opt.zero_grad()
        loss = (((x @ w + b).tanh() - y) ** 2).mean() + 0.01 * (w**4).sum()
        loss.backward()
        return loss

    return [w, b], opt, closure


@needs_torch
@pytest.mark.parametrize("name, options", CASES, ids=[f"{n}-{o}" for n, o in CASES])
def test_fifty_steps(name, options):
    runs = []
    for library in (gradus, torch):
        params, opt, closure = problem(library, lambda p: getattr(library.optim, name)(p, **options))
        losses = [float(opt.step(closure)) for _ in range(50)]
        runs.append([np.array(losses)] + [array(p) for p in params])
    for ours, theirs in zip(*runs):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_lion_follows_its_definition():
    lr, (b1, b2), decay = 0.01, (0.9, 0.99), 0.1
    params, opt, closure = problem(gradus, lambda p: optim.Lion(p, lr=lr, betas=(b1, b2), weight_decay=decay))
    w = [array(p).copy() for p in params]
    m = [np.zeros_like(x) for x in w]
    for _ in range(50):
        opt.step(closure)
        for i, p in enumerate(params):
            g = array(p.grad)
            w[i] = w[i] * (1 - lr * decay) - lr * np.sign(b1 * m[i] + (1 - b1) * g)
            m[i] = b2 * m[i] + (1 - b2) * g
            np.testing.assert_allclose(array(p), w[i], rtol=1e-9)


RESUMED = [case for i, case in enumerate(CASES) if i in (1, 6, 9, 11, 13, 15, 16, 18, 21, 24, 26)]


@needs_torch
@pytest.mark.parametrize("name, options", RESUMED, ids=[n for n, _ in RESUMED])
def test_state_of_pytorch_continues_here_and_back(name, options):
    """Takes twenty steps with PyTorch, then ten more with each package from that state, and ten with PyTorch from ours."""

    def make(library):
        return problem(library, lambda p: getattr(library.optim, name)(p, **options))

    theirs, their_opt, their_closure = make(torch)
    for _ in range(20):
        their_opt.step(their_closure)
    ours, our_opt, our_closure = make(gradus)
    with gradus.no_grad():
        for p, q in zip(ours, theirs):
            p.copy_(gradus.tensor(q.detach().numpy().copy()))
    our_opt.load_state_dict(plain(their_opt.state_dict(), lambda t: gradus.tensor(t.numpy().copy())))
    for _ in range(10):
        their_opt.step(their_closure)
        our_opt.step(our_closure)
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(array(p), array(q), rtol=1e-6, atol=1e-9)
    back, back_opt, back_closure = make(torch)
    with torch.no_grad():
        for p, q in zip(back, ours):
            p.copy_(torch.tensor(array(q).copy()))
    back_opt.load_state_dict(plain(our_opt.state_dict(), lambda t: torch.tensor(array(t).copy())))
    for _ in range(10):
        back_opt.step(back_closure)
        our_opt.step(our_closure)
    for p, q in zip(ours, back):
        np.testing.assert_allclose(array(p), array(q), rtol=1e-6, atol=1e-9)


def plain(value, convert):
    if isinstance(value, dict):
        return {k: plain(v, convert) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(v, convert) for v in value)
    return convert(value) if hasattr(value, "detach") else value


def test_groups_and_their_errors():
    a, b = nn.Parameter(gradus.ones(1)), nn.Parameter(gradus.ones(1))
    opt = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    (a + b).sum().backward()
    opt.step()
    assert a.item() == pytest.approx(0.9) and b.item() == pytest.approx(0.5)
    opt.zero_grad()
    assert a.grad is None and opt.param_groups[1]["lr"] == 0.5
    opt.step()
    assert a.item() == pytest.approx(0.9)
    with pytest.raises(ValueError, match="more than one"):
        opt.add_param_group({"params": [a]})
    with pytest.raises(ValueError, match="empty"):
        optim.Adam([])
    with pytest.raises(TypeError, match="iterable"):
        optim.Adam(a)
    with pytest.raises(ValueError, match="lr"):
        optim.Adam([a], lr=-1.0)
    with pytest.raises(ValueError, match="groups"):
        optim.SGD([a]).load_state_dict(opt.state_dict())
    wide = optim.Adam([nn.Parameter(gradus.ones(2))])
    wide.param_groups[0]["params"][0].grad = gradus.ones(2)
    wide.step()
    with pytest.raises(ValueError, match="exp_avg"):
        optim.Adam([a]).load_state_dict(wide.state_dict())
    named = optim.SGD(nn.Linear(2, 1).named_parameters())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
    assert "lr: 0.001" in repr(named)


SCHEDULES = [
    "LambdaLR(opt, lambda e: 0.95 ** e)", "MultiplicativeLR(opt, lambda e: 0.9)", "StepLR(opt, 3, 0.5)", "MultiStepLR(opt, [3, 3, 8], 0.4)",
    "ConstantLR(opt, 0.3, 4)", "LinearLR(opt, 0.25, 0.75, 6)", "ExponentialLR(opt, 0.8)", "PolynomialLR(opt, 7, 2.0)",
    "CosineAnnealingLR(opt, 5, 0.01)", "CosineAnnealingWarmRestarts(opt, 3, 2, 0.01)", "OneCycleLR(opt, 1.0, 20)",
    "OneCycleLR(opt, [1.0, 0.5], epochs=4, steps_per_epoch=5, anneal_strategy='linear', three_phase=True, pct_start=0.4)",
    "OneCycleLR(opt, 1.0, 20, cycle_momentum=False, div_factor=10)",
    "SequentialLR(opt, [s.LinearLR(opt, 0.1, 1.0, 4), s.CosineAnnealingLR(opt, 8)], [4])",
    "SequentialLR(opt, [s.ConstantLR(opt, 0.5, 3), s.ExponentialLR(opt, 0.7), s.StepLR(opt, 2)], [3, 9])",
    "CyclicLR(opt, 0.1, 0.9, 3, 5)", "CyclicLR(opt, [0.1, 0.2], [0.9, 1.0], 4, mode='triangular2')", "CyclicLR(opt, 0.1, 0.9, 3, mode='exp_range', gamma=0.9, base_momentum=0.5, max_momentum=0.7)",
    "CyclicLR(opt, 0.1, 0.9, 3, scale_fn=lambda x: 1 / x, scale_mode='cycle', cycle_momentum=False)",
    "ChainedScheduler([s.ConstantLR(opt, 0.1, 2), s.ExponentialLR(opt, 0.9)])",
]


@needs_torch
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("text", SCHEDULES)
def test_schedule(text, kind):
    runs = []
    for library in (gradus, torch):
        params = [library.zeros(1, requires_grad=True), library.zeros(1, requires_grad=True)]
        opt = getattr(library.optim, kind)([{"params": params[:1], "lr": 0.4}, {"params": params[1:]}], lr=0.2)
        schedule = eval(f"s.{text}", {"s": library.optim.lr_scheduler, "opt": opt})
        rows = []
        for _ in range(20):
            rows.append([x for g in opt.param_groups for x in (g["lr"], *g.get("betas", ()), g.get("momentum", 0))] + list(schedule.get_last_lr()))
            opt.step()
            schedule.step()
        runs.append(rows)
    np.testing.assert_allclose(*runs, rtol=1e-9, atol=1e-12)


@needs_torch
@pytest.mark.parametrize("options", [{}, {"mode": "max", "threshold_mode": "abs", "threshold": 0.1}, {"cooldown": 3, "min_lr": 0.02}])
def test_plateau(options):
    measures = np.round(rng.random(60) * 2 + np.linspace(3, 0, 60), 3)
    rates = []
    for library in (gradus, torch):
        opt = library.optim.SGD([library.zeros(1, requires_grad=True)], lr=1.0)
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2, **options)
        rows = []
        for m in measures:
            schedule.step(float(m))
            rows.append(opt.param_groups[0]["lr"])
        rates.append(rows)
    assert rates[0] == pytest.approx(rates[1]) and min(rates[0]) < 1.0


def test_schedules_resume():
    for text in ("StepLR(opt, 3, 0.5)", "CosineAnnealingLR(opt, 9)", "SequentialLR(opt, [s.ConstantLR(opt, 0.5, 3), s.ExponentialLR(opt, 0.7)], [3])"):
        def make():
            opt = optim.SGD([nn.Parameter(gradus.zeros(1))], lr=1.0)
            return opt, eval(f"s.{text}", {"s": optim.lr_scheduler, "opt": opt})

        opt, schedule = make()
        for _ in range(5):
            schedule.step()
        other_opt, other = make()
        other_opt.load_state_dict(opt.state_dict())
        other.load_state_dict(schedule.state_dict())
        for _ in range(4):
            schedule.step()
            other.step()
            assert other_opt.param_groups[0]["lr"] == opt.param_groups[0]["lr"]


def test_every_optimiser_learns():
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Lion", "Adafactor", "LBFGS", "Rprop"):
        lr = {"LBFGS": 1.0, "Lion": 0.02}.get(name, 0.05)
        params, opt, closure = problem(gradus, lambda p: getattr(optim, name)(p, lr=lr))
        first = float(closure())
        for _ in range(60):
            opt.step(closure)
        assert float(closure()) < 0.9 * first and math.isfinite(first), name


@needs_torch
@pytest.mark.parametrize("options", [{"line_search_fn": "strong_wolfe"}, {"lr": 0.3}, {"line_search_fn": "strong_wolfe", "maximize": True}, {"line_search_fn": "strong_wolfe", "max_eval": 3}])
def test_lbfgs_in_a_narrow_valley(options):
    runs = []
    for library in (gradus, torch):
        x = library.tensor([-1.2, 1.0], dtype=library.float64, requires_grad=True)
        opt = library.optim.LBFGS([x], max_iter=10, history_size=5, **options)

        def closure():
            opt.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            loss = -loss if options.get("maximize") else loss
            loss.backward()
            return loss

        runs.append([opt.step(closure).item() for _ in range(3)] + x.tolist())
    np.testing.assert_allclose(*runs, rtol=1e-6)
