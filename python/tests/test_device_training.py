"""Models on a GPU (`wgpu`): moves in place, training with equal losses on both devices, optimisers and their state, files."""

import copy

import numpy as np
import pytest

import gradus
import gradus.nn.functional as F
from gradus import nn
from oracle import needs_torch, torch
from test_device import MISSING, WGPU, rand

pytestmark = pytest.mark.skipif(not gradus.wgpu.is_available(), reason=MISSING)


class Transformer(nn.Module):
    """One block over a small vocabulary, with a buffer of positions."""

    def __init__(self, words=11, width=16, length=6):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.register_buffer("positions", gradus.arange(length))
        self.place = nn.Embedding(length, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, ids):
        x = self.embed(ids) + self.place(self.positions)
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], device=ids.device)
        return self.head(self.block(x, src_mask=mask))


def mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))


X, Y = rand(20, 6), np.random.default_rng(1).integers(0, 3, 20)
WORDS = np.random.default_rng(2).integers(0, 11, (4, 6))


def train(model, inputs, targets, make, steps=5):
    """Returns the losses of some steps."""
    optimizer, losses = make(model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(inputs)
        loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), targets.reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer


OPTIMIZERS = {
    "SGD": lambda p: gradus.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: gradus.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: gradus.optim.AdamW(p, lr=0.01, amsgrad=True),
    "RMSprop": lambda p: gradus.optim.RMSprop(p, lr=0.01),
    "Adagrad": lambda p: gradus.optim.Adagrad(p, lr=0.05),
    "NAdam": lambda p: gradus.optim.NAdam(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_perceptron_has_equal_losses_on_both_devices(name):
    gradus.manual_seed(0)
    model = mlp()
    twin = copy.deepcopy(model).to("wgpu")
    x, y = gradus.tensor(X), gradus.tensor(Y)
    expected, _ = train(model, x, y, OPTIMIZERS[name])
    found, optimizer = train(twin, x.to("wgpu"), y.to("wgpu"), OPTIMIZERS[name])
    assert found == pytest.approx(expected, abs=1e-4) and expected[-1] < expected[0]
    assert {t.device for state in optimizer.state.values() for t in state.values() if isinstance(t, gradus.Tensor)} <= {WGPU}
    for a, b in zip(twin.parameters(), model.parameters()):
        assert a.device == WGPU
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=1e-3, atol=2e-4)


@needs_torch
def test_a_perceptron_learns_as_in_pytorch():
    gradus.manual_seed(0)
    model = mlp().to("wgpu")
    nn_ = torch.nn
    theirs = nn_.Sequential(nn_.Linear(6, 16), nn_.GELU(), nn_.LayerNorm(16), nn_.Linear(16, 3))
    theirs.load_state_dict({k: torch.tensor(v.cpu().numpy()) for k, v in model.state_dict().items()})
    optimizer, expected = torch.optim.Adam(theirs.parameters(), lr=0.01), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(theirs(torch.tensor(X)), torch.tensor(Y))
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    found, _ = train(model, gradus.tensor(X, device="wgpu"), gradus.tensor(Y, device="wgpu"), OPTIMIZERS["Adam"])
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_transformer_has_equal_losses_on_both_devices():
    gradus.manual_seed(0)
    model = Transformer()
    twin = copy.deepcopy(model).to("wgpu")
    assert twin.positions.device == WGPU
    ids = gradus.tensor(WORDS)
    targets = ids.roll(-1, 1)
    expected, _ = train(model, ids, targets, OPTIMIZERS["AdamW"])
    found, _ = train(twin, ids.to("wgpu"), targets.to("wgpu"), OPTIMIZERS["AdamW"])
    assert found == pytest.approx(expected, abs=1e-4) and expected[-1] < expected[0]


def test_a_compiled_step_has_equal_losses_on_both_devices():
    def losses(device):
        gradus.manual_seed(0)
        model = mlp().to(device)
        optimizer = gradus.optim.Adam(model.parameters(), lr=0.01)

        @gradus.jit
        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return [step(gradus.tensor(X, device=device), gradus.tensor(Y, device=device)).item() for _ in range(5)]

    assert losses("wgpu") == pytest.approx(losses("cpu"), abs=1e-4)


def test_layers():
    """Layers that make tensors make them on the device of their input."""
    gradus.manual_seed(0)
    layers = [
        (nn.LSTM(6, 5, batch_first=True), rand(2, 4, 6)), (nn.GRU(6, 5), rand(4, 2, 6)), (nn.MultiheadAttention(6, 2), None),
        (nn.Conv2d(3, 4, 3, padding=1), rand(2, 3, 6, 6)), (nn.BatchNorm2d(3), rand(2, 3, 6, 6)), (nn.GroupNorm(3, 6), rand(2, 6, 4)),
        (nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(2), nn.Flatten()), rand(2, 3, 9)), (nn.LazyBatchNorm1d(), rand(4, 3)),
        (nn.LazyLinear(3), rand(2, 5)),
    ]
    for layer, x in layers:
        twin = copy.deepcopy(layer).to("wgpu")
        inputs = [rand(4, 2, 6)] * 3 if x is None else [x]
        gradus.manual_seed(5)  # lazy layers draw at the first call
        expected = layer(*map(gradus.tensor, inputs))
        gradus.manual_seed(5)
        found = twin(*(gradus.tensor(x, device="wgpu") for x in inputs))
        for a, b in zip(found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected]):
            if isinstance(a, gradus.Tensor):
                assert a.device == WGPU
                np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5, err_msg=str(layer))
        for a, b in zip(twin.buffers(), layer.buffers()):
            assert a.device == WGPU
            np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_modules_move_in_place():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    before = list(model.parameters())
    model(gradus.ones(4, 2)).sum().backward()
    assert model.to("wgpu") is model
    assert all(p is q and p.is_leaf and p.requires_grad for p, q in zip(model.parameters(), before))
    assert {t.device for t in (*model.parameters(), *model.buffers(), *(p.grad for p in before))} == {WGPU}
    assert model[1].num_batches_tracked.dtype == gradus.int64
    model.wgpu().half()
    assert model[0].weight.dtype == gradus.float16 and model[0].weight.device == WGPU
    assert {t.device.type for t in model.float().cpu().state_dict().values()} == {"cpu"}
    model.to(gradus.ones(1, device="wgpu"))
    assert model[0].weight.device == WGPU
    shared = nn.Linear(2, 2)
    tied = nn.Sequential(shared, nn.Linear(2, 2))
    tied[1].weight = shared.weight
    tied.to("wgpu")
    assert tied[1].weight is shared.weight and len(list(tied.parameters())) == 3


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_optimizers_follow_parameters(name):
    """Optimizers may be made before or after the move, and also after steps on the other device."""
    gradus.manual_seed(0)
    reference, model = mlp(), mlp()
    model.load_state_dict(reference.state_dict())
    ours, theirs = (OPTIMIZERS[name](m.parameters()) for m in (model, reference))
    for device in ("wgpu", "cpu", "wgpu"):
        model.to(device)
        for m, o, d in ((model, ours, device), (reference, theirs, "cpu")):
            o.zero_grad()
            F.cross_entropy(m(gradus.tensor(X, device=d)), gradus.tensor(Y, device=d)).backward()
            o.step()
    for a, b in zip(model.parameters(), reference.parameters()):
        assert a.device == WGPU
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=1e-3, atol=2e-4)


