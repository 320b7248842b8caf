"""Regression tests of single values, gradients, errors and times of the core."""

import gc
import math
import os
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest

import gradus
from oracle import needs_torch, same, torch

nan, inf = math.nan, math.inf


def both(f):
    """Runs a function of the library with this package and with PyTorch; returns both results."""
    return f(gradus), f(torch)


# Branches that are not taken


def cube_or_root(v):
    return gradus.cond(v > 0, lambda v: (v + 1).sqrt(), lambda v: v**3, v)


def test_untaken_branch_adds_0_to_the_gradient_of_a_batch():
    x = gradus.tensor([-2.0, 3.0], dtype=gradus.float64)
    gradient = gradus.grad(lambda x: gradus.vmap(cube_or_root)(x).sum())(x)
    assert gradient.tolist() == [12.0, 0.25]
    assert gradus.vmap(gradus.grad(cube_or_root))(x).tolist() == gradient.tolist()
    second = gradus.grad(lambda x: gradus.grad(lambda x: gradus.vmap(cube_or_root)(x).sum())(x).sum())(x)
    assert second.tolist() == [-12.0, -1 / 32]
    _, tangent = gradus.jvp(gradus.vmap(cube_or_root), (x,), (gradus.ones_like(x),))
    assert tangent.tolist() == [12.0, 0.25]


@needs_torch
def test_where_multiplies_the_gradient_of_unselected_elements_by_0():
    # As in PyTorch: 0 times NaN is NaN in reverse mode. Forward mode chooses among tangents.
    def f(t):
        v = t.tensor([-2.0, 3.0], dtype=t.float64, requires_grad=True)
        t.where(v > 0, (v + 1).sqrt(), v**3).sum().backward()
        return v.grad

    ours, theirs = both(f)
    same(ours, theirs)
    assert ours[0].isnan() and ours[1] == 0.25
    x = gradus.tensor([-2.0, 3.0], dtype=gradus.float64)
    _, tangent = gradus.jvp(lambda v: gradus.where(v > 0, (v + 1).sqrt(), v**3), (x,), (gradus.ones_like(x),))
    assert tangent.tolist() == [12.0, 0.25]


# Single functions


@needs_torch
def test_gradients_of_pow_at_every_corner():
    bases, exponents = [-2, -1, -0.0, 0.0, 1, 2, nan, inf, -inf], [-1, 0, 0.5, 1, 2, 3, nan, inf, -inf]
    pairs = [(b, e) for b in bases for e in exponents]

    def f(t):
        b, e = (t.tensor(list(v), dtype=t.float64, requires_grad=True) for v in zip(*pairs))
        y = b**e
        y.sum().backward()
        return y, b.grad, e.grad

    same(*both(f))

    def of_numbers(t):
        found = []
        for base in bases:
            e = t.tensor([-1, 0, 0.5, 1, 2, 3], dtype=t.float64, requires_grad=True)
            t.pow(float(base), e).sum().backward()
            found.append(e.grad)
        return found

    same(*both(of_numbers))


@needs_torch
@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
def test_bessel_functions_have_their_derivative_at_0(name):
    def f(t):
        x = t.tensor([0.0, -0.0, 1e-3, -2.0, 29.9, 30.1, -40.0], dtype=t.float64, requires_grad=True)
        y = getattr(t.special, name)(x)
        (y / y.detach().abs().clamp(min=1)).sum().backward()
        return y, x.grad

    same(*both(f), rtol=1e-11)
    if name.startswith("i1"):
        assert f(gradus)[1][0] == 0.5


@needs_torch
def test_acosh_outside_its_domain():
    def f(t):
        x = t.tensor([-3.0, -1.0, -0.5, 0.0, 1.0, 2.0, 1e200, inf, nan], dtype=t.float64, requires_grad=True)
        y = x.acosh()
        y.sum().backward()
        return y, x.grad

    (ours, slope), (theirs, right) = both(f)
    same(ours, theirs)
    same(slope, right)


