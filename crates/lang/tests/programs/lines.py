"""Random programs as data: tensors, their lines, and the loops that give their values.

A program has at most one time. A tensor with time has a value at every step; `Run` computes each of them once, on demand.
"""

import math
from itertools import product as combinations

from tree import Place, Sigma, Style, close, closed, closed_indices, combine, number, refuse, shared


class Tie(Exception):
    """Two values are so close that a small change of a leaf would select the other one."""


class Wrong(Exception):
    """The program has no meaning: its values are not finite, or depend on themselves."""


class Tensor:
    """A name with its sizes. `time` is True if it has a value at every step; `local` if its lines do not write the time."""

    def __init__(self, name, shape, time=False, local=False):
        self.name, self.shape, self.time, self.local = name, list(shape), time, local
        self.lines, self.constant, self.integer, self.bound = [], None, False, None
        # True if lines made so far give the sizes of its axes.
        self.sized = False

    def offsets(self):
        return [l.step[1] for l in self.lines if l.step and l.step[0] == "*"]


class Line:
    """`places` and `step` are the left side, `terms` the right one: (sign, tree) of each term."""

    def __init__(self, tensor, places, how, terms, guard=None, step=None):
        self.tensor, self.places, self.how = tensor, places, how
        self.terms, self.guard, self.step = terms, guard, step
        tensor.lines.append(self)

    def left(self):
        names = [n for p in self.places for n in p.names()]
        return names + ["t"] if self.step and self.step[0] == "*" or self.tensor.local else names

    def indices(self):
        out = set(self.left())
        for _, e in self.terms:
            out |= set(e.mentions())
        return out | (set(self.guard.mentions()) if self.guard else set())

    def indices_outside_guard(self):
        return set(self.left()) | {n for _, e in self.terms for n in e.mentions()}

    def closed_guard(self):
        """The guard with its sums: those over indices of products that the rest of the line does not mention."""
        return closed(self.guard, self.indices_outside_guard()) if self.guard else None

    def reads_time(self):
        trees = [e for _, e in self.terms] + ([self.guard] if self.guard else [])
        return any(e.reads_time() for e in trees)

    def text(self, style=Style()):
        inside = [p.text(style) for p in self.places]
        if self.step is not None:
            kind, n = self.step
            t = style.name("t")
            inside.append(f"*{n}" if kind == "@" else f"*{t}{n:+d}" if n else f"*{t}")
        left = style.name(self.tensor.name) + (f"[{','.join(inside)}]" if inside else "")
        right = ""
        for n, (sign, e) in enumerate(self.terms):
            level = 4 if len(self.terms) == 1 and self.how == "=" else 5
            text = e.text(style)
            text = f"({text})" if e.level < level or self.is_one(e) else text
            right += ("-" if sign < 0 else "") + text if n == 0 else (" - " if sign < 0 else " + ") + text
        before = after = ""
        if self.guard is not None:
            guard = self.guard.text(style)
            if style.postfix:
                after = f" when {guard}"
            else:
                before = f" when {guard}"
        return f"{left}{before} {self.how} {right}{after}"

    def is_one(self, e):
        """Returns true if the sum is one value: in parentheses, as `=` would split it."""
        return e.level == 4 and self.how in ("=", "+=", "sum=")


class Program:
    def __init__(self):
        self.tensors, self.sizes, self.axes, self.functions = [], {}, set(), []
        self.steps, self.while_, self.declared = None, None, False
        # The lines of a program that is refused because of an ambiguous sum.
        self.refused = None

    def add(self, tensor):
        self.tensors.append(tensor)
        return tensor

    def leaves(self):
        return [t for t in self.tensors if t.constant is not None and not t.integer]


def positions(shape):
    return combinations(*[range(n) for n in shape])


