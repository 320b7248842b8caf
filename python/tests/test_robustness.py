"""Tests that no call ends the process: calls every function and method with invalid arguments.

A call may return or raise an exception; it may not abort, panic or change an argument that it refuses. The calls run in their own
process, which reports each call before it is made, so that an abort can be attributed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradus

PROGRAM = r"""
import random, signal, sys, warnings
import numpy as np
import gradus
from gradus import nn

warnings.simplefilter("ignore")
seed, calls = int(sys.argv[1]), int(sys.argv[2])
r = random.Random(seed)


def tensors():
    g = np.random.default_rng(r.randrange(1 << 30))
    shape = r.choice([(), (0,), (1,), (3,), (2, 3), (3, 0), (1, 3, 1), (2, 3, 4), (4, 4), (1, 2, 5, 5), (2, 2, 2, 2, 2)])
    kind = r.choice(["f4", "f8", "i8", "i4", "u1", "?", "c8", "f2"])
    x = gradus.tensor((g.standard_normal(shape) * 3).astype(kind))
    way = r.randrange(5)
    if way == 0 and x.ndim > 1:
        x = x.transpose(0, -1)
    if way == 1 and x.ndim:
        x = x[..., ::2]
    if way == 2:
        x = x.expand(2, *x.shape)
    if way == 3 and x.is_floating_point():
        x = x.clone().requires_grad_()
    return x


PLAIN = [0, 1, 2, -1, -2, 3, 7, 100, -100, 2**31, -2**63, 2**63 - 1, 10**30, 0.5, -1.5, float("nan"), float("inf"), 1e300, True, False, None,
         "", "mean", "sum", "none", "same", "ij,jk->ik", "i", "->", "\u00e4", b"x", (), (1,), (0, 1), (1, 1), (-1, 0, 1), (2, 3), [0], [], [[1, 2], [3, 4]], [[1], [2, 3]],
         {}, {"a": 1}, slice(None), slice(0, 10, 2), Ellipsis, 1j, object(), int, gradus.float32, gradus.int64, gradus.bool, np.arange(3), np.float32(2), range(3)]


def argument():
    k = r.randrange(10)
    if k < 5:
        return tensors()
    if k < 6:
        return [tensors() for _ in range(r.randrange(4))]
    if k < 7:
        return r.randrange(-3, 5)
    return r.choice(PLAIN)


NAMES = ["dim", "keepdim", "dtype", "p", "eps", "weight", "bias", "stride", "padding", "dilation", "groups", "reduction", "mode", "size", "out",
         "correction", "training", "value", "min", "max", "axis", "indexing", "upper", "n", "norm", "alpha", "beta", "kernel_size", "generator"]
# These change the process as a whole, write files, or rightly take long for large numbers.
LEFT_OUT = {"save", "load", "set_default_dtype", "set_num_threads", "set_printoptions", "set_grad_enabled", "save_safetensors", "load_safetensors", "jit", "compile",
            "manual_seed", "set_rng_state", "randperm"}
free = [(n, f) for space in (gradus, gradus.nn.functional, gradus.linalg, gradus.fft, gradus.autograd, gradus.nn.init)
        for n, f in vars(space).items() if callable(f) and not n.startswith("_") and n not in LEFT_OUT and not isinstance(f, type)]
methods = [n for n in dir(gradus.Tensor) if n not in LEFT_OUT and (not n.startswith("_") or n in ("__getitem__", "__setitem__", "__add__", "__matmul__", "__pow__", "__rsub__",
           "__iadd__", "__array__", "__contains__", "__lshift__", "__floordiv__", "__mod__", "__format__", "__reduce__"))]
layers = [getattr(nn, n) for n in nn.__all__ if isinstance(getattr(nn, n), type)]


class Late(Exception):
    pass


def late(*_):
    raise Late


signal.signal(signal.SIGALRM, late)
slow, panics = [], []
for i in range(calls):
    args = [argument() for _ in range(r.randrange(5))]
    kwargs = {r.choice(NAMES): argument() for _ in range(r.choice([0, 0, 0, 1, 2]))}
    which = r.randrange(10)
    if which < 4:
        name, call = r.choice(free)
    elif which < 9:
        name = r.choice(methods)
        x = tensors()
        call = getattr(gradus.Tensor, name)
        if not callable(call):  # a property
            call, args, kwargs = (lambda x, n=name: getattr(x, n)), [], {}
        args = [x, *args]
    else:
        layer = r.choice(layers)
        name = layer.__name__

        def call(*a, **k):
            return layer(*[abs(v) % 8 if isinstance(v, int) else v for v in a], **k)(tensors())

    print(i, name, len(args), list(kwargs), file=sys.stderr)
    before = [(a, a.detach().numpy().copy()) for a in args if isinstance(a, gradus.Tensor)]
    signal.alarm(20)
    try:
        result = call(*args, **kwargs)
        repr(result)
    except Late:
        slow.append(name)
    except BaseException as error:
        if not isinstance(error, Exception):  # a panic of the native module
            shown = ", ".join(f"{a.dtype}{list(a.shape)}" if isinstance(a, gradus.Tensor) else repr(a)[:60] for a in args)
            panics.append(f"{name}({shown}, {list(kwargs)}): {error}")
        # operands of a failed call are unchanged
        for a, old in before:
            now = a.detach().numpy()
            assert now.shape == old.shape and np.array_equal(now, old, equal_nan=old.dtype.kind in "fc"), f"{name} changed an argument and then raised"
    finally:
        signal.alarm(0)
print("done", slow, panics)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="uses alarms")
@pytest.mark.parametrize("seed", range(6))
def test_no_call_ends_the_process(seed):
    packages = os.pathsep.join([str(Path(gradus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))\n"
    done = subprocess.run([sys.executable, "-c", limit + PROGRAM, str(seed), "1500"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": packages})
    last = "\n".join(done.stderr.splitlines()[-15:])
    assert done.returncode == 0, f"exit {done.returncode}\n{last}"
    assert done.stdout.strip() == "done [] []", done.stdout


DRAWING = """
import threading, gradus
def draw():
    for _ in range(300):
        gradus.randn(5, 5)
        gradus.nn.functional.dropout(gradus.ones(8), 0.5)
threads = [threading.Thread(target=draw) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
gradus.manual_seed(3)
print(gradus.randn(2).tolist())
"""


def test_threads_draw_together():
    """Tests against a deadlock: a thread that holds a generator must not wait for the interpreter lock, because the thread that holds that
    lock may wait for the generator."""
    done = subprocess.run([sys.executable, "-c", DRAWING], capture_output=True, text=True, timeout=120, check=True)
    gradus.manual_seed(3)
    assert done.stdout.strip() == str(gradus.randn(2).tolist())
