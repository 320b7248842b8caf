"""Tensors on a GPU (`wgpu`): creation, moves, values and gradients of operations against PyTorch on the CPU, pinned errors."""

import copy
import gc
import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import gradus
import gradus.nn.functional as F
from oracle import needs_torch, torch

MISSING = "a driver for WebGPU (such as mesa-vulkan-drivers) is not installed: there is no device"

pytestmark = pytest.mark.skipif(not gradus.wgpu.is_available(), reason=MISSING)

WGPU = gradus.device("wgpu:0")
DTYPES = "float32 float16 bfloat16 int8 uint8 int32 int64 bool complex64".split()


def rand(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# --- names and attributes ---------------------------------------------------------------------------------------------


def test_devices_by_name():
    assert gradus.device("wgpu") == gradus.device("wgpu", None) != WGPU
    assert repr(gradus.device("wgpu:0")) == "device(type='wgpu', index=0)"
    x = gradus.zeros(2, device="wgpu")
    assert (x.device, x.is_wgpu, x.is_cpu, x.is_cuda, x.get_device()) == (WGPU, True, False, False, 0)
    y = x.cpu()
    assert (y.device, y.is_wgpu, y.is_cpu, y.get_device()) == (gradus.device("cpu"), False, True, -1)
    with pytest.raises(RuntimeError, match=r"wgpu:7.*no such adapter"):
        gradus.zeros(2, device="wgpu:7")
    with pytest.raises(RuntimeError, match='no device "cuda"; the devices are "cpu" and "wgpu"'):
        gradus.zeros(2, device="cuda")
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .*, wgpu device type at start of device string: toaster"):
        gradus.zeros(2, device="toaster")
    with pytest.raises(RuntimeError, match="CPU device index must be -1 or zero, got 1"):
        gradus.zeros(2, device="cpu:1")
    with pytest.raises(RuntimeError, match="no CUDA device"):
        x.cuda()


def test_queries():
    assert gradus.wgpu.device_count() >= 1 and gradus.wgpu.current_device() == 0
    assert gradus.wgpu.get_device_name() == gradus.wgpu.get_device_properties("wgpu:0").name != ""
    assert gradus.accelerator.is_available() and gradus.accelerator.current_accelerator() == gradus.device("wgpu")
    assert gradus.accelerator.device_count() == gradus.wgpu.device_count()
    gradus.accelerator.synchronize()
    with pytest.raises(RuntimeError, match='no device "wgpu:99"'):
        gradus.wgpu.get_device_name(99)


def test_repr():
    x = gradus.tensor([1.0, 2.5], device="wgpu")
    assert repr(x) == "tensor([1.0000, 2.5000], device='wgpu:0')"
    assert repr(gradus.zeros(2, 0, device="wgpu", dtype=gradus.int64)) == "tensor([], device='wgpu:0', size=(2, 0), dtype=gradus.int64)"
    assert repr(x.requires_grad_()) == "tensor([1.0000, 2.5000], device='wgpu:0', requires_grad=True)"
    assert f"{x[0]:.1f}" == "1.0"


# --- moves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_round_trip(name):
    x = gradus.tensor([[0, 1, 2], [3, 100, 5]]).to(getattr(gradus, name))
    for view in (x, x.T, x[:, 1:], x[1].expand(3, 3), x[0, 1], x[:0]):
        there = view.to("wgpu")
        assert (there.device, there.dtype, there.shape) == (WGPU, x.dtype, view.shape)
        assert there.tolist() == view.tolist() and there.cpu().tolist() == view.tolist()


def test_moves_keep_identity_where_nothing_changes():
    x, y = gradus.ones(2), gradus.ones(2, device="wgpu")
    assert x.cpu() is x and x.to("cpu") is x and y.to("wgpu") is y and y.wgpu() is y and y.wgpu(0) is y
    assert y.to("wgpu", copy=True) is not y
    assert y.to(x).device == x.device and x.to(y.int()).dtype == gradus.int32
    assert x.to("wgpu", gradus.float16).dtype == gradus.float16
    assert y.to(device="cpu", dtype=gradus.float64).dtype == gradus.float64
    assert gradus.ones(2, dtype=gradus.float64).to("wgpu", gradus.float32).device == WGPU
    with pytest.raises(ValueError, match="takes a wgpu device"):
        x.wgpu("cpu")


def test_in_place_methods_make_tensors_on_the_device():
    x = gradus.tensor([1.0, 2.0, 3.0], device="wgpu")
    assert x.resize_(2, 3).device == WGPU and x.tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    y = gradus.zeros(3, 2, device="wgpu").fill_diagonal_(4)
    assert y.device == WGPU and y.tolist() == [[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]]


def test_moves_are_differentiable():
    x = gradus.tensor([1.0, 2.0], requires_grad=True)
    (x.to("wgpu").square().sum().cpu() + x.sum()).backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [3.0, 5.0]
    leaf = gradus.tensor([1.0, 2.0], device="wgpu", requires_grad=True)
    (leaf * leaf).sum().backward()
    assert leaf.is_leaf and leaf.grad.device == WGPU and leaf.grad.tolist() == [2.0, 4.0]


# --- creation ---------------------------------------------------------------------------------------------------------

CREATIONS = {
    "tensor": lambda **k: gradus.tensor([[1, 2], [3, 4]], **k),
    "as_tensor": lambda **k: gradus.as_tensor([1.0, 2.0], **k),
    "as_tensor of an array": lambda **k: gradus.as_tensor(rand(3), **k),
    "asarray": lambda **k: gradus.asarray([1.0, 2.0], **k),
    "zeros": lambda **k: gradus.zeros(2, 3, **k),
    "ones": lambda **k: gradus.ones((300,), **k),
    "empty": lambda **k: gradus.empty(2, **k),
    "full": lambda **k: gradus.full((100, 2), 3, **k),
    "arange": lambda **k: gradus.arange(5, **k),
    "arange of floats": lambda **k: gradus.arange(0, 100, 0.5, **k),
    "linspace": lambda **k: gradus.linspace(0, 1, 50, **k),
    "logspace": lambda **k: gradus.logspace(0, 1, 5, **k),
    "eye": lambda **k: gradus.eye(3, **k),
    "tril_indices": lambda **k: gradus.tril_indices(3, 3, **k),
    "rand": lambda **k: gradus.rand(1000, **k),
    "randn": lambda **k: gradus.randn(1000, **k),
    "randint": lambda **k: gradus.randint(0, 9, (1000,), **k),
    "randperm": lambda **k: gradus.randperm(100, **k),
    "normal": lambda **k: gradus.normal(1.0, 2.0, (5,), **k),
    "hann_window": lambda **k: gradus.hann_window(8, **k),
    "scalar_tensor": lambda **k: gradus.scalar_tensor(2.0, **k),
    "empty_strided": lambda **k: gradus.empty_strided((2, 3), (1, 2), **k),
    "fftfreq": lambda **k: gradus.fft.fftfreq(5, **k),
    "signal window": lambda **k: gradus.signal.windows.gaussian(5, **k),
    "range": lambda **k: gradus.range(1, 4, **k),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_creation(name):
    make = CREATIONS[name]
    gradus.manual_seed(3)
    expected = make()
    gradus.manual_seed(3)
    there = make(device="wgpu")
    gradus.manual_seed(3)
    with WGPU:
        by_default = make()
    for found in (there, by_default):
        assert (found.device, found.dtype, found.shape) == (WGPU, expected.dtype, expected.shape)
        assert found.tolist() == expected.tolist()


def test_like_and_new():
    x = gradus.ones(2, 3, device="wgpu")
    made = [gradus.zeros_like(x), gradus.ones_like(x), gradus.empty_like(x), gradus.full_like(x, 2), gradus.rand_like(x), gradus.randn_like(x),
            gradus.randint_like(x, 5), x.new_zeros(2), x.new_ones(2), x.new_empty(2), x.new_full((2,), 1.0), x.new_tensor([1, 2]),
            gradus.bernoulli(x), gradus.normal(x, 1.0), gradus.tensor(x), gradus.as_tensor(x), gradus.clone(x), copy.deepcopy(x)]
    assert {t.device for t in made} == {WGPU}
    with WGPU:
        y = gradus.ones(2, device="cpu")
        assert {t.device.type for t in (y, y.new_zeros(2), gradus.zeros_like(y), gradus.tensor(y))} == {"cpu"}
    assert gradus.zeros_like(x, device="cpu").device.type == "cpu"
    assert gradus.zeros(2, device="wgpu", requires_grad=True).requires_grad


LAYERS = {
    "Linear": (2, 3), "Bilinear": (2, 3, 4), "Conv1d": (1, 2, 3), "Conv2d": (1, 2, 3), "Conv3d": (1, 2, 3), "ConvTranspose1d": (1, 2, 3),
    "ConvTranspose2d": (1, 2, 3), "ConvTranspose3d": (1, 2, 3), "BatchNorm1d": (3,), "BatchNorm2d": (3,), "BatchNorm3d": (3,), "SyncBatchNorm": (3,),
    "LayerNorm": (3,), "RMSNorm": (3,), "GroupNorm": (1, 3), "Embedding": (4, 2), "EmbeddingBag": (4, 2), "PReLU": (3,), "RNN": (2, 3), "LSTM": (2, 3),
    "GRU": (2, 3), "RNNCell": (2, 3), "LSTMCell": (2, 3), "GRUCell": (2, 3), "MultiheadAttention": (4, 2), "TransformerEncoderLayer": (4, 2, 3),
    "TransformerDecoderLayer": (4, 2, 3), "Transformer": (4, 2, 1, 1, 3),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    """Parameters and buffers are on the device and of the dtype that the layer is made with."""
    layer = getattr(gradus.nn, name)(*LAYERS[name], device="wgpu", dtype=gradus.float16)
    state = [x for x in layer.state_dict().values() if x.is_floating_point()]
    assert state and {(x.device, x.dtype) for x in state} == {(WGPU, gradus.float16)}


def test_default_device():
    assert gradus.get_default_device() == gradus.device("cpu")
    gradus.set_default_device("wgpu")
    try:
        assert gradus.get_default_device() == gradus.zeros(1).device == WGPU
        with gradus.device("cpu"):
            assert gradus.zeros(1).device.type == "cpu"
            with gradus.device("wgpu"):
                assert gradus.zeros(1).device == WGPU
        seen = []
        other = threading.Thread(target=lambda: seen.append(gradus.zeros(1).device.type))
        other.start(), other.join()
        assert seen == ["cpu"]  # each thread has a default of its own, as in PyTorch
        assert gradus.nn.Linear(2, 3).weight.device == WGPU
        assert gradus.from_numpy(rand(2)).device.type == "cpu"
        x = gradus.ones(3, device="cpu")
        x[gradus.tensor([0, 2], device="cpu")] = 5  # tensors that functions make internally do not use the default device
        assert x.diag().cumsum(0).device.type == "cpu" and x.tolist() == [5, 1, 5]
    finally:
        gradus.set_default_device(None)
    assert gradus.get_default_device() == gradus.device("cpu")

    @gradus.device("wgpu")
    def make():
        return gradus.zeros(1)

    assert make().device == WGPU


def test_generators_draw_the_same_numbers_for_every_device():
    for draw in (lambda d: gradus.randn(700, generator=gradus.Generator().manual_seed(4), device=d),
                 lambda d: gradus.empty(70, device=d).uniform_(generator=gradus.Generator().manual_seed(4)),
                 lambda d: gradus.zeros(70, device=d).normal_(generator=gradus.Generator(device=d).manual_seed(4)),
                 lambda d: gradus.full((50,), 0.3, device=d).bernoulli(generator=gradus.Generator().manual_seed(4)),
                 lambda d: gradus.multinomial(gradus.ones(9, device=d), 4, generator=gradus.Generator().manual_seed(4))):
        assert draw("wgpu").tolist() == draw("cpu").tolist() and draw("wgpu").device == WGPU
    gradus.manual_seed(1)
    a = F.dropout(gradus.ones(40, 50, device="wgpu"), 0.5)
    gradus.manual_seed(1)
    assert a.tolist() == F.dropout(gradus.ones(40, 50), 0.5).tolist()


# --- operations -------------------------------------------------------------------------------------------------------

A, B, V = rand(4, 6), rand(4, 6, seed=1), rand(6, seed=2)
IMAGE, KERNEL = rand(2, 3, 8, 8), rand(5, 3, 3, 3, seed=3) * 0.2
IDS, CLASSES = np.array([3, 0, 3, 1]), np.array([5, 0, 2, 2])
MASK = A > 0

#: Expressions of a library `t`, its functional module `f`, and tensors; float tensors are differentiated.
OPERATIONS = {
    "elementwise": (lambda t, f, a, b: (a * b + t.sin(a) - t.exp(b) / (1 + a * a)).tanh(), A, B),
    "numbers": (lambda t, f, a: 2 * a - 1 + a**2 / 3, A),
    "broadcast": (lambda t, f, a, v: a * v + v[0], A, V),
    "where": (lambda t, f, a, b, m: t.where(m, a, b) + a.masked_fill(m, 0.5), A, B, MASK),
    "clamp and abs": (lambda t, f, a: a.clamp(-0.5, 0.5) + a.abs(), A),
    "gelu": (lambda t, f, a: f.gelu(a) + f.silu(a), A),
    "sum": (lambda t, f, a: a.sum(0) * a.mean() + a.sum(), A),
    "mean and var": (lambda t, f, a: (a.mean(1), a.var(1), a.std(0)), A),
    "amax": (lambda t, f, a: (a.amax(1), a.max(0).values, a.min()), A),
    "logsumexp": (lambda t, f, a: t.logsumexp(a, 1), A),
    "norm": (lambda t, f, a: a.norm() + t.linalg.vector_norm(a, dim=1).sum(), A),
    "matmul": (lambda t, f, a, b: a @ b.T, A, B),
    "mv": (lambda t, f, a, v: a @ v, A, V),
    "bmm": (lambda t, f, a, b: t.bmm(a, b.transpose(1, 2)), rand(3, 4, 5), rand(3, 2, 5, seed=1)),
    "einsum": (lambda t, f, a, b: t.einsum("ij,kj->ki", a, b), A, B),
    "linear": (lambda t, f, a, w, b: f.linear(a, w, b), A, rand(3, 6, seed=4), rand(3, seed=5)),
    "softmax": (lambda t, f, a: t.softmax(a, -1) + t.log_softmax(a, 0), A),
    "layer_norm": (lambda t, f, a, v: f.layer_norm(a, (6,), v, v), A, V),
    "batch_norm": (lambda t, f, a: f.batch_norm(a, None, None, training=True), A),
    "conv2d": (lambda t, f, x, w: f.conv2d(x, w, padding=1, stride=2), IMAGE, KERNEL),
    "max_pool2d": (lambda t, f, x: f.max_pool2d(x, 2), IMAGE),
    "avg_pool2d": (lambda t, f, x: f.avg_pool2d(x, 2), IMAGE),
    "embedding": (lambda t, f, i, w: f.embedding(i, w), IDS, A),
    "cross_entropy": (lambda t, f, a, i: f.cross_entropy(a, i), A, CLASSES),
    "mse_loss": (lambda t, f, a, b: f.mse_loss(a, b) + f.smooth_l1_loss(a, b), A, B),
    "bce": (lambda t, f, a, b: f.binary_cross_entropy_with_logits(a, b.sigmoid()), A, B),
    "attention": (lambda t, f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), *(rand(2, 2, 5, 4, seed=i) for i in range(3))),
    "sort": (lambda t, f, a: t.sort(a, dim=1), A),
    "topk": (lambda t, f, a: t.topk(a, 3, dim=1), A),
    "argmax": (lambda t, f, a: (a.argmax(1), a.argmin()), A),
    "cumsum": (lambda t, f, a: a.cumsum(0) + a.cumsum(1), A),
    "cat and stack": (lambda t, f, a, b: (t.cat([a, b], 1), t.stack([a, b])), A, B),
    "gather": (lambda t, f, a, i: a.gather(0, i.reshape(1, 4)) + a.index_select(0, i)[:1, :4], A, IDS),
    "scatter_add": (lambda t, f, a, b, i: a.index_add(0, i, b), A, B, IDS),
    "index": (lambda t, f, a, i: (a[i], a[:, 1:3], a[1], a[i, 2], a[..., ::2]), A, IDS),
    "mask": (lambda t, f, a, m: a[m], A, MASK),
    "nonzero": (lambda t, f, m: m.nonzero(), MASK),
    "tril": (lambda t, f, a: a.tril() + t.triu(a, 1) * 2, A),
    "flip and roll": (lambda t, f, a: a.flip(0) + a.roll(1, 1), A),
    "repeat": (lambda t, f, a: (a.repeat(2, 1), a.repeat_interleave(2, 0), a.expand(2, 4, 6)), A),
    "diag": (lambda t, f, v: t.diag(v) + t.outer(v, v), V),
    "compare": (lambda t, f, a, b: ((a > b).sum(), (a == a).all(), (a > 100).any()), A, B),
    "integers": (lambda t, f, i, j: (i + j, i * j, i // (j + 1), i % (j + 1), i & j, i.sum(), i.float() / 2), IDS, CLASSES),
    "composed": (lambda t, f, v: t.trapezoid(v) + t.cdist(v[None], v[None] + 1).sum() + t.logcumsumexp(v, 0).sum(), V),
    "pad": (lambda t, f, a: f.pad(a, (1, 2)), A),
    "one_hot": (lambda t, f, i: f.one_hot(i, 6), IDS),
    "interpolate": (lambda t, f, x: f.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    "complex": (lambda t, f, a, b: (t.complex(a, b).abs(), t.fft.rfft(a).abs()), A, B),
}


def results(value):
    return [r for part in value for r in results(part)] if isinstance(value, (tuple, list)) else [value]


@needs_torch
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    """Values and gradients equal those of PyTorch, and are on the device."""
    function, *arrays = OPERATIONS[name]
    theirs = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    ours = [gradus.tensor(x, device="wgpu", requires_grad=x.dtype.kind == "f") for x in arrays]
    expected, found = results(function(torch, torch.nn.functional, *theirs)), results(function(gradus, F, *ours))
    assert len(expected) == len(found)
    rng = np.random.default_rng(9)
    total, other = 0, 0
    for a, b in zip(found, expected):
        assert (a.device, tuple(a.shape), str(a.dtype).split(".")[1]) == (WGPU, tuple(b.shape), str(b.dtype).split(".")[1])
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=2e-5, atol=2e-6)
        assert a.requires_grad == b.requires_grad
        if a.requires_grad:
            cotangent = rng.standard_normal(tuple(b.shape)).astype(np.float32)
            total, other = total + (a * gradus.tensor(cotangent, device="wgpu")).sum(), other + (b * torch.tensor(cotangent)).sum()
    if isinstance(total, gradus.Tensor):
        total.backward()
        other.backward()
        for a, b in zip(ours, theirs):
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None:
                assert a.grad.device == WGPU
                np.testing.assert_allclose(a.grad.cpu().numpy(), b.grad.numpy(), rtol=5e-5, atol=5e-6)


def test_functions_in_wide_dtypes_run_on_the_cpu():
    """Composed functions that compute in float64 move their operands to the CPU, and their results back."""
    rates = gradus.full((40,), 3.0)
    gradus.manual_seed(0)
    expected = gradus.poisson(rates)
    gradus.manual_seed(0)
    found = gradus.poisson(rates.to("wgpu"))
    assert found.device == WGPU and found.tolist() == expected.tolist()


# --- in place and views -----------------------------------------------------------------------------------------------


def in_place(t, x, y):
    x.add_(1)
    x += y
    x *= 2
    x[0] = 1
    x[1:3, 2] = t.tensor([7.0, 8.0], device=x.device)
    x[x < 0] = -1.5
    x[t.tensor([3, 3], device=x.device), t.tensor([0, 1], device=x.device)] = 9.0
    view = x.T[1:4]
    view.mul_(0.5)
    view[0].fill_(3)
    x.view(-1)[-2:] = y.reshape(-1)[:2]
    x.diagonal().zero_()
    x[:, -1].copy_(y[:, 0])
    row = x[2]
    row -= 4
    x.clamp_(-5, 5).index_fill_(0, t.tensor([1], device=x.device), 2.5)
    return x, view


@needs_torch
def test_in_place():
    x, y = rand(4, 6), rand(4, 6, seed=1)
    expected = in_place(torch, torch.tensor(x), torch.tensor(y))
    found = in_place(gradus, gradus.tensor(x, device="wgpu"), gradus.tensor(y, device="wgpu"))
    for a, b in zip(found, expected):
        assert a.device == WGPU
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-6)


@needs_torch
def test_in_place_with_gradients():
    def run(t, x, y):
        z = x * 2
        z[1] = y[0]
        z += y
        z[:, 0].mul_(3)
        z.square().sum().backward()
        return x.grad, y.grad

    arrays = rand(3, 4), rand(3, 4, seed=1)
    expected = run(torch, *(torch.tensor(x, requires_grad=True) for x in arrays))
    found = run(gradus, *(gradus.tensor(x, device="wgpu", requires_grad=True) for x in arrays))
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-5)


def test_writes_across_devices():
    x, y = gradus.zeros(3), gradus.tensor([1.0, 2.0, 3.0], device="wgpu")
    assert x.copy_(y).device.type == "cpu" and x.tolist() == [1, 2, 3]
    y[1:] = gradus.tensor([8.0, 9.0], dtype=gradus.float64)
    y[0] = gradus.tensor(5.0)
    assert y.device == WGPU and y.tolist() == [5, 8, 9]
    y.data = gradus.ones(3)
    assert y.device.type == "cpu" and y.tolist() == [1, 1, 1]


# --- functions of functions -------------------------------------------------------------------------------------------


def test_jit():
    w = gradus.tensor(rand(6, 3), device="wgpu")

    @gradus.jit
    def f(x):
        return (x @ w.to(x.device)).exp().sum(0) + gradus.arange(3, device=x.device)

    x = gradus.tensor(A, device="wgpu")
    for _ in range(3):
        found = f(x)
        assert found.device == WGPU
        np.testing.assert_allclose(found.cpu().numpy(), np.exp(A @ rand(6, 3)).sum(0) + np.arange(3), rtol=1e-5)
        w.mul_(1.0)

    @gradus.jit
    def g(x):
        assert x.device.type == ("wgpu" if x.is_wgpu else "cpu")
        return x.sin() * 2

    for _ in range(2):
        assert g(x.cpu()).device.type == "cpu" and g(x).device == WGPU
        np.testing.assert_allclose(g(x).cpu().numpy(), np.sin(A) * 2, rtol=1e-5, atol=1e-6)


@needs_torch
def test_jit_with_gradients():
    def run(t, jit, **where):
        x, w = t.tensor(A, requires_grad=True, **where), t.tensor(rand(6, 3), requires_grad=True, **where)
        f = jit(lambda x: (x @ w).tanh())
        for _ in range(2):
            f(x).sum().backward()
        return x.grad.cpu().numpy(), w.grad.cpu().numpy()

    for a, b in zip(run(gradus, gradus.jit, device="wgpu"), run(torch, lambda f: f)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_jit_draws_the_same_numbers():
    def run(device):
        gradus.manual_seed(2)
        f = gradus.jit(lambda x: F.dropout(x, 0.5) * x)
        x = gradus.ones(40, device=device, requires_grad=True)
        return [f(x).tolist() for _ in range(2)]

    assert run("wgpu") == run("cpu")


def test_transforms():
    x = gradus.tensor(A, device="wgpu")

    def f(v):
        return (v.sin() * v).sum()

    grad = gradus.func.grad(f)(x)
    assert grad.device == WGPU
    np.testing.assert_allclose(grad.cpu().numpy(), np.cos(A) * A + np.sin(A), rtol=1e-5, atol=1e-6)
    rows = gradus.vmap(lambda v: v.cumsum(0) * v.sum())(x)
    assert rows.device == WGPU
    np.testing.assert_allclose(rows.cpu().numpy(), A.cumsum(1) * A.sum(1, keepdims=True), rtol=1e-4, atol=1e-5)
    per_row = gradus.vmap(gradus.func.grad(f))(x)
    np.testing.assert_allclose(per_row.cpu().numpy(), grad.cpu().numpy(), rtol=1e-5, atol=1e-6)
    jac = gradus.func.jacrev(lambda v: v * v)(x[0])
    np.testing.assert_allclose(jac.cpu().numpy(), np.diag(2 * A[0]), rtol=1e-6)


# --- errors -----------------------------------------------------------------------------------------------------------


def test_two_devices_are_refused():
    x, y = gradus.ones(2, 3, device="wgpu"), gradus.ones(2, 3)
    words = "^Expected all tensors to be on the same device, but found at least two devices, wgpu:0 and cpu!$"
    for mixed in (lambda: x + y, lambda: y * x, lambda: x @ y.T, lambda: gradus.cat([x, y]), lambda: gradus.where(x > 0, x, y),
                  lambda: F.linear(x, y), lambda: F.mse_loss(x, y), lambda: gradus.jit(lambda a: a + y)(x), lambda: x.add_(y)):
        with pytest.raises(RuntimeError, match=words):
            mixed()
    assert (x + gradus.tensor(2.0)).tolist() == [[3.0] * 3] * 2  # a scalar tensor of the CPU is accepted too
    assert (2 * x).device == WGPU


def test_float64_is_refused():
    words = "^Cannot convert a wgpu:0 tensor to float64, because the device does not support float64. Please use float32 instead.$"
    x = gradus.ones(2, device="wgpu")
    for wide in (lambda: gradus.ones(2, dtype=gradus.float64, device="wgpu"), lambda: x.double(), lambda: x.to(gradus.float64),
                 lambda: gradus.ones(2, dtype=gradus.float64).to("wgpu"), lambda: gradus.nn.Linear(2, 2).double().to("wgpu")):
        with pytest.raises(TypeError, match=words):
            wide()
    with pytest.raises(TypeError, match="complex128.*Please use complex64 instead"):
        gradus.ones(2, dtype=gradus.complex128).to("wgpu")


def test_arrays_are_refused():
    x = gradus.ones(2, device="wgpu")
    words = "^can't convert wgpu:0 device type tensor to numpy. Use Tensor.cpu\\(\\) to copy the tensor to host memory first.$"
    for array in (x.numpy, lambda: np.asarray(x), lambda: np.array(x)):
        with pytest.raises(TypeError, match=words):
            array()
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    for shared in (x.__dlpack__, x.__dlpack_device__, lambda: np.from_dlpack(x)):
        with pytest.raises(BufferError, match="wgpu:0 cannot be shared by DLPack; use Tensor.cpu"):
            shared()
    with pytest.raises(RuntimeError, match="no address"):
        x.data_ptr()
    one = gradus.tensor([3], device="wgpu")
    assert (one.item(), bool(one), int(one), [10, 11, 12, 13][one], list(gradus.arange(2, device="wgpu"))[1].item()) == (3, True, 3, 13, 1)
    with pytest.raises(IndexError):
        x[gradus.tensor([5], device="wgpu")].tolist()


def test_memory_is_freed():
    gc.collect()
    before = gradus.wgpu.memory_allocated()
    x = gradus.ones(1 << 18, device="wgpu")
    y = x * 2
    assert gradus.wgpu.memory_allocated() >= before + 2 * 4 * (1 << 18)
    assert gradus.wgpu.max_memory_allocated() >= gradus.wgpu.memory_allocated()
    del x, y
    gc.collect()
    gradus.wgpu.synchronize()
    assert gradus.wgpu.memory_allocated() <= before


# --- files ------------------------------------------------------------------------------------------------------------


def test_save_and_load(tmp_path):
    state = {"a": gradus.tensor([1.0, 2.0], device="wgpu"), "b": gradus.tensor([3]), "n": 4}
    path = tmp_path / "state"
    gradus.save(state, path)
    as_saved = gradus.load(path)
    assert as_saved["a"].device == WGPU and as_saved["b"].device.type == "cpu" and as_saved["n"] == 4
    to_cpu = [gradus.load(path, map_location=how) for how in ("cpu", gradus.device("cpu"), {"wgpu:0": "cpu"}, lambda storage, where: storage)]
    assert all(found["a"].device.type == "cpu" and found["a"].tolist() == [1, 2] for found in to_cpu)
    assert gradus.load(path, map_location="wgpu")["b"].device == WGPU
    assert gradus.load(path, map_location={"cpu": "wgpu:0"})["b"].device == WGPU
    assert gradus.load(path, map_location=lambda storage, where: None)["a"].device == WGPU
    assert gradus.load(path, map_location=lambda storage, where: storage.wgpu())["b"].device == WGPU
    buffer = io.BytesIO()
    gradus.save({"w": state["a"]}, buffer)
    buffer.seek(0)
    assert gradus.load(buffer)["w"].device == WGPU
    again = pickle.loads(pickle.dumps(state["a"].requires_grad_()))
    assert (again.device, again.tolist(), again.requires_grad) == (WGPU, [1.0, 2.0], True)


def test_generators_know_their_device():
    assert gradus.Generator().device == gradus.device("cpu")
    generator = gradus.Generator(device="wgpu")
    assert generator.device == WGPU and pickle.loads(pickle.dumps(generator)).device == WGPU
    drawn = gradus.rand(3, generator=generator.manual_seed(4), device="wgpu")
    assert drawn.tolist() == gradus.rand(3, generator=gradus.Generator().manual_seed(4)).tolist()


def test_devices_by_adapter_name():
    word = gradus.wgpu.get_device_name(0).split()[0].strip("(),")
    assert gradus.device(f"wgpu:{word.upper()}") == WGPU and gradus.zeros(2, device=f"wgpu:{word}").device == WGPU
    with pytest.raises(RuntimeError, match="wgpu:toaster: there is no such adapter; wgpu:0 is"):
        gradus.device("wgpu:toaster")
    with pytest.raises(RuntimeError, match="Invalid device string: 'wgpu:'"):
        gradus.device("wgpu:")


@pytest.mark.parametrize("call", ["zeros(N, device='wgpu')", "ones(N, device='wgpu')", "full((N,), 2.0, device='wgpu')", "empty(N, device='wgpu')",
                                  "zeros_like(gradus.zeros(1).expand(N), device='wgpu')", "zeros(1, device='wgpu').new_ones(N)"])
def test_errors_of_sizes_name_the_call(call):
    name = call.rpartition(".")[2].partition("(")[0] if ".new_" in call else call.partition("(")[0]
    largest = gradus.wgpu.get_device_properties(0).facts["largest tensor"]
    n = (int(largest.removesuffix(" MiB")) + 1) << 18
    with pytest.raises(RuntimeError, match=f"^{name}: device wgpu:0: a tensor of {4 * n} bytes is larger than the device's largest binding"):
        eval(f"gradus.{call}", {"gradus": gradus, "N": n})


# --- the end of the process -------------------------------------------------------------------------------------------

BUSY = """
import gradus
q, k, v = [gradus.rand(1, 16, 400, 8, device="wgpu").requires_grad_() for _ in range(3)]
gradus.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
for i in range(3):
    gradus.exp(gradus.ones(1000 + i, device="wgpu") * i).sum()
print("end")
"""


def test_a_process_may_end_while_the_device_works(tmp_path):
    # Without a cache of kernels, the driver still compiles when the program ends.
    for run in range(4):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / str(run))}
        done = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=300, env=environment)
        assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