@needs_torch
@pytest.mark.parametrize("eps", [None, 0.0, 0.2, 0.5, 0.7, 1.0])
def test_logit_with_any_eps(eps):
    def f(t):
        x = t.tensor([-1.0, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 2.0], dtype=t.float64, requires_grad=True)
        y = t.logit(x, eps=eps)
        y.sum().backward()
        return y, x.grad

    same(*both(f))


DIVISIONS = {
    "remainder": lambda a, b: a % b,
    "floor": lambda a, b: a // b,
    "fmod": lambda a, b: gradus.fmod(a, b),
    "trunc": lambda a, b: gradus.div(a, b, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_divided_by_0_are_an_error_eagerly_and_compiled(name):
    f, a = DIVISIONS[name], gradus.tensor([5, -5])
    compiled = gradus.jit(f)
    for g in (f, compiled, gradus.vmap(f), lambda a, b: compiled(a, b)):
        with pytest.raises(RuntimeError, match="cannot be divided by 0 .ZeroDivisionError"):
            g(a, gradus.tensor([2, 0]))
        assert g(a, gradus.tensor([2, 3])).tolist() == f(a, gradus.tensor([2, 3])).tolist()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        gradus.jit(lambda a: f(a, 0))(a)
    # The function reads a divisor from outside, which changes after it was compiled.
    divisor = gradus.tensor([2, 3])
    outer = gradus.jit(lambda a: f(a, divisor))
    assert outer(a).tolist() == f(a, divisor).tolist()
    divisor[0] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        outer(a)
    # Floats have no such error.
    assert not compiled(gradus.tensor([5.0]), gradus.tensor([0.0])).isfinite().any()


# Draws and factorisations of values that are not finite


def test_poisson_of_nan_and_infinity():
    for bad in (nan, -1.0):
        with pytest.raises(RuntimeError, match="invalid Poisson rate"):
            gradus.poisson(gradus.tensor([1.0, bad]))
    draws = gradus.poisson(gradus.tensor([inf, 0.0, 1e6]))
    assert draws[0] == inf and draws[1] == 0 and abs(draws[2].item() - 1e6) < 1e4


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "svd", "svdvals", "eig", "eigvals", "cholesky", "pinv", "matrix_rank"])
def test_factorisations_of_nonfinite_matrices_are_an_error(name, value):
    for n in (2, 3, 8):
        x = gradus.eye(n) + 0.1
        x[0, n - 1] = x[n - 1, 0] = value
        with pytest.raises(gradus.linalg.LinAlgError, match="not finite"):
            getattr(gradus.linalg, name)(x)


@needs_torch
@pytest.mark.parametrize("name", ["inv", "det"])
def test_nan_passes_through_functions_that_do_not_iterate(name):
    def f(t):
        x = t.tensor([[nan, 1.0], [2.0, 3.0]], dtype=t.float64, requires_grad=True)
        y = getattr(t.linalg, name)(x)
        return y

    same(*both(f))
    x = gradus.tensor([[nan, 1.0], [2.0, 3.0]], requires_grad=True)
    gradus.linalg.det(x).backward()
    assert x.grad.isnan().all()


# Long chains


