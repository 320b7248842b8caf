"""Writes tiny-NAME.npz for architectures whose logits come from the package `transformers`, in `float64`.

    pip install numpy torch transformers
    python families.py
"""

import json
import pathlib
import tempfile

import numpy as np
import torch
import transformers as T
from safetensors.numpy import load_file

here = pathlib.Path(__file__).parent
ids = np.random.default_rng(7).integers(2, 272, 24)
sizes = dict(vocab_size=272, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, bos_token_id=None, eos_token_id=None, pad_token_id=None)
yarn = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, rope_theta=10000.0)
cases = {
    "gpt2": T.GPT2Config(vocab_size=272, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=None, eos_token_id=None),
    "gemma2": T.Gemma2Config(**sizes, head_dim=6, sliding_window=5, query_pre_attn_scalar=9, attn_logit_softcapping=2.0,
                             final_logit_softcapping=3.0),
    "gemma3": T.Gemma3TextConfig(**sizes, head_dim=8, sliding_window=5, query_pre_attn_scalar=9,
                                 layer_types=["sliding_attention", "full_attention"]),
    "mixtral": T.MixtralConfig(**{**sizes, "hidden_size": 32, "intermediate_size": 32}, num_local_experts=4, num_experts_per_tok=2),
    "yarn": T.LlamaConfig(**{**sizes, "head_dim": 16}, attention_bias=True, mlp_bias=True, rope_parameters=yarn),
}
for name, config in cases.items():
    config._attn_implementation = config._experts_implementation = "eager"
    torch.manual_seed(3)
    model = T.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.3 if p.ndim == 1 else 1.5 * p.shape[-1] ** -0.5)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        weights = load_file(f"{folder}/model.safetensors")
        text = json.loads((pathlib.Path(folder) / "config.json").read_text())
    with torch.no_grad():
        logits = model.double()(torch.tensor(ids[None]), use_cache=False).logits[0].numpy()
    text = json.dumps({k: v for k, v in text.items() if v is not None}).encode()
    np.savez_compressed(here / f"tiny-{name}.npz", config=np.frombuffer(text, np.uint8), ids=ids, logits=logits.astype("f4"), **weights)
