"""Makes random programs about index arithmetic: inferred sizes, computed indices, reductions, conditions and stencils in time.

The generator keeps a tree of its own and evaluates it element by element with PyTorch scalars, whose autograd gives the
gradients. Every program comes in several spellings that mean the same.
"""

import math
import random

import torch

torch.set_default_dtype(torch.float64)


class Tensor:
    """A tensor of the program: its name, its sizes and its elements by position."""

    def __init__(self, name, shape, at, integer=False):
        self.name, self.shape, self.at, self.integer = name, shape, at, integer


def positions(shape):
    if not shape:
        yield ()
        return
    for rest in positions(shape[1:]):
        for i in range(shape[0]):
            yield (i,) + rest


class Place:
    """An index: `terms` are (factor, index name), `computed` is (tensor, index name), `step` the offset in time."""

    def __init__(self, terms=(), offset=0, computed=None):
        self.terms, self.offset, self.computed = list(terms), offset, computed

    def names(self):
        return [self.computed[1]] if self.computed else [n for _, n in self.terms]

    def text(self):
        if self.computed:
            return f"{self.computed[0].name}[{self.computed[1]}]"
        out = ""
        for factor, name in self.terms:
            sign = "-" if factor < 0 else "+" if out else ""
            out += sign + (name if abs(factor) == 1 else f"{abs(factor)}*{name}")
        if self.offset or not out:
            out += f"{self.offset:+d}" if out else str(self.offset)
        return out

    def value(self, env):
        if self.computed:
            return int(self.computed[0].at[(env[self.computed[1]],)])
        return sum(f * env[n] for f, n in self.terms) + self.offset

    def is_plain(self):
        return not self.computed and len(self.terms) == 1 and self.terms[0][0] == 1 and self.offset == 0

    def is_offset(self):
        return not self.computed and len(self.terms) == 1 and self.terms[0][0] == 1


class Read:
    def __init__(self, tensor, places, function=None, time=False):
        self.tensor, self.places, self.function, self.time = tensor, places, function, time

    def names(self):
        return [n for p in self.places for n in p.names()]

    def text(self, function=True):
        inside = [p.text() for p in self.places] + (["*t"] if self.time else [])
        out = f"{self.tensor.name}[{','.join(inside)}]" if inside else self.tensor.name
        return f"{self.function}({out})" if self.function and function else out

    def value(self, env):
        at = tuple(p.value(env) for p in self.places)
        inside = all(0 <= x < n for x, n in zip(at, self.tensor.shape))
        x = self.tensor.at[at] if inside else torch.tensor(0.0)
        return {"tanh": torch.tanh, "exp": torch.exp, "sin": torch.sin, None: lambda x: x}[self.function](x)