def seconds(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


CHAINS = {
    "slices": ("x[:]", 1),
    "turns": ("x.t()", 2),
    "parts": ("x[..., 0:]", 1),
    "reshapes": ("x.view(4).view(2, 2)", 1),
    "shared": ("x.detach()", 1),
}

CHAIN = """
import time, gradus
x = y = gradus.arange(4.0).reshape(2, 2){leaf}
for _ in range({n}):
    x = {step}
with gradus.set_grad_enabled({recorded}):
    x += 1
assert y.tolist() == x.tolist() == [[1.0, 2.0], [3.0, 4.0]], (x, y)
y *= 2
assert x.tolist() == y.tolist() == [[2.0, 4.0], [6.0, 8.0]], (x, y)
x[0, 1] = -1
assert y.tolist() == x.tolist() == [[2.0, -1.0], [6.0, 8.0]], (x, y)
del x, y
print("done")
"""


@pytest.mark.parametrize("name", CHAINS)
def test_a_long_chain_of_views_is_read_and_written(name):
    step, _ = CHAINS[name]
    # Runs in its own process, because a stack overflow ends the process.
    program = CHAIN.format(n=100_000, step=step, leaf="", recorded=True)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "done", done.stderr[-2000:]


def test_a_long_chain_of_views_takes_linear_time():
    def chain(n):
        x = gradus.zeros(3)
        for _ in range(n):
            x = x[:]
        x += 1

    chain(100)
    short, long = min(seconds(lambda: chain(5_000)) for _ in range(3)), seconds(lambda: chain(100_000))
    assert long < 20 * short * 5, (short, long)


def test_gradients_through_a_long_chain_of_views():
    base = gradus.arange(6.0, dtype=gradus.float64).reshape(2, 3).requires_grad_()
    x = y = base * 2
    for _ in range(50):
        x = x.t()[:, :]
    x *= 3
    y.square().sum().backward()
    assert base.grad.tolist() == (base.detach() * 72).tolist()


def test_tensors_with_a_hundred_thousand_axes():
    n = 100_000
    x = gradus.ones(1).reshape([1] * n)
    calls = [
        lambda: x + 1, lambda: x.sum(), lambda: x.sum(0), lambda: x.permute(*reversed(range(n))), lambda: x.squeeze(),
        lambda: x.unsqueeze(0), lambda: x.flatten(), lambda: x.expand([1] * n), lambda: x[0], lambda: gradus.cat([x, x]),
        lambda: x @ x, lambda: x @ gradus.ones(1), lambda: x @ gradus.ones(5, 1, 3), lambda: x.mean(), lambda: x.softmax(-1),
        lambda: x.expand([0] * 50 + [1] * (n - 50)) @ x, lambda: gradus.tensordot(x, x, 1),
        lambda: gradus.nn.functional.linear(x, gradus.ones(2, 1)),
    ]
    for k, call in enumerate(calls):
        assert seconds(call) < 3, k
    assert repr(x).startswith("tensor(..., dim=100000") and (x[(0,) * (n - 60)] @ x[(0,) * (n - 60)]).dim() == 60
    assert x.sum().item() == 1 and x.permute(*reversed(range(n))).dim() == n and x.squeeze().dim() == 0


def test_products_of_tensors_with_many_axes():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(1,) * 12 + (3,) + (1,) * 9 + (2, 4)), rng.normal(size=(2,) + (1,) * 6 + (4, 5))
    x, y = gradus.tensor(a).requires_grad_(), gradus.tensor(b).requires_grad_()
    product = x @ y
    assert product.shape == (a @ b).shape and np.allclose(product.detach().numpy(), a @ b, rtol=1e-13)
    c = rng.normal(size=product.shape)
    product.backward(gradus.tensor(c))
    to_a, to_b = c @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ c
    assert np.allclose(x.grad.numpy(), to_a.sum(tuple(range(to_a.ndim - 9, to_a.ndim - 2)), keepdims=True), rtol=1e-12)
    assert np.allclose(y.grad.numpy(), to_b.reshape((3, 2) + b.shape[1:]).sum(0), rtol=1e-12)
    row = gradus.nn.functional.linear(x, gradus.tensor(b.reshape(-1, 4)))
    assert np.allclose(row.detach().numpy(), a @ b.reshape(-1, 4).T, rtol=1e-13)
    axes = ([21, 23], [0, 2])
    want = np.tensordot(a, rng.normal(size=(1, 3, 4)) * 0 + 2, axes)
    assert np.allclose(gradus.tensordot(gradus.tensor(a), gradus.full((1, 3, 4), 2.0, dtype=gradus.float64), axes).numpy(), want, rtol=1e-13)
    empty = gradus.ones((0,) * 20 + (2, 3)) @ gradus.ones(3, 4)
    assert empty.shape == (0,) * 20 + (2, 4)
    with pytest.raises(RuntimeError, match="do not broadcast"):
        gradus.ones((2,) + (1,) * 20 + (2, 3)) @ gradus.ones((3,) + (1,) * 20 + (3, 4))


