"""Writes tune.npz and the folder `adapter`: losses of fine-tuning with their gradients, and an adapter of the small Llama with its
logits and the gradients of the loss of three texts. PyTorch in `float64`, from the formulas.
"""

import json
import pathlib

import numpy as np
import torch
from torch.nn import functional as F

from forward import rates

here = pathlib.Path(__file__).parent
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
out = {}


def keep(name, loss, *operands):
    """Keeps operands, losses, and the gradients of the losses with random weights."""
    weights = torch.randn(loss.shape)
    grads = torch.autograd.grad((loss * weights).sum(), operands)
    out[f"{name}.loss"], out[f"{name}.weights"] = loss.detach().numpy(), weights.numpy()
    for i, (x, g) in enumerate(zip(operands, grads)):
        out[f"{name}.{i}"], out[f"{name}.grad{i}"] = x.detach().numpy(), g.numpy()


def random(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).requires_grad_()


# Log-probabilities of tokens.
logits, targets = random(3, 5, 7), torch.randint(0, 7, (3, 5))
out["tokens.targets"] = targets.numpy()
keep("tokens", torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0], logits)

# DPO: Rafailov et al. 2023, with the smoothing of conservative DPO.
beta, smoothing = 0.3, 0.1
c, r, rc, rr = (random(11, scale=3.0) for _ in range(4))
margin = beta * ((c - rc) - (r - rr))
keep("dpo", -torch.log(torch.sigmoid(margin)), c, r, rc, rr)
c, r, rc, rr = (random(11, scale=3.0) for _ in range(4))
margin = beta * ((c - rc) - (r - rr))
keep("dpo_smooth", -(1 - smoothing) * torch.log(torch.sigmoid(margin)) - smoothing * torch.log(torch.sigmoid(-margin)), c, r, rc, rr)

# Bradley-Terry.
a, b = random(9), random(9)
keep("pairwise", -torch.log(torch.sigmoid(a - b)), a, b)

# PPO's clipped objective, with different lower and upper bounds.
new, old, advantage = random(6, 8, scale=0.5), random(6, 8, scale=0.5), random(6, 8)
ratio = torch.exp(new - old)
keep("policy", -torch.minimum(ratio * advantage, torch.clamp(ratio, 0.8, 1.3) * advantage), new, old, advantage)

# PPO's clipped value loss.
value, before, returns = random(6, 8), random(6, 8), random(6, 8)
near = before + torch.clamp(value - before, -0.4, 0.4)
keep("value", 0.5 * torch.maximum((value - returns) ** 2, (near - returns) ** 2), value, before, returns)

# GRPO's estimate of the divergence.
new, ref = random(6, 8), random(6, 8)
keep("kl", torch.exp(ref - new) - (ref - new) - 1, new, ref)

# Advantages of groups of four, and generalised advantages by their definition as a sum.
rewards = torch.randn(3, 4)
out["group.rewards"] = rewards.numpy().reshape(-1)
out["group.scaled"] = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).numpy().reshape(-1)
out["group.plain"] = (rewards - rewards.mean(1, keepdim=True)).numpy().reshape(-1)
rewards, values, gamma, lam = np.random.default_rng(1).normal(size=9), np.random.default_rng(2).normal(size=9), 0.97, 0.9
delta = rewards + gamma * np.append(values[1:], 0.0) - values
out["gae.rewards"], out["gae.values"] = rewards, values
out["gae.advantages"] = np.array([sum((gamma * lam) ** (k - t) * delta[k] for k in range(t, 9)) for t in range(9)])

