"""Writes sampling.json: probabilities of tokens under all settings, by plain NumPy formulas in float64.

python crates/nn/tests/golden/sampling.py
"""

import json
import pathlib

import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def probabilities(logits, before, generated, bias, s):
    x = np.float32(logits).astype(np.float64)
    for token in set(before[-s["recent"] :] if s["recent"] else []):
        x[token] = x[token] / s["repetition_penalty"] if x[token] > 0 else x[token] * s["repetition_penalty"]
    new = before[len(before) - generated :]
    counts = np.bincount(new, minlength=len(x)).astype(np.float64) if new else np.zeros(len(x))
    x = x - s["presence_penalty"] * (counts > 0) - s["frequency_penalty"] * counts
    for token, b in bias:
        x[token] += b
    if s["temperature"] == 0:
        out = np.zeros(len(x))
        out[np.argmax(x)] = 1
        return out
    p = softmax(x / s["temperature"])
    order = np.argsort(-p, kind="stable")
    keep = order[: s["top_k"]] if s["top_k"] else order
    share = np.cumsum(p[keep]) / p[keep].sum()
    keep = keep[: 1 + np.searchsorted(share, s["top_p"])] if s["top_p"] < 1 else keep
    keep = keep[p[keep] >= s["min_p"] * p[order[0]]]
    out = np.zeros(len(x))
    out[keep] = p[keep]
    return out / out.sum()


def main():
    g = np.random.default_rng(7)
    cases = []
    for _ in range(60):
        n = int(g.integers(5, 40))
        s = {
            "temperature": float(g.choice([0.0, 0.3, 1.0, 1.7])),
            "top_k": int(g.choice([0, 0, 1, 3, 10])),
            "top_p": float(g.choice([1.0, 0.37, 0.9])),
            "min_p": float(g.choice([0.0, 0.02, 0.2])),
            "repetition_penalty": float(g.choice([1.0, 1.3, 0.8])),
            "recent": int(g.choice([64, 4])),
            "frequency_penalty": float(g.choice([0.0, 0.7, -0.4])),
            "presence_penalty": float(g.choice([0.0, 1.1])),
        }
        logits = [float(np.float32(v)) for v in g.normal(size=n) * 3]
        before = [int(t) for t in g.integers(0, n, size=int(g.integers(0, 20)))]
        generated = int(g.integers(0, len(before) + 1))
        bias = [[int(t), float(v)] for t, v in zip(g.choice(n, 3, replace=False), g.normal(size=3) * 2)]
        logp = np.log(softmax(np.array(logits)))
        top = np.argsort(-logp, kind="stable")[:5]
        cases.append(
            dict(
                settings=s,
                logits=logits,
                before=before,
                generated=generated,
                bias=bias,
                probabilities=list(probabilities(logits, before, generated, bias, s)),
                log_probabilities=list(logp),
                top=[[int(t), float(logp[t])] for t in top],
            )
        )
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(cases))


if __name__ == "__main__":
    main()
