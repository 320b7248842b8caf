"""Tests functions of modules other than `forward`: registration, traversal, state, hooks, copies, initial values, utilities."""

import copy
import math
import pickle

import numpy as np
import pytest

import gradus
from gradus import nn
from gradus.nn import functional as F
from gradus.nn import init
from oracle import BOTH, array, torch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.scale = nn.Parameter(gradus.ones(()))
        self.register_buffer("count", gradus.tensor(0))
        self.register_buffer("cache", gradus.zeros(2), persistent=False)

    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x).relu()
        return x * self.scale


NAMES = ["scale", "first.weight", "first.bias", "rest.0.weight", "rest.0.bias", "rest.1.weight", "rest.1.bias"]


def test_registration_and_traversal():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert [n for n, _ in net.named_buffers()] == ["count", "cache"]
    assert list(net.state_dict()) == ["scale", "count"] + NAMES[1:]
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]
    assert net.get_submodule("rest.1") is net.rest[1] and net.get_parameter("first.bias") is net.first.bias
    with pytest.raises(AttributeError, match="nothing"):
        net.nothing
    with pytest.raises(AttributeError, match="rest.7"):
        net.get_submodule("rest.7")
    del net.first
    assert "first.weight" not in dict(net.named_parameters()) and not hasattr(net, "first")


