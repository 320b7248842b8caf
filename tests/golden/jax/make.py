"""Writes jax.json: values of nested transforms computed by JAX.

Run it manually, with jax installed (CPU), from the repository root:

    python tests/golden/jax/make.py

It writes tests/golden/jax.json (with the JAX version in it), deterministically, in float64.
tests/golden/README.md describes the format; each case is defined twice under its name, here and in the Rust file of the
same name.
"""

import json
import os

import jax

from record import cases

import arrays  # noqa: F401  each module records its cases as it is imported
import batches  # noqa: F401
import complexes  # noqa: F401
import fourier  # noqa: F401
import linear  # noqa: F401
import loops  # noqa: F401
import networks  # noqa: F401
import orders  # noqa: F401
import rules  # noqa: F401


def main():
    names = [c["name"] for c in cases]
    assert len(set(names)) == len(names), "two cases have the same name"
    lines = [json.dumps(c, separators=(",", ":"), allow_nan=False) for c in cases]
    text = '{"jax":"%s","cases":[\n%s\n]}\n' % (jax.__version__, ",\n".join(lines))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jax.json")
    with open(path, "w", newline="\n") as f:
        f.write(text)
    print(f"jax {jax.__version__}: {len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
