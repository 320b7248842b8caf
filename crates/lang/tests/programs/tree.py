"""Expressions of random programs: their text, where their sums close, and their value, element by element.

A tree is made by `lines.py`. Its text leaves sums out; `close` adds them by section 1 of the language's rules. Values are
computed by loops over Python numbers, or over scalars of PyTorch where derivatives are wanted.
"""

import math
from collections import Counter

import torch

CHOICE, OR, AND, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)


def is_torch(x):
    return isinstance(x, torch.Tensor)


def number(x):
    return x.item() if is_torch(x) else float(x)


def apply(name, x):
    return getattr(torch, name)(x) if is_torch(x) else getattr(math, name)(x)


def relu(x):
    """The larger of x and 0; NaN stays NaN. A constant 0.0, since the derivative of `0 * x` could be 0 times infinity."""
    return x if not number(x) <= 0 else 0.0


def extreme(how, values):
    """The first largest or smallest value; NaN if there is one."""
    nan = [v for v in values if math.isnan(number(v))]
    return nan[0] if nan else (max if how == "max" else min)(values, key=number)


POINTWISE = {
    "tanh": lambda x: apply("tanh", x),
    "sin": lambda x: apply("sin", x),
    "exp": lambda x: apply("exp", x),
    "relu": relu,
    "abs": lambda x: abs(x),
    "square": lambda x: x * x,
    "step": lambda x: 1.0 if number(x) > 0 else 0.0,
}


class Style:
    """Choices of a spelling: extra parentheses, signs of products, new names of tensors and indices."""

    def __init__(self, r=None, parentheses=0.0, names=None):
        self.r, self.parentheses, self.names = r, parentheses, names or {}
        self.postfix = r is not None and r.random() < 0.5

    def name(self, n):
        return self.names.get(n, n)

    def chance(self):
        return self.r is not None and self.r.random() < self.parentheses


class Place:
    """An index: a sum of `terms` (factor, index name) and an offset, or an element of a tensor of integers."""

    def __init__(self, terms=(), offset=0, computed=None):
        self.terms, self.offset, self.computed = list(terms), offset, computed

    def names(self):
        return [self.computed[1]] if self.computed else [n for _, n in self.terms]

    def is_plain(self):
        return not self.computed and self.offset == 0 and [f for f, _ in self.terms] == [1]

    def text(self, style):
        if self.computed:
            return f"{style.name(self.computed[0].name)}[{style.name(self.computed[1])}]"
        out = ""
        for factor, name in self.terms:
            sign = "-" if factor < 0 else "+" if out else ""
            out += sign + (style.name(name) if abs(factor) == 1 else f"{abs(factor)}*{style.name(name)}")
        if self.offset or not out:
            out += f"{self.offset:+d}" if out else str(self.offset)
        return out

    def value(self, env, run):
        if self.computed:
            return int(number(run.at(self.computed[0], None, (env[self.computed[1]],))))
        return sum(f * env[n] for f, n in self.terms) + self.offset


class Node:
    level = ATOM

    def __init__(self, *parts):
        self.parts = list(parts)

    def own(self):
        """The indices that the node itself mentions."""
        return []

    def bound(self):
        return []

    def mentions(self):
        out = Counter(set(self.own()))
        for part in self.parts:
            out.update(part.mentions())
        for name in self.bound():
            out.pop(name, None)
        return out

    def changed(self, parts):
        out = object.__new__(type(self))
        out.__dict__.update(self.__dict__)
        out.parts = list(parts)
        if isinstance(out, Own):
            out.tree = None
        return out

    def reads_time(self):
        return any(p.reads_time() for p in self.parts)

    def inside(self, part, level, style):
        """The text of a part where at least this level is needed."""
        text = part.text(style)
        loose = part.level < level or style.chance() and not isinstance(part, Number)
        return f"({text})" if loose else text


class Number(Node):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def text(self, style):
        return repr(self.x)

    def value(self, env, run):
        return self.x


