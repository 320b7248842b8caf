"""Makes random programs: lines without time, and recurrences with names inside and outside of their steps."""

import math
import random

from lines import Line, Program, Run, Tensor, Tie, Wrong, positions
from spellings import text
from tree import (Along, Ambiguous, Both, Call, Choice, Compare, Number, Of, Own, Place, Power, Product, Read, Reduced,
                  Style, Sum, number)

HOWS = ["=", "=", "=", "+=", "sum=", "max=", "min=", "avg=", "prod="]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.program = Program()
        self.count = 0
        self.by_step = False

    # Leaves.

    def constant(self, name, shape, bound=None, time=False):
        full = shape + [self.program.steps] if time else shape
        draw = lambda: float(self.r.randrange(bound)) if bound else round(self.r.uniform(-1.2, 1.2), 2) or 0.5
        t = self.program.add(Tensor(name, shape, time))
        t.constant = {p: draw() for p in positions(full)}
        t.integer, t.bound = bound is not None, bound
        return t

    def leaves(self):
        size = lambda: self.r.choice([2, 3])
        self.constant("A", [size()])
        self.constant("B", [size()])
        self.constant("C", [size(), size()])
        if self.r.random() < 0.5:
            self.constant("D", [])
        for name in ["I", "J"]:
            self.constant(name, [size()], bound=self.r.choice([2, 3]))

    # Indices.

    def index(self, size):
        self.count += 1
        name = f"{self.r.choice('ijkmn')}{self.count}"
        self.program.sizes[name] = size
        return name

    def place(self, extent, indices):
        """A place of a read along an axis of this extent."""
        r, sizes = self.r, self.program.sizes
        same = [n for n in indices if n != "t" and sizes[n] == extent]
        others = [n for n in indices if n != "t"]
        kind = r.random()
        if kind < 0.72:
            if same and r.random() < 0.85:
                return Place([(1, r.choice(same))])
            if r.random() < 0.6:
                name = self.index(extent)
                indices.append(name)
                return Place([(1, name)])
        if kind < 0.9 and others:
            a, b = r.choice(others), r.choice(others)
            if a != b and r.random() < 0.4:
                return Place([(r.choice([1, 1, 2]), a), (r.choice([1, -1]), b)], r.choice([0, 0, 1, -1]))
            factor = r.choice([1, 1, 1, 2, -1])
            return Place([(factor, a)], r.choice([-1, 1] if factor == 1 else [0, 1, extent - 1]))
        if kind < 0.95 and others:
            fitting = [(t, n) for t in self.program.tensors if t.integer and t.bound <= extent
                       for n in others if sizes[n] == t.shape[0]]
            if fitting:
                return Place(computed=r.choice(fitting))
        return Place([], r.randrange(extent))

    # Expressions. `sources` are (tensor, steps that may be read), `indices` those of the line, `stay` those that no sum closes.

    def read(self, sources, indices):
        tensor, steps = self.r.choice(sources)
        return Read(tensor, [self.place(n, indices) for n in tensor.shape], self.r.choice(steps))

    def condition(self, sources, indices, stay, depth):
        r = self.r
        if r.random() < 0.3:
            a = Compare(r.choice(["<", ">", "==", "!=", "<=", ">="]), Of(r.choice(stay)), Number(r.randrange(3))) if stay else None
        else:
            a = None
        if a is None:
            a = Compare(r.choice(["<", ">"]), self.expression(sources, indices, stay, depth), Number(round(r.uniform(-0.5, 0.5), 2)))
        if depth > 0 and r.random() < 0.2:
            return Both(r.choice(["&&", "||"]), a, self.condition(sources, indices, stay, 0))
        return a

    def expression(self, sources, indices, stay, depth):
        r = self.r
        more = lambda: self.expression(sources, indices, stay, depth - 1)
        if depth <= 0:
            kind = r.random()
            if kind < 0.08:
                return Number(r.choice([1, 2, 0.5, 3]))
            if kind < 0.14 and stay:
                return Of(r.choice(stay))
            return self.read(sources, indices)
        kind = r.random()
        if kind < 0.28:
            n = r.choice([2, 2, 3])
            ops = ["*"] + ["*"] * (n - 1)
            parts = [more() for _ in range(n)]
            if r.random() < 0.15:
                ops[-1] = "/"
                parts[-1] = Sum([Number(2), Power(parts[-1], 2)])
            return Product(parts, ops)
        if kind < 0.36:
            return Sum([more(), more()], [1, r.choice([1, -1])])
        if kind < 0.42:
            return self.sum_of_products(sources, indices)
        if kind < 0.62:
            return Call(r.choice(["tanh", "tanh", "sin", "relu", "abs", "square"]), more())
        if kind < 0.66:
            return Call("maximum", more(), more())
        if kind < 0.74:
            return Choice(r.choice(["?", "case", "where"]), self.condition(sources, indices, stay, depth - 1), more(), more())
        if kind < 0.84:
            return self.reduced(sources, indices, stay, depth)
        if kind < 0.90:
            axes = [n for n in stay if n != "t"]
            if axes:
                axis = r.choice(axes)
                body = more()
                if body.mentions().get(axis) and self.plain(body, axis):
                    return Along(r.choice(["softmax", "cumsum", "flip"]), axis, body)
                return body
        if kind < 0.97:
            return self.own(sources, indices, stay, depth)
        return self.expression(sources, indices, stay, 0)

    def sum_of_products(self, sources, indices):
        """A sum whose terms have an index in common: each closes it, or none does, or only some do."""
        r, program = self.r, self.program
        axis = self.index(r.choice([2, 3]))
        fitting = [s for s in sources if program.sizes[axis] in s[0].shape]
        if not fitting:
            return self.read(sources, indices)

        def factor():
            tensor, steps = r.choice(fitting)
            at = r.choice([k for k, n in enumerate(tensor.shape) if n == program.sizes[axis]])
            places = [Place([(1, axis)]) if k == at else self.place(n, indices) for k, n in enumerate(tensor.shape)]
            return Read(tensor, places, r.choice(steps))

        each = r.choice([[2, 2], [2, 2], [2, 3], [2, 2, 0], [1, 1], [1, 1, 0], [1, 2], [2, 2, 1]])
        terms = [Product([factor() for _ in range(n)]) if n > 1 else factor() if n else Number(0.5) for n in each]
        r.shuffle(terms)
        out = Sum(terms, [1] + [r.choice([1, -1]) for _ in terms[1:]])
        kind = r.random()
        if kind < 0.4:
            return Call(r.choice(["tanh", "sin", "relu"]), out)
        if kind < 0.6:
            return Product([out, r.choice([Number(2), self.read(sources, indices)])])
        return Power(out, 2) if kind < 0.8 else out

    def plain(self, tree, axis):
        """Returns true if a tensor of known size is read at an index itself, which gives the index its size."""
        if isinstance(tree, Read):
            known = tree.tensor.constant is not None or tree.tensor.sized
            return known and any(p.is_plain() and p.terms[0][1] == axis for p in tree.places)
        return any(self.plain(p, axis) for p in tree.parts)

    def reduced(self, sources, indices, stay, depth):
        axis = self.index(self.r.choice([2, 3]))
        body = self.expression(sources, indices + [axis], stay + [axis], depth - 1)
        if not body.mentions().get(axis) or not self.plain(body, axis):
            return body
        for name in body.mentions():
            if name not in indices and name != axis:
                indices.append(name)
        return Reduced(self.r.choice(["sum", "max", "min", "avg", "prod"]), axis, body, self.r.random() < 0.5)

    FUNCTIONS = {
        "half": "fn half(x) -> y { y = x / 2 + 0.25 }",
        "bend": "fn bend(x, w) -> y { let h = tanh(x w); y = h x - w }",
        "dot": "fn dot(a[x], b[x]) -> s { s = a[x] b[x] }",
        "ahead": "fn ahead(a[x]) -> y[x] { y[x] = a[x+1] - 2 a[x] }",
        "most": "fn most(a[x]) -> s { s max= a[x] }",
        "scaled": "fn scaled(a[x]) -> y[x] { n = a[x] a[x]; y[x] = a[x] / (1 + n) }",
    }

    def own(self, sources, indices, stay, depth):
        r = self.r
        name = r.choice(list(self.FUNCTIONS))
        if name in ("half", "bend"):
            args = [self.settled(sources, stay, depth - 1) for _ in range(1 if name == "half" else 2)]
            if name == "half":
                body = lambda x: Sum([Product([x, Number(2)], ["*", "/"]), Number(0.25)])
            else:
                body = lambda x, w: Sum([Product([Call("tanh", Product([x, w])), x]), w], [1, -1])
            self.use(name)
            return Own(name, body, [], *args)
        # In a line without steps, time is the last axis of an argument, and the function would be along it.
        if not self.by_step:
            fixed = lambda steps: [s for s in steps if s is None or s[0] == "@"]
            sources = [(t, fixed(steps)) for t, steps in sources if fixed(steps)]
        inner = name in ("dot", "most")
        axes = [n for n in stay if n != "t"]
        if not inner and not axes:
            return self.read(sources, indices)
        axis = self.index(r.choice([2, 3])) if inner else r.choice(axes)
        args = []
        for _ in range(2 if name == "dot" else 1):
            fitting = [s for s in sources if s[0].shape and s[0].shape[-1] == self.program.sizes[axis]]
            if not fitting:
                return self.read(sources, indices)
            t, steps = r.choice(fitting)
            free = [n for n in axes if n != axis]
            places = []
            for n in t.shape[:-1]:
                same = [i for i in free if self.program.sizes[i] == n]
                places.append(Place([(1, r.choice(same))]) if same and r.random() < 0.7 else Place([], r.randrange(n)))
            args.append(Read(t, places + [Place([(1, axis)])], r.choice(steps)))
        moved = lambda a, by: a.moved(axis, by)
        bodies = {
            "dot": lambda a, b: Reduced("sum", axis, Product([a, b]), False),
            "most": lambda a: Reduced("max", axis, a, False),
            "ahead": lambda a: Sum([moved(a, 1), Product([Number(2), a])], [1, -1]),
            "scaled": lambda a: Product([a, Sum([Number(1), Reduced("sum", axis, Product([a, a]), False)])], ["*", "/"]),
        }
        self.use(name)
        return Own(name, bodies[name], [axis] if inner else [], *args)

    def use(self, name):
        if self.FUNCTIONS[name] not in self.program.functions:
            self.program.functions.append(self.FUNCTIONS[name])

    def settled(self, sources, stay, depth):
        """An expression whose indices all stay, so that a function may use it more than once."""
        for _ in range(10):
            indices = list(stay)
            e = self.expression(sources, indices, stay, depth)
            if set(e.mentions()) <= set(stay) | {"t"}:
                return e
        return Number(2)

    # Lines.

    def term(self, sources, indices, stay):
        e = self.expression(sources, indices, stay, self.r.choice([1, 2, 2, 3]))
        # A term is no sum: a sum in parentheses is one value, which `Line.text` writes so.
        return e

    def line(self, tensor, left, sources, how, step=None, places=None, guard=0.2, time=False):
        """A line with these index names on the left. Raises `Wrong` if its loops are long."""
        indices = list(left)
        stay = list(left) + (["t"] if time else [])
        self.by_step = step is not None and step[0] == "*"
        count = self.r.choice([1, 1, 2, 3]) if how in ("=", "+=", "sum=") else 1
        terms = []
        for n in range(count):
            # Each term has its own sums, but the names of indices may be the same.
            own = list(indices) if self.r.random() < 0.5 else list(left)
            terms.append((self.r.choice([1, 1, -1]), self.term(sources, own, stay)))
            indices += [n for n in own if n not in indices]
        if how not in ("=", "+=", "sum=") or count == 1 and isinstance(terms[0][1], Sum):
            terms = [(1, e) for _, e in terms]
        guarded = None
        if self.r.random() < guard:
            guarded = self.condition(sources, list(left), stay, self.r.choice([0, 0, 1]))
        if places is None:
            places = [Place([(1, n)]) for n in left]
        line = Line(tensor, places, how, terms, guarded, step)
        sizes = [self.program.sizes[n] for n in line.indices() if n != "t"]
        if math.prod(sizes) > 400:
            raise Wrong("long loops")
        self.axes(line, left)
        tensor.sized = True
        return line

    def axes(self, line, left):
        """Declares the sizes that no read at the index itself gives, and at random those that one gives."""
        for n in line.indices() - {"t"}:
            trees = [e for _, e in line.terms]
            everywhere = all(self.plain(e, n) for e in trees if e.mentions().get(n))
            given = everywhere and any(e.mentions().get(n) for e in trees)
            if not given or self.r.random() < 0.3:
                self.program.axes.add(n)

    def sources(self):
        return [(t, [None]) for t in self.program.tensors if not t.integer and not t.time]

    def attempt(self, make):
        """Makes a line that has a value; a line without is taken back."""
        program = self.program
        for _ in range(40):
            saved = (list(program.tensors), set(program.axes), dict(program.sizes), [list(t.lines) for t in program.tensors])
            try:
                tensor = make()
                run = Run(program, {}, 1e-3)
                if not tensor.time:
                    values = [number(run.at(tensor, None, p)) for p in positions(tensor.shape)]
                    if any(abs(x) > 1e3 and math.isfinite(x) for x in values):
                        raise Wrong("large")
                return tensor
            except (Ambiguous, Tie, Wrong, OverflowError, ValueError, ZeroDivisionError) as error:
                self.note(error)
                program.tensors, program.axes, program.sizes = saved[0], saved[1], saved[2]
                for t, lines in zip(program.tensors, saved[3]):
                    t.lines = lines
        return None

    def note(self, error):
        """Keeps the text of a program with an ambiguous sum."""
        if isinstance(error, Ambiguous):
            self.program.refused = text(self.program, Style())

    def target(self, name):
        """A name without time with one or several lines."""
        r = self.r
        how = r.choice(HOWS)
        shape = [r.choice([2, 3]) for _ in range(r.choice([0, 1, 1, 2]))]
        tensor = Tensor(name, shape)
        kind = r.random()
        left = [self.index(n) for n in shape]
        sources = self.sources()
        # Only finite values are read.
        if kind < 0.25 and shape:
            places, tensor.shape = [], []
            for n, size in zip(left, shape):
                how_many = r.random()
                fitting = [t for t in self.program.tensors if t.integer and t.shape[0] == size]
                if how_many < 0.5:
                    f, o = r.choice([(2, 0), (2, 1), (3, 0), (1, 1)])
                    if (f, o) == (1, 1):
                        f, o = 1, 0
                    places.append(Place([(f, n)], o))
                    tensor.shape.append(f * (size - 1) + o + 1)
                elif how_many < 0.8 and fitting:
                    t = r.choice(fitting)
                    places.append(Place(computed=(t, n)))
                    tensor.shape.append(t.bound + r.choice([0, 1]))
                    tensor.shown = True
                else:
                    places.append(Place([(1, n)]))
                    tensor.shape.append(size)
            self.line(tensor, left, sources, how, places=places)
        elif kind < 0.45:
            hows = {"=": ["=", "+="], "+=": ["=", "+="], "sum=": ["sum=", "+="], "avg=": ["max="]}
            for _ in range(r.choice([2, 3])):
                left = [self.index(n) for n in shape]
                places = [Place([(1, n)]) for n in left]
                if shape and r.random() < 0.4 and tensor.lines:
                    k = r.randrange(len(shape))
                    places[k] = Place([], r.randrange(shape[k]))
                    left.pop(k)
                self.line(tensor, left, sources, r.choice(hows.get(how, [how])), places=places)
                if how == "avg=":
                    how = "max="
        else:
            self.line(tensor, left, sources, how)
        self.program.add(tensor)
        return tensor

    def show(self, tensor):
        """A line that reads a tensor at indices of known size."""
        left = [self.index(n) for n in tensor.shape]
        shown = self.program.add(Tensor(f"Shown{tensor.name}", tensor.shape))
        Line(shown, [Place([(1, n)]) for n in left], "=", [(1, Read(tensor, [Place([(1, n)]) for n in left]))])
        self.program.axes.update(left)

    def loss(self):
        """The sum of squares of what nothing reads."""
        read = set()
        trees = lambda l: [e for _, e in l.terms] + ([l.guard] if l.guard else [])
        def walk(e):
            if isinstance(e, Read):
                read.add(e.tensor)
            for p in e.parts:
                walk(p)
        for t in self.program.tensors:
            for l in t.lines:
                for e in trees(l):
                    walk(e)
        last = [t for t in self.program.tensors if t.lines and not t.time and (t not in read or t is self.program.tensors[-1])]
        run = Run(self.program, {})
        finite = lambda t: all(math.isfinite(number(run.at(t, None, p))) for p in positions(t.shape))
        last = [t for t in last if finite(t)]
        if not last:
            return None
        loss = Tensor("Loss", [])
        for t in last:
            names = [self.index(n) for n in t.shape]
            own = Read(t, [Place([(1, n)]) for n in names])
            Line(loss, [], "=", [(1, Product([own, own]))])
        return self.program.add(loss)

    def make(self):
        self.leaves()
        for n in range(self.r.choice([1, 2, 3])):
            self.attempt(lambda: self.target(f"Y{n}"))
        for t in [t for t in self.program.tensors if getattr(t, "shown", False)]:
            self.show(t)
        return self.loss()
