"""Functions of `nn.functional` against PyTorch: pools, norms, losses, attention, embeddings, sampling, and their errors.

In an expression `t` is the library, `F` its `nn.functional`, and `x, y, z, w` are the inputs in order. Gradients of all
floating point inputs are compared in float64, from random cotangents.
"""

import time

import numpy as np
import pytest

import gradus
from gradus import nn
from oracle import needs_torch, pull_back, same, tensors, torch

rng = np.random.default_rng(11)


def f(*shape):
    return rng.standard_normal(shape)


def c(*shape):
    return f(*shape) + 1j * f(*shape)


def ints(low, high, *shape):
    return rng.integers(low, high, shape)


image, volume = f(2, 3, 5, 6), f(2, 3, 4, 5, 6)
places, places3 = 1.4 * f(2, 4, 3, 2), 1.4 * f(2, 2, 4, 3, 3)
draws, draws3 = rng.random((2, 3, 2)), rng.random((2, 3, 3))
repeated = np.array([[[0, 2, 2, 5]]])
table, rows = f(6, 4), np.array([[0, 1, 1], [5, 1, 0]])

CASES = [
    # sampling between elements
    *[(f"F.grid_sample(x, y, '{mode}', '{padding}', {corners})", [image, places]) for mode in ("bilinear", "nearest", "bicubic")
      for padding in ("zeros", "border", "reflection") for corners in (False, True)],
    *[(f"F.grid_sample(x, y, '{mode}', '{padding}', {corners})", [volume, places3]) for mode in ("bilinear", "nearest", "bicubic")
      for padding in ("zeros", "border", "reflection") for corners in (False, True)],
    ("F.affine_grid(x, (2, 1, 3, 4), False)", [f(2, 2, 3)]), ("F.affine_grid(x, (2, 1, 3, 4, 5), False)", [f(2, 3, 4)]),
    ("F.affine_grid(x, (2, 1, 3, 1, 5), True)", [f(2, 3, 4)]), ("t.affine_grid_generator(x, (2, 1, 3, 4), True)", [f(2, 2, 3)]),
    ("t.grid_sampler_2d(x, y, 0, 1, True)", [image, places]), ("t.grid_sampler_3d(x, y, 1, 2, False)", [volume, places3]),
    ("t.grid_sampler(x, y, 2, 0, False)", [image, places]),
    ("F.upsample_nearest(x, scale_factor=2)", [image]), ("F.upsample_bilinear(x, size=(7, 3))", [image]),
    # pools
    ("F.fractional_max_pool2d(x, 2, (3, 4), return_indices=True, _random_samples=y.detach())", [image, draws]),
    ("F.fractional_max_pool2d(x, (3, 2), output_ratio=(0.5, 0.7), _random_samples=y.detach())", [image, draws]),
    ("F.fractional_max_pool3d(x, 2, (2, 3, 4), return_indices=True, _random_samples=y.detach())", [volume, draws3]),
    ("F.fractional_max_pool2d(x, 5, 1, _random_samples=y.detach())", [image, draws]),
    ("F.max_pool2d_with_indices(x, 2, 1)", [image]), ("F.adaptive_max_pool2d_with_indices(x, 2)", [image]),
    ("F.max_unpool1d(x[..., [0, 1, 1, 2]], y, 2)", [f(1, 1, 3), repeated]), ("F.max_unpool2d(*F.max_pool2d(x, 3, 1, return_indices=True), 3, 1)", [image]),
    ("F.max_unpool3d(*F.max_pool3d(x, 2, 1, return_indices=True), 2, 1)", [volume]),
    *[(f"F.avg_pool{n}d(x, {more})", [ints(-20, 20, 2, 3, *[7] * n)]) for n in (1, 2, 3)
      for more in ("3", "3, 2, 1", "3, 2, 1, True", "2, 2, 1, False, False", "3, 2, 1, True, False")],
    ("F.avg_pool2d(x, 2, 1, 0, False, True, 3)", [ints(-20, 20, 1, 2, 5, 5)]), ("F.avg_pool2d(x, 2, stride=[])", [image]),
    ("F.max_pool2d(x, 2, stride=[])", [image]),
    # integers stay integers, and keep all digits, which floats do not have
    (f"F.hardtanh(x, {-2**62}, {2**62})", [ints(-5, 9, 12) * (2**40 + 1)]), ("F.threshold(x, -1.5, -7.9)", [ints(-5, 9, 12) * (2**40 + 1)]),
    ("F.hardtanh(x, -1.7, 2.9)", [ints(-5, 9, 12)]), ("F.hardtanh(x)", [ints(-5, 9, 12)]), ("F.relu6(x)", [ints(-5, 9, 12)]),
    ("F.threshold(x, 1.5, 7.9)", [ints(-5, 9, 12)]), ("F.threshold(x, -1.5, -7.9)", [ints(-5, 9, 12)]),
    ("F.local_response_norm(x, 2)", [np.zeros((0, 3, 4), np.int64)]),
    # norms
    ("F.normalize(x, dim=0)", [f()]), ("F.normalize(x, dim=-1)", [f()]), ("F.cosine_similarity(x, y, dim=0)", [f(), f()]),
    ("F.batch_norm(x, x.detach(), x.detach(), training=True)", [np.zeros(0)]), ("F.batch_norm(x, x.detach(), x.detach())", [np.zeros(0)]),
    ("t.native_layer_norm(x, (3, 4), y, z, 1e-5)", [f(2, 3, 4), f(3, 4), f(3, 4)]),
    ("t.native_layer_norm(x, (4,), None, None, 0.5)", [f(2, 3, 4)]),
    ("t.native_group_norm(x, y, z, 2, 6, 4, 3, 1e-5)", [f(2, 6, 4), f(6), f(6)]),
    ("t.native_batch_norm(x, y, z, None, None, True, 0.1, 1e-5)", [f(5, 3, 2), f(3), f(3)]),
    ("t.native_batch_norm(x, y, z, t.zeros(3).double(), t.ones(3).double(), False, 0.1, 1e-5)", [f(5, 3, 2), f(3), f(3)]),
    ("t.native_channel_shuffle(x, 2)", [ints(0, 9, 1, 4, 3, 2)]), ("t.native_dropout(x, 0.5, False)", [f(3)]),
    # padding
    *[(f"F.pad(x, {pad}, 'replicate')", [f(2, 3, 5)]) for pad in ((-2, 3), (3, -4), (-5, 6))],
    *[(f"F.pad(x, {pad}, 'replicate')", [f(2, 3, 4, 5)]) for pad in ((-1, -2, 3, 1), (4, -3, -4, 2))],
    # losses
    ("F.gaussian_nll_loss(x, y, z.exp())", [f(5, 5), f(5), f(5, 5)]), ("F.gaussian_nll_loss(x, y, z.exp(), True, 1.5)", [f(5, 3), f(5, 3), f(5)]),
    ("F.gaussian_nll_loss(x, y, z.exp(), reduction='none')", [f(5, 3), f(3), f(5, 1)]), ("F.gaussian_nll_loss(x, y, 0.3)", [f(5, 3), f(5, 3)]),
    ("F.gaussian_nll_loss(x, y, z.exp())", [f(), f(), f()]), ("F.gaussian_nll_loss(x, y, z.exp(), reduction='sum')", [f(4, 3, 2), f(4, 3, 2), f(4, 1, 2)]),
    *[(f"F.l1_loss(x, y, reduction='{reduction}')", [c(4, 3), c(4, 3)]) for reduction in ("mean", "sum", "none")],
    ("F.l1_loss(x, y)", [c(), f()]),
    *[(f"F.triplet_margin_loss(x, y, z{more})", [c(4, 3), c(4, 3), c(4, 3)]) for more in ("", ", margin=2.0, p=1.0", ", swap=True, reduction='sum'")],
    *[(f"F.multi_margin_loss(x, y, reduction='{reduction}')", [f(), np.array(0)]) for reduction in ("mean", "sum", "none")],
    *[(f"F.multilabel_margin_loss(x, y, reduction='{reduction}')", [f(), np.array(0)]) for reduction in ("mean", "sum", "none")],
    ("F.multi_margin_loss(x, y)", [f(4), np.array(2)]), ("F.multilabel_margin_loss(x, y)", [f(4), np.array([1, 0, -1, 2])]),
    ("F.triplet_margin_with_distance_loss(x, y, z, distance_function=t.nn.PairwiseDistance(p=1))", [f(4, 3), f(4, 3), f(4, 3)]),
    ("F.linear_cross_entropy(x, y, z)", [f(5, 4), f(3, 4), ints(0, 3, 5)]),
    ("F.linear_cross_entropy(x, y, z, linear_bias=w, reduction='sum', label_smoothing=0.1, ignore_index=1)", [f(5, 4), f(3, 4), ints(0, 3, 5), f(3)]),
    ("F.linear_cross_entropy(x, y, z, linear_bias=w, reduction='none')", [f(5, 4), f(3, 2, 4), ints(0, 3, 5, 2), f(3, 2)]),
    ("F.linear_cross_entropy(x, y, z)", [f(4), f(3, 4), np.array(1)]),
    ("F.linear_cross_entropy(x, y, z, weight=w)", [f(5, 4), f(3, 4), rng.random((5, 3)), rng.random(3)]),
    # embeddings
    ("F.embedding(y, x, scale_grad_by_freq=True)", [table, rows]), ("F.embedding(y, x, padding_idx=1, scale_grad_by_freq=True)", [table, rows]),
    ("F.embedding(y, x * 1, -1)", [table, rows]),
    *[(f"F.embedding_bag(y, x, mode='{mode}', scale_grad_by_freq=True)", [table, rows]) for mode in ("sum", "mean")],
    # attention
    ("F.scaled_dot_product_attention(x, y, z, attn_mask=w)", [f(2, 3, 4), f(2, 5, 4), f(2, 5, 2), f(3, 5)]),
    ("F.scaled_dot_product_attention(x, y, z, is_causal=True)", [f(2, 3, 4), f(2, 5, 4), f(2, 5, 2)]),
]