class Read(Node):
    """A tensor at places; `step` is None, ("*", offset) for a read relative to the step, or ("@", n) for a fixed step."""

    def __init__(self, tensor, places, step=None):
        super().__init__()
        self.tensor, self.places, self.step = tensor, places, step

    def own(self):
        return [n for p in self.places for n in p.names()] + ["t"] * self.reads_time()

    def reads_time(self):
        return self.step is not None and self.step[0] == "*"

    def text(self, style):
        inside = [p.text(style) for p in self.places]
        if self.step is not None and not (self.tensor.local and self.step == ("*", 0)):
            kind, n = self.step
            inside.append(f"*{n}" if kind == "@" else f"*{style.name('t')}{n:+d}" if n else f"*{style.name('t')}")
        name = style.name(self.tensor.name)
        return f"{name}[{','.join(inside)}]" if inside else name

    def value(self, env, run):
        at = tuple(p.value(env, run) for p in self.places)
        return run.read(self.tensor, self.step, at, env)


    def moved(self, axis, by):
        """The same read with an axis moved."""
        places = [Place(p.terms, p.offset + by, p.computed) if axis in p.names() else p for p in self.places]
        return Read(self.tensor, places, self.step)


class Of(Node):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def own(self):
        return [self.index]

    def text(self, style):
        return f"index({style.name(self.index)})"

    def value(self, env, run):
        return float(env[self.index])

    def reads_time(self):
        return self.index == "t"


class Call(Node):
    def __init__(self, name, *parts):
        super().__init__(*parts)
        self.name = name

    def text(self, style):
        return f"{self.name}({', '.join(self.inside(p, CHOICE, style) for p in self.parts)})"

    def value(self, env, run):
        values = [p.value(env, run) for p in self.parts]
        if self.name == "maximum":
            run.apart(*values)
            return extreme("max", values)
        if self.name == "where":
            return values[1] if values[0] else values[2]
        if self.name in ("relu", "abs", "step"):
            run.apart(values[0], 0)
        return POINTWISE[self.name](values[0])


class Along(Node):
    """A function along an axis that stays."""

    def __init__(self, name, axis, part):
        super().__init__(part)
        self.name, self.axis = name, axis

    def own(self):
        return [self.axis]

    def text(self, style):
        return f"{self.name}({self.inside(self.parts[0], CHOICE, style)}, axis={style.name(self.axis)})"

    def value(self, env, run):
        at = lambda k: self.parts[0].value({**env, self.axis: k}, run)
        here, size = env[self.axis], run.size(self.axis)
        if self.name == "softmax":
            values = [POINTWISE["exp"](at(k) + 0.0) for k in range(size)]
            return values[here] / sum(values)
        if self.name == "cumsum":
            return sum(at(k) for k in range(here + 1))
        assert self.name == "flip"
        return at(size - 1 - here)


class Reduced(Node):
    """A reduction over an index of the body: `reduce(max, k) …`, or as a call `max(…, axis=k)`."""

    def __init__(self, how, axis, part, called):
        super().__init__(part)
        self.how, self.axis, self.called = how, axis, called
        self.level = ATOM if called else SIGN

    def own(self):
        return [self.axis]

    def bound(self):
        return [self.axis]

    def text(self, style):
        how, axis = self.how, style.name(self.axis)
        if self.called:
            return f"{'mean' if how == 'avg' else how}({self.inside(self.parts[0], CHOICE, style)}, axis={axis})"
        return f"reduce({how}, {axis}) {self.inside(self.parts[0], POWER, style)}"

    def value(self, env, run):
        return combine(self.how, [self.parts[0].value({**env, self.axis: k}, run) for k in range(run.size(self.axis))], run)


def combine(how, values, run):
    """The reduction of a list; the value of the empty one, if there is nothing."""
    if how == "sum":
        return sum(values) if values else 0.0
    if how == "prod":
        return math.prod(values) if values else 1.0
    if how == "avg":
        return sum(values) / len(values) if values else math.nan
    if not values:
        return -math.inf if how == "max" else math.inf
    best = extreme(how, values)
    run.apart(best, *[v for v in values if v is not best])
    return best


