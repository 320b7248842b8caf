"""Writes state.safetensors and state.json: a PyTorch model as other programs save it, and its output.

Run it manually, with torch and safetensors installed, from the repository root: python tests/golden/state.py
"""

import json
import os

import torch
from safetensors.torch import save_file
from torch import nn

here = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(3)
model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Tanh(), nn.Flatten(), nn.Linear(3 * 4, 2))
x = torch.randn(4, 1, 4, 4)
for _ in range(3):
    model(x + torch.randn_like(x))  # changes the running statistics
model.eval()
save_file(model.state_dict(), os.path.join(here, "state.safetensors"), metadata=dict(format="pt"))
with open(os.path.join(here, "state.json"), "w", newline="\n") as f:
    json.dump(dict(x=x.flatten().tolist(), y=model(x).flatten().tolist()), f)
    f.write("\n")