FUNCTIONS = [None, None, None, "tanh", "sin", "exp"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.tensors, self.leaves, self.axes = [], [], [], {}
        self.fresh = 0

    def constant(self, name, shape, integer=None):
        if integer is not None:
            at = {p: self.r.randrange(integer) for p in positions(shape)}
        else:
            at = {p: torch.tensor(round(self.r.uniform(-1.2, 1.2), 3), requires_grad=True) for p in positions(shape)}

        def nested(prefix, rest):
            if not rest:
                return str(at[prefix] if integer is not None else at[prefix].item())
            return "[" + ", ".join(nested(prefix + (i,), rest[1:]) for i in range(rest[0])) + "]"

        index = ",".join(["p", "q", "r"][: len(shape)])
        self.lines.append(f"{name}[{index}] = const({nested((), shape)})")
        t = Tensor(name, shape, at, integer is not None)
        if integer is None:
            self.tensors.append(t)
            self.leaves.append(t)
        return t

    def place(self, names, extent, used):
        """A place of a read with an axis of this extent, from some index names."""
        kind = self.r.random()
        name = self.r.choice(names)
        other = self.r.choice(names)
        if kind < 0.45:
            return Place([(1, name)])
        if kind < 0.6:
            return Place([(1, name)], self.r.choice([-1, 1, 2]))
        if kind < 0.72 and other != name:
            return Place([(self.r.choice([1, 1, 2]), name), (self.r.choice([1, 1, -1]), other)], self.r.choice([0, 0, 1, -1]))
        if kind < 0.84:
            return Place([(self.r.choice([2, 2, 3, -1]), name)], self.r.choice([0, 1, extent - 1]))
        if kind < 0.94:
            fitting = [t for t in self.indices if t.bound <= extent]
            if fitting:
                return Place(computed=(self.r.choice(fitting), name))
        return Place([], self.r.randrange(extent))

    def index_sizes(self, reads, left):
        """Declares sizes of indices: plain reads give theirs, others are declared or left to be inferred."""
        sizes = {}
        for r in reads:
            for p, n in zip(r.places, r.tensor.shape):
                if p.is_plain():
                    name = p.terms[0][1]
                    if sizes.get(name, n) != n:
                        return None
                    sizes[name] = n
                if p.computed:
                    name, n = p.computed[1], p.computed[0].shape[0]
                    if sizes.get(name, n) != n:
                        return None
                    sizes[name] = n
        names = {n for r in reads for n in r.names()} | set(left)
        for name in sorted(names - set(sizes)):
            own = [(p, n) for r in reads for p, n in zip(r.places, r.tensor.shape) if name in p.names()]
            offsets = {n for p, n in own if p.is_offset()}
            alone = [(p, n) for p, n in own if not p.is_offset()]
            settled = all(o == name or o in sizes for p, _ in alone for o in p.names())
            if self.r.random() < 0.6 and own and settled and len(offsets) < 2:
                size = offsets.pop() if offsets else self.largest(name, alone, sizes)
                if size >= 1:
                    sizes[name] = size
                    continue
            # A name of its own, as declared sizes hold for all lines.
            sizes[name] = self.r.choice([2, 3, 4])
            self.declared.append(name)
        return sizes

    def largest(self, name, own, sizes):
        best = 10**9
        for p, n in own:
            low = high = p.offset
            factor = 0
            for f, o in p.terms:
                if o == name:
                    factor = f
                elif f > 0:
                    high += f * (sizes[o] - 1)
                else:
                    low += f * (sizes[o] - 1)
            if low < 0 or high >= n:
                return 0
            best = min(best, ((n - 1 - high) // factor if factor > 0 else low // -factor) + 1)
        return best

    def line(self, name, time_state=None):
        """One line with its value, or None if the sizes do not fit."""
        self.fresh += 1
        names = [f"{x}{self.fresh}" for x in "ijk"][: self.r.choice([1, 2, 2, 3])]
        self.declared = []
        how = self.r.choice(["=", "=", "=", "=", "max=", "min=", "avg=", "prod="])
        rank = self.r.choice([1, 1, 2]) if len(names) > 1 else 1
        left = names[:rank]
        reads = []
        pool = self.tensors
        for _ in range(self.r.choice([1, 1, 2, 2, 3])):
            t = self.r.choice(pool)
            reads.append(Read(t, [self.place(names, n, reads) for n in t.shape], self.r.choice(FUNCTIONS)))
        sizes = self.index_sizes(reads, left)
        if sizes is None or any(n > 12 for n in sizes.values()) or math.prod(sizes.values()) > 400:
            return None
        used = {n for r in reads for n in r.names()} | set(left)
        guard = None
        if self.r.random() < 0.25:
            g = self.r.choice(sorted(used))
            guard = (g, self.r.randrange(sizes[g]))
        # The left side.
        places, shape, reader = [], [], None
        for n in left:
            kind = self.r.random()
            if kind < 0.6:
                places.append(Place([(1, n)]))
                shape.append(sizes[n])
            elif kind < 0.8:
                f, o = self.r.choice([1, 2, 2, 3]), self.r.choice([0, 1])
                if f == 1:
                    places.append(Place([(1, n)]))
                    shape.append(sizes[n])
                else:
                    places.append(Place([(f, n)], o))
                    shape.append(f * (sizes[n] - 1) + o + 1)
            else:
                fitting = [t for t in self.indices if t.shape[0] == sizes[n]]
                if not fitting:
                    places.append(Place([(1, n)]))
                    shape.append(sizes[n])
                else:
                    t = self.r.choice(fitting)
                    places.append(Place(computed=(t, n)))
                    shape.append(t.bound + self.r.choice([0, 1]))
                    reader = True
        order = sorted(used, key=lambda n: n)
        at = {p: [] for p in positions(shape)}
        for env in positions([sizes[n] for n in order]):
            env = dict(zip(order, env))
            if guard and not env[guard[0]] > guard[1]:
                continue
            x = torch.tensor(1.0)
            for r in reads:
                x = x * r.value(env)
            where = tuple(p.value(env) for p in places)
            if where in at:
                at[where].append(x)
        # Every element needs a finite value for the loss.
        if how != "=" and any(not v for v in at.values()):
            return None
        for p, v in at.items():
            if how == "=":
                at[p] = sum(v, torch.tensor(0.0))
            elif how == "avg=":
                at[p] = sum(v) / len(v)
            elif how == "prod=":
                at[p] = math.prod(v)
            else:
                all = torch.stack(v)
                at[p] = all.max() if how == "max=" else all.min()
                if len({x.item() for x in v}) < len(v):
                    return None
            if abs(at[p].item()) > 1e4:
                return None
        out = Tensor(name, shape, at)
        self.tensors.append(out)
        for n in self.declared:
            self.axes[n] = sizes[n]
        target = f"{name}[{','.join(p.text() for p in places)}]"
        when = f" when index({guard[0]}) > {guard[1]}" if guard else ""
        if reader:
            index = [f"z{self.fresh}{i}" for i in range(len(shape))]
            self.axes.update(dict(zip(index, shape)))
            self.readers.append(f"Shown{self.fresh}[{','.join(index)}] = {name}[{','.join(index)}]")
        self.made.append((target, how, reads, when, sizes))
        return out

    def program(self):
        self.indices, self.readers, self.made = [], [], []
        n = self.r.choice([3, 4, 5])
        self.constant("A", [n])
        self.constant("B", [self.r.choice([2, 3])])
        self.constant("C", [self.r.choice([2, 3]), self.r.choice([3, 4])])
        for name in ["I", "J"]:
            bound = self.r.choice([2, 3])
            t = self.constant(name, [self.r.choice([2, 3, 4])], integer=bound)
            t.bound = bound
            self.indices.append(t)
        last = None
        for i in range(self.r.choice([1, 2, 2, 3])):
            for _ in range(30):
                found = self.line(f"Y{i}")
                if found is not None:
                    last = found
                    break
        return last

    def texts(self, last, loss):
        """The program in several spellings."""

        def written(product):
            return [f"{target} {how} {product(reads, sizes)}{when}" for target, how, reads, when, sizes in self.made]

        side = lambda reads, _: " ".join(r.text() for r in reads)
        index = [f"w{i}" for i in range(len(last.shape))]
        own = f"{last.name}[{','.join(index)}]"
        end = [f"Loss = {own} {own}"]
        axes = [f"axis {n} = {s}" for n, s in self.axes.items()]
        rest = axes + self.readers + end
        yield self.lines + written(side) + rest
        yield self.lines + written(lambda reads, _: "(" + " * ".join(f"({r.text()})" for r in reversed(reads)) + ")") + rest
        shuffled = self.lines + written(side) + rest
        self.r.shuffle(shuffled)
        yield shuffled
        # A name for every read, at all of its indices.
        named, extra, sizes_of = [], [], {}
        for k, (target, how, reads, when, sizes) in enumerate(self.made):
            parts = []
            for j, r in enumerate(reads):
                names = list(dict.fromkeys(r.names()))
                if not names:
                    parts.append(r.text())
                    continue
                sizes_of.update({n: sizes[n] for n in names})
                part = f"P{k}{j}[{','.join(names)}]"
                extra.append(f"{part} = {r.text()}")
                parts.append(part)
            named.append(f"{target} {how} {' '.join(parts)}{when}")
        every = {**self.axes, **sizes_of}
        yield self.lines + extra + named + [f"axis {n} = {s}" for n, s in every.items()] + self.readers + end
        functions = ["fn half_twice(x) -> y { y = x / 2 + x / 2 }"]
        yield functions + self.lines + written(lambda reads, _: " ".join(f"half_twice({r.text()})" for r in reads)) + rest


class Steps:
    """A random recurrence: terms are (text at a step, function of state, element and step)."""

    def __init__(self, seed):
        r = self.r = random.Random(f"steps {seed}")
        self.n, self.steps = r.choice([3, 4]), r.choice([2, 3, 4])
        n, steps = self.n, self.steps
        draw = lambda: torch.tensor(round(r.uniform(-0.9, 0.9), 3), requires_grad=True)
        self.a = [draw() for _ in range(n)]
        self.k = [draw() for _ in range(3)]
        self.x = [[draw() for _ in range(steps)] for _ in range(n)]
        self.j = [r.randrange(n) for _ in range(n)]
        at = lambda s, i: s[i] if 0 <= i < n else torch.tensor(0.0)
        zero = torch.tensor(0.0)
        choices = [
            ("0.5 S[i,*t]", lambda s, i, t: 0.5 * s[i]),
            ("K[k] S[i+k-1,*t]", lambda s, i, t: sum(self.k[k] * at(s, i + k - 1) for k in range(3))),
            ("tanh(S[i-1,*t])", lambda s, i, t: torch.tanh(at(s, i - 1))),
            ("X[i,*t] S[i,*t]", lambda s, i, t: self.x[i][t] * s[i]),
            ("X[i,*t]", lambda s, i, t: self.x[i][t]),
            ("S[J[i],*t] X[i,*t]", lambda s, i, t: s[self.j[i]] * self.x[i][t]),
            (f"S[{n - 1}-i,*t] S[i,*t]", lambda s, i, t: s[n - 1 - i] * s[i]),
            ("sin(K[m] S[i+m-1,*t])", lambda s, i, t: torch.sin(sum(self.k[k] * at(s, i + k - 1) for k in range(3)))),
            ("(S[i,*t] > 0 ? S[i,*t] : 0.1 X[i,*t])", lambda s, i, t: s[i] if s[i] > 0 else 0.1 * self.x[i][t]),
            ("(index(i) > 0 ? S[i-1,*t] : 0)", lambda s, i, t: s[i - 1] if i > 0 else zero),
            ("(index(t) > 0 ? 0.3 S[i,*t] : 0)", lambda s, i, t: 0.3 * s[i] if t > 0 else zero),
        ]
        self.terms = r.sample(choices, r.choice([1, 2, 3]))
        self.last = r.random() < 0.5

    def run(self):
        s = self.a
        all = []
        for t in range(self.steps):
            s = [sum((f(s, i, t) for _, f in self.terms), torch.tensor(0.0)) for i in range(self.n)]
            all.append(s)
        rows = [s] if self.last else all
        return s, sum((x * x for row in rows for x in row), torch.tensor(0.0))

    def texts(self):
        row = lambda xs: "[" + ", ".join(str(x.item()) for x in xs) + "]"
        head = [
            f"axis t = {self.steps}",
            f"axis i = {self.n}",
            f"A[i] = const({row(self.a)})",
            f"K[k] = const({row(self.k)})",
            "X[i,*t] = const([" + ", ".join(row(x) for x in self.x) + "])",
            "J[i] = const([" + ", ".join(map(str, self.j)) + "])",
            "S[i,*0] = A[i]",
        ]
        end = ["Loss = S[w,*-1] S[w,*-1]" if self.last else "Loss = S[w,*t+1] S[w,*t+1]"]
        step = [text for text, _ in self.terms]
        yield head + ["S[i,*t+1] = " + " + ".join(step)] + end
        yield head + ["S[i,*t+1] = (" + " + ".join(f"({x})" for x in reversed(step)) + ")"] + end
        yield end + [f"S[i,*t+1] = {x}" for x in step] + head[::-1]
        named = [f"P{j}[i,*t] = {x}" for j, x in enumerate(step)]
        yield head + named + ["S[i,*t+1] = " + " + ".join(f"P{j}[i,*t]" for j in range(len(step)))] + end
        twice = ["fn half_twice(x) -> y { y = x / 2 + x / 2 }"]
        yield twice + head + ["S[i,*t+1] = " + " + ".join(f"half_twice({x})" for x in step)] + end


def numbers(at, shape):
    return "[" + ", ".join(repr(at[p].item()) for p in sorted(positions(shape))) + "]"


def derivatives(loss, leaves, r):
    """Lines that state the gradients by leaves, and a second derivative by one of them."""
    out, first = [], []
    for name, values in leaves:
        grads = torch.autograd.grad(loss, values, create_graph=True, allow_unused=True)
        if all(g is None for g in grads):
            continue
        grads = [torch.tensor(0.0) if g is None else g for g in grads]
        out.append(f"# grad Loss {name} = {[g.item() for g in grads]}")
        first.append((name, values, grads))
    if first:
        name, values, grads = r.choice(first)
        squares = sum((g * g for g in grads), torch.tensor(0.0))
        if squares.requires_grad:
            second = torch.autograd.grad(squares, values, allow_unused=True)
            if any(g is not None for g in second):
                out.append(f"# grad2 Loss {name} = {[0.0 if g is None else g.item() for g in second]}")
    return out


def spelled(spellings, expect):
    """The text of a file with all spellings; second derivatives are stated for two of them."""
    parts = []
    for k, lines in enumerate(spellings):
        keep = expect if k in (0, 3) else [e for e in expect if not e.startswith("# grad2")]
        parts.append("\n".join(lines + keep))
    return "\n# ----\n".join(parts) + "\n"


def make(seed):
    """The text of a random program, or `None`."""
    if seed % 3 == 0:
        m = Steps(seed)
        state, loss = m.run()
        if not torch.isfinite(loss) or not loss.requires_grad:
            return None
        expect = [f"# expect S = {[x.item() for x in state]}"]
        leaves = [("A", m.a), ("K", m.k), ("X", [x for row in m.x for x in row])]
        return spelled(m.texts(), expect + derivatives(loss, leaves, m.r))
    m = Maker(seed)
    last = m.program()
    if last is None:
        return None
    loss = sum((x * x for x in last.at.values()), torch.tensor(0.0))
    if not torch.isfinite(loss) or not loss.requires_grad:
        return None
    expect = [f"# expect {last.name} = {numbers(last.at, last.shape)}"]
    leaves = [(t.name, [t.at[k] for k in sorted(positions(t.shape))]) for t in m.leaves]
    return spelled(m.texts(last, loss), expect + derivatives(loss, leaves, m.r))