class Product(Node):
    """Factors, each with an operator, `*` or `/`. The first operator is `*`."""

    level = PRODUCT

    def __init__(self, parts, operators=None):
        super().__init__(*parts)
        self.operators = operators or ["*"] * len(parts)

    def text(self, style):
        out = ""
        for n, (part, o) in enumerate(zip(self.parts, self.operators)):
            # A quotient as a factor on the right needs its parentheses.
            text = self.inside(part, SIGN + (n > 0), style)
            spaced = style.r is not None and style.r.random() < 0.5
            if n > 0:
                first = text.lstrip("(")[:1]
                touching = o == "*" and not spaced and not text.startswith("[") and first not in "-!"
                # `C (x)` would be a call, so that parentheses after a name need the sign.
                touching = touching and not text.startswith("(")
                out += " " if touching else f" {o} "
            out += text
        return out

    def value(self, env, run):
        out = 1.0
        for part, o in zip(self.parts, self.operators):
            x = part.value(env, run)
            out = out * x if o == "*" else out / x
        return out


class Sum(Node):
    level = SUM

    def __init__(self, parts, signs=None):
        super().__init__(*parts)
        self.signs = signs or [1] * len(parts)

    def text(self, style):
        out = "" if self.signs[0] > 0 else "-"
        for n, (part, sign) in enumerate(zip(self.parts, self.signs)):
            if n > 0:
                out += " + " if sign > 0 else " - "
            out += self.inside(part, PRODUCT, style)
        return out

    def value(self, env, run):
        out = 0.0
        for part, sign in zip(self.parts, self.signs):
            out = out + sign * part.value(env, run)
        return out


class Power(Node):
    level = POWER

    def __init__(self, part, n):
        super().__init__(part)
        self.n = n

    def text(self, style):
        return f"{self.inside(self.parts[0], ATOM, style)} ** {self.n}"

    def value(self, env, run):
        return self.parts[0].value(env, run) ** self.n


class Compare(Node):
    level = COMPARE

    def __init__(self, sign, a, b):
        super().__init__(a, b)
        self.sign = sign

    def text(self, style):
        return f"{self.inside(self.parts[0], SUM, style)} {self.sign} {self.inside(self.parts[1], SUM, style)}"

    def value(self, env, run):
        a, b = (number(p.value(env, run)) for p in self.parts)
        if not (a.is_integer() and b.is_integer()):
            run.apart(a, b)
        return {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b}[self.sign]


class Both(Node):
    def __init__(self, sign, a, b):
        super().__init__(a, b)
        self.sign, self.level = sign, AND if sign == "&&" else OR

    def text(self, style):
        return f"{self.inside(self.parts[0], COMPARE, style)} {self.sign} {self.inside(self.parts[1], COMPARE, style)}"

    def value(self, env, run):
        a, b = (bool(p.value(env, run)) for p in self.parts)
        return a and b if self.sign == "&&" else a or b


class Choice(Node):
    """A conditional in one of its forms: `c ? a : b`, `case`, `where`."""

    def __init__(self, form, c, a, b):
        super().__init__(c, a, b)
        self.form, self.level = form, CHOICE if form == "?" else ATOM

    def text(self, style):
        c, a, b = (self.inside(p, OR, style) for p in self.parts)
        if self.form == "?":
            return f"{c} ? {a} : {b}"
        if self.form == "case":
            return f"case {{ {c} -> {a}, default -> {b} }}"
        return f"where({c}, {a}, {b})"

    def value(self, env, run):
        c, a, b = self.parts
        return a.value(env, run) if c.value(env, run) else b.value(env, run)


class Own(Node):
    """A call of a function of the program. `body` makes the tree that replaces the call; `axes` are consumed by it."""

    def __init__(self, name, body, axes, *parts):
        super().__init__(*parts)
        self.name, self.body, self.axes, self.tree = name, body, axes, None

    def bound(self):
        return self.axes

    def text(self, style):
        return f"{self.name}({', '.join(self.inside(p, CHOICE, style) for p in self.parts)})"

    def value(self, env, run):
        if self.tree is None:
            self.tree = close(self.body(*self.parts), set(env))
        return self.tree.value(env, run)


class Sigma(Node):
    """The sum that `close` found."""

    def __init__(self, indices, part):
        super().__init__(part)
        self.indices = indices

    def bound(self):
        return self.indices

    def value(self, env, run):
        return sum(self.parts[0].value({**env, **at}, run) for at in run.all(self.indices))


def factors(node):
    """The nodes that are one product with this node: parentheses around a factor do not matter."""
    yield node
    if isinstance(node, Product):
        for part, o in zip(node.parts, node.operators):
            if o == "*":
                yield from factors(part)
    elif isinstance(node, Sum) and len(node.parts) == 1:
        yield from factors(node.parts[0])


