"""Writes tiny-*.npz: small random models of each architecture, tokens, and the logits of the NumPy pass in `float64`."""

import json
import pathlib

import numpy as np

from forward import numpy_logits

here = pathlib.Path(__file__).parent
common = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
              vocab_size=272, max_position_embeddings=64, rms_norm_eps=1e-5)
llama3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
variants = {
    "llama": dict(common, head_dim=8, rope_theta=500.0, rope_scaling=llama3, tie_word_embeddings=False),
    "mistral": dict(common, sliding_window=5, rope_theta=10000.0, tie_word_embeddings=False),
    "qwen2": dict(common, rope_theta=1000.0, tie_word_embeddings=True),
    "qwen3": dict(common, head_dim=6, rope_theta=100.0, tie_word_embeddings=True,
                  rope_scaling=dict(rope_type="linear", factor=2.5)),
}
for number, (name, config) in enumerate(variants.items()):
    config["model_type"] = name
    rng = np.random.default_rng(number)
    w = {}

    def add(key, *shape):
        scale = 1 / np.sqrt(shape[-1])
        w[key] = (rng.normal(0, scale, shape) if len(shape) > 1 else 1 + rng.normal(0, 0.2, shape)).astype(np.float32)

    d, hidden = config["hidden_size"], config["intermediate_size"]
    head = config.get("head_dim") or d // config["num_attention_heads"]
    q, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    add("model.embed_tokens.weight", config["vocab_size"], d)
    add("model.norm.weight", d)
    if not config["tie_word_embeddings"]:
        add("lm_head.weight", config["vocab_size"], d)
    for n in range(config["num_hidden_layers"]):
        at = f"model.layers.{n}."
        for key, rows, columns in [("q", q, d), ("k", kv, d), ("v", kv, d), ("o", d, q)]:
            add(f"{at}self_attn.{key}_proj.weight", rows, columns)
            if name == "qwen2" and key != "o":
                add(f"{at}self_attn.{key}_proj.bias", rows)
            if name == "qwen3" and key in "qk":
                add(f"{at}self_attn.{key}_norm.weight", head)
        for key, rows, columns in [("gate", hidden, d), ("up", hidden, d), ("down", d, hidden)]:
            add(f"{at}mlp.{key}_proj.weight", rows, columns)
        add(at + "input_layernorm.weight", d)
        add(at + "post_attention_layernorm.weight", d)
    ids = rng.integers(0, config["vocab_size"], 24)
    config_bytes = np.frombuffer(json.dumps(config).encode(), dtype=np.uint8)
    np.savez_compressed(here / f"tiny-{name}.npz", config=config_bytes, ids=ids, logits=numpy_logits(config, w, ids).astype(np.float32), **w)
