"""Makes random recurrences: states, names inside of their steps, and lines that read them from outside."""

import math

from lines import Line, Run, Tensor, Tie, Wrong, positions
from make_lines import Maker
from tree import Ambiguous, Call, Choice, Compare, Number, Of, Place, Product, Read, Reduced, Sum, number


def reads(line):
    out = []

    def walk(e):
        if isinstance(e, Read):
            out.append(e)
        for p in e.parts:
            walk(p)

    for _, e in line.terms:
        walk(e)
    if line.guard:
        walk(line.guard)
    return out


class Steps(Maker):
    def make(self):
        r, program = self.r, self.program
        program.steps = r.choice([1, 2, 3, 3, 4])
        program.sizes["t"] = program.steps
        self.leaves()
        for name in ["X", "U"][: r.choice([0, 1, 2])]:
            self.constant(name, [r.choice([2, 3])] if name == "X" else [], time=True)
        program.declared = not any(t.time for t in program.tensors) or r.random() < 0.4
        bounded = r.random() < 0.2
        if not bounded and r.random() < 0.3:
            self.attempt(self.sum_over_time)
        for _ in range(30):
            saved = (list(program.tensors), set(program.axes), dict(program.sizes))
            try:
                self.recurrence()
                if bounded:
                    self.ending()
                self.check()
                break
            except (Ambiguous, Tie, Wrong, OverflowError, ValueError, ZeroDivisionError) as error:
                self.note(error)
                program.tensors, program.axes, program.sizes = list(saved[0]), set(saved[1]), dict(saved[2])
                program.while_ = None
        else:
            return None
        for n in range(r.choice([0, 1, 2])):
            self.attempt(lambda: self.outside(f"Z{n}"))
        return self.loss()

    def check(self):
        """Computes all steps; every value must be finite."""
        program = self.program
        run = Run(program, {}, 1e-3)
        for t in program.tensors:
            # A time that ends at once evaluates no line.
            for l in t.lines:
                run.close(l)
            if t.time and t.lines:
                for s in range(run.last(t) + 1):
                    for p in positions(t.shape):
                        x = number(run.at(t, s, p))
                        if not math.isfinite(x):
                            raise Wrong("not finite")

    def sum_over_time(self):
        fixed = [(t, [("*", 0)]) for t in self.program.tensors if t.time]
        if not fixed:
            raise Wrong("no time")
        tensor = Tensor("M", [])
        self.line(tensor, [], fixed + self.sources(), self.r.choice(["sum=", "avg=", "max=", "min="]), guard=0.1)
        self.program.add(tensor)
        return tensor

    def fixed(self):
        """Steps that every tensor with time may be read at, from the beginning of the steps on."""
        out = []
        for t in self.program.tensors:
            if t.time and t.constant is not None:
                out.append((t, [("*", 0), ("*", 0), ("*", -1), ("*", 1), ("@", 0), ("@", -1)]))
        return out

    def recurrence(self):
        r, program = self.r, self.program
        sources = self.sources() + self.fixed()
        states = []
        for n in range(r.choice([1, 1, 2])):
            t = program.add(Tensor(f"S{n}", [r.choice([2, 3]) for _ in range(r.choice([0, 1, 1, 2]))], True))
            states.append(t)
            if r.random() < 0.75:
                left = [self.index(k) for k in t.shape]
                self.line(t, left, self.sources(), "=", ("@", 0), guard=0)
        sources += [(t, [("*", 0)] * 4 + [("*", -1)] + ([("@", 0)] if t.lines else [])) for t in states] * 2
        local = []
        for n in range(r.choice([0, 0, 1, 2])):
            t = Tensor(f"P{n}", [r.choice([2, 3]) for _ in range(r.choice([0, 1, 1]))], True)
            left = [self.index(k) for k in t.shape]
            self.line(t, left, sources, r.choice(["=", "=", "+=", "max=", "avg="]), ("*", 0), time=True, guard=0.15)
            program.add(t)
            local.append(t)
            sources += [(t, [("*", 0), ("*", 0), ("*", -1)])] * 2
        for t in states:
            how = r.choice(["=", "=", "=", "=", "+=", "sum=", "max=", "avg=", "min="])
            if how in ("max=", "min=", "avg=") and not t.lines:
                how = "="
            if how == "+=" and t.lines and r.random() < 0.5:
                how = "="
            lines = r.choice([1, 1, 1, 2]) if how in ("=", "+=", "sum=", "max=") else 1
            for _ in range(lines):
                left = [self.index(k) for k in t.shape]
                self.line(t, left, sources, how, ("*", 1), time=True, guard=0.15)
            sources = sources + [(t, [("*", 1)])]
        # A name that depends on a state and that the state depends on may leave its time out.
        for t in local:
            if r.random() < 0.5 and self.within(t) and not any(
                e.tensor is t and e.step != ("*", 0) for o in program.tensors for l in o.lines for e in reads(l)
            ):
                t.local = True
                for l in t.lines:
                    l.step = None

    def within(self, tensor):
        def reach(a):
            seen, work = set(), [a]
            while work:
                for l in work.pop().lines:
                    for e in reads(l):
                        if e.tensor.time and e.tensor not in seen:
                            seen.add(e.tensor)
                            work.append(e.tensor)
            return seen

        # Only reads of the step itself count; a read of an input does not make a state.
        return tensor in reach(tensor) and any(e.reads_time() for l in tensor.lines for e in reads(l))

    def ending(self):
        r, program = self.r, self.program
        states = [t for t in program.tensors if t.time and t.lines and t.name.startswith("S")]
        s = r.choice(states)
        go = Tensor("Go", [], True)
        own = Read(s, [Place([], r.randrange(n)) for n in s.shape], ("*", 0))
        Line(go, [], "=", [(1, Compare("<", Call("abs", own), Number(round(r.uniform(0.1, 1.0), 2))))], None, ("*", 0))
        program.add(go)
        program.while_ = go

    def outside(self, name):
        """A line that is not in the steps: time is one of its indices, or it reads fixed steps."""
        r, program = self.r, self.program
        how = r.choice(["=", "=", "=", "max=", "avg=", "sum="])
        over = program.while_ is None and r.random() < 0.7
        sources = self.sources()
        for t in program.tensors:
            if not t.time or t.name == "Go" or program.while_ is not None and not t.name.startswith("S"):
                continue
            steps = [("@", -1)]
            if program.while_ is None:
                steps.append(("@", 0))
                if t.local:
                    steps = [None]
                elif over:
                    steps += [("*", 0), ("*", 1), ("*", -1)] * 2
            sources += [(t, steps)] * 2
        shape = [r.choice([2, 3]) for _ in range(r.choice([0, 1]))]
        left = [self.index(n) for n in shape]
        tensor = Tensor(name, list(shape))
        places = [Place([(1, n)]) for n in left]
        if over and r.random() < 0.6:
            places.append(Place([(1, "t")]))
            tensor.shape.append(program.steps)
            self.line(tensor, left, sources, how, places=places, time=True, guard=0.1)
            if not any(e.reads_time() for e in reads(tensor.lines[0])):
                raise Wrong("no time is read")
        else:
            self.line(tensor, left, sources, how, places=places, guard=0.1)
        program.add(tensor)
        return tensor

    def loss(self):
        if self.program.tensors[-1].time:
            s = next(t for t in self.program.tensors if t.name == "S0")
            end = Tensor("End", s.shape)
            names = [self.index(n) for n in s.shape]
            own = Read(s, [Place([(1, n)]) for n in names], ("@", -1))
            Line(end, [Place([(1, n)]) for n in names], "=", [(1, own)])
            self.program.add(end)
        return super().loss()