def gradients(leaves):
    """Computes the gradients of all leaves. Missing gradients are zeros, because the packages represent them differently."""
    return [x.detach() * 0 if x.grad is None else x.grad for x in leaves]


@needs_torch
@pytest.mark.parametrize("code, arrays", CASES, ids=[case[0] for case in CASES])
def test_against_torch(code, arrays):
    def run(t, functional):
        leaves = tensors(t, arrays)
        for i, (leaf, given) in enumerate(zip(leaves, arrays)):
            if np.asarray(given).dtype.kind == "c":
                leaves[i] = leaf.requires_grad_(True)
        result = eval(code, {"t": t, "F": functional, **dict(zip("xyzw", leaves))})
        pull_back(result)
        return result, gradients(leaves)

    (ours, grads), (theirs, wanted) = run(gradus, nn.functional), run(torch, torch.nn.functional)
    same(ours, theirs, what=code)
    same(grads, wanted, rtol=1e-8, atol=1e-9, what=f"gradient of {code}")


@needs_torch
@pytest.mark.parametrize("more", [dict(max_norm=1.0), dict(max_norm=1.0, norm_type=1.0), dict(sparse=True)], ids=str)
@pytest.mark.parametrize("bag", [False, True])
def test_embedding_limits_norms_in_place(more, bag):
    ours, theirs = gradus.tensor(table, requires_grad=True), torch.tensor(table, requires_grad=True)
    name = "embedding_bag" if bag else "embedding"
    a = getattr(nn.functional, name)(gradus.tensor(rows), ours, **more)
    b = getattr(torch.nn.functional, name)(torch.tensor(rows), theirs, **more)
    same(a, b)
    a.sum().backward()
    b.sum().backward()
    same([ours, ours.grad], [theirs, theirs.grad.to_dense()])


