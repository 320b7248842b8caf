"""Measures the overhead of calls from Python with tiny tensors, alternating with PyTorch if it is installed.

    python bench/overhead.py [rounds]

Prints nanoseconds per call (the smallest of all rounds), and PyTorch's time divided by ours: more than 1 means that Gradus is
faster. A star marks ratios below 0.95.
"""

import sys
import time

import gradus

try:
    import torch
except ImportError:
    torch = None
    print("PyTorch is not installed: no ratios")

CALLS = 500

#: Statements separated by `|`, one topic per line; `variables` defines the names that they use.
STATEMENTS = """
a + b | a * 2 | 2 - a | a ** 2 | -a | a == b | a > 0 | ~mask | a.exp() | t.relu(a) | t.where(mask, a, b) | t.clamp(a, 0, 1) | a.isnan()
a.sum() | m.sum(0) | m.mean(-1) | m.max(1) | m.argmax(1) | a.norm() | m.var(0) | a.cumsum(0) | a.sort() | a.topk(2) | t.equal(a, b)
a.view(2, 4) | m.t() | m.transpose(0, 1) | m.unsqueeze(0) | a.expand(3, 8) | a.split(4) | m.flatten() | a.clone() | a.flip(0)
a[0] | a[2:5] | m[:, 1] | m[None] | a[ids] | m[ids, ids] | a[mask] | a[0] = 1.0 | a[2:5] = 0.5 | m[1] = b[:4] | m[:, 1] = 1.0 | a[ids] = 1.0
a[mask] = 1.0 | m[ids, ids] = 2.0 | a.mul_(0.5) | a.add_(b, alpha=0.1) | a.zero_() | a.copy_(b) | m.gather(1, column) | m.scatter(1, column, 1.0)
m.scatter_add(1, column, m) | t.bincount(ids) | t.hstack([a, b]) | t.vstack([a, b]) | t.hstack([m, m]) | t.vstack([m, m]) | t.std_mean(a) | t.var_mean(m, 0)
t.zeros(8) | t.ones(8) | t.full((8,), 2.0) | t.arange(8) | t.linspace(0, 1, 8) | t.eye(4) | t.rand(8) | t.randn(8) | t.randint(0, 9, (8,))
t.tensor(1.0) | t.tensor([1.0, 2.0]) | t.from_numpy(array) | a.numpy() | a.tolist() | a[0].item() | a.shape | a.long() | t.ones_like(a)
t.cat([a, b]) | t.stack([a, b]) | m @ m | a @ b | t.einsum("ij,jk->ik", m, m) | a.softmax(-1) | F.log_softmax(m, -1) | F.gelu(a)
F.mse_loss(a, b) | F.cross_entropy(m, classes) | F.one_hot(classes, 4) | F.layer_norm(m, (4,)) | F.dropout(a, 0.5) | F.embedding(ids, m)
F.conv2d(image, kernel) | F.max_pool2d(image, 2) | linear(m) | mlp(m) | w + b | (w * a).sum().backward() | F.mse_loss(mlp(m), m).backward()
sgd.step() | adam.step() | sgd.zero_grad()
"""


def variables(t):
    """Returns the variables that statements use, the same for both packages."""
    import numpy

    t.manual_seed(0)
    nn = t.nn
    mlp = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    nn.functional.mse_loss(mlp(t.ones(4, 4)), t.ones(4, 4)).backward()
    return {
        "t": t, "F": nn.functional, "a": t.rand(8), "b": t.ones(8), "m": t.rand(4, 4), "w": t.ones(8, requires_grad=True),
        "ids": t.tensor([1, 3]), "mask": t.tensor([True, False] * 4), "classes": t.tensor([0, 1, 2, 3]),
        "column": t.tensor([[0], [1], [2], [3]]), "image": t.rand(1, 1, 5, 5), "kernel": t.rand(2, 1, 3, 3),
        "array": numpy.ones(8, "float32"), "linear": nn.Linear(4, 4), "mlp": mlp,
        "sgd": t.optim.SGD(mlp.parameters(), lr=1e-6), "adam": t.optim.Adam(mlp.parameters(), lr=1e-6),
    }


def calls_by_name(t):
    """Returns calls by name, the same for both packages."""
    names, made = variables(t), {}
    for statement in STATEMENTS.replace("\n", "|").split("|"):
        if statement.strip():
            scope = {}
            exec(f"def call():\n    {statement.strip()}", names, scope)
            made[statement.strip()] = scope["call"]
    return made


def nanoseconds(call):
    # The time of this thread only; other threads are not counted.
    start = time.thread_time_ns()
    for _ in range(CALLS):
        call()
    return (time.thread_time_ns() - start) / CALLS


def main(rounds):
    if torch is not None:
        torch.set_num_threads(1)
    ours, theirs = calls_by_name(gradus), calls_by_name(torch) if torch is not None else {}
    times = {name: ([], []) for name in ours}
    for call in [*ours.values(), *theirs.values()]:
        call()
    for _ in range(rounds):
        for name in ours:
            times[name][0].append(nanoseconds(ours[name]))
            if theirs:
                times[name][1].append(nanoseconds(theirs[name]))
    print(f"{'call':32}{'ours, ns':>10}{'PyTorch':>10}{'ratio':>8}")
    for name, (own, other) in times.items():
        ratio = min(other, default=float("nan")) / min(own)
        print(f"{name:32}{min(own):10.0f}{min(other, default=float('nan')):10.0f}{ratio:8.2f}{' *' if ratio < 0.95 else ''}")
    x = gradus.ones(8)
    f = gradus.jit(lambda x: x + 1)
    f(x)
    calls = min(nanoseconds(lambda: f(x)) for _ in range(rounds))
    print(f"{'jit call':32}{calls:10.0f}{'':10}{'':8}  (may take 5000)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
