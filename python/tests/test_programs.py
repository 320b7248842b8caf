"""Small programs in the style of PyTorch, each run with this package and, if it is installed, with PyTorch.

`torch` is the package, `nn`, `F`, `optim` and `data` its parts. A program asserts the result of its training.
"""

import importlib
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from oracle import peer_or_skip

DATA = Path(__file__).parents[2] / "examples" / "data"


@pytest.fixture(params=["gradus", "torch"])
def lib(request):
    torch = peer_or_skip(request.param)
    torch.manual_seed(0)
    data = importlib.import_module(f"{request.param}.utils.data")
    return SimpleNamespace(torch=torch, nn=torch.nn, F=torch.nn.functional, optim=torch.optim, data=data)


def digits(torch):
    images = np.frombuffer((DATA / "digits-images.idx").read_bytes()[16:], np.uint8).reshape(-1, 1, 8, 8)
    labels = np.frombuffer((DATA / "digits-labels.idx").read_bytes()[8:], np.uint8)
    return torch.from_numpy(images.astype(np.float32) / 16), torch.from_numpy(labels.astype(np.int64))


def test_convolutions_on_digits(lib):
    torch, nn, optim, data = lib.torch, lib.nn, lib.optim, lib.data

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
            )
            self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(128, 10))

        def forward(self, x):
            return self.head(self.features(x))

    net = Net()
    images, labels = digits(torch)
    train, test = data.random_split(data.TensorDataset(images, labels), [1500, 297], generator=torch.Generator().manual_seed(0))
    loader = data.DataLoader(train, batch_size=64, shuffle=True)
    optimizer = optim.AdamW(net.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, epochs=4, steps_per_epoch=len(loader))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for _ in range(4):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in data.DataLoader(test, batch_size=128):
            right += (net(x).argmax(1) == y).sum().item()
    assert right / len(test) > 0.9


def test_variational_autoencoder(lib):
    torch, nn, F, optim = lib.torch, lib.nn, lib.F, lib.optim

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.mu, self.logvar = nn.Linear(64, 64), nn.Linear(64, 4), nn.Linear(64, 4)
            self.decode = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64))

        def forward(self, x):
            h = F.relu(self.encode(x))
            mu, logvar = self.mu(h), self.logvar(h)
            z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
            return self.decode(z), mu, logvar

    images = digits(torch)[0].view(-1, 64)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), 1e-2)
    for _ in range(100):
        x = images[torch.randint(0, len(images), (128,))]
        logits, mu, logvar = model(x)
        fit = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        loss = (fit - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())) / 128
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    assert loss.item() < 33


