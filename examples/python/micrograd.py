"""Backpropagation at its smallest: a scalar expression, then a network that separates two moons.

Written for PyTorch; only the import lines are changed. Expected: an accuracy of at least 0.97.
"""

import argparse
import math
import random

import gradus as torch
from gradus import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()


def expression():
    """Computes one number from two by every kind of operation, and compares its derivatives with differences."""

    def f(a, b):
        c = a + b
        d = a * b + b**3
        c = c + c + 1
        d = d + d * 2 + (b + a).relu()
        e = c - d
        g = e**2 / 2.0
        return g + 10.0 / g

    a = torch.tensor(-4.0, dtype=torch.float64, requires_grad=True)
    b = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = f(a, b)
    y.backward()
    h = 1e-6
    with torch.no_grad():
        da = (f(a + h, b) - f(a - h, b)) / (2 * h)
        db = (f(a, b + h) - f(a, b - h)) / (2 * h)
    print(f"g = {y.item():.6f}, dg/da = {a.grad.item():.6f}, dg/db = {b.grad.item():.6f}")
    assert abs(a.grad.item() - da.item()) < 1e-5 and abs(b.grad.item() - db.item()) < 1e-5


def moons(n, noise=0.1):
    """Points on two interleaved half circles, and their labels, -1 or 1."""
    points, labels = [], []
    for i in range(n):
        angle = math.pi * random.random()
        upper = i % 2 == 0
        x, y = (math.cos(angle), math.sin(angle)) if upper else (1 - math.cos(angle), 0.5 - math.sin(angle))
        points.append([x + random.gauss(0, noise), y + random.gauss(0, noise)])
        labels.append(1.0 if upper else -1.0)
    return torch.tensor(points), torch.tensor(labels)


class Neuron(nn.Module):
    """A weighted sum and a nonlinearity. A layer of single neurons is slow, but easy to follow."""

    def __init__(self, inputs, bend=True):
        super().__init__()
        self.w = nn.Parameter(torch.empty(inputs).uniform_(-1, 1))
        self.b = nn.Parameter(torch.zeros(()))
        self.bend = bend

    def forward(self, x):
        y = x @ self.w + self.b
        return y.relu() if self.bend else y


class Layer(nn.Module):
    def __init__(self, inputs, outputs, bend=True):
        super().__init__()
        self.neurons = nn.ModuleList(Neuron(inputs, bend) for _ in range(outputs))

    def forward(self, x):
        return torch.stack([neuron(x) for neuron in self.neurons], dim=-1)


def main():
    expression()
    random.seed(1337)
    torch.manual_seed(1337)
    x, y = moons(100)
    model = nn.Sequential(Layer(2, 12), Layer(12, 12), Layer(12, 1, bend=False))
    print(f"{sum(p.numel() for p in model.parameters())} parameters")

    for step in range(args.steps):
        scores = model(x).squeeze(-1)
        margin = (1 - y * scores).relu().mean()
        loss = margin + 1e-4 * sum((p * p).sum() for p in model.parameters())
        accuracy = ((scores > 0) == (y > 0)).float().mean()

        model.zero_grad()
        loss.backward()
        rate = 0.5 * (1 - 0.9 * step / args.steps)
        for p in model.parameters():
            p.data -= rate * p.grad
        if step % 25 == 0:
            print(f"step {step}: loss {loss.item():.4f}, accuracy {accuracy.item():.2f}")

    with torch.no_grad():
        accuracy = ((model(x).squeeze(-1) > 0) == (y > 0)).float().mean().item()
    print(f"accuracy: {accuracy:.2f}")


main()
