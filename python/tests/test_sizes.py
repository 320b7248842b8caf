"""Sizes that exceed any memory: calls every function, method and class with huge, negative and overflowing numbers.

A call may return or raise an exception. It may not abort the process, panic or run for more than a few seconds. The calls run in their
own process with a memory limit, which writes the number of each call before it is made, so that an abort can be attributed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradus

WORKER = r"""
import inspect, itertools, os, resource, sys, time, warnings
import gradus
from gradus.nn import functional

warnings.simplefilter("ignore")
start, only, skipped = int(sys.argv[1]), sys.argv[2], set(sys.argv[3:])
HUGE = (10**9, 2**31, 10**12, 10**18, 2**63 - 1, 2**64, -1, -2**31, -2**63)
SECONDS = 5.0
# These change the process as a whole, write files, or wait for others.
LEFT_OUT = {"save", "load", "set_default_dtype", "set_num_threads", "set_printoptions", "set_grad_enabled", "save_safetensors", "load_safetensors",
            "jit", "compile", "manual_seed", "set_rng_state", "seed", "set_default_device", "use_deterministic_algorithms", "share_memory_",
            "set_flush_denormal", "set_num_interop_threads", "set_default_tensor_type", "from_file"}
TENSORS = [gradus.ones(3), gradus.ones(2, 3), gradus.ones(1, 1, 4), gradus.ones(1, 1, 4, 4), gradus.tensor([0, 1, 1]),
           gradus.ones(3, 4, dtype=gradus.complex64), gradus.ones(3, 3)]
MOST_BASES = 2
# How often to repeat work of small steps: it can be interrupted, and no check can tell how much is too much.
COUNTS = {"niter", "num_layers", "num_encoder_layers", "num_decoder_layers"}

spaces = {"gradus": gradus, "gradus.nn.functional": functional, "gradus.fft": gradus.fft, "gradus.linalg": gradus.linalg,
          "gradus.special": gradus.special, "gradus.signal.windows": gradus.signal.windows, "gradus.nn.init": gradus.nn.init,
          "gradus.masked": gradus.masked, "gradus.sparse": gradus.sparse, "gradus.func": gradus.func, "gradus.nn.utils": gradus.nn.utils,
          "gradus.nn.utils.rnn": gradus.nn.utils.rnn}
found = {}
for space, module in spaces.items():
    for name, f in sorted(vars(module).items()):
        if callable(f) and not name.startswith("_") and name not in LEFT_OUT and not isinstance(f, type):
            found.setdefault(f, f"{space}.{name}")
calls = [(name, f, None) for f, name in found.items()]
calls += [(f"Tensor.{name}", getattr(gradus.Tensor, name), name) for name in sorted(dir(gradus.Tensor))
          if callable(getattr(gradus.Tensor, name)) and not name.startswith("_") and name not in LEFT_OUT]


def used(cls):
    # a function that makes an object of a class and uses it: layers are called, distributions and samplers are sampled
    def make(*args, **kwargs):
        made = cls(*args, **kwargs)
        if isinstance(made, gradus.distributions.Distribution):
            made.sample()
            made.sample((2, 3))
        elif isinstance(made, gradus.utils.data.Sampler):
            list(itertools.islice(made, 3))
        elif isinstance(made, gradus.nn.Module):
            for x in TENSORS:
                try:
                    made(x)
                except Exception:  # most layers take one of the tensors
                    pass

    make.__signature__ = inspect.signature(cls)
    return make


classes = {"gradus.nn": gradus.nn, "gradus.distributions": gradus.distributions, "gradus.utils.data": gradus.utils.data}
calls += [(f"{space}.{name}", used(cls), None) for space, module in classes.items() for name, cls in sorted(vars(module).items())
          if isinstance(cls, type) and not name.startswith("_")]
calls = [c for c in calls if only in c[0]]


def parameters(f):
    # names of those that must be given, of the others, and whether more may follow
    try:
        all_of = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return ["a", "b"], [], True
    must = [p.name for p in all_of if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    may = [p.name for p in all_of if p.default is not p.empty]
    return must, may, any(p.kind is p.VAR_POSITIONAL for p in all_of)


panics, slow = [], []


def attempt(shown, f, *args, **kwargs):
    # the outcome: "ok", or the exception's class
    if shown() in skipped:
        return MemoryError
    os.write(1, f"{current} {shown()}\n".encode())
    begin = time.process_time()
    try:
        f(*args, **kwargs)
        outcome = "ok"
    except Exception as error:
        outcome = type(error)
    except BaseException as error:  # a panic of the native module
        outcome = type(error)
        panics.append(f"{shown()}: {error}")
    if time.process_time() - begin > SECONDS:
        slow.append(shown())
    return outcome


def text(x):
    return f"ones{list(x.shape)}" if isinstance(x, gradus.Tensor) else repr(x)


def tried(name, f, args, kwargs=None):
    kwargs = kwargs or {}
    args = [a.clone() if isinstance(a, gradus.Tensor) else a for a in args]
    shown = lambda: f"{name}({', '.join([text(a) for a in args] + [f'{k}={text(v)}' for k, v in kwargs.items()])})"
    return attempt(shown, f, *args, **kwargs)


def bases(name, f, must, more, method):
    # small arguments that the function takes
    kinds = list(itertools.product((True, False), repeat=min(len(must), 4)))
    kinds = [k for k in kinds if not method or (k and k[0])] or [()]
    got = []
    for kind in kinds:
        for x in TENSORS if any(kind) else [None]:
            args = [x if k else 1 for k in kind] + [1] * (len(must) - len(kind))
            if tried(name, f, args) == "ok":
                got.append(args)
                break
        if len(got) == MOST_BASES:
            break
    return got or [([TENSORS[1], 1, 1, 1] if method or len(must) > 1 else [1])[:max(len(must), 1)]]


def examine(name, f, method):
    must, may, more = parameters(f)
    for args in bases(name, f, must, more, method):
        places = [i for i, a in enumerate(args) if isinstance(a, int) and must[i:i + 1] != ["num_layers"]]
        places += [len(args)] * more
        keys = [k for k in may if k not in COUNTS | {"dtype", "device", "requires_grad", "out", "generator", "layout", "pin_memory", "memory_format"}]
        for huge in HUGE:
            for i in places:
                if tried(name, f, [*args[:i], huge, *args[i + 1:]]) is TypeError:
                    tried(name, f, [*args[:i], (huge, 2), *args[i + 1:]])
                    tried(name, f, [*args[:i], (huge,), *args[i + 1:]])
            if more:
                tried(name, f, [*args, huge, huge])
                tried(name, f, [*args, 0, huge])
            if len(places) > 1:
                tried(name, f, [huge if i in places else a for i, a in enumerate(args)])
            for key in keys:
                if tried(name, f, args, {key: huge}) is TypeError:
                    tried(name, f, args, {key: (huge, huge)})
                    tried(name, f, args, {key: (huge,)})


used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 29),) * 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for current, (name, f, method) in enumerate(calls):
    if current >= start:
        examine(name, f, method)
