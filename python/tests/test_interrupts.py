"""Tests Ctrl-C inside one long routine: the routine ends soon, and existing tensors do not change."""

import os
import signal
import subprocess
import sys

import pytest

# The delay is measured as work done since the signal instead of time, because other programs may use the processor.
STOP = """
stopped = []
def stop():
    stopped.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
def stop_after(seconds):
    threading.Timer(seconds, stop).start()
"""

PROGRAM = """
import os, signal, sys, threading, time
import gradus
gradus.manual_seed(0)
{setup}
kept = [x.clone() for x in given]
{call}  # once, to compile
kept = [x.clone() for x in given]
{stop}
start = time.perf_counter()
stop_after(0.3)
try:
    while time.perf_counter() - start < 60:
        {call}
    print("never stopped")
except KeyboardInterrupt:
    late = time.process_time() - stopped[0]
    assert all(gradus.equal(x, k) for x, k in zip(given, kept)), "an argument was changed"
    print(f"stopped {{late:.3f}}")
"""

# setup, one long call: several seconds each in a debug build, so that stopping only between calls would be late
CASES = {
    "inv": ("x = gradus.randn({n}, {n}); given = [x]", "gradus.linalg.inv(x)", 700),
    "svd": ("x = gradus.randn({n}, {n}); given = [x]", "gradus.linalg.svd(x)", 150),
    "eigh": ("x = gradus.randn({n}, {n}); given = [x]", "gradus.linalg.eigh(x)", 120),
    "qr": ("x = gradus.randn({n}, {n}); given = [x]", "gradus.linalg.qr(x)", 500),
    "cholesky": ("x = gradus.randn({n}, {n}); x = x @ x.t() + {n} * gradus.eye({n}); given = [x]", "gradus.linalg.cholesky(x)", 900),
    "eig": ("x = gradus.randn({n}, {n}); given = [x]", "gradus.linalg.eig(x)", 120),
    "matmul": ("x = gradus.randn({n}, {n}); given = [x]", "x @ x", 3000),
    "sort": ("x = gradus.randn({n}); given = [x]", "x.sort()", 12_000_000),
    "fft": ("x = gradus.randn({n}); given = [x]", "gradus.fft.fft(x)", 8_000_000),
    "exp": ("x = gradus.randn({n}); given = [x]", "x.exp()", 50_000_000),
    "conv": ("x = gradus.randn(8, 64, {n}, {n}); w = gradus.randn(64, 64, 3, 3); given = [x, w]", "gradus.nn.functional.conv2d(x, w)", 160),
}


def stops_soon(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0 and "ignored" not in done.stderr, done.stderr
    word, late = done.stdout.split()
    assert word == "stopped" and float(late) < 1.0, done.stdout


@pytest.mark.parametrize("name", CASES)
def test_a_long_routine_stops(name):
    setup, call, n = CASES[name]
    stops_soon(PROGRAM.format(setup=setup.format(n=n), call=call, stop=STOP))


ONCE = """
import os, signal, sys, threading, time
import gradus
def long(x):
    for _ in range(60_000):
        x = x.sin() * 1.5
    return x.sum()
x = {setup}
{stop}
stop_after({delay})
try:
    {call}
    print("never stopped")
except KeyboardInterrupt:
    print(f"stopped {{time.process_time() - stopped[0]:.3f}}")
"""

# setup, one call that takes many seconds, when to stop it
LONG = {
    "one large product": ("gradus.ones(9000, 9000)", "x @ x", 0.5),
    "a list of all elements": ("gradus.zeros(20_000_000, 2)", "x.tolist()", 0.5),
    "tracing": ("gradus.ones(2)", "gradus.jit(long)(x)", 0.3),
    "compiling": ("gradus.ones(2)", "gradus.jit(long)(x)", 2.5),
    "a gradient": ("gradus.ones(2)", "gradus.grad(long)(x)", 2.5),
}


@pytest.mark.parametrize("name", LONG)
def test_a_single_long_call_stops(name):
    setup, call, delay = LONG[name]
    stops_soon(ONCE.format(setup=setup, call=call, delay=delay, stop=STOP))


FIRST = """
import os, signal, threading, time
import gradus
threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    gradus.rand(30_000_000)  # compiles on the way
    time.sleep(5)
    print("lost")
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_during_a_first_draw_is_not_lost():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "stopped", done.stdout + done.stderr