@needs_torch
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_local_response_norm_of_integers(axes, size):
    """The mean of squares is an integer, and the result float32; the bound is a few units in the last place."""
    x = ints(-50, 50, 2, 5, *[3] * axes)
    ours, theirs = (t.nn.functional.local_response_norm(t.tensor(x), size, alpha=0.01, k=2.0) for t in (gradus, torch))
    same(ours, theirs, rtol=5e-7)


@needs_torch
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest", "nearest-exact"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(6, 6), (2, 3), (11, 4)])
def test_interpolate_of_bytes(mode, antialias, size):
    if antialias and mode.startswith("nearest"):
        return
    x = rng.integers(0, 256, (2, 3, 5, 7)).astype(np.uint8)
    same(nn.functional.interpolate(gradus.tensor(x), size=size, mode=mode, antialias=antialias),
         torch.nn.functional.interpolate(torch.tensor(x), size=size, mode=mode, antialias=antialias))


@needs_torch
def test_multi_head_attention_with_static_keys_and_values():
    q, k, v, weight, out = f(3, 2, 4), f(5, 2, 4), f(5, 2, 4), f(12, 4), f(4, 4)
    static_k, static_v = f(4, 7, 2), f(4, 7, 2)

    def run(t, functional):
        leaves = tensors(t, [q, k, v, weight, out, static_k, static_v])
        a, b, c_, w, o, sk, sv = leaves
        found = functional.multi_head_attention_forward(
            a, b, c_, 4, 2, w, None, None, None, False, 0.0, o, None, static_k=sk, static_v=sv)
        pull_back(found)
        return found, gradients(leaves)

    for ours, theirs in zip(run(gradus, nn.functional), run(torch, torch.nn.functional)):
        same(ours, theirs)