def test_state_goes_to_the_device_of_its_parameter(tmp_path):
    gradus.manual_seed(0)
    model = mlp().to("wgpu")
    _, optimizer = train(model, gradus.tensor(X, device="wgpu"), gradus.tensor(Y, device="wgpu"), OPTIMIZERS["Adam"], steps=2)
    gradus.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "state")
    for device, where in (("cpu", None), ("wgpu", "cpu"), ("cpu", "cpu"), ("wgpu", None)):
        saved = gradus.load(tmp_path / "state", map_location=where)
        assert saved["model"]["0.weight"].device.type == (where or "wgpu")
        twin = mlp().to(device)
        assert str(twin.load_state_dict(saved["model"])) == "<All keys matched successfully>"
        again = OPTIMIZERS["Adam"](twin.parameters())
        again.load_state_dict(saved["optimizer"])
        state = next(iter(again.state.values()))
        assert state["exp_avg"].device.type == twin[0].weight.device.type == device
        for a, b in zip(twin.parameters(), model.parameters()):
            assert a.tolist() == b.tolist()
        x, y = gradus.tensor(X, device=device), gradus.tensor(Y, device=device)
        F.cross_entropy(twin(x), y).backward()
        again.step()


def test_loaders_ignore_pinned_memory():
    data = gradus.utils.data.TensorDataset(gradus.arange(6), gradus.arange(6) * 2)
    for a, b in gradus.utils.data.DataLoader(data, batch_size=3, pin_memory=True):
        a, b = a.to("wgpu", non_blocking=True), b.to("wgpu")
        assert (a * 2 == b).all() and a.device == WGPU


