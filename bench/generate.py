"""Measures tokens per second of a GGUF model with Gradus and llama.cpp, which run in turn on the same machine.

    cargo build --release -p gradus-bench --bin generate
    CMAKE_ARGS="-DGGML_NATIVE=OFF -DGGML_AVX512=ON -DGGML_AVX512_VNNI=ON -DGGML_FMA=ON -DGGML_F16C=ON" pip install llama-cpp-python
    python bench/generate.py MODEL.gguf [--ours target/release/generate] [--rounds 3] [--text FILE]

The columns of Gradus are for activations in `f32` and for activations rounded to 8-bit integers, as in llama.cpp. With a text, the
perplexity of its first 1024 tokens is also compared. Without the package `llama-cpp-python` only the columns of Gradus are printed.
Gradus uses all processors; `--threads` sets the number of threads of llama.cpp (default: 2).
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

PROMPT, NEW, TEXTS, TOKENS = 512, 64, 8, 1024


def run_llama(path, threads, text):
    """Runs one round of llama.cpp, with the same work as `generate.rs`."""
    import llama_cpp
    import numpy as np

    # `Llama` has no argument for the number of sequences, so the default parameters are replaced.
    defaults = llama_cpp.llama_context_default_params

    def with_sequences():
        params = defaults()
        params.n_seq_max, params.kv_unified = TEXTS, True
        return params

    start = time.perf_counter()
    llama_cpp.llama_cpp.llama_context_default_params = llama_cpp.llama_context_default_params = with_sequences
    model = llama_cpp.Llama(path, n_ctx=2048 * TEXTS, n_batch=PROMPT, n_threads=threads, n_threads_batch=threads,
                            verbose=False)
    prompt = model.tokenize(b"The capital of France is", add_bos=False)
    vocabulary = model.n_vocab()
    context = model._ctx.ctx

    def logits(i=-1):
        pointer = llama_cpp.llama_get_logits_ith(context, i)
        return np.ctypeslib.as_array(pointer, shape=(vocabulary,))

    model.eval(prompt)
    token = int(logits().argmax())
    first = time.perf_counter() - start
    begin = time.perf_counter()
    for _ in range(NEW):
        model.eval([token])
        token = int(logits().argmax())
    decode = NEW / (time.perf_counter() - begin)
    prefill = 0.0
    for round_ in range(4):
        model.reset()
        tokens = [(i * 97 + round_ * 31 + 5) % 40000 for i in range(PROMPT)]
        begin = time.perf_counter()
        model.eval(tokens)
        logits()
        prefill = max(prefill, PROMPT / (time.perf_counter() - begin))
    # Several texts together: each batch has the next token of every text.
    model.reset()
    model._ctx.kv_cache_clear()
    batch = llama_cpp.llama_batch_init(TEXTS * (len(prompt) + 1), 0, TEXTS)

    def run(tokens):
        batch.n_tokens = len(tokens)
        for i, (token, position, text, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, position, 1
            batch.seq_id[i][0], batch.logits[i] = text, wanted
        assert llama_cpp.llama_decode(context, batch) == 0

    texts = [[i + 100] + prompt for i in range(TEXTS)]
    run([(t, p, i, p == len(prompt)) for i, text in enumerate(texts) for p, t in enumerate(text)])
    last = [int(logits((i + 1) * (len(prompt) + 1) - 1).argmax()) for i in range(TEXTS)]
    begin = time.perf_counter()
    for step in range(NEW):
        run([(last[i], len(prompt) + 1 + step, i, True) for i in range(TEXTS)])
        last = [int(logits(i).argmax()) for i in range(TEXTS)]
    together = NEW * TEXTS / (time.perf_counter() - begin)
    perplexity = None
    if text:
        model = llama_cpp.Llama(path, n_ctx=TOKENS, n_batch=TOKENS, n_threads=threads, logits_all=True, verbose=False)
        with open(text, "rb") as file:
            ids = model.tokenize(file.read(), add_bos=False)[:TOKENS]
        model.eval(ids)
        scores = np.array(model.scores[:len(ids) - 1], dtype=np.float64)
        scores -= scores.max(-1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
        perplexity = float(np.exp(-scores[np.arange(len(ids) - 1), ids[1:]].mean()))
    return {"perplexity": perplexity, "first_token_s": first, "prefill_tokens_per_s": prefill, "decode_tokens_per_s": decode,
            "together_tokens_per_s": together}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--ours", default="target/release/generate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--text", help="a file whose perplexity is computed")
    parser.add_argument("--theirs", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.theirs:
        print(json.dumps(run_llama(args.model, args.threads, args.text)))
        return
    text = [args.text] if args.text else []
    commands = {f"gradus, {compute}": [args.ours, args.model, compute, *text] for compute in ("f32", "int8")}
    try:
        import llama_cpp

        commands[f"llama.cpp ({llama_cpp.__version__})"] = [sys.executable, __file__, args.model, "--theirs",
                                                        "--threads", str(args.threads), *(["--text", *text] if text else [])]
    except ImportError:
        print("llama-cpp-python is not installed: only the columns of Gradus are printed", file=sys.stderr)
    found = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, command in commands.items():
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name].append(json.loads(done.stdout.strip().splitlines()[-1]))
    keys = ["prefill_tokens_per_s", "decode_tokens_per_s", "together_tokens_per_s", "first_token_s", "resident_bytes",
            "anonymous_bytes", "perplexity"]
    print("| | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for key in keys:
        medians = [[r[key] for r in rounds if r.get(key) is not None] for rounds in found.values()]
        print(f"| {key} | " + " | ".join(f"{statistics.median(m):.4g}" if m else "" for m in medians) + " |")


if __name__ == "__main__":
    main()
