"""Measures the perplexity of a GGUF model on the beginning of a text, token by token through the cache, as generation computes it.

    cargo build --release -p gradus-cli
    pip install gguf tokenizers
    python bench/perplexity.py MODEL.gguf TEXT [--tokens 256] [--gradus target/release/gradus]

Each row is from a server with another representation of activations (`--compute`) or of its cache (`--cache`). A request asks for one
token after the text so far. A bias makes the server choose the next token of the text, and the answer contains the model's
log-probability of that token.
"""

import argparse
import http.client
import json
import math
import re
import subprocess

import gguf
import tokenizers
from tokenizers import models, pre_tokenizers

REPRESENTATIONS = [("f32", "f32"), ("bf16", "f32"), ("int8", "f32"), ("f32", "bf16"), ("f32", "q8"), ("int8", "q8")]


def encode(model, text):
    """Encodes a text with the vocabulary and merges of the file."""
    fields = gguf.GGUFReader(model).fields
    vocabulary = {token: i for i, token in enumerate(fields["tokenizer.ggml.tokens"].contents())}
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return tokenizer.encode(text).ids


def perplexity(gradus, model, ids, compute, cache):
    command = [gradus, "serve", model, "--port", "0", "--slots", "1", "--compute", compute, "--cache", cache]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = next(found.group(1) for line in server.stdout if (found := re.search(r"http://127.0.0.1:(\d+)", line)))
        client = http.client.HTTPConnection("127.0.0.1", int(port), timeout=600)
        total = 0.0
        for i in range(1, len(ids)):
            # The bias of 100 makes the server choose the next token of the text.
            body = {"prompt": ids[:i], "max_tokens": 1, "temperature": 0, "logprobs": 0, "logit_bias": {str(ids[i]): 100}}
            client.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            answer = json.loads(client.getresponse().read())
            [log_probability] = answer["choices"][0]["logprobs"]["token_logprobs"]
            total -= log_probability
        return math.exp(total / (len(ids) - 1))
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--gradus", default="target/release/gradus")
    args = parser.parse_args()
    with open(args.text, encoding="utf-8") as file:
        ids = encode(args.model, file.read())[:args.tokens]
    print(f"{len(ids)} tokens\n| compute | cache | perplexity |\n|---|---|---|", flush=True)
    for compute, cache in REPRESENTATIONS:
        print(f"| {compute} | {cache} | {perplexity(args.gradus, args.model, ids, compute, cache):.3f} |", flush=True)


if __name__ == "__main__":
    main()