def test_attributes_become_parameters():
    m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(gradus.zeros(2))
    assert [n for n, _ in m.named_parameters()] == ["x"] and "x" not in m.__dict__
    with pytest.raises(TypeError, match="'x'"):
        m.x = gradus.zeros(2)
    m.x = None
    assert m.x is None and list(m.parameters()) == []
    m.x = nn.Linear(1, 1)
    assert [n for n, _ in m.named_parameters()] == ["x.weight", "x.bias"]
    with pytest.raises(KeyError, match="a.b"):
        m.register_buffer("a.b", gradus.zeros(1))
    with pytest.raises(TypeError, match="not a Module"):
        m.add_module("y", 3)

    class Early(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(gradus.zeros(1))

    with pytest.raises(AttributeError, match="before Module.__init__"):
        Early()


def test_tied_parameters_are_one():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    net.double()
    assert net[1].weight is net[0].weight and net[0].weight.dtype == gradus.float64


def test_state_dict_round_trip_and_errors():
    a, b = Net(), Net()
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    x = gradus.randn(5, 3)
    np.testing.assert_array_equal(array(a(x)), array(b(x)))
    state = dict(a.state_dict())
    before = array(b.first.bias).copy()
    state["first.bias"] = gradus.zeros(7)
    state["extra"] = state.pop("scale")
    with pytest.raises(RuntimeError) as error:
        b.load_state_dict(state)
    text = str(error.value)
    assert "loading state_dict for Net" in text and 'Unexpected key(s) in state_dict: "extra"' in text
    assert 'Missing key(s) in state_dict: "scale"' in text
    assert "size mismatch for first.bias" in text and "[7]" in text and "[4]" in text
    np.testing.assert_array_equal(array(b.first.bias), before)
    del state["first.bias"]
    result = b.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale", "first.bias"] and result.unexpected_keys == ["extra"]


def test_state_dict_takes_arrays():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": np.array([[1.0, 2.0]], np.float32), "bias": np.array([3.0], np.float32)})
    assert layer(gradus.tensor([[1.0, 1.0]])).tolist() == [[6.0]]


def test_state_dict_copies_arrays():
    layer, weight = nn.Linear(2, 1, bias=False), np.array([[1.0, 2.0]], np.float32)
    layer.load_state_dict({"weight": weight})
    weight[:] = 0
    assert layer.weight.tolist() == [[1.0, 2.0]]


def test_modes_conversion_and_gradients():
    net = Net()
    net.eval()
    assert not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())
    net.to(gradus.float64)
    assert all(p.dtype == gradus.float64 for p in net.parameters()) and net.count.dtype == gradus.int64
    net.float().to("cpu")
    net(gradus.ones(2, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all((array(p.grad) == 0).all() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(gradus.ones(2, 3)).requires_grad
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Linear", "Linear", "ModuleList", "Net"]


def test_hooks():
    layer, log = nn.Linear(2, 2), []
    first = layer.register_forward_pre_hook(lambda m, args: log.append("pre") or (args[0] * 0,))
    second = layer.register_forward_hook(lambda m, args, out: log.append("post") or out + 1)
    y = layer(gradus.ones(1, 2))
    np.testing.assert_allclose(array(y), array(layer.bias)[None] + 1, rtol=1e-6)
    assert log == ["pre", "post"]
    first.remove()
    with second:
        pass
    np.testing.assert_allclose(array(layer(gradus.zeros(1, 2))), array(layer.bias)[None], rtol=1e-6)
    assert log == ["pre", "post"]


def test_containers():
    layers = nn.ModuleList([nn.Linear(i + 1, 1) for i in range(3)])
    layers.append(nn.ReLU())
    layers.insert(0, nn.Tanh())
    assert [type(m).__name__ for m in layers] == ["Tanh", "Linear", "Linear", "Linear", "ReLU"]
    assert isinstance(layers[1:3], nn.ModuleList) and layers[-1] is layers[4] and len(layers.pop(0)._parameters) == 0
    with pytest.raises(IndexError):
        layers[9]
    net = nn.Sequential({"a": nn.Linear(2, 3), "b": nn.ReLU()})
    assert [n for n, _ in net.named_parameters()] == ["a.weight", "a.bias"] and net.a is net[0]
    table = nn.ModuleDict({"x": nn.Linear(1, 1)})
    table["y"] = nn.Linear(1, 2)
    assert list(table) == ["x", "y"] and "x" in table and table.pop("x") and list(table.keys()) == ["y"]
    params = nn.ParameterList([gradus.zeros(2), nn.Parameter(gradus.ones(3))])
    assert [n for n, _ in params.named_parameters()] == ["0", "1"] and len(params) == 2 and params[1].shape[0] == 3
    named = nn.ParameterDict({"w": gradus.zeros(2)})
    assert isinstance(named["w"], nn.Parameter) and [n for n, _ in named.named_parameters()] == ["w"]


def test_copies_are_independent():
    net = Net()
    twin, restored = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    for other in (twin, restored):
        assert [n for n, _ in other.named_parameters()] == NAMES
        assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in other.parameters())
        np.testing.assert_array_equal(array(other.first.weight), array(net.first.weight))
        with gradus.no_grad():
            other.first.weight.zero_()
        assert (array(net.first.weight) != 0).any()


def test_functional_call_uses_other_parameters_and_their_gradients():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    w = gradus.eye(2).requires_grad_()
    zero = gradus.zeros(2)
    y = nn.functional_call(net, {"0.weight": w, "0.bias": zero, "1.bias": zero}, (gradus.tensor([[1.0, 2.0]]),))
    assert y.tolist() == [[1.0, 2.0]]
    y.sum().backward()
    assert w.grad is not None and net[0].weight.grad is None
    with pytest.raises(AttributeError, match="2.weight"):
        nn.functional_call(net, {"2.weight": w}, (zero,))
    assert net[1].weight is net[0].weight


def test_parameter():
    p = nn.Parameter(gradus.ones(2))
    assert p.requires_grad and p.is_leaf and isinstance(p, gradus.Tensor) and repr(p).startswith("Parameter containing:\n")
    assert not nn.Parameter(gradus.ones(2), requires_grad=False).requires_grad
    assert not isinstance(p * 2, nn.Parameter)
    table = {p: 1}
    assert table[p] == 1


# name, arguments, mean, deviation of a (40, 60) tensor
FIRST = [
    ("uniform_", (-1.0, 3.0), 1.0, 4 / math.sqrt(12)), ("normal_", (2.0, 0.5), 2.0, 0.5), ("zeros_", (), 0.0, 0.0),
    ("constant_", (0.3,), 0.3, 0.0), ("ones_", (), 1.0, 0.0), ("xavier_uniform_", (), 0.0, math.sqrt(2 / 100)),
    ("xavier_normal_", (2.0,), 0.0, 2 * math.sqrt(2 / 100)), ("kaiming_uniform_", (), 0.0, math.sqrt(2 / 60)),
    ("kaiming_normal_", (0, "fan_out", "relu"), 0.0, math.sqrt(2 / 40)), ("trunc_normal_", (0.0, 1.0, -2.0, 2.0), 0.0, 0.8796),
]


@pytest.mark.parametrize("name, args, mean, std", FIRST, ids=[row[0] for row in FIRST])
def test_init(name, args, mean, std):
    gradus.manual_seed(3)
    w = nn.Parameter(gradus.empty(40, 60, dtype=gradus.float64))
    assert getattr(init, name)(w, *args) is w
    x = array(w)
    assert abs(x.mean() - mean) < 4 * std / math.sqrt(x.size) + 1e-12 and abs(x.std() - std) < 0.06 * std + 1e-12
    if name == "trunc_normal_":
        assert abs(x).max() <= 2.0


def test_init_of_matrices():
    gradus.manual_seed(1)
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        w = array(init.orthogonal_(gradus.empty(*shape, dtype=gradus.float64), gain=2.0)).reshape(shape[0], -1)
        gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-9)
    np.testing.assert_array_equal(array(init.eye_(gradus.empty(2, 3))), np.eye(2, 3))
    x = gradus.randn(1, 3, 6)
    y = F.conv1d(x, init.dirac_(gradus.empty(3, 3, 3)), padding=1)
    np.testing.assert_allclose(array(y), array(x), rtol=1e-6)
    sparse = array(init.sparse_(gradus.empty(10, 4), 0.3))
    assert ((sparse == 0).sum(0) == 3).all()


def test_gradient_limits_and_vectors():
    net = nn.Linear(3, 2).double()
    x = gradus.randn(4, 3, dtype=gradus.float64)
    for p, limit in ((2.0, 0.1), (math.inf, 0.05), (1.0, 1e6), (3.0, 0.2)):
        net.zero_grad()
        (net(x) ** 2).sum().backward()
        before = np.concatenate([array(q.grad).ravel() for q in net.parameters()])
        norm = nn.utils.clip_grad_norm_(net.parameters(), limit, p).item()
        assert abs(norm - np.linalg.norm(before, p)) < 1e-12 * max(norm, 1)
        after = np.concatenate([array(q.grad).ravel() for q in net.parameters()])
        np.testing.assert_allclose(after, before * min(1.0, limit / (norm + 1e-6)), rtol=1e-12)
    nn.utils.clip_grad_value_(net.parameters(), 0.01)
    after = np.concatenate([array(q.grad).ravel() for q in net.parameters()])
    np.testing.assert_allclose(after, np.clip(before * min(1.0, limit / (norm + 1e-6)), -0.01, 0.01), rtol=1e-12)
    v = nn.utils.parameters_to_vector(net.parameters())
    assert v.shape[0] == 8
    nn.utils.vector_to_parameters(v * 0 + 2, net.parameters())
    assert (array(net.weight) == 2).all() and net.weight.requires_grad
    with pytest.raises(ValueError, match="7"):
        nn.utils.vector_to_parameters(v[:7], net.parameters())


def test_gumbel_softmax_draws_in_proportion():
    gradus.manual_seed(0)
    logits = gradus.log(gradus.tensor([0.5, 0.3, 0.2])).expand(4000, 3)
    hard = array(F.gumbel_softmax(logits, hard=True))
    assert set(np.unique(hard.round(5))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.mean(0), [0.5, 0.3, 0.2], atol=0.03)


def test_errors_of_wrong_arguments():
    with pytest.raises(TypeError, match="Threshold"):
        nn.Threshold()
    with pytest.raises(TypeError, match="MSELoss"):
        nn.MSELoss()(gradus.zeros(1))
    with pytest.raises(ValueError, match="groups"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(AssertionError, match="embed_dim"):
        nn.MultiheadAttention(7, 2)
    with pytest.raises(ValueError, match="4D"):
        nn.BatchNorm2d(3)(gradus.zeros(2, 3))
    with pytest.raises(ValueError, match="dropout"):
        nn.Dropout(1.5)
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_hooks_that_are_called_also_after_errors():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    layer, seen = Fails(), []
    layer.register_forward_hook(lambda module, args, output: seen.append(("usual", output)))
    layer.register_forward_hook(lambda module, args, output: seen.append(("always", output)), always_call=True)
    with pytest.raises(ValueError, match="no"):
        layer(gradus.ones(1))
    assert seen == [("always", None)]
    layer = nn.Identity()
    layer.register_forward_hook(lambda module, args, kwargs, output: output + 1, always_call=True, with_kwargs=True)
    assert layer(gradus.ones(1)).item() == 2


@pytest.mark.parametrize("t", BOTH)
def test_a_failing_hook_does_not_hide_the_first_error(t):
    t = {"gradus": gradus, "torch": torch}[t]

    class Fails(t.nn.Module):
        def forward(self, x):
            raise ValueError("the first")

    def broken(module, args, output):
        raise KeyError("the second")

    layer, seen = Fails(), []
    layer.register_forward_hook(broken, always_call=True)
    layer.register_forward_hook(lambda *args: 5, always_call=True)
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.warns(UserWarning, match="the second"), pytest.raises(ValueError, match="the first"):
        layer(t.ones(1))
    assert seen == [5]


def test_synchronised_batch_norms_compute_the_same():
    """Parameters, statistics and the mode of the layers that are replaced stay, at every depth."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.BatchNorm1d(4, eps=1e-3), nn.ReLU()))
    x = gradus.randn(6, 3)
    model(x)
    for training in (True, False):
        model.train(training)
        made = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(model))
        assert type(made[1][0]) is nn.SyncBatchNorm and made[1][0].training is training
        state, expected = made.state_dict(), model.state_dict()
        assert list(state) == list(expected)
        assert all(np.array_equal(array(state[name]), array(expected[name])) for name in expected)
        assert np.array_equal(array(made(x)), array(model(x)))
