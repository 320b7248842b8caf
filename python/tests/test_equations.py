"""Traced functions and their gradients as equations: every op can be written as equations, and the equations compute the same values."""

import numpy as np
import pytest

import gradus
from gradus import nn
from gradus.nn import functional as F

rng = np.random.default_rng(11)


def f(*shape):
    return gradus.tensor(rng.standard_normal(shape))


def ints(high, *shape):
    return gradus.tensor(rng.integers(0, high, shape))


A, B, V, W = f(3, 4), f(3, 4), f(4), f(5, 4)
IMAGE, KERNEL, LINE = f(2, 3, 6, 5), f(4, 3, 3, 2), f(2, 4, 9)
IDS = ints(5, 3)
CAUSAL = gradus.ones(5, 5).tril().bool()


def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / 2.0
    scores = scores.masked_fill(~CAUSAL, float("-inf"))
    return (F.softmax(scores, -1) @ v).sum()


FUTURE = gradus.full((5, 5), float("-inf")).double().triu(1)


def added_mask(q, k, v):
    return (F.softmax(q @ k.transpose(-2, -1) + FUTURE, -1) @ v).sum()


def network(x, w, b):
    return F.relu(F.linear(x, w, b)).pow(2).mean()


CASES = {
    "square": (lambda x: (x**2).sum(), A),
    "cube": (lambda x: (x**3).sum(), A),
    "root": (lambda x: (x.abs() + 1).sqrt().sum(), A),
    "power": (lambda x: ((x.abs() + 0.5) ** 2.5).sum(), A),
    "quotient": (lambda x, y: (x / (y * y + 1)).sum(), A, B),
    "exponentials": (lambda x: (x.exp().log1p() + x.sin() * x.cos()).sum(), A),
    "mean": (lambda x: x.mean(), A),
    "variance": (lambda x: x.var(1).sum(), A),
    "deviation": (lambda x: x.std(), A),
    "norm": (lambda x: x.norm(), A),
    "largest": (lambda x: x.max(), A),
    "largest of rows": (lambda x: x.max(1).values.sum(), A),
    "clamp": (lambda x: x.clamp(-0.5, 0.5).sum(), A),
    "where": (lambda x, y: gradus.where(x > 0, x * y, y).sum(), A, B),
    "mask": (lambda x: x.masked_fill(x < 0, 0.0).sum(), A),
    "two masks": (lambda x: x.masked_fill((x < 0) & (x > -1) | (x > 1), 2.0).pow(2).sum(), A),
    "mask as number": (lambda x: (x * (x > 0)).sum(), A),
    "relu": (lambda x: x.relu().pow(2).sum(), A),
    "gelu": (lambda x: F.gelu(x).sum(), A),
    "silu": (lambda x: F.silu(x).sum(), A),
    "softplus": (lambda x: F.softplus(x).sum(), A),
    "leaky relu": (lambda x: F.leaky_relu(x, 0.1).sum(), A),
    "softmax": (lambda x, y: (F.softmax(x, -1) * y).sum(), A, B),
    "log softmax": (lambda x, y: (F.log_softmax(x, 0) * y).sum(), A, B),
    "logsumexp": (lambda x: x.logsumexp(1).sum(), A),
    "layer norm": (lambda x, w: (F.layer_norm(x, (4,), w) ** 2).sum(), A, V),
    "matrices": (lambda x, w: (x @ w.t()).tanh().sum(), A, W),
    "network": (network, A, W, f(5)),
    "einsum": (lambda x, w: gradus.einsum("ij,kj->ik", x, w).pow(2).sum(), A, W),
    "squared error": (lambda x, y: F.mse_loss(x, y), A, B),
    "smooth error": (lambda x, y: F.smooth_l1_loss(x, y), A, B),
    "binary entropy": (lambda x: F.binary_cross_entropy_with_logits(x, (x.detach() > 0).double()), A),
    "cross entropy": (lambda x, y: F.cross_entropy(x, y), f(3, 5), IDS),
    "embedding": (lambda w, i: F.embedding(i, w).pow(2).sum(), W, IDS),
    "gather": (lambda x, i: x.gather(1, i).pow(2).sum(), f(3, 5), ints(5, 3, 2)),
    "scatter": (lambda x, i, y: x.scatter_add(1, i, y).pow(2).sum(), f(3, 5), ints(5, 3, 2), f(3, 2)),
    "slices": (lambda x: (x[:, 1:] - x[:, :-1]).pow(2).sum(), A),
    "assignment": (lambda x, y: gradus.cat([x[:1] * 2, y[1:]]).pow(2).sum(), A, B),
    "reshape": (lambda x: x.reshape(2, 6).sum(0).pow(2).sum(), A),
    "cumsum": (lambda x: x.cumsum(1).pow(2).sum(), A),
    "sort": (lambda x, y: (x.sort(1).values * y).sum(), A, B),
    "pad": (lambda x: F.pad(x, (1, 2)).cumsum(1).pow(2).sum(), A),
    "triangle": (lambda x: x.tril().pow(2).sum(), f(4, 4)),
    "convolution": (lambda x, w: F.conv2d(x, w).pow(2).sum(), IMAGE, KERNEL),
    "strided convolution": (lambda x, w: F.conv2d(x, w, stride=2, padding=1).pow(2).sum(), IMAGE, KERNEL),
    "dilated convolution": (lambda x, w: F.conv1d(x, w, dilation=2, padding=2).pow(2).sum(), LINE, f(3, 4, 3)),
    "grouped convolution": (lambda x, w: F.conv1d(x, w, groups=2).pow(2).sum(), LINE, f(6, 2, 3)),
    "transposed convolution": (lambda x, w: F.conv_transpose1d(x, w, stride=2).pow(2).sum(), LINE, f(4, 3, 3)),
    "max pool": (lambda x: F.max_pool2d(x, 2).pow(2).sum(), IMAGE),
    "average pool": (lambda x: F.avg_pool2d(x, 2).pow(2).sum(), IMAGE),
    "attention": (attention, f(2, 5, 4), f(2, 5, 4), f(2, 5, 4)),
    "added mask": (added_mask, f(2, 5, 4), f(2, 5, 4), f(2, 5, 4)),
    "batch norm": (lambda x: F.batch_norm(x, None, None, training=True).pow(3).sum(), A),
    "choice": (lambda x, y: gradus.cond(x.sum() > 0, lambda a, b: a * b, lambda a, b: a - b, x, y).pow(2).sum(), A, B),
    "scan": (lambda x: gradus.scan(lambda c, r: (c * 0.5 + r.tanh(), c * r), gradus.zeros(4).double(), x)[1].pow(2).sum(), A),
    "positions": (lambda x: (x * gradus.arange(4).double()).sum(), A),
    "argmax": (lambda x: (x * F.one_hot(x.argmax(1), 4)).sum(), A),
}