# Hooks


def with_hook_on_itself(leaf):
    x = gradus.ones(2, requires_grad=True)
    y = x if leaf else x * 2
    seen = []
    y.register_hook(lambda g: seen.append((g, y)))
    (y * 3).sum().backward()
    assert len(seen) == 1 and seen[0][1] is y
    return weakref.ref(y)


@pytest.mark.parametrize("leaf", [True, False])
def test_a_hook_that_refers_to_its_own_tensor_is_collected(leaf):
    gone = with_hook_on_itself(leaf)
    gc.collect()
    assert gone() is None


def test_a_post_accumulate_hook_that_refers_to_its_own_leaf_is_collected():
    def make():
        x = gradus.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda _: x.grad.zero_())
        (x * 3).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]
        return weakref.ref(x)

    gone = make()
    gc.collect()
    assert gone() is None


def test_a_hook_stays_as_long_as_its_tensor_is_needed():
    seen = []
    x = gradus.ones(2, requires_grad=True)

    def loss():
        y = x * 2
        y.register_hook(lambda g: seen.append((g.tolist(), y.tolist())))
        return (y * 3).sum()

    z = loss()
    gc.collect()
    z.backward()
    assert seen == [([3.0, 3.0], [2.0, 2.0])]
    kept = []
    x.register_hook(lambda g: kept.append(x))
    gc.collect()
    (x * 1).sum().backward()
    assert len(kept) == 1


def test_an_attribute_that_refers_to_its_own_tensor_is_collected():
    x = gradus.ones(2)
    x.me, gone = x, weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


# Ctrl-C

STOP = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import gradus
{setup}
stopped = []
def stop():
    stopped.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.3, stop).start()
start = time.perf_counter()
try:
    while time.perf_counter() - start < 60:
        {call}
    print("never stopped")
except KeyboardInterrupt:
    print(f"stopped {{time.process_time() - stopped[0]:.3f}}")
