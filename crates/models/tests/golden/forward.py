"""Plain forward passes of Llama and its relatives, written from the architecture: NumPy in `float64`, PyTorch in any dtype.

`config` has the keys of a `config.json`, `w` has the weights by Hugging Face's names. The other scripts of this folder use it.
"""

import numpy as np


def rates(config, head):
    """Returns the angle per position of each pair of features."""
    base = config.get("rope_theta", 10000.0)
    plain = 1.0 / base ** (np.arange(0, head, 2, dtype=np.float64) / head)
    scaling = config.get("rope_scaling") or {"rope_type": "default"}
    if scaling["rope_type"] == "default":
        return plain
    if scaling["rope_type"] == "linear":
        return plain / scaling["factor"]
    assert scaling["rope_type"] == "llama3"
    old, factor = scaling["original_max_position_embeddings"], scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    out = []
    for rate in plain:
        wavelength = 2 * np.pi / rate
        if wavelength < old / high:
            out.append(rate)
        elif wavelength > old / low:
            out.append(rate / factor)
        else:
            smooth = (old / wavelength - low) / (high - low)
            out.append((1 - smooth) * rate / factor + smooth * rate)
    return np.array(out)


def norm(x, weight, eps):
    return x / (np.mean(x * x, axis=-1, keepdims=True) + eps) ** 0.5 * weight


def rotate(x, angles):
    """`x` is `[heads, time, head]`; features half a head apart rotate together."""
    half = x.shape[-1] // 2
    a, b, cos, sin = x[..., :half], x[..., half:], np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def numpy_logits(config, w, ids):
    """Computes the logits of every position, `[time, vocabulary]`."""
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads", heads)
    head = config.get("head_dim") or config["hidden_size"] // heads
    eps, time = config["rms_norm_eps"], len(ids)
    w = {k: np.asarray(v, dtype=np.float64) for k, v in w.items()}
    angles = np.arange(time)[:, None] * rates(config, head)
    i, j = np.arange(time)[:, None], np.arange(time)[None, :]
    seen = j <= i
    if config.get("sliding_window") and config["model_type"] == "mistral":
        seen &= i - j < config["sliding_window"]
    x = w["model.embed_tokens.weight"][ids]
    for n in range(config["num_hidden_layers"]):
        def linear(h, name):
            bias = w.get(f"model.layers.{n}.{name}.bias")
            y = h @ w[f"model.layers.{n}.{name}.weight"].T
            return y if bias is None else y + bias

        def split(y, count, kind):
            y = y.reshape(time, count, head)
            scale = w.get(f"model.layers.{n}.self_attn.{kind}_norm.weight")
            return (y if scale is None else norm(y, scale, eps)).transpose(1, 0, 2)

        h = norm(x, w[f"model.layers.{n}.input_layernorm.weight"], eps)
        q = rotate(split(linear(h, "self_attn.q_proj"), heads, "q"), angles)
        k = rotate(split(linear(h, "self_attn.k_proj"), kv_heads, "k"), angles)
        v = linear(h, "self_attn.v_proj").reshape(time, kv_heads, head).transpose(1, 0, 2)
        k, v = (np.repeat(t, heads // kv_heads, axis=0) for t in (k, v))
        scores = np.where(seen, q @ k.transpose(0, 2, 1) / np.sqrt(head), -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        o = (p / p.sum(-1, keepdims=True)) @ v
        x = x + linear(o.transpose(1, 0, 2).reshape(time, -1), "self_attn.o_proj")
        h = norm(x, w[f"model.layers.{n}.post_attention_layernorm.weight"], eps)
        gate = linear(h, "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(h, "mlp.up_proj"), "mlp.down_proj")
    x = norm(x, w["model.norm.weight"], eps)
    out = "model.embed_tokens.weight" if config.get("tie_word_embeddings") else "lm_head.weight"
    return x @ w[out].T


def torch_logits(config, w, ids):
    """Computes the logits of a batch `[batch, time]` of a plain Llama, with PyTorch in the dtype of the weights."""
    import torch
    from torch.nn import functional as F

    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head = config["hidden_size"] // heads
    eps, (batch, time) = config["rms_norm_eps"], ids.shape
    dtype = w["model.norm.weight"].dtype
    angles = torch.arange(time)[:, None] * torch.from_numpy(rates(config, head))
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def rms(x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w[name]

    x = w["model.embed_tokens.weight"][ids]
    for n in range(config["num_hidden_layers"]):
        at = f"model.layers.{n}."
        h = rms(x, at + "input_layernorm.weight")

        def split(name, count):
            return F.linear(h, w[at + f"self_attn.{name}_proj.weight"]).view(batch, time, count, head).transpose(1, 2)

        q, k, v = turn(split("q", heads)), turn(split("k", kv_heads)), split("v", kv_heads)
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(o.transpose(1, 2).reshape(batch, time, -1), w[at + "self_attn.o_proj.weight"])
        h = rms(x, at + "post_attention_layernorm.weight")
        gated = F.silu(F.linear(h, w[at + "mlp.gate_proj.weight"])) * F.linear(h, w[at + "mlp.up_proj.weight"])
        x = x + F.linear(gated, w[at + "mlp.down_proj.weight"])
    return F.linear(rms(x, "model.norm.weight"), w["model.embed_tokens.weight"])
