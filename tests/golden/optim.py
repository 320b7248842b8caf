"""Writes optim.json: trajectories of PyTorch's optimisers over 50 steps, and its schedules.

Run it manually, with torch installed, from the repository root:

    python tests/golden/optim.py

Each case minimises the same function of a matrix and a vector, in float64, and records the parameters after some steps.
Lion, which PyTorch does not have, and running averages of weights are written out here.  README.md describes the format.
"""

import json
import os

import torch

torch.set_default_dtype(torch.float64)
KEPT = [1, 2, 3, 5, 10, 20, 30, 40, 50]


def start():
    """Returns the parameters, and coefficients of the function."""
    g = torch.Generator().manual_seed(11)
    draw = lambda *shape: torch.round(torch.randn(*shape, generator=g) * 1000) / 1000
    return draw(3, 4), draw(5), draw(3, 4), draw(5).abs() + 0.5


def loss(w, v, a, b):
    return (w * a).sin().sum() + 0.5 * (w * w).sum() + (b * (v - 1) ** 2).sum() + 0.1 * w.sum() * v.sum() + (v**4).mean()


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.copy_(b2 * m + (1 - b2) * p.grad)


cases = []


def run(name, make, steps=50, before=None, schedule=None, average=None, closure=False):
    w, v, a, b = start()
    w.requires_grad_(), v.requires_grad_()
    opt = make(w, v)
    sched = schedule(opt) if schedule else None
    ema = [w.detach().clone(), v.detach().clone()]
    kept = []
    for step in range(1, steps + 1):
        def evaluate():
            opt.zero_grad()
            l = loss(w, v, a, b)
            l.backward()
            return l

        if closure:
            opt.step(evaluate)
        else:
            evaluate()
            if before:
                before([w, v])
            opt.step()
        if sched:
            sched.step()
        if average:
            for e, p in zip(ema, [w, v]):
                e.mul_(average).add_(p.detach(), alpha=1 - average)
        if step in KEPT:
            shown = ema if average else [w, v]
            kept.append([step] + [x for t in shown for x in t.detach().flatten().tolist()])
    cases.append(dict(name=name, kept=kept))


def schedules():
    def rates(name, make, steps=50):
        p = torch.zeros(1, requires_grad=True)
        opt = torch.optim.SGD([p], lr=1.0)
        sched = make(opt)
        out = []
        for _ in range(steps):
            out.append(opt.param_groups[0]["lr"])
            opt.step()
            sched.step()
        cases.append(dict(name=name, rates=out))

    s = torch.optim.lr_scheduler
    rates("step", lambda o: s.StepLR(o, 7, 0.5))
    rates("multistep", lambda o: s.MultiStepLR(o, [5, 20, 21], 0.3))
    rates("linear", lambda o: s.LinearLR(o, 0.2, 0.9, 30))
    rates("cosine", lambda o: s.CosineAnnealingLR(o, 50, 0.1))
    warm = lambda o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 10), s.CosineAnnealingLR(o, 40, 0.0)], milestones=[10]
    )
    rates("warm_up", warm)
    one = lambda o: s.OneCycleLR(o, 1.0, total_steps=51, pct_start=0.3, div_factor=25, final_div_factor=1e4, cycle_momentum=False)
    rates("one_cycle", one)
    points = [(5, 1.0), (15, 0.2), (40, 0.6)]

    def interpolate(k):
        if k <= points[0][0]:
            return points[0][1]
        for (p, x), (q, y) in zip(points, points[1:]):
            if k <= q:
                return x + (y - x) * (k - p) / (q - p)
        return points[-1][1]

    rates("piecewise", lambda o: s.LambdaLR(o, interpolate))


def main():
    o = torch.optim
    run("sgd", lambda w, v: o.SGD([w, v], lr=0.02))
    run("sgd_momentum", lambda w, v: o.SGD([w, v], lr=0.02, momentum=0.9, dampening=0.3))
    run("sgd_nesterov", lambda w, v: o.SGD([w, v], lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.1))
    run("adam", lambda w, v: o.Adam([w, v], lr=0.05))
    run("adam_amsgrad", lambda w, v: o.Adam([w, v], lr=0.05, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1, amsgrad=True))
    run("adamw", lambda w, v: o.AdamW([w, v], lr=0.05, weight_decay=0.1))
    run("adamw_amsgrad", lambda w, v: o.AdamW([w, v], lr=0.05, betas=(0.8, 0.9), amsgrad=True))
    run("rmsprop", lambda w, v: o.RMSprop([w, v], lr=0.02))
    run("rmsprop_centered", lambda w, v: o.RMSprop([w, v], lr=0.01, alpha=0.9, eps=1e-3, momentum=0.5, centered=True, weight_decay=0.1))
    run("adagrad", lambda w, v: o.Adagrad([w, v], lr=0.2))
    run("adagrad_decay", lambda w, v: o.Adagrad([w, v], lr=0.2, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.3))
    run("adafactor", lambda w, v: o.Adafactor([w, v], lr=0.05))
    run("adafactor_decay", lambda w, v: o.Adafactor([w, v], lr=0.2, beta2_decay=-0.6, eps=(1e-3, 1e-2), d=1.2, weight_decay=0.1))
    run("lion", lambda w, v: Lion([w, v], lr=0.013, betas=(0.9, 0.99), weight_decay=0.1))
    run("lbfgs", lambda w, v: o.LBFGS([w, v], lr=0.1, max_iter=4, history_size=5), closure=True)
    run("lbfgs_long", lambda w, v: o.LBFGS([w, v], lr=0.5), steps=10, closure=True)
    run("lbfgs_wolfe", lambda w, v: o.LBFGS([w, v], lr=1.0, max_iter=2, line_search_fn="strong_wolfe"), steps=10, closure=True)
    run("lbfgs_wolfe_far", lambda w, v: o.LBFGS([w, v], lr=4.0, max_iter=3, line_search_fn="strong_wolfe"), steps=10, closure=True)
    clip = torch.nn.utils
    run("clip_norm", lambda w, v: o.SGD([w, v], lr=0.05), before=lambda p: clip.clip_grad_norm_(p, 1.5))
    run("clip_value", lambda w, v: o.SGD([w, v], lr=0.05), before=lambda p: clip.clip_grad_value_(p, 0.4))
    run("average", lambda w, v: o.Adam([w, v], lr=0.05), average=0.9)
    groups = lambda w, v: o.AdamW([dict(params=[w]), dict(params=[v], lr=0.2, weight_decay=0.0)], lr=0.05, weight_decay=0.1)
    run("groups", groups, schedule=lambda opt: o.lr_scheduler.CosineAnnealingLR(opt, 50))
    schedules()
    w, v, a, b = start()
    head = json.dumps(dict(torch=torch.__version__.split("+")[0], start=[t.flatten().tolist() for t in (w, v, a, b)]))
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optim.json")
    with open(path, "w", newline="\n") as f:
        f.write('%s,"cases":[\n%s\n]}\n' % (head[:-1], lines))


if __name__ == "__main__":
    main()
