"""A model of names: counts of letter pairs, the same model trained by gradients, then a network with embeddings and a batch norm written out.

Written for PyTorch; only the import lines are changed. Expected: the counts reach a loss of about 2.4, one layer trained by
gradient comes close to them, and the network beats both.
"""

import argparse
import random
from pathlib import Path

import gradus as torch
import gradus.nn.functional as F

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=1500)
args = parser.parse_args()

names = (Path(__file__).parents[1] / "data" / "names.txt").read_text().split()
random.seed(42)
random.shuffle(names)
letters = sorted(set("".join(names)))
stoi = {c: i + 1 for i, c in enumerate(letters)}
stoi["."] = 0
itos = {i: c for c, i in stoi.items()}
V = len(stoi)
g = torch.Generator().manual_seed(2147483647)


def pairs(words):
    xs, ys = [], []
    for w in words:
        for a, b in zip("." + w, w + "."):
            xs.append(stoi[a])
            ys.append(stoi[b])
    return torch.tensor(xs), torch.tensor(ys)


def by_counting():
    counts = torch.zeros((V, V), dtype=torch.int32)
    for a, b in zip(*(part.tolist() for part in pairs(names[:1000]))):
        counts[a, b] += 1
    P = (counts + 1).float()
    P /= P.sum(1, keepdim=True)
    xs, ys = pairs(names)
    loss = -P[xs, ys].log().mean().item()
    for _ in range(3):
        out, ix = [], 0
        while True:
            ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
            if ix == 0:
                break
            out.append(itos[ix])
        print("  ", "".join(out))
    return loss


def by_gradient(steps):
    xs, ys = pairs(names)
    xenc = F.one_hot(xs, num_classes=V).float()
    W = torch.randn((V, V), generator=g, requires_grad=True)
    for _ in range(steps):
        logits = xenc @ W
        counts = logits.exp()
        probs = counts / counts.sum(1, keepdims=True)
        loss = -probs[torch.arange(ys.nelement()), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -50 * W.grad
    return loss.item()


BLOCK, E, H = 3, 10, 100


def windows(words):
    X, Y = [], []
    for w in words:
        context = [0] * BLOCK
        for c in w + ".":
            X.append(context)
            Y.append(stoi[c])
            context = context[1:] + [stoi[c]]
    return torch.tensor(X), torch.tensor(Y)


class Linear:
    def __init__(self, fan_in, fan_out, bias=True):
        self.weight = torch.randn((fan_in, fan_out), generator=g) / fan_in**0.5
        self.bias = torch.zeros(fan_out) if bias else None

    def __call__(self, x):
        self.out = x @ self.weight
        if self.bias is not None:
            self.out += self.bias
        return self.out

    def parameters(self):
        return [self.weight] + ([] if self.bias is None else [self.bias])


class BatchNorm1d:
    def __init__(self, dim, eps=1e-5, momentum=0.1):
        self.eps, self.momentum, self.training = eps, momentum, True
        self.gamma, self.beta = torch.ones(dim), torch.zeros(dim)
        self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

    def __call__(self, x):
        if self.training:
            mean, var = x.mean(0, keepdim=True), x.var(0, keepdim=True)
        else:
            mean, var = self.running_mean, self.running_var
        xhat = (x - mean) / torch.sqrt(var + self.eps)
        self.out = self.gamma * xhat + self.beta
        if self.training:
            with torch.no_grad():
                self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
                self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
        return self.out

    def parameters(self):
        return [self.gamma, self.beta]


class Tanh:
    def __call__(self, x):
        self.out = torch.tanh(x)
        return self.out

    def parameters(self):
        return []


def by_network(steps):
    n = int(0.9 * len(names))
    Xtr, Ytr = windows(names[:n])
    Xdev, Ydev = windows(names[n:])
    C = torch.randn((V, E), generator=g)
    layers = [Linear(E * BLOCK, H, bias=False), BatchNorm1d(H), Tanh(), Linear(H, H, bias=False), BatchNorm1d(H), Tanh(), Linear(H, V)]
    with torch.no_grad():
        layers[-1].weight *= 0.1  # the first probabilities are nearly equal
    parameters = [C] + [p for layer in layers for p in layer.parameters()]
    print(sum(p.nelement() for p in parameters), "parameters")
    for p in parameters:
        p.requires_grad = True

    def forward(X):
        x = C[X].view(X.shape[0], -1)
        for layer in layers:
            x = layer(x)
        return x

    for i in range(steps):
        ix = torch.randint(0, Xtr.shape[0], (64,), generator=g)
        loss = F.cross_entropy(forward(Xtr[ix]), Ytr[ix])
        for p in parameters:
            p.grad = None
        loss.backward()
        lr = 0.1 if i < 0.75 * steps else 0.01
        for p in parameters:
            p.data += -lr * p.grad
        if i % (steps // 5) == 0:
            print(f"step {i:5d}/{steps}: {loss.item():.4f}")

    for layer in layers:
        if isinstance(layer, BatchNorm1d):
            layer.training = False
    with torch.no_grad():
        dev = F.cross_entropy(forward(Xdev), Ydev).item()
        for _ in range(10):
            out, context = [], [0] * BLOCK
            while True:
                probs = F.softmax(forward(torch.tensor([context])), dim=1)
                ix = torch.multinomial(probs, num_samples=1, generator=g).item()
                context = context[1:] + [ix]
                if ix == 0:
                    break
                out.append(itos[ix])
            print("  ", "".join(out))
    return dev


counted = by_counting()
print(f"loss by counting: {counted:.4f}")
learned = by_gradient(max(100, args.steps // 30))
print(f"loss by gradient: {learned:.4f}")
dev = by_network(args.steps)
print(f"loss of the network: {dev:.4f}")
