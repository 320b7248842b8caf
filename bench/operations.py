"""Measures single operations on a million elements and compares their times with PyTorch's, for several dtypes.

    python bench/operations.py [ROUNDS] [DTYPE or `make` …]

Prints the smallest time of all rounds in milliseconds; ratio = PyTorch's time / ours. `make` selects operations that
create tensors. Needs a wheel built with optimisation, and PyTorch.
"""

import sys
import time

import numpy as np
import torch

import gradus

torch.set_num_threads(2)
SIDE = 1024
RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.integers(1, 100, size=(SIDE, SIDE))
PLACES = RANDOM.integers(0, SIDE, size=(SIDE, SIDE))
ROWS = RANDOM.integers(0, SIDE, size=2 * SIDE)
IDS = {m: (m.tensor(PLACES), m.tensor(ROWS)) for m in (gradus, torch)}

ALL = {
    "x + x": lambda m, x: x + x,
    "x * 2": lambda m, x: x * 2,
    "x / 3": lambda m, x: x / 3,
    "x // 3": lambda m, x: x // 3,
    "x % 7": lambda m, x: x % 7,
    "abs": lambda m, x: x.abs(),
    "clamp": lambda m, x: x.clamp(10, 50),
    "x < 50": lambda m, x: x < 50,
    "(x < 50) & (x > 10)": lambda m, x: (x < 50) & (x > 10),
    "where": lambda m, x: m.where(x < 50, x, -x),
    "to float32": lambda m, x: x.to(m.float32),
    "to int64": lambda m, x: x.to(m.int64),
    "sum": lambda m, x: x.sum(),
    "sum(0)": lambda m, x: x.sum(0),
    "sum(1)": lambda m, x: x.sum(1),
    "amax(1)": lambda m, x: x.amax(1),
    "max(1)": lambda m, x: x.max(1),
    "argmax(1)": lambda m, x: x.argmax(1),
    "cumsum(1)": lambda m, x: x.cumsum(1),
    "sort(1)": lambda m, x: x.sort(1),
    "topk(8)": lambda m, x: x.topk(8, 1),
    "unique": lambda m, x: x.unique(),
    "T.contiguous": lambda m, x: x.T.contiguous(),
    "cat": lambda m, x: m.cat([x, x], 1),
    "flip": lambda m, x: x.flip(1),
    "roll": lambda m, x: x.roll(3, 1),
    "tril": lambda m, x: m.tril(x),
    "gather": lambda m, x: x.gather(1, IDS[m][0]),
    "x[rows]": lambda m, x: x[IDS[m][1]],
    "x[x < 5]": lambda m, x: x[x < 5],
    "nonzero": lambda m, x: (x < 5).nonzero(),
    "scatter_add": lambda m, x: m.zeros(SIDE, SIDE, dtype=x.dtype).scatter_add(1, IDS[m][0], x),
}
FLOAT = {
    "exp": lambda m, x: x.exp(),
    "log": lambda m, x: x.log(),
    "sin": lambda m, x: x.sin(),
    "tanh": lambda m, x: x.tanh(),
    "sigmoid": lambda m, x: x.sigmoid(),
    "erf": lambda m, x: x.erf(),
    "erfinv": lambda m, x: (x / 100 - 0.5).erfinv(),
    "lgamma": lambda m, x: x.lgamma(),
    "sqrt": lambda m, x: x.sqrt(),
    "x ** 2.5": lambda m, x: x**2.5,
    "atan2": lambda m, x: m.atan2(x, x + 1),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "softmax": lambda m, x: x.softmax(1),
    "logsumexp": lambda m, x: x.logsumexp(1),
    "std(1)": lambda m, x: x.std(1),
    "norm": lambda m, x: x.norm(),
    "median(1)": lambda m, x: x.median(1),
    "batch_norm": lambda m, x: m.nn.functional.batch_norm(x, None, None, training=True),
    "dropout": lambda m, x: m.nn.functional.dropout(x, 0.1),
    "x @ x": lambda m, x: x @ x,
}
MAKE = {
    "zeros": lambda m, x: m.zeros(SIDE, SIDE),
    "arange": lambda m, x: m.arange(SIDE * SIDE),
    "linspace": lambda m, x: m.linspace(0, 1, SIDE * SIDE),
    "eye": lambda m, x: m.eye(SIDE),
    "rand": lambda m, x: m.rand(SIDE, SIDE),
    "randn": lambda m, x: m.randn(SIDE, SIDE),
    "randint": lambda m, x: m.randint(0, 99, (SIDE, SIDE)),
    "bernoulli": lambda m, x: m.bernoulli(m.full((SIDE, SIDE), 0.3)),
    "randperm": lambda m, x: m.randperm(SIDE * SIDE),
    "multinomial": lambda m, x: m.multinomial(m.ones(SIDE, SIDE), 8, replacement=True),
}


def smallest_times(f, rounds):
    """Returns the smallest time of a call of each module, in milliseconds. The modules alternate a few times, with pauses
    between them, because threads of one module that still wait for work would slow down the other."""
    best = {}
    for m, call in list(f.items()) * 3:
        time.sleep(0.02)
        call()
        for _ in range(rounds // 3):
            start = time.perf_counter()
            call()
            best[m] = min(best.get(m, 1e9), time.perf_counter() - start)
    return [best[m] * 1e3 for m in f]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    wanted = sys.argv[2:] or ["float32", "float64", "bfloat16", "int64", "int32", "make"]
    print(f"| {'dtype':8} | {'operation':19} | {'ours':>8} | {'PyTorch':>8} | ratio |\n|---|---|---|---|---|")
    below = 0
    for dtype in wanted:
        work = MAKE if dtype == "make" else {**ALL, **(FLOAT if "float" in dtype else {})}
        for name, f in work.items():
            x = {m: None if dtype == "make" else m.tensor(NUMBERS).to(getattr(m, dtype)) for m in (gradus, torch)}
            calls = {m: lambda m=m: f(m, x[m]) for m in (gradus, torch)}
            ours, other = smallest_times(calls, rounds)
            below += other < ours
            print(f"| {dtype:8} | {name:19} | {ours:8.3f} | {other:8.3f} | {other / ours:5.2f} |", flush=True)
    print(f"\n{below} ratios are below 1")


main()
