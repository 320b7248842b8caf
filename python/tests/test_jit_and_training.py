"""Compiled training steps while their surroundings change: rates, state, hooks, statistics."""

import functools

import pytest

import gradus
from gradus import nn, optim
from oracle import BOTH, compare


def training(change, t, jit, steps=9, **settings):
    """Returns numbers of a small training, with one action inside of each step and another between steps."""
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
def test_learning_rates_changed_inside(change, other):
    compare(functools.partial(training, change), other)
    compare(functools.partial(training, change, kind="Adam"), other)


@pytest.mark.parametrize("other", BOTH)
@pytest.mark.parametrize("change", [forgets_state, takes_state_out, puts_in_other_state, puts_in_another_dictionary])
def test_state_changed_between_steps(change, other):
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
def test_parameters_added_to_a_group(other):
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
def test_optimisers_written_for_pytorch(other):
    def run(t, jit):
        class Slower(t.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, {"lr": lr})

            @t.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            state["step"], state["mean"] = 0, t.zeros_like(p)
                        state["step"] += 1
                        state["mean"].mul_(0.9).add_(p.grad)
                        p.add_(state["mean"], alpha=-group["lr"] / state["step"])

        w = t.nn.Parameter(t.tensor([1.0, -2.0]))
        opt, seen = Slower([w]), []

        @jit
        def step(x):
            opt.zero_grad()
            (w * x).pow(2).sum().backward()
            opt.step()

        for i in range(12):
            step(t.tensor([1.0, 0.1 * i]))
            seen += w.tolist() + opt.state[w]["mean"].tolist()
        return seen

    compare(run, other)


@pytest.mark.parametrize("other", BOTH)
def test_values_read_by_module_hooks(other):
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
def test_batch_norm_statistics(momentum, other):
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
@pytest.mark.parametrize("kind", ["Adam", "AdamW", "SGD"])
def test_learning_rates_as_tensors(kind, other):
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


def test_lazy_layers_learn_their_width_in_the_first_call():
    layer, x = nn.LazyLinear(2), gradus.ones(1, 3)
    f = gradus.jit(lambda x: layer(x).sum() * 2)
    found = [f(x).item() for _ in range(3)]
    assert found == pytest.approx([layer(x).sum().item() * 2] * 3) and tuple(layer.weight.shape) == (2, 3) and f._programs == 1


@pytest.mark.parametrize("other", BOTH)
def test_tables_made_on_demand(other):
    def run(t, jit):
        class Turned(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.known, self.mask = {}, None

            def forward(self, x):
                n = x.shape[0]
                if n not in self.known:
                    angle = t.arange(n) * 0.5
                    self.known[n] = (angle.cos(), angle.sin())
                if self.mask is None or self.mask.shape[0] != n:
                    self.mask = t.tril(t.ones(n, n))
                return self.mask @ (x * self.known[n][0] + self.known[n][1])

        net, seen = Turned(), []
        f = jit(lambda x: net(x))
        for n in (3, 3, 4, 3, 4, 4, 3):
            seen += f(t.arange(float(n))).tolist() + net.mask.flatten().tolist() + net.known[n][0].tolist()
        return seen

    compare(run, other)