def test_distributions_draw_where_their_parameters_are():
    """Distributions that compute in float64 run on the CPU, and draw the same numbers."""
    make = [lambda d, t: d.Normal(t, 1.0), lambda d, t: d.Uniform(t, t + 1), lambda d, t: d.Exponential(t), lambda d, t: d.Gamma(t, t),
            lambda d, t: d.Beta(t, t), lambda d, t: d.Binomial(5, t / 4), lambda d, t: d.Categorical(logits=t), lambda d, t: d.Independent(d.Normal(t, t), 1)]
    for one in make:
        found = []
        for device in ("cpu", "wgpu"):
            gradus.manual_seed(3)
            distribution = one(gradus.distributions, gradus.tensor([0.5, 2.0, 3.0], device=device))
            draws = distribution.sample((4,))
            logs = distribution.log_prob(draws)
            assert draws.device.type == logs.device.type == device
            found.append((draws.cpu().numpy(), logs.cpu().numpy()))
        for a, b in zip(*found):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_functions_of_layers():
    """Composed functions make tensors on the device of their operands."""
    x = gradus.tensor(rand(1, 2, 6))
    pooled, where = F.max_pool1d(x, 2, return_indices=True)
    found = F.max_unpool1d(pooled.to("wgpu"), where.to("wgpu"), 2)
    assert found.device == WGPU and found.tolist() == F.max_unpool1d(pooled, where, 2).tolist()
    ids, table = gradus.tensor([[0, 2], [1, 1]]), gradus.tensor(rand(3, 4))
    found = F.embedding_bag(ids.to("wgpu"), table.to("wgpu"))
    np.testing.assert_allclose(found.cpu().numpy(), F.embedding_bag(ids, table).numpy(), rtol=1e-6)
    logits, target = gradus.tensor(rand(3, 4)), gradus.tensor([0, 3, 1])
    found = F.multi_margin_loss(logits.to("wgpu"), target.to("wgpu"))
    assert found.item() == pytest.approx(F.multi_margin_loss(logits, target).item(), rel=1e-5)
    log_probs, labels = gradus.tensor(rand(5, 2, 4)).log_softmax(2), gradus.tensor([[1, 2], [3, 1]])
    lengths = gradus.tensor([5, 5]), gradus.tensor([2, 2])
    found = F.ctc_loss(log_probs.to("wgpu"), labels.to("wgpu"), *(n.to("wgpu") for n in lengths))
    assert found.item() == pytest.approx(F.ctc_loss(log_probs, labels, *lengths).item(), rel=1e-5)
    rows = nn.utils.rnn.pad_sequence([gradus.ones(2, device="wgpu"), gradus.ones(3, device="wgpu")])
    assert rows.device == WGPU and rows.tolist() == [[1, 1], [1, 1], [0, 1]]