@needs_torch
def test_attention_with_dropout_keeps_or_drops_each_weight():
    # Random draws differ between the packages, so the mean over many draws is compared with the result without dropout.
    q, k, v = f(1, 2, 4), f(1, 3, 4), f(1, 3, 2)
    many = [gradus.tensor(x).expand(4000, *x.shape[1:]) for x in (q, k, v)]
    mean = nn.functional.scaled_dot_product_attention(*many, dropout_p=0.3).mean(0)
    exact = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)))[0]
    np.testing.assert_allclose(mean.numpy(), exact.numpy(), atol=0.12)


ERRORS = [
    ("F.scaled_dot_product_attention(x, x, x, attn_mask=t.ones(2, 2), is_causal=True)", [f(1, 2, 2)], RuntimeError),
    ("F.fractional_max_pool2d(x, 2)", [image], ValueError), ("F.fractional_max_pool2d(x, 2, (5, 6))", [image], RuntimeError),
    ("t.nn.FractionalMaxPool2d(2, output_size=2, output_ratio=0.5)", [], ValueError), ("t.nn.FractionalMaxPool3d(2, output_ratio=1.5)", [], ValueError),
    ("F.gaussian_nll_loss(x, x, -x.exp())", [f(3)], ValueError), ("F.gaussian_nll_loss(x, x, t.ones(2).double())", [f(3)], ValueError),
    ("F.affine_grid(x, (2, 1, 3))", [f(2, 2, 3)], NotImplementedError), ("F.grid_sample(x, x[..., :2], 'cubic')", [image], ValueError),
    ("F.feature_alpha_dropout(x, 0.5, True)", [f(3)], RuntimeError), ("F.embedding(t.tensor([0]), x, padding_idx=9)", [f(3, 2)], AssertionError),
    ("F.linear_cross_entropy(x, x, t.tensor([0]))", [f(1, 2, 2)], RuntimeError),
    # Means of integers between elements.
    *[(f"F.interpolate(t.ones({', '.join('1124222'[:n])}, dtype=t.{dtype}), scale_factor=2, mode='{mode}')", [], NotImplementedError)
      for mode, n in (("linear", 3), ("bilinear", 4), ("bicubic", 4), ("trilinear", 5), ("area", 4)) for dtype in ("uint8", "int64", "bool")
      if dtype != "uint8" or mode not in ("bilinear", "bicubic")],
]


