"""Measures factorisations of square matrices and compares their times with PyTorch's.

    python bench/linalg.py [EXTENT …]

The default extents are 128, 512 and 2048. Prints the smallest time of some rounds, interleaved with PyTorch, in milliseconds;
ratio = PyTorch's time / ours. Needs a wheel built with optimisation, and PyTorch.
"""

import sys
import time

import torch

import gradus

torch.set_num_threads(2)
SECONDS = 1.0

ALL = {
    "solve": lambda m, a, s, b: m.linalg.solve(a, b),
    "inv": lambda m, a, s, b: m.linalg.inv(a),
    "cholesky": lambda m, a, s, b: m.linalg.cholesky(s),
    "qr": lambda m, a, s, b: m.linalg.qr(a)[0],
    "eigh": lambda m, a, s, b: m.linalg.eigh(s)[1],
    "svd": lambda m, a, s, b: m.linalg.svd(a, full_matrices=False)[0],
    "lstsq": lambda m, a, s, b: m.linalg.lstsq(a, b)[0],
}


def time_call(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(name, inputs):
    """Returns the smallest times of PyTorch and of Gradus."""
    best, end = {}, time.perf_counter() + 2 * SECONDS
    for round in range(50):
        for m, ins in inputs.items():
            best[m] = min(best.get(m, float("inf")), time_call(lambda: ALL[name](m, *ins)))
        if round and time.perf_counter() > end:
            break
    return best[torch], best[gradus]


for extent in map(int, sys.argv[1:] or [128, 512, 2048]):
    for dtype in ("float32", "float64"):
        a, b = torch.randn(2, extent, extent, dtype=getattr(torch, dtype))
        s = a @ a.T / extent + torch.eye(extent, dtype=a.dtype)
        theirs = (a, s, b)
        inputs = {torch: theirs, gradus: [gradus.tensor(x.numpy()) for x in theirs]}
        for name in ALL:
            their, our = measure(name, inputs)
            print(f"{extent:5} {dtype} {name:9} {their * 1e3:10.2f} {our * 1e3:10.2f}  ratio {their / our:.2f}", flush=True)