# Calls that only sizes of operands make large.
if not only:
    current = len(calls)
    for text in ("zeros(5 * 10**7).tolist()", "zeros(1).expand(10**10).tolist()", "zeros(1).expand(10**10).sum()", "zeros(1).expand(10**10).contiguous()",
                 "zeros(0, 10**10).T @ zeros(0, 10**10)", "block_diag(zeros(0, 10**10), zeros(10**10, 0))", "zeros(0, 10**18, 10**18).sum()",
                 "bincount(tensor([10**15]))", "fft.irfft(ones(3), n=10**12)", "fft.hfft(ones(3), n=10**12)",
                 "istft(ones(3, 4, dtype=complex64), 4, length=2**63 - 1)", "str(zeros(1).expand(10**10))", "tensordot(ones(5), ones(5), 10**9)",
                 "combinations(ones(5), 10**9)", "nn.functional.interpolate(ones(1, 1, 3), 10**9)", "as_strided(ones(3), (10**9, 10**9), (0, 0)).sum()"):
        attempt(lambda: text, lambda: eval(text, {**vars(gradus), "str": str}))
for line in panics:
    os.write(1, f"! panic {line}\n".replace("\n", " ").encode() + b"\n")
for line in slow:
    os.write(1, f"! slow {line}\n".encode())
os.write(1, b"=\n")
"""


# Lists of more elements than there is memory for, at limits from none to enough.
LISTS = r"""
import resource, sys
import gradus

shapes = [(300_000,), (30_000, 10), (300_000, 1), (1, 300_000), (3, 100, 1000)]
gradus.ones(5000).tolist()
ends = {"list": 0, "MemoryError": 0}
for shape in shapes:
    for dtype in ("float32", "int64", "complex64", "bool", "bfloat16"):
        x = gradus.arange(300_000).reshape(shape).to(getattr(gradus, dtype))
        for megabytes in (1, 3, 6, 12, 25, 100):
            used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 1_000_000, resource.RLIM_INFINITY))
            try:
                y = x.tolist()
                ends["list"] += 1
            except MemoryError:
                y = None
                ends["MemoryError"] += 1
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
            assert y is None or len(y) == shape[0]
            del y
print(ends["list"], ends["MemoryError"])
"""


def test_a_list_that_memory_cannot_hold_raises():
    packages = os.pathsep.join([str(Path(gradus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", LISTS], capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": packages})
    assert done.returncode == 0, done.stderr[-2000:]
    lists, errors = map(int, done.stdout.split())
    assert lists + errors == 150 and lists >= 25 and errors >= 25, done.stdout


def findings(only="", most=10):
    """Returns one line for each abort, panic and slow call, and the number of calls. Restarts workers that ended."""
    packages = os.pathsep.join([str(Path(gradus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": packages, "RUST_BACKTRACE": "0"}
    start, calls, found, skipped = "0", 0, [], []
    while True:
        command = [sys.executable, "-c", WORKER, start, only, *skipped]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, env=environment)
            out, end = done.stdout.decode(), f"exit {done.returncode}: {done.stderr.decode()[-300:]}"
        except subprocess.TimeoutExpired as late:
            out, end = (late.stdout or b"").decode(), "it does not end"
        lines = out.splitlines()
        found += [line[2:] for line in lines if line.startswith("! ")]
        calls += sum(line[0].isdigit() for line in lines)
        if lines and lines[-1] == "=":
            return found, calls
        start, call = next((line for line in reversed(lines) if line[0].isdigit()), "0 the start").split(" ", 1)
        found.append(f"{call}: {end}")
        if len(found) >= most or call in skipped:
            return found, calls
        skipped.append(call)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space")
def test_no_size_ends_the_process():
    found, calls = findings()
    assert not found, "\n".join(found)
    assert calls > 20_000  # fewer means that names were not found


if __name__ == "__main__":
    lines, count = findings("".join(sys.argv[1:]), 200)
    print("\n".join(lines))
    print(f"{count} calls, {len(lines)} findings")
