"""Compares the perplexity of K-quants with llama.cpp, on a model whose widths are multiples of 256.

    pip install llama-cpp-python gguf, and the Python package of this repository
    python bench/kquants.py MODEL.gguf TEXT [--tokens 256] [--types Q4_K,Q6_K]

K-quants have blocks of 256 weights. The widths of small models, such as 576, are not multiples of 256, so the weights of a Llama
model with tied embeddings are padded with zeros to the next multiple. The added features stay zero, so the model computes the same
function. The norms average over more features; their weights and their epsilon compensate that. llama.cpp quantises the padded
model to each type. The columns are: Gradus with activations in `f32` and as integers; llama.cpp on the dequantised weights in
`f16`, with nearly exact activations; and llama.cpp on the same file, which rounds activations to integers of 8 bits.
"""

import argparse
import ctypes
import math
import os
import tempfile

import gguf
import gradus
import llama_cpp
import numpy as np

BLOCK = 256
NAMES = {"Q2_K": "MOSTLY_Q2_K", "Q3_K": "MOSTLY_Q3_K_M", "Q4_K": "MOSTLY_Q4_K_M", "Q5_K": "MOSTLY_Q5_K_M", "Q6_K": "MOSTLY_Q6_K"}


def round_up(n):
    return -(-n // BLOCK) * BLOCK


def write_padded(source, target):
    """Writes the model with widths padded to multiples of 256, in `f16`."""
    reader = gguf.GGUFReader(source)
    field = {name: f.contents() for name, f in reader.fields.items() if not name.startswith("GGUF.")}
    width, heads, kv = (field[f"llama.{key}"] for key in ("embedding_length", "attention.head_count", "attention.head_count_kv"))
    hidden, head = field["llama.feed_forward_length"], width // heads
    new = round_up(width)
    group, new_heads = heads // kv, new // head
    assert new_heads % group == 0 and new_heads // group * head % BLOCK == 0, "heads do not fit the padded width"
    scale = width / new
    writer = gguf.GGUFWriter(target, "llama")
    changed = {"embedding_length": new, "attention.head_count": new_heads, "attention.head_count_kv": new_heads // group,
               "feed_forward_length": round_up(hidden), "attention.layer_norm_rms_epsilon":
               field["llama.attention.layer_norm_rms_epsilon"] * scale}
    copy_keys(reader, writer, changed)
    for tensor in reader.tensors:
        w = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if w.ndim == 1:
            w = np.pad(w * math.sqrt(scale), (0, new - len(w)))
        else:
            rows = len(w) if "token_embd" in tensor.name else round_up(len(w))
            w = np.pad(w, ((0, rows - len(w)), (0, round_up(w.shape[1]) - w.shape[1]))).astype(np.float16)
        writer.add_tensor(tensor.name, w)
    finish(writer)


def copy_keys(reader, writer, changed):
    """Copies the metadata, with the values in `changed` by name without its prefix."""
    for name, f in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type", "general.quantization_version"):
            continue
        value = changed.get(name.removeprefix("llama."), f.contents())
        writer.add_key_value(name, value, f.types[0], f.types[1] if len(f.types) > 1 else None)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_dequantized(source, target):
    """Writes the values of quantised weights in `f16`."""
    reader, writer = gguf.GGUFReader(source), gguf.GGUFWriter(target, "llama")
    copy_keys(reader, writer, {})
    for tensor in reader.tensors:
        w = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, w if w.ndim == 1 else w.astype(np.float16))
    finish(writer)


def perplexity(scores, ids):
    scores = np.array(scores, dtype=np.float64)[:len(ids) - 1]
    scores -= scores.max(-1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
    return float(np.exp(-scores[np.arange(len(ids) - 1), np.array(ids)[1:]].mean()))


def llama_perplexity(path, text, tokens, threads):
    model = llama_cpp.Llama(path, n_ctx=tokens, n_batch=tokens, n_threads=threads, logits_all=True, verbose=False)
    with open(text, "rb") as file:
        ids = model.tokenize(file.read(), add_bos=False)[:tokens]
    model.eval(ids)
    return perplexity(model.scores[:len(ids)], ids)


def gradus_perplexity(path, compute, text, tokens):
    model = gradus.models.load(path, compute=compute)
    with open(text, encoding="utf-8") as file:
        ids = model.encode(file.read())[:tokens]
    return perplexity(np.array(model.logits(ids)).reshape(len(ids), -1), ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--types", default=",".join(NAMES))
    args = parser.parse_args()
    print("| type | f32 | int8 | llama.cpp, dequantised | llama.cpp |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        wide = os.path.join(folder, "wide.gguf")
        write_padded(args.model, wide)
        for name in args.types.split(","):
            params = llama_cpp.llama_model_quantize_default_params()
            params.ftype = getattr(llama_cpp, "LLAMA_FTYPE_" + NAMES[name])
            params.nthread = args.threads
            small = os.path.join(folder, name + ".gguf")
            assert llama_cpp.llama_model_quantize(wide.encode(), small.encode(), ctypes.byref(params)) == 0
            wide_f16 = os.path.join(folder, "dequantised.gguf")
            write_dequantized(small, wide_f16)
            own = [gradus_perplexity(small, compute, args.text, args.tokens) for compute in ("f32", "int8")]
            other = [llama_perplexity(path, args.text, args.tokens, args.threads) for path in (wide_f16, small)]
            print(f"| {name} | " + " | ".join(f"{x:.3f}" for x in own + other) + " |", flush=True)
            os.remove(small)


if __name__ == "__main__":
    main()
