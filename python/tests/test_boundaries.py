"""Tests the boundary of Python and the native module: nested arguments, shared memory, signals, constructors, autograd."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import gradus
import gradus.functional
from gradus import nn


def test_containers_that_contain_themselves_are_refused():
    inside = {}
    inside["a"] = inside
    for call in (gradus.jit(lambda x: 1), gradus.grad(lambda x: x), gradus.vmap(lambda x: x)):
        with pytest.raises(ValueError, match="nested too deep"):
            call(inside)


def test_clones_have_their_own_memory():
    a = np.ones(4, np.float32)
    shared, cloned = gradus.from_numpy(a), gradus.from_numpy(a).clone()
    a[0] = 9
    assert shared.tolist() == [9, 1, 1, 1] and cloned.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i8", ">i4"])
def test_arrays_of_the_other_byte_order(dtype):
    a = np.array([1, 2, -3], dtype)
    assert gradus.tensor(a).tolist() == [1, 2, -3]
    assert gradus.from_numpy(a).tolist() == [1, 2, -3]


def test_the_constructor_behaves_as_in_pytorch():
    assert gradus.Tensor([1, 2]).dtype == gradus.float32
    assert gradus.Tensor(2, 3).shape == (2, 3) and gradus.Tensor(4).shape == (4,)
    assert gradus.Tensor(np.array([1, 2])).dtype == gradus.float32


def test_numpy_scalars_defer_to_tensor_operators():
    p = nn.Parameter(gradus.ones(2))
    product = np.sqrt(4.0) * p
    assert isinstance(product, gradus.Tensor) and product.tolist() == [2, 2] and product.requires_grad


def test_functions_with_their_own_backward():
    class Power(gradus.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x)
            ctx.n = n
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 7 * ctx.n * g * x ** (ctx.n - 1), None  # seven times too large, so that a test can see it

    x = gradus.tensor([2.0, 3.0], requires_grad=True)
    Power.apply(x, 3).sum().backward()
    assert x.grad.tolist() == [84, 189]
    assert gradus.grad(lambda x: Power.apply(x, 3).sum())(x.detach()).tolist() == [84, 189]


def test_frozen_parameters_need_another_program():
    w, b = nn.Parameter(gradus.ones(2)), nn.Parameter(gradus.ones(2))
    optimizer = gradus.optim.SGD([w, b], lr=0.1)

    @gradus.jit
    def step(x):
        optimizer.zero_grad()
        loss = ((w * x + b) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    x = gradus.ones(2)
    assert step(x).item() == 8
    b.requires_grad_(False)
    before = b.tolist()
    step(x)
    assert b.tolist() == before and w.tolist() == pytest.approx([0.36, 0.36])


def test_programs_are_differentiated_and_compiled():
    program = gradus.Program("L = W[i,j] X[j] V[i]")
    w = gradus.ones(2, 3, requires_grad=True)
    program.run(W=w, X=[1.0, 2.0, 3.0], V=[1.0, 2.0])["L"].backward()
    assert w.grad.tolist() == [[1, 2, 3], [2, 4, 6]]
    compiled = gradus.jit(lambda w: program.run(W=w, X=[1.0, 2.0, 3.0], V=[1.0, 2.0])["L"])
    assert compiled(gradus.ones(2, 3)).item() == 18


def test_compiled_functions_can_be_shown_as_equations():
    text = gradus.jit(lambda x: (x * x).sum()).equations(gradus.ones(3), grad=True)
    assert "Y = T1[i]" in text and "Grad_x[i] = x[i] + x[i]" in text


def test_a_function_and_its_gradient_are_one_program():
    x, w = gradus.tensor([[0.5, -1.0, 2.0], [0.3, 0.1, -0.7]]), gradus.tensor([0.2, -0.4, 0.9])
    f = lambda x, w: ((x @ w).tanh() * (x * x).sum(1).exp()).sum()
    text = gradus.jit(f).equations(x, w, grad=True)
    found = gradus.Program(text).run(x=x, w=w)
    assert sorted(found) == ["Grad_w", "Grad_x", "Y"]
    expected = [f(x, w), *gradus.grad(f, argnums=(0, 1))(x, w)]
    for name, value in zip(["Y", "Grad_x", "Grad_w"], expected):
        np.testing.assert_allclose(found[name].numpy(), value.numpy(), rtol=1e-5, err_msg=text)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.parametrize("compiled", [False, True])
def test_a_signal_stops_a_loop(compiled):
    def forever(i):
        return gradus.while_loop(lambda i: i < 10**12, lambda i: i + 1, i)

    stopper = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    x, start = gradus.tensor(0), time.monotonic()
    stopper.start()
    with pytest.raises(KeyboardInterrupt):
        (gradus.jit(forever) if compiled else forever)(x)
    assert time.monotonic() - start < 30 and x.item() == 0


@pytest.mark.parametrize("dtype", "bool uint8 int8 int32 int64 float16 float32 float64 complex64 complex128".split())
def test_arrays_of_all_dtypes_and_layouts(dtype):
    x = gradus.arange(12).reshape(3, 4).to(getattr(gradus, dtype))
    for part in (x, x.t(), x[1:, ::2], x[0, 0], x[:0], x[:, :1].expand(3, 4)):
        a = part.numpy()
        assert a.dtype is np.dtype(dtype) and a.shape == tuple(part.shape) and a.tolist() == part.tolist()
        assert not a.flags.writeable and not a.flags.owndata
        with pytest.raises(ValueError):
            a.flags.writeable = True
    a = gradus.ones(4).to(x.dtype).numpy()  # the array outlives the tensor
    assert gradus.zeros(4).to(x.dtype).numpy().tolist() == [0] * 4 and a.tolist() == [1] * 4


def test_other_threads_run_while_kernels_do():
    x, done, turns = gradus.randn(1500, 1500), threading.Event(), 0

    def work():
        for _ in range(3):
            gradus.mm(x, x)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    worker.join()
    assert turns > 10, turns  # at most one or two, if products held the lock of Python


def test_memory_is_shared_with_numpy_in_both_directions():
    a = np.arange(6, dtype="float32").reshape(2, 3)
    array = getattr(np, "from_dlpack", None) or np._from_dlpack  # the call of older versions
    x = gradus.from_dlpack(a)
    assert array(x).ctypes.data == x.data_ptr() == a.ctypes.data
    assert gradus.from_numpy(a).data_ptr() == a.ctypes.data and gradus.as_tensor(a).numpy().ctypes.data == a.ctypes.data
    part = gradus.arange(6.0).reshape(2, 3)[:, 1:]
    assert array(part).ctypes.data == part.data_ptr() and array(part).tolist() == [[1, 2], [4, 5]]