class Ambiguous(Exception):
    """One term of a sum closes an index, and another leaves it open."""

    def __init__(self, index):
        super().__init__(index)
        self.index = index


def joins(node, index):
    """Returns true if factors of a product, not only a numerator and its divisor, have the index in common."""
    own = [n for n, part in enumerate(node.parts) if part.mentions().get(index)]
    return len(own) > 1 and node.operators[own[-1]] == "*"


def open_terms(node, kept):
    """For each index that some term of a sum leaves open: the terms that would close it."""
    shared = {n for n in node.mentions() if n not in kept and sum(n in p.mentions() for p in node.parts) > 1}
    alone = [closed(p, kept).mentions() for p in node.parts]
    around = {n for n in shared if any(n in free for free in alone)}
    within = [closed(p, kept | around).mentions() for p in node.parts]
    return {n: [p for p, a, w in zip(node.parts, alone, within) if n in w and n not in a] for n in around}


def scope(node, kept):
    """The indices that the parts of a node keep, and those that the node closes."""
    all = node.mentions()
    kept = kept | {n for n, k in all.items() if k < 2}
    if isinstance(node, Sum):
        return kept | set(open_terms(node, kept)), set()
    here = set(all) - kept
    for part in node.parts:
        inside = part.mentions()
        here = {n for n in here if inside.get(n, 0) < all[n]}
    return kept | here | set(node.bound()), {n for n in here if isinstance(node, Product) and joins(node, n)}


def closed(node, kept, own=()):
    """A tree with its sums; the nodes in `own` close nothing."""
    around, here = scope(node, kept)
    out = node.changed([closed(p, around, own) for p in node.parts])
    return Sigma(sorted(here), out) if here and not any(node is o for o in own) else out


def close(root, kept):
    """Adds the sums of a right side: an index that is not kept, at the smallest product that joins all of it.

    Terms of a sum are separate if each of them closes the index. What closes at the right side itself, and what no product
    closes, is left to the reduction of the line.
    """
    return closed(root, kept, list(factors(root)))


def shared(root):
    """The indices that terms of the outermost sum of a right side share: a reduction such as `max=` is over them."""
    while isinstance(root, Product) and root.parts and set(root.operators[1:]) <= {"/"}:
        root = root.parts[0]
    if not isinstance(root, Sum):
        return set()
    return {n for n in root.mentions() if sum(n in p.mentions() for p in root.parts) > 1}


def refuse(root, kept, linear):
    """Raises `Ambiguous` if the place of a sum matters that only some terms close. `linear`: the line is a sum."""
    def linear_to(node, index):
        """Returns true if only sums, products and numerators are between the node and the product that closes the index."""
        own = [n for n, p in enumerate(node.parts) if index in p.mentions()]
        if isinstance(node, Product):
            return len(own) > 1 or node.operators[own[0]] == "*" and linear_to(node.parts[own[0]], index)
        if isinstance(node, Sum) or isinstance(node, Reduced) and node.how == "sum" and not node.called:
            return all(linear_to(node.parts[n], index) for n in own)
        return False

    def visit(node, kept, linear):
        if isinstance(node, Sum):
            for index, terms in sorted(open_terms(node, kept).items()):
                if terms and not (linear and all(linear_to(p, index) for p in terms)):
                    raise Ambiguous(index)
        for n, part in enumerate(node.parts):
            others = [] if isinstance(node, Sum) else [p for p in node.parts if p is not part]
            around = kept | set(node.bound()) | {m for p in others for m in p.mentions()}
            through = isinstance(node, Sum) or isinstance(node, Product) and node.operators[n] == "*"
            through = through or isinstance(node, Reduced) and node.how == "sum" and not node.called
            visit(part, around, linear and through)

    visit(root, kept, linear)


def closed_indices(root, kept):
    """The indices of a right side that `close` leaves."""
    inner = set()

    def walk(node):
        if isinstance(node, Sigma):
            inner.update(node.indices)
        for part in node.parts:
            walk(part)

    tree = close(root, kept)
    walk(tree)
    return tree, [n for n in sorted(root.mentions()) if n not in inner]