"""

# Each call takes seconds.
LONG = {
    "fft of a power of two": ("x = gradus.ones(1 << 23)", "gradus.fft.fft(x)"),
    "fft of a prime": ("x = gradus.ones(4000037)", "gradus.fft.fft(x)"),
    "fft of many": ("x = gradus.ones(200_000, 128)", "gradus.fft.fft(x)"),
    "sort": ("x = gradus.rand(20_000_000)", "x.sort()"),
    "sort of two rows": ("x = gradus.rand(2, 10_000_000)", "x.sort()"),
    "sort of 64 bits": ("x = gradus.rand(10_000_000, dtype=gradus.float64)", "x.sort()"),
    "qr": ("x = gradus.rand(1500, 1500)", "gradus.linalg.qr(x)"),
    "qr of a large matrix": ("x = gradus.rand(3000, 3000)", "gradus.linalg.qr(x, mode='complete')"),
    "cholesky": ("x = 5000 * gradus.eye(4000) + 1", "gradus.linalg.cholesky(x)"),
    "inv of complex numbers": ("x = gradus.rand(3000, 3000) + 1j", "gradus.linalg.inv(x)"),
    "product of many integers": ("x = (gradus.rand(6000, 6000) * 9).to(gradus.int64)", "x @ x"),
    "qr of a tall matrix": ("x = gradus.rand(200_000, 30)", "gradus.linalg.qr(x)"),
    "inv": ("x = gradus.rand(1500, 1500)", "gradus.linalg.inv(x)"),
    "inv of many": ("x = gradus.rand(50_000, 16, 16) + 16 * gradus.eye(16)", "gradus.linalg.inv(x)"),
    "product of f64": ("x = gradus.rand(3000, 3000, dtype=gradus.float64)", "x @ x"),
    "product of integers": ("x = (gradus.rand(2500, 2500) * 9).to(gradus.int64)", "x @ x"),
    "product of complex numbers": ("x = gradus.rand(2000, 2000) + 1j", "x @ x"),
    "product along a long axis": ("x = gradus.rand(64, 2_000_000)", "x @ x.t()"),
    "many small products": ("x = gradus.rand(1_000_000, 8, 8)", "x @ x"),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_stops_a_call_soon(name):
    setup, call = LONG[name]
    program = STOP.format(setup=setup, call=call)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    word, late = (done.stdout.split() + ["", ""])[:2]
    # Processor time instead of clock time, because other programs may use the processor.
    assert word == "stopped" and float(late) < 0.3, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("n", [1 << 15, 3 * (1 << 14), 20011, 2 * 20011, 131 * 137, 1 << 18])
def test_long_fourier_transforms_are_composed_of_short_ones(n):
    x = np.random.default_rng(n).normal(size=(2, n)) + 1j
    for name in ("fft", "ifft"):
        right = getattr(np.fft, name)(x)
        found = getattr(gradus.fft, name)(gradus.tensor(x)).numpy()
        assert np.abs(found - right).max() <= 1e-13 * np.abs(right).max() * math.log2(n), name


# Quantiles


@needs_torch
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_gradients_of_quantiles_by_q(name, dim, keepdim):
    values = np.random.default_rng(3).normal(size=(5, 4))
    if name == "nanquantile":
        values[1, 2] = nan
    weights = np.random.default_rng(4).normal(size=(3, 5, 5))

    def f(t, share):
        x = t.tensor(values, requires_grad=True)
        q = t.tensor(share, dtype=t.float64, requires_grad=True)
        y = getattr(t, name)(x, q, dim, keepdim)
        w = t.tensor(weights).flatten()[: y.numel()].reshape(y.shape)
        (y * w).sum().backward()
        return y, x.grad, q.grad

    for share in ([0.1, 0.55, 1.0], 0.3, 0.0):
        same(f(gradus, share), f(torch, share))


# Pooling


@needs_torch
@pytest.mark.parametrize("kernel, stride, padding, dilation, ceil", [
    (3, 1, 1, 1, False), (3, 2, 1, 1, False), (2, 1, 0, 1, False), (3, 2, 1, 2, True), (5, 3, 2, 1, True), ((3, 2), (1, 2), (1, 0), (2, 1), False),
])
def test_overlapping_max_pools_as_in_pytorch(kernel, stride, padding, dilation, ceil):
    rng = np.random.default_rng(5)
    # Few different values give many ties, of which the first counts.
    values = rng.integers(-2, 3, size=(2, 3, 11, 9)).astype(np.float64)
    values[0, 0, :6, :6] = -inf
    values[1, 2, 3, 4] = nan

    def f(t):
        x = t.tensor(values, requires_grad=True)
        y = t.nn.functional.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode=ceil)
        w = t.tensor(np.random.default_rng(6).normal(size=tuple(y.shape)))
        (y.nan_to_num(0.0, 0.0, 0.0) * w).sum().backward()
        return y, x.grad

    same(*both(f))

    def linear(t):
        x = t.tensor(values[0, 1:], requires_grad=True)
        y = t.nn.functional.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode=ceil)
        w = t.tensor(np.random.default_rng(7).normal(size=tuple(y.shape)))
        g = t.autograd.grad((y.square() * w).sum(), x, create_graph=True)[0]
        return g, t.autograd.grad((g * g).sum(), x)[0]

    same(*both(linear))


def test_the_gradient_of_overlapping_max_pools_takes_few_passes():
    x = gradus.randn(4, 16, 32, 32, requires_grad=True)

    def overlapping():
        gradus.nn.functional.max_pool2d(x, 3, 1, 1).sum().backward()

    def by_index():
        gradus.nn.functional.max_pool2d(x, 3, 1, 1, return_indices=True)[0].sum().backward()

    overlapping(), by_index()
    fast, slow = (min(seconds(f) for _ in range(5)) for f in (overlapping, by_index))
    assert fast < slow, (fast, slow)