def values(graph, text, args, names):
    """Computes the results of equations for arguments with the names of the graph's inputs."""
    program = gradus.Program(text)
    given = {n: a for n, a in zip(graph.inputs, args) if n in program.inputs}
    found = program.run(given, dtype=gradus.float64, only=names)
    return [found[n].detach().numpy() for n in names]


@pytest.mark.parametrize("name", CASES)
def test_functions_are_equations(name):
    function, *args = CASES[name]
    graph = gradus.trace(function, *args)
    text = graph.equations()
    assert "graph(" not in text, text
    expected = function(*args).detach().numpy()
    (found,) = values(graph, text, args, ["Y"])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10, err_msg=text)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_equations(name):
    function, *args = CASES[name]
    places = [i for i, a in enumerate(args) if a.is_floating_point()]
    gradient = gradus.trace(function, *args).gradient()
    text = gradient.equations()
    assert "graph(" not in text, text
    expected = gradus.grad(function, argnums=tuple(places))(*args)
    names = ["Y"] if len(places) == 1 else [f"Y{i}" for i in range(len(places))]
    for ours, theirs in zip(values(gradient, text, args, names), expected):
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-9, atol=1e-10, err_msg=text)


def test_a_layer_is_equations():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
    text = gradus.jit(lambda x, y: F.cross_entropy(model(x), y)).equations(gradus.randn(2, 1, 6, 6), gradus.tensor([0, 2]), grad=True)
    assert "graph(" not in text and "conv2d(" in text


def test_the_scalar_comes_first():
    p = gradus.Program("Y[i] = W[i,j] X[j]\nLoss = Y[i] Y[i]")
    with pytest.raises(ValueError, match=r"`W` is an input(.|\n)*wrt=\['W'\]"):
        p.grad("W")
    with pytest.raises(ValueError, match="did you mean `Loss`"):
        p.grad("Los")
    with pytest.raises(ValueError, match="loss='Total'"):
        p.grad("Y")
    assert "Grad_W" in str(p.grad(wrt=["W"])) and "Grad_X" not in str(p.grad("Loss", ["W"]))
    assert "run" in gradus.Program.explain.__doc__


def test_sizes_of_guards_come_from_the_right_or_from_axis():
    guarded = gradus.Program("Y[i] when X[i] > 0 = 2 X[i]\nZ[i] when index(i) > 0 = 7\naxis i = 3")
    found = guarded.run(X=gradus.tensor([1.0, -1.0, 3.0]))
    assert found["Y"].tolist() == [2, 0, 6] and found["Z"].tolist() == [0, 7, 7]
    with pytest.raises(ValueError, match="the size of index `i` is not known"):
        gradus.Program("Z[i] when index(i) > 0 = 7").run()
    with pytest.raises(ValueError, match="index `i` has size"):
        guarded.run(X=gradus.ones(4))


def test_complex_inputs_are_named():
    p = gradus.Program("P[i] = Z[i] W[i]\nLoss = norm(P[i])")
    z, w = np.array([1 + 2j, 0.5 - 1j]), np.array([0.7, 0.4])
    given = {"Z": gradus.tensor(z), "W": gradus.tensor(w)}
    found = p.grad(complex=["Z"]).run(given, only=["Grad_Z", "Grad_W"])
    size = np.sqrt((abs(z * w) ** 2).sum())
    np.testing.assert_allclose(found["Grad_Z"].numpy(), z * w * w / size, rtol=1e-5)
    np.testing.assert_allclose(found["Grad_W"].numpy(), abs(z) ** 2 * w / size, rtol=1e-5)
    with pytest.raises(ValueError, match="assumes that inputs are real"):
        p.grad().run(given, only=["Grad_W"])
    with pytest.raises(ValueError, match="`Q` is declared complex, but is not an input"):
        p.grad(complex=["Q"])