@needs_torch
@pytest.mark.parametrize("code, arrays, error", ERRORS, ids=[case[0] for case in ERRORS])
def test_errors_are_those_of_pytorch(code, arrays, error):
    for t, functional in ((gradus, nn.functional), (torch, torch.nn.functional)):
        with pytest.raises(error):
            eval(code, {"t": t, "F": functional, **dict(zip("xyzw", tensors(t, arrays)))})


@pytest.mark.parametrize("code", [
    "F.interpolate(x, size=(10**9, 10**9))", "F.interpolate(x, size=(10**9, 10**9), mode='bilinear')", "F.interpolate(x, size=(10**9, 10**9), mode='area')",
    "F.interpolate(x, scale_factor=10**8)", "F.adaptive_avg_pool2d(x, 10**9)", "F.adaptive_max_pool2d(x, 10**9)",
])
def test_results_that_no_memory_holds_raise_at_once(code):
    begin = time.monotonic()
    with pytest.raises(MemoryError):
        eval(code, {"F": nn.functional, "x": gradus.zeros(1, 1, 4, 4)})
    assert time.monotonic() - begin < 2.0


def test_alpha_dropout_drops_complete_channels():
    y = nn.functional.feature_alpha_dropout(gradus.randn(50, 8, 6, dtype=gradus.float64), 0.5, True)
    constant = (y == y[:, :, :1]).all(2)
    assert 100 < int(constant.sum()) < 300
    assert nn.FeatureAlphaDropout(0.5).eval()(y) is y
    z = nn.functional.alpha_dropout(gradus.ones(5, dtype=gradus.complex64), 0.5, True)
    assert z.dtype == gradus.complex64


