"""Writes twins.json: losses of PyTorch twins of the examples `names` and `gpt`, from the same first values and batches.

Run it manually, with torch installed, from the repository root:

    python tests/golden/twins.py

First values and batches come from a hash of their position (`bits`), which tests/examples.rs computes as well.
"""

import json
import math
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

here = os.path.dirname(os.path.abspath(__file__))
data = os.path.join(here, "..", "..", "examples", "data")


def bits(seed, n):
    with np.errstate(over="ignore"):
        z = np.uint64(seed << 32) + np.arange(n, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def fill(seed, shape, scale):
    u = (bits(seed, math.prod(shape)) >> np.uint64(40)).astype(np.float64) / 2**24
    return torch.from_numpy(((2 * u - 1) * scale).astype(np.float32).reshape(shape))


def ints(seed, n, m):
    return torch.from_numpy(((bits(seed, n) >> np.uint64(33)) % np.uint64(m)).astype(np.int64))


def names():
    def is_test(name):
        h = 5381
        for b in name.encode():
            h = (h * 33 & 0xFFFFFFFF) ^ b
        return h % 10 == 0

    def examples(chosen):
        contexts, targets = [], []
        for name in chosen:
            context = [0, 0, 0]
            for letter in [ord(c) - 96 for c in name] + [0]:
                contexts.append(context)
                targets.append(letter)
                context = context[1:] + [letter]
        return torch.tensor(contexts), torch.tensor(targets)

    lines = open(os.path.join(data, "names.txt")).read().split()
    train, test = examples([n for n in lines if not is_test(n)]), examples([n for n in lines if is_test(n)])
    model = nn.ModuleDict(
        dict(
            embed=nn.Embedding(27, 10),
            layers=nn.ModuleList([nn.Linear(i, o, bias=False) for i, o in [(30, 200), (200, 200), (200, 27)]]),
        )
    )
    for seed, p in enumerate(model.parameters()):
        p.data = fill(seed + 1, p.shape, 1.0 if seed == 0 else 5 / 3 * math.sqrt(3 / p.shape[1]))

    def loss(x, y):
        h = model["embed"](x).flatten(1)
        h = torch.tanh(model["layers"][0](h))
        h = torch.tanh(model["layers"][1](h))
        return F.cross_entropy(model["layers"][2](h), y)

    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(opt, [1000], 0.1)
    for step in range(1500):
        ids = ints(1000 + step, 32, len(train[1]))
        opt.zero_grad()
        loss(train[0][ids], train[1][ids]).backward()
        opt.step()
        schedule.step()
    with torch.no_grad():
        return dict(examples=[len(train[1]), len(test[1])], train=loss(*train).item(), test=loss(*test).item())


def gpt():
    text = open(os.path.join(data, "sonnets.txt")).read()
    characters = sorted(set(text))
    tokens = torch.tensor([characters.index(c) for c in text])
    B, T, D = 16, 64, 64
    block = lambda: nn.TransformerEncoderLayer(D, 4, 4 * D, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    model = nn.ModuleDict(
        dict(
            tokens=nn.Embedding(len(characters), D),
            positions=nn.Embedding(T, D),
            blocks=nn.ModuleList([block() for _ in range(2)]),
            norm=nn.LayerNorm(D),
            head=nn.Linear(D, len(characters), bias=False),
        )
    )
    for seed, (name, p) in enumerate(sorted(model.named_parameters())):
        is_norm = "norm" in name and name.endswith("weight")
        p.data = fill(seed, p.shape, 0.08) if p.dim() == 2 else torch.full(p.shape, 1.0 if is_norm else 0.0)
    mask = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(100):
        at = ints(5000 + step, B, len(tokens) - T)[:, None] + torch.arange(T)
        x = model["tokens"](tokens[at]) + model["positions"].weight
        for b in model["blocks"]:
            x = b(x, src_mask=mask)
        l = F.cross_entropy(model["head"](model["norm"](x)).flatten(0, 1), tokens[at + 1].flatten())
        opt.zero_grad()
        l.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(l.item())
    return dict(losses=losses)


def main():
    torch.set_num_threads(1)
    out = dict(torch=torch.__version__.split("+")[0], names=names(), gpt=gpt())
    with open(os.path.join(here, "twins.json"), "w", newline="\n") as f:
        json.dump(out, f)
        f.write("\n")


if __name__ == "__main__":
    main()