def test_gradient_penalty(lib):
    torch, nn, optim = lib.torch, lib.nn, lib.optim
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer = optim.Adam(critic.parameters(), 1e-2, betas=(0.5, 0.9))
    for _ in range(60):
        real, fake, a = torch.randn(32, 2), torch.randn(32, 2) + 2, torch.rand(32, 1)
        mixed = (a * real + (1 - a) * fake).requires_grad_(True)
        grad = torch.autograd.grad(outputs=critic(mixed).sum(), inputs=mixed, create_graph=True, retain_graph=True)[0]
        norm = grad.norm(2, dim=1)
        loss = critic(fake).mean() - critic(real).mean() + 10 * ((norm - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert abs(norm.mean().item() - 1) < 0.3 and loss.item() < 0


def test_learning_to_learn(lib):
    torch = lib.torch
    w = torch.randn(5, requires_grad=True)
    x = torch.randn(10, 5)
    y = x @ torch.arange(5.0)
    for _ in range(50):
        inner = ((x @ w - y) ** 2).mean()
        (grad,) = torch.autograd.grad(inner, w, create_graph=True)
        outer = ((x @ (w - 0.05 * grad) - y) ** 2).mean()
        outer.backward()
        with torch.no_grad():
            w -= 0.05 * w.grad
            w.grad = None
    assert outer.item() < 5


def test_letters_with_an_lstm(lib):
    torch, nn, F, optim = lib.torch, lib.nn, lib.F, lib.optim
    text = (DATA / "sonnets.txt").read_text()[:20000]
    letters = sorted(set(text))
    numbers = torch.tensor([letters.index(c) for c in text])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(len(letters), 32)
            self.rnn = nn.LSTM(32, 64, batch_first=True)
            self.out = nn.Linear(64, len(letters))

        def forward(self, x, state=None):
            y, state = self.rnn(self.embed(x), state)
            return self.out(y), state

    model, state = Model(), None
    optimizer = optim.RMSprop(model.parameters(), lr=5e-3)
    for _ in range(60):
        starts = torch.randint(len(numbers) - 33, (16,))
        x = torch.stack([numbers[i:i + 32] for i in starts])
        y = torch.stack([numbers[i + 1:i + 33] for i in starts])
        logits, state = model(x, state)
        state = tuple(s.detach() for s in state)
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 3.0


def test_reversing_sequences_with_a_transformer(lib):
    torch, nn, F, optim = lib.torch, lib.nn, lib.F, lib.optim
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.1, batch_first=True)
    embed, out = nn.Embedding(10, 16), nn.Linear(16, 10)
    optimizer = optim.Adam([*model.parameters(), *embed.parameters(), *out.parameters()], 3e-3)
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    for _ in range(60):
        source = torch.randint(1, 10, (16, 6))
        wanted = source.flip(1)
        before = torch.cat([torch.zeros(16, 1, dtype=torch.long), wanted[:, :-1]], 1)
        logits = out(model(embed(source), embed(before), tgt_mask=mask))
        loss = F.cross_entropy(logits.reshape(-1, 10), wanted.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 2.25  # guessing gives log 9 = 2.197 at best; the initial loss is 2.4


def test_differential_equation(lib):
    """Solves u'' = -u, u(0) = 0, u'(0) = 1 by second derivatives of a network and LBFGS."""
    torch, nn, optim = lib.torch, lib.nn, lib.optim
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.LBFGS(net.parameters(), lr=1, max_iter=60, line_search_fn="strong_wolfe")
    x = torch.linspace(0, math.pi, 30).unsqueeze(1).requires_grad_()

    def closure():
        optimizer.zero_grad()
        u = net(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (d2u,) = torch.autograd.grad(du.sum(), x, create_graph=True)
        loss = ((d2u + u) ** 2).mean() + u[0].pow(2).sum() + (du[0] - 1).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert (net(x) - x.sin()).abs().max().item() < 0.1


def test_policy_gradient(lib):
    torch, nn, F, optim = lib.torch, lib.nn, lib.F, lib.optim
    policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = optim.Adam(policy.parameters(), 2e-2)
    for _ in range(60):
        state = torch.randn(128, 4)
        p = F.softmax(policy(state), -1)
        action = torch.multinomial(p, 1)
        reward = ((state[:, 0] > 0).long() == action.squeeze(1)).float()
        logp = torch.log(p.gather(1, action)).squeeze(1)
        loss = -(logp * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert reward.mean().item() > 0.75


def test_positions_as_waves(lib):
    torch = lib.torch
    pe = torch.zeros(10, 8)
    position = torch.arange(0, 10).unsqueeze(1).float()
    rates = torch.exp(torch.arange(0, 8, 2).float() * -(math.log(10000.0) / 8))
    pe[:, 0::2] = torch.sin(position * rates)
    pe[:, 1::2] = torch.cos(position * rates)
    assert abs(pe[3, 1].item() - math.cos(3)) < 1e-5 and abs(pe[7, 2].item() - math.sin(7 * 0.1)) < 1e-5


def test_averaged_copy_of_a_model(lib):
    import copy

    torch, nn = lib.torch, lib.nn
    model = nn.Linear(3, 3)
    average = copy.deepcopy(model).requires_grad_(False)
    start = model.weight.detach().clone()
    for _ in range(3):
        with torch.no_grad():
            for p in model.parameters():
                p.add_(1.0)
            for a, p in zip(average.parameters(), model.parameters()):
                a.mul_(0.5).add_(p, alpha=0.5)
    expected = start + (0.5 * 3 + 0.25 * 2 + 0.125 * 1)
    assert torch.allclose(average.weight, expected, atol=1e-5) and not average.weight.requires_grad