def attention_of(q, k, v, window=None, softcap=None):
    """Computes attention in NumPy, with the options that PyTorch's function lacks."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if window is not None:
        i, j = np.ogrid[:len(q), :len(k)]
        scores = np.where((j <= i) & (i - j < window), scores, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


@pytest.mark.parametrize("more", [dict(window=2), dict(softcap=1.5), dict(window=3, softcap=0.7)], ids=str)
def test_attention_with_window_and_soft_cap(more):
    q, k, v = f(6, 4), f(6, 4), f(6, 3)
    ours = nn.functional.scaled_dot_product_attention(*map(gradus.tensor, (q, k, v)), **more)
    np.testing.assert_allclose(ours.numpy(), attention_of(q, k, v, **more), rtol=1e-12)


def test_rope_by_positions_and_by_tables():
    x, positions = f(2, 5, 6), np.array([3, 0, 7, 7, 2])
    angle = positions[:, None] * 100.0 ** (-2 * np.arange(3) / 6)
    first, second = x[..., :3], x[..., 3:]
    expected = np.concatenate([first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle)], -1)
    at = nn.functional.rope_at(gradus.tensor(x), gradus.tensor(positions), base=100.0)
    np.testing.assert_allclose(at.numpy(), expected, rtol=1e-12)
    cos, sin = gradus.tensor(np.cos(angle), requires_grad=True), gradus.tensor(np.sin(angle))
    by_table = nn.functional.rope_with(gradus.tensor(x), cos, sin)
    np.testing.assert_allclose(by_table.detach().numpy(), expected, rtol=1e-12)
    g = f(2, 5, 6)
    (by_table * gradus.tensor(g)).sum().backward()
    np.testing.assert_allclose(cos.grad.numpy(), (g[..., :3] * first + g[..., 3:] * second).sum(0), rtol=1e-12)
    np.testing.assert_allclose(nn.functional.rope(gradus.tensor(x), offset=2).numpy(),
                               nn.functional.rope_at(gradus.tensor(x), gradus.arange(2, 7)).numpy(), rtol=1e-12)


def test_custom_jvp_gives_tangents_and_gradients():
    @gradus.func.custom_jvp
    def clipped(x, y):
        return x.clamp(-1, 1) * y

    with pytest.raises(TypeError):
        clipped(gradus.ones(2), gradus.ones(2))
    # A custom derivative: gradients pass the clamp unchanged.
    clipped.defjvp(lambda inputs, outputs, tangents: [tangents[0] * inputs[1] + inputs[0].clamp(-1, 1) * tangents[1]])
    x, y, g, dx, dy = f(4) * 3, f(4), f(4), f(4), f(4)
    value, tangent = gradus.func.jvp(clipped, tuple(map(gradus.tensor, (x, y))), tuple(map(gradus.tensor, (dx, dy))))
    np.testing.assert_allclose(value.numpy(), np.clip(x, -1, 1) * y, rtol=1e-14)
    np.testing.assert_allclose(tangent.numpy(), dx * y + np.clip(x, -1, 1) * dy, rtol=1e-14)
    a, b = gradus.tensor(x, requires_grad=True), gradus.tensor(y, requires_grad=True)
    (clipped(a, b) * gradus.tensor(g)).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), g * y, rtol=1e-14)
    np.testing.assert_allclose(b.grad.numpy(), g * np.clip(x, -1, 1), rtol=1e-14)


@needs_torch
def test_adaptive_log_softmax():
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0, head_bias=True).double()
    ours = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0, head_bias=True).double()
    ours.load_state_dict(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    x, target = f(7, 8), np.array([0, 19, 3, 7, 12, 4, 9])
    results = []
    for t, layer in ((gradus, ours), (torch, theirs)):
        a = t.tensor(x, requires_grad=True)
        found = layer(a, t.tensor(target))
        found.loss.backward()
        alone = layer(a.detach()[0], t.tensor(3))
        results.append([found.output, found.loss, a.grad, *[p.grad for p in layer.parameters()], layer.log_prob(a), layer.predict(a), alone])
        with pytest.raises(RuntimeError):
            layer(a, t.tensor(target) + 1)
    same(*results)
    with pytest.raises(ValueError):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [10, 5])


@needs_torch
@pytest.mark.parametrize("make, arrays", [
    ("Embedding(6, 4, max_norm=0.5)", [rows]), ("Embedding(6, 4, 1, scale_grad_by_freq=True)", [rows]), ("Embedding(6, 4, sparse=True)", [rows]),
    ("EmbeddingBag(6, 4, max_norm=0.5, mode='sum')", [rows]), ("LinearCrossEntropyLoss(4, 3, bias=True)", [f(5, 4), ints(0, 3, 5)]),
    ("LinearCrossEntropyLoss(4, 3, out_features=(2,), reduction='sum')", [f(5, 4), ints(0, 3, 5, 2)]),
], ids=lambda x: x if isinstance(x, str) else "")
def test_layers(make, arrays):
    ours, theirs = eval(f"nn.{make}", {"nn": nn}).double(), eval(f"nn.{make}", {"nn": torch.nn}).double()
    ours.load_state_dict(theirs.state_dict())
    if not make.startswith("EmbeddingBag"):
        assert repr(ours) == repr(theirs)
    a, b = ours(*map(gradus.tensor, arrays)), theirs(*map(torch.tensor, arrays))
    same(a, b)
    a.sum().backward()
    b.sum().backward()
    same([p.grad for p in ours.parameters()], [p.grad.to_dense() for p in theirs.parameters()])
    same(dict(ours.state_dict()), dict(theirs.state_dict()))


@pytest.mark.parametrize("axes", [2, 3])
def test_fractional_pool_layers_draw_windows(axes):
    layer = getattr(nn, f"FractionalMaxPool{axes}d")(2, output_ratio=0.5, return_indices=True)
    x = gradus.tensor(f(2, 3, *[9] * axes))
    values, indices = layer(x)
    assert tuple(values.shape) == (2, 3, *[4] * axes)
    np.testing.assert_array_equal(x.reshape(2, 3, -1).gather(2, indices.reshape(2, 3, -1)).reshape(values.shape).numpy(), values.numpy())
