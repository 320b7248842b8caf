"""Writes layers.json: values and gradients of PyTorch's layers with their state dictionaries.

Run it manually, with torch installed, from the repository root:

    python tests/golden/layers.py

In float64. README.md describes the format.
"""

import json
import os

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
gen = torch.Generator()
cases = []


def tensor(t):
    return dict(shape=list(t.shape), data=t.detach().flatten().tolist())


def r(*shape):
    return torch.round(torch.randn(*shape, generator=gen) * 1000) / 1000


def case(name, layer, *inputs, out=lambda y: y, call=None, **args):
    """Records a layer. Parameters and buffers are replaced by random numbers, so that none is 0 or 1; integers stay."""
    gen.manual_seed(len(cases) + 1)
    layer.zero_grad()
    for key, p in layer.state_dict().items():
        if p.is_floating_point():
            p.copy_(r(*p.shape).abs() + 0.5 if key.endswith("running_var") else r(*p.shape) * 0.5)
    state = {key: tensor(p) for key, p in layer.state_dict().items() if p.is_floating_point()}
    inputs = [r(*shape) for shape in inputs]
    leaves = [x.clone().requires_grad_() for x in inputs]
    y = out((call or layer)(*leaves))
    c = r(*y.shape)
    (y * c).sum().backward()
    cases.append(
        dict(
            name=name,
            args=args,
            training=layer.training,
            state=state,
            inputs=[tensor(x) for x in inputs],
            output=tensor(y),
            cotangent=tensor(c),
            grads=[tensor(x.grad) for x in leaves],
            state_grads={k: tensor(p.grad) for k, p in layer.named_parameters()},
            after={k: tensor(p) for k, p in layer.named_buffers() if p.is_floating_point()},
        )
    )


def main():
    case("linear", nn.Linear(3, 4), (2, 5, 3))
    case("linear", nn.Linear(3, 4, bias=False), (2, 3), bias=False)
    emb = nn.Embedding(5, 3)
    ids = torch.tensor([[0, 4], [2, 2]])
    case("embedding", emb, call=lambda: emb(ids), ids=ids.tolist())
    case("conv1d", nn.Conv1d(2, 3, 3), (2, 2, 7))
    case("conv2d", nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2), (2, 4, 6, 5))
    case("conv3d", nn.Conv3d(2, 2, 2, dilation=2, bias=False), (1, 2, 4, 5, 4))
    case("conv_transpose1d", nn.ConvTranspose1d(2, 3, 3), (2, 2, 4))
    case("conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (2, 4, 3, 4))
    case("conv_transpose3d", nn.ConvTranspose3d(2, 2, 2, bias=False), (1, 2, 2, 3, 2))
    case("batch_norm", nn.BatchNorm1d(3), (4, 3))
    case("batch_norm", nn.BatchNorm2d(3, momentum=0.3), (2, 3, 4, 2), momentum=0.3)
    case("batch_norm", nn.BatchNorm2d(3).eval(), (2, 3, 4, 2))
    case("layer_norm", nn.LayerNorm([2, 4]), (3, 2, 4))
    case("layer_norm", nn.LayerNorm([4], bias=False), (3, 2, 4), bias=False)
    case("rms_norm", nn.RMSNorm([4], eps=1e-3), (3, 2, 4), eps=1e-3)
    case("group_norm", nn.GroupNorm(2, 4), (3, 4, 3))
    for kind, make in [("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)]:
        case(kind, make(3, 4), (5, 2, 3), out=lambda y: y[0])
        case(kind, make(3, 2, num_layers=2), (3, 2, 3), out=lambda y: y[0], layers=2)
        case(kind, make(3, 2, num_layers=2, bidirectional=True), (3, 2, 3), out=lambda y: y[0], layers=2, both=True)
    cell = nn.LSTM(3, 4, num_layers=2)
    last = lambda x, h, c: torch.cat([t.flatten() for t in cell(x, (h, c))[1]])
    case("lstm_states", cell, (5, 2, 3), (2, 2, 4), (2, 2, 4), call=last, layers=2)
    mha = nn.MultiheadAttention(6, 3, batch_first=True)
    hidden = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    attend = lambda x: mha(x, x, x, need_weights=False)[0]
    case("attention", mha, (2, 4, 6), call=attend)
    causal = lambda x: mha(x, x, x, need_weights=False, attn_mask=hidden)[0]
    case("attention", mha, (2, 4, 6), call=causal, causal=True)
    for first in (True, False):
        block = nn.TransformerEncoderLayer(
            6, 3, 8, dropout=0.0, activation="gelu", batch_first=True, norm_first=first
        )
        case("transformer", block, (2, 4, 6), call=lambda x: block(x, src_mask=hidden), norm_first=first)
    sequential = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(1), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(8, 3)
    )
    case("sequential", sequential, (2, 1, 8, 8))
    across = lambda x, m: mha(x, m, m, need_weights=False)[0]
    case("cross_attention", mha, (2, 4, 6), (2, 3, 6), call=across)
    relu = nn.RNN(3, 4, nonlinearity="relu", num_layers=2)
    case("rnn_relu", relu, (5, 2, 3), out=lambda y: y[0], layers=2)
    head = '{"torch":"%s","cases":[\n' % torch.__version__.split("+")[0]
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.json")
    with open(path, "w", newline="\n") as f:
        f.write(head + lines + "\n]}\n")


if __name__ == "__main__":
    main()
