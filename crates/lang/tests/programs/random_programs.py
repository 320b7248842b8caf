"""Writes random programs with values from plain loops: expressions, reductions, functions, conditions, time, relations, positions.

`tree.py`, `lines.py`, `make_lines.py` and `make_steps.py` make programs as trees of their own and evaluate them element by
element; gradients are those of PyTorch's autograd, compared with central differences. `make_relations.py` has rules and
facts, `positions.py` index arithmetic. Every program comes in several spellings that mean the same (`spellings.py`).
Run: python random_programs.py FOLDER COUNT [SEED [KINDS]], then GRADUS_PROGRAMS=FOLDER cargo test -p gradus-lang --test tests corpus
"""

import math
import pathlib
import random
import sys

import torch

import positions as index_arithmetic
from lines import Run, Tie, Wrong, positions
from make_lines import Maker
from make_relations import Relations
from make_steps import Steps
from spellings import spellings
from tree import Ambiguous, number

torch.set_default_dtype(torch.float64)
STEP = 1e-5


def shown(values):
    return "[" + ", ".join(repr(number(v)) for v in values) + "]"


def leaf_positions(t):
    return sorted(t.constant)


def difference(program, loss, leaf, direction):
    """The slope of the loss along a direction of one leaf, by central differences."""
    def at(h):
        moved = {p: x + h * d for (p, x), d in zip(sorted(leaf.constant.items()), direction)}
        return number(Run(program, {leaf: moved}).at(loss, None, ()))

    return (at(STEP) - at(-STEP)) / (2 * STEP)


def expectations(program, loss, r):
    """Lines with the values of all names, gradients by the leaves, and a second derivative; `None` if it has kinks."""
    plain = Run(program, {}, 1e-4)
    out = []
    for t in program.tensors:
        if t.lines and t is not loss and not t.local:
            step = plain.last(t) if t.time and any(l.step == ("*", 1) for l in t.lines) else None
            if t.time and step is None:
                continue
            out.append(f"# expect {t.name} = {shown(plain.at(t, step, p) for p in positions(t.shape))}")
    total = number(plain.at(loss, None, ()))
    out.append(f"# expect Loss = {shown([total])}")
    if not math.isfinite(total) or abs(total) > 1e6:
        return None if not out else out
    leaves = {t: {p: torch.tensor(x, requires_grad=True) for p, x in t.constant.items()} for t in program.leaves()}
    value = Run(program, leaves).at(loss, None, ())
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return out
    first = []
    for t, values in leaves.items():
        values = [values[p] for p in leaf_positions(t)]
        grads = torch.autograd.grad(value, values, create_graph=True, allow_unused=True)
        if all(g is None for g in grads):
            continue
        grads = [torch.tensor(0.0) if g is None else g for g in grads]
        if not all(math.isfinite(number(g)) and abs(number(g)) < 1e7 for g in grads):
            return out
        direction = [r.uniform(-1, 1) for _ in grads]
        slope, exact = difference(program, loss, t, direction), sum(d * number(g) for d, g in zip(direction, grads))
        if abs(slope - exact) > 1e-5 * (1 + abs(exact)):
            print(f"kink: {slope} {exact}", file=sys.stderr)
            return None
        out.append(f"# grad Loss {t.name} = {shown(grads)}")
        first.append((t, values, grads))
    if first and r.random() < 0.5:
        t, values, grads = r.choice(first)
        squares = sum((g * g for g in grads), torch.tensor(0.0))
        if squares.requires_grad:
            second = torch.autograd.grad(squares, values, allow_unused=True)
            second = [0.0 if g is None else g for g in second]
            if any(second) and all(abs(number(g)) < 1e8 for g in second):
                out.append(f"# grad2 Loss {t.name} = {shown(second)}")
    return out


def renamed(line, names):
    words = line.split(" ")
    end = words.index("=")
    return " ".join([names.get(w, w) if n < end else w for n, w in enumerate(words)])


def trees(maker, r):
    """The text of a program that is a tree, or `None` if it has no finite loss or a kink."""
    try:
        loss = maker.make()
        expect = loss and expectations(maker.program, loss, r)
    except (Ambiguous, Tie, Wrong, OverflowError, ValueError, ZeroDivisionError):
        return None
    if not expect:
        return None
    parts, infinite = [], any("inf" in e for e in expect if e.startswith("# expect"))
    for k, (lines, names) in enumerate(spellings(maker.program, r, infinite)):
        keep = expect if k in (0, 4) else [e for e in expect if not e.startswith("# grad2")]
        parts.append("\n".join(lines + [renamed(e, names) for e in keep]))
    if maker.program.refused:
        lines = maker.program.refused
        parts.append("\n".join(lines + ["# fails: is ambiguous"]))
    return "\n# ----\n".join(parts) + "\n"


def relations(seed):
    maker = Relations(f"relations {seed}")
    parts = ["\n".join(lines + expect) for lines, expect in maker.spellings(maker.r)]
    return "\n# ----\n".join(parts) + "\n"


KINDS = {
    "lines": lambda seed: trees(Maker(f"lines {seed}"), random.Random(seed)),
    "steps": lambda seed: trees(Steps(f"steps {seed}"), random.Random(seed)),
    "relations": relations,
    "positions": index_arithmetic.make,
}


def main(folder, count, seed=0, kinds="lines,steps,relations,lines,steps,positions"):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kinds, made = kinds.split(","), 0
    while made < count:
        seed += 1
        kind = kinds[seed % len(kinds)]
        text = KINDS[kind](seed)
        if text is not None:
            (folder / f"{kind}{seed}.eq").write_text(text)
            made += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *[int(a) if a.isdigit() else a for a in sys.argv[3:]])
