"""What a call from Python costs besides the arithmetic: tiny tensors, interleaved with PyTorch where it is installed.

    python bench/overhead.py [rounds]

Prints nanoseconds per call (the least of all rounds), and PyTorch's divided by ours: more than 1 means faster.
"""

import statistics
import sys
import time

import gradus

try:
    import torch
except ImportError:
    torch = None
    print("PyTorch is not installed: no ratios")

CALLS = 2000


def cases(t):
    """Calls by name, the same for both packages."""
    a, b = t.ones(8), t.ones(8)
    m = t.ones(4, 4)
    w = t.ones(8, requires_grad=True)
    ids = t.tensor([1, 3])

    def training():
        loss = (w * a).sum()
        loss.backward()

    def in_place():
        b.mul_(0.5)

    return {
        "a + b": lambda: a + b,
        "a * 2": lambda: a * 2,
        "exp": lambda: a.exp(),
        "relu": lambda: t.relu(a),
        "sum": lambda: a.sum(),
        "m @ m": lambda: m @ m,
        "view": lambda: a.view(2, 4),
        "a[2:5]": lambda: a[2:5],
        "a[ids]": lambda: a[ids],
        "softmax": lambda: a.softmax(-1),
        "mul_": in_place,
        "w + b, recorded": lambda: w + b,
        "forward and backward": training,
        "item": lambda: a.sum().item(),
    }


def timed(call):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - start) / CALLS


def main(rounds):
    if torch is not None:
        torch.set_num_threads(1)
    ours, theirs = cases(gradus), cases(torch) if torch is not None else {}
    times = {name: ([], []) for name in ours}
    for call in [*ours.values(), *theirs.values()]:
        call()
    for _ in range(rounds):
        for name in ours:
            times[name][0].append(timed(ours[name]))
            if theirs:
                times[name][1].append(timed(theirs[name]))
    print(f"{'call':24}{'ours, ns':>10}{'PyTorch':>10}{'ratio':>8}")
    for name, (own, other) in times.items():
        ratio = statistics.median(b / a for a, b in zip(own, other)) if other else float("nan")
        print(f"{name:24}{min(own):10.0f}{min(other, default=float('nan')):10.0f}{ratio:8.2f}")
    x = gradus.ones(8)
    f = gradus.jit(lambda x: x + 1)
    f(x)
    calls = min(timed(lambda: f(x)) for _ in range(rounds))
    print(f"{'jit call':24}{calls:10.0f}{'':10}{'':8}  (may take 5000)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
