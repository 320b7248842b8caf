"""Writes small models as Hugging Face folders, with NumPy alone: the Llama of the Rust tests, and a random sentence encoder."""

import json
import pathlib
import struct

import numpy as np

GOLDEN = pathlib.Path(__file__).parents[2] / "crates/models/tests/golden"


def visible(byte):
    """Returns the visible character as which tokenisers of bytes write a byte."""
    shown = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b]
    return chr(byte if byte in shown else 256 + sum(b not in shown for b in range(byte)))


def tokenizer(size):
    """Makes a tokeniser of bytes: two special tokens, then all bytes."""
    tokens = ["<|end|>", "<|turn|>"] + [visible(b) for b in range(256)]
    tokens += [f"[unused{i}]" for i in range(len(tokens), size)]
    keys = ("single_word", "lstrip", "rstrip", "normalized")
    special = [dict(id=i, content=tokens[i], special=True, **dict.fromkeys(keys, False)) for i in range(2)]
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    model = dict(type="BPE", vocab={t: i for i, t in enumerate(tokens)}, merges=[])
    return dict(version="1.0", truncation=None, padding=None, added_tokens=special, normalizer=None, pre_tokenizer=level,
                post_processor=None, decoder=level, model=model)


def write_safetensors(path, tensors):
    """Writes float32 arrays by name."""
    table, at = {}, 0
    for name, x in tensors.items():
        table[name] = dict(dtype="F32", shape=list(x.shape), data_offsets=[at, at + x.nbytes])
        at += x.nbytes
    head = json.dumps(table).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for x in tensors.values():
            file.write(np.ascontiguousarray(x, dtype="<f4").tobytes())


def write_decoder(folder, context=None):
    """Writes the small Llama, for texts of up to `context` tokens."""
    golden = dict(np.load(GOLDEN / "tiny-llama.npz"))
    config = json.loads(golden.pop("config").tobytes())
    config["eos_token_id"] = 0
    if context:
        config["max_position_embeddings"] = context
    template = "{% for m in messages %}<|turn|>{{ m.role }}: {{ m.content }}<|end|>{% endfor %}<|turn|>"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(config["vocab_size"])))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(chat_template=template)))
    write_safetensors(folder / "model.safetensors", {k: v for k, v in golden.items() if k not in ("ids", "logits")})
    return folder


def write_encoder(folder, width=8):
    """Writes a sentence encoder of one layer with random weights."""
    g = np.random.default_rng(3)
    shapes = {f"embeddings.{name}_embeddings.weight": (rows, width)
              for name, rows in [("word", 258), ("position", 40), ("token_type", 2)]}
    linear = [(f"attention.{n}", width, width) for n in ("self.query", "self.key", "self.value", "output.dense")]
    for name, outputs, inputs in linear + [("intermediate.dense", 12, width), ("output.dense", width, 12)]:
        shapes[f"encoder.layer.0.{name}.weight"] = (outputs, inputs)
        shapes[f"encoder.layer.0.{name}.bias"] = (outputs,)
    for name in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"]:
        shapes[f"{name}.LayerNorm.weight"] = shapes[f"{name}.LayerNorm.bias"] = (width,)
    config = dict(model_type="bert", hidden_size=width, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
                  vocab_size=258, max_position_embeddings=40, type_vocab_size=2, hidden_act="gelu")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(258)))
    (folder / "modules.json").write_text(json.dumps([dict(type="sentence_transformers.models.Normalize")]))
    write_safetensors(folder / "model.safetensors", {k: g.normal(size=s).astype("f4") for k, s in shapes.items()})
    return folder