# An adapter of the small Llama.
golden = dict(np.load(here / "tiny-llama.npz"))
config = json.loads(golden["config"].tobytes())
w = {k: torch.from_numpy(v).double() for k, v in golden.items() if k not in ("config", "ids", "logits")}
rank, alpha = 3, 7.5
adapter = {}
for n in range(config["num_hidden_layers"]):
    for name in ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"):
        key = f"model.layers.{n}.{name}"
        outputs, inputs = w[f"{key}.weight"].shape
        # Rounds to numbers that `float32` represents exactly.
        adapter[f"{key}.lora_A.weight"] = (torch.randn(rank, inputs) * 0.3).float().double().requires_grad_()
        adapter[f"{key}.lora_B.weight"] = (torch.randn(outputs, rank) * 0.3).float().double().requires_grad_()


def weight(key):
    own = w[f"{key}.weight"]
    if f"{key}.lora_A.weight" in adapter:
        own = own + alpha / rank * adapter[f"{key}.lora_B.weight"] @ adapter[f"{key}.lora_A.weight"]
    return own


def forward(ids):
    """Logits of one text."""
    heads, kv_heads, head = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    eps, time = config["rms_norm_eps"], len(ids)
    angles = torch.arange(time)[:, None] * torch.from_numpy(rates(config, head))
    cos, sin = angles.cos(), angles.sin()

    def rotate(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def rms(x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w[name]

    x = w["model.embed_tokens.weight"][ids]
    for n in range(config["num_hidden_layers"]):
        at = f"model.layers.{n}."
        h = rms(x, at + "input_layernorm.weight")

        def split(name, count):
            return F.linear(h, weight(at + f"self_attn.{name}_proj")).view(time, count, head).transpose(0, 1)

        q, k, v = rotate(split("q", heads)), rotate(split("k", kv_heads)), split("v", kv_heads)
        k, v = (t.repeat_interleave(heads // kv_heads, 0) for t in (k, v))
        scores = q @ k.transpose(1, 2) / head**0.5
        scores = scores.masked_fill(torch.ones(time, time).triu(1).bool(), -torch.inf)
        o = (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(time, -1)
        x = x + F.linear(o, weight(at + "self_attn.o_proj"))
        h = rms(x, at + "post_attention_layernorm.weight")
        gated = F.silu(F.linear(h, weight(at + "mlp.gate_proj"))) * F.linear(h, weight(at + "mlp.up_proj"))
        x = x + F.linear(gated, weight(at + "mlp.down_proj"))
    return F.linear(rms(x, "model.norm.weight"), w["lm_head.weight"])


texts = [torch.from_numpy(golden["ids"])[:9], torch.randint(0, 272, (6,)), torch.randint(0, 272, (5,))]
given = [3, 1, 2]
losses = []
for text, first in zip(texts, given):
    logp = torch.log_softmax(forward(text[:-1]), -1).gather(-1, text[1:, None])[:, 0]
    losses.append(-logp[first - 1:])
loss = torch.cat(losses).mean()
grads = torch.autograd.grad(loss, list(adapter.values()))
out["lora.ids"], out["lora.logits"] = golden["ids"], forward(torch.from_numpy(golden["ids"])).detach().numpy()
out["lora.loss"] = loss.detach().numpy()
out["lora.given"] = np.array(given)
for i, text in enumerate(texts):
    out[f"lora.text{i}"] = text.numpy()
for (name, x), g in zip(adapter.items(), grads):
    out[f"lora.grad.{name}"] = g.numpy()
np.savez_compressed(here / "tune.npz", **out)

folder = here / "adapter"
folder.mkdir(exist_ok=True)
import safetensors.torch

safetensors.torch.save_file({f"base_model.model.{k}": v.detach().float().contiguous() for k, v in adapter.items()},
                            folder / "adapter_model.safetensors", metadata={"format": "pt"})
(folder / "adapter_config.json").write_text(json.dumps(
    dict(peft_type="LORA", task_type="CAUSAL_LM", r=rank, lora_alpha=alpha, target_modules=["q_proj", "v_proj", "down_proj"],
         lora_dropout=0.0, bias="none", fan_in_fan_out=False, use_rslora=False, use_dora=False), indent=2) + "\n")
