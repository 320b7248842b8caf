"""Writes pytorch.json: golden values and gradients computed by PyTorch.

Run it manually, with torch installed, from the repository root:

    python tests/golden/make.py

It writes tests/golden/pytorch.json next to this file (with the torch version in
it), deterministically, in float64.  While it runs, every gradient of a case that
is not marked as a special point is also compared with differences of sixth order,
so that the script stops at a case that is at a kink by accident, or whose gradient is
less accurate than double precision.
README.md describes the format.
"""

import json
import os
import zlib

import torch

from networks import activations, attention, convolution, losses, norms
from pointwise import binary, complex_, unary
from record import cases, gen, worst
from tensors import contraction, indexing, movement, reductions


def main():
    for section in [
        unary, binary, complex_, reductions, contraction, convolution, movement, indexing,
        activations, norms, losses, attention,
    ]:
        gen.manual_seed(zlib.crc32(section.__name__.encode()))
        section()
    version = torch.__version__.split("+")[0]
    lines = [json.dumps(x, separators=(",", ":"), allow_nan=False) for x in cases]
    assert len(set(lines)) == len(lines), "a case is recorded twice"
    text = '{"torch":"%s","cases":[\n%s\n]}\n' % (version, ",\n".join(lines))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch.json")
    with open(path, "w", newline="\n") as f:
        f.write(text)
    print(f"torch {version}: {len({x['name'] for x in cases})} names, {len(cases)} cases, {len(text)} bytes")
    print("against differences, at worst:", sorted(((v, k) for k, v in worst.items()), reverse=True)[:5])


if __name__ == "__main__":
    main()