class Run:
    """The values of a program for given leaves: {tensor: {position: number}}; positions of inputs with time end with it."""

    def __init__(self, program, leaves, margin=0.0):
        self.program, self.leaves, self.margin = program, leaves, margin
        self.values, self.open, self.closed = {}, set(), {}
        self.steps = program.steps
        if program.while_ is not None:
            self.steps = next((k for k in range(program.steps) if not self.holds(k)), program.steps)

    def holds(self, step):
        return bool(self.at(self.program.while_, step, ()))

    def apart(self, first, *others):
        for other in others:
            if abs(number(first) - number(other)) < self.margin:
                raise Tie()

    def size(self, index):
        return self.program.steps if index == "t" else self.program.sizes[index]

    def all(self, indices):
        for at in positions([self.size(n) for n in indices]):
            yield dict(zip(indices, at))

    def last(self, tensor):
        if tensor.constant is not None:
            return self.program.steps - 1
        offsets = tensor.offsets() or [0]
        return (self.steps if max(offsets) > 0 else self.program.steps - 1) if self.program.while_ is None else self.steps

    def read(self, tensor, step, at, env):
        if not all(0 <= x < n for x, n in zip(at, tensor.shape)):
            return 0.0
        if not tensor.time:
            return self.at(tensor, None, at)
        if step is None:
            s = self.last(tensor)
        elif step[0] == "@":
            s = step[1] if step[1] >= 0 else self.last(tensor) + 1 + step[1]
        else:
            s = env["t"] + step[1]
        return self.at(tensor, s, at) if 0 <= s <= self.last(tensor) else 0.0

    def at(self, tensor, step, at):
        if tensor.constant is not None:
            values = self.leaves.get(tensor, tensor.constant)
            return values[at if step is None else at + (step,)]
        key = (tensor, step)
        if key not in self.values:
            if key in self.open:
                raise Wrong(f"{tensor.name} at {step} needs itself")
            self.open.add(key)
            self.values[key] = self.whole(tensor, step)
            self.open.discard(key)
        return self.values[key][at]

    def whole(self, tensor, step):
        """All elements of a tensor, at a step if it has time."""
        found = {p: [] for p in positions(tensor.shape)}
        how = None
        for line in tensor.lines:
            if tensor.time:
                if line.step is not None and line.step[0] == "@":
                    if step != line.step[1]:
                        continue
                    env = {}
                else:
                    t = step - (line.step[1] if line.step else 0)
                    if not 0 <= t < self.program.steps:
                        continue
                    env = {"t": t}
            else:
                env = {}
            how = line.how
            self.add(line, env, found)
        if how is None:
            how = "sum="
        name = {"=": "sum", "+=": "sum"}.get(how, how[:-1])
        out = {p: combine(name, v, self) for p, v in found.items()}
        if tensor.time and any(abs(number(x)) > 1e4 for x in out.values()):
            raise Wrong("a state is large")
        return out

    def close(self, line):
        """The terms of a line and its guard with their sums, and the indices of the guard. Raises `Ambiguous`."""
        key = id(line)
        if key not in self.closed:
            guard = line.closed_guard()
            used = set(guard.mentions()) if guard else set()
            kept = set(line.left()) | used
            splits = line.how in ("=", "+=", "sum=")
            parts = []
            for sign, e in line.terms:
                around = kept if splits else kept | shared(e)
                refuse(e, around, splits)
                tree, left = closed_indices(e, around)
                parts.append((sign, tree, left))
            assert splits or len(parts) == 1
            if line.guard:
                refuse(line.guard, line.indices_outside_guard(), False)
            self.closed[key] = (parts, guard, used)
        return self.closed[key]

    def add(self, line, env, found):
        parts, guard, used = self.close(line)
        for sign, tree, left in parts:
            names = sorted(n for n in set(left) | used | set(line.left()) if n not in env)
            for at in self.all(names):
                here = {**env, **at}
                if guard is not None and not guard.value(here, self):
                    continue
                where = tuple(p.value(here, self) for p in line.places)
                if where in found:
                    found[where].append(sign * tree.value(here, self))
                elif any(p.computed for p in line.places):
                    raise Wrong("a computed position is outside")
