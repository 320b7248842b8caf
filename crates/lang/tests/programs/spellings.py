"""Writes one program in several spellings that must have the same values."""

from lines import Line, Tensor, positions
from tree import (Ambiguous, Number, Own, Place, Read, Sigma, Style, close, closed, closed_indices, factors, refuse, scope,
                  shared)


def constant_text(t, style):
    def nested(prefix, rest):
        if not rest:
            x = t.constant[prefix]
            return repr(int(x) if t.integer else x)
        return "[" + ", ".join(nested(prefix + (i,), rest[1:]) for i in range(rest[0])) + "]"

    index = [style.name(x) for x in ["p", "q", "r"][: len(t.shape)]]
    shape = list(t.shape)
    if t.time:
        shape.append(len({k[-1] for k in t.constant}))
        index.append("*" + style.name("t"))
    left = style.name(t.name) + (f"[{','.join(index)}]" if index else "")
    return f"{left} = const({nested((), shape)})"


def text(program, style, lines=None, functions=True):
    """The lines of a program: functions, constants, sizes and equations."""
    out = list(program.functions) if functions else []
    out += [constant_text(t, style) for t in program.tensors if t.constant is not None]
    if program.while_ is not None:
        out.append(f"axis {style.name('t')} = {program.steps} while {style.name(program.while_.name)}")
    elif program.steps is not None and program.declared:
        out.append(f"axis {style.name('t')} = {program.steps}")
    out += [f"axis {style.name(n)} = {program.sizes[n]}" for n in sorted(program.axes)]
    lines = lines if lines is not None else [l for t in program.tensors for l in t.lines]
    return out + [l.text(style) for l in lines]


def copied(line, terms, guard):
    out = object.__new__(Line)
    out.__dict__.update(line.__dict__)
    out.terms, out.guard = terms, guard
    return out


def named(program, r, infinite):
    """The lines with some parts as names of their own, and the sizes of all indices.

    If values are infinite, parts of a guarded line keep their places: elsewhere they are computed where the guard does not
    hold, and their derivative may be 0 times infinity.
    """
    out, count = [], 0
    for t in program.tensors:
        for line in t.lines:
            extra, chosen = [], []
            kept, whole = kept_indices(line), infinite and line.guard is not None
            inside = line.step is not None and line.step[0] == "*" or line.tensor.local

            def name(node, free):
                nonlocal count
                count += 1
                timed = node.reads_time() and inside
                indices = sorted(n for n in free if not (inside and n == "t"))
                r.shuffle(indices)
                places = [Place([(1, n)]) for n in indices]
                tensor = Tensor(f"Part{count}", [program.steps if n == "t" else program.sizes[n] for n in indices], timed)
                step = ("*", 0) if timed else None
                # A plain `=` without time is refused if it sums over time and a line with time reads it.
                summed = node.reads_time() and not timed and "t" not in free
                extra.append(Line(tensor, places, "sum=" if summed else "=", [(1, node)], None, step))
                return Read(tensor, places, step)

            def walk(node, kept, own):
                around = scope(node, kept)[0]
                free = set(closed(node, kept, own).mentions())
                if not isinstance(node, (Number, Read)) and r.random() < 0.3 and not whole:
                    return name(node, free)
                if isinstance(node, Own):
                    return node
                return node.changed([walk(p, around, own) for p in node.parts])

            splits = line.how in ("=", "+=", "sum=")
            terms = [(s, walk(e, kept if splits else kept | shared(e), list(factors(e)))) for s, e in line.terms]
            guard = line.guard
            if guard is not None and r.random() < 0.3:
                guard = name(guard, set(line.closed_guard().mentions()))
            out += extra + [copied(line, terms, guard)]
    axes = {n for l in out for n in l.indices()} - {"t"}
    return out, axes


def kept_indices(line):
    """The indices that the left side or the guard keep."""
    return set(line.left()) | (set(line.closed_guard().mentions()) if line.guard else set())


def is_refused(line):
    """Returns true if a line has an ambiguous sum, which a call can hide."""
    kept = kept_indices(line)
    try:
        splits = line.how in ("=", "+=", "sum=")
        for _, e in line.terms:
            refuse(e, kept if splits else kept | shared(e), splits)
    except Ambiguous:
        return True
    return False


def structure(node, names):
    """A closed tree as nested tuples, with calls of functions replaced by their bodies. `names` are the indices in scope."""
    if isinstance(node, Own):
        return structure(close(node.body(*node.parts), names), names)
    bound = node.indices if isinstance(node, Sigma) else []
    own = node.text(Style()) if not node.parts else sorted(node.own())
    return type(node).__name__, sorted(bound), own, [structure(p, names | set(node.bound())) for p in node.parts]


def sums_of(line):
    """The right side and the guard of a line, with the sums that it closes."""
    kept = kept_indices(line)
    splits = line.how in ("=", "+=", "sum=")
    terms = [closed_indices(e, kept if splits else kept | shared(e))[0] for _, e in line.terms]
    names = kept | {n for e in terms for n in e.mentions()}
    guard = line.closed_guard()
    return [structure(e, names) for e in terms + ([guard] if guard else [])]


def inlined(program):
    """The lines with calls replaced by the bodies of functions, or `None` if a line closes a sum earlier or later then.

    The product of an argument with a factor outside of the call closes a sum that the call had left open.
    """
    def walk(node):
        parts = [walk(p) for p in node.parts]
        if isinstance(node, Own):
            return walk(node.body(*parts))
        return node.changed(parts)

    out = []
    for line in (l for t in program.tensors for l in t.lines):
        new = copied(line, [(s, walk(e)) for s, e in line.terms], walk(line.guard) if line.guard else None)
        if sums_of(new) != sums_of(line):
            return None
        out.append(new)
    return out


def renaming(program, r):
    """New names for all tensors, indices and the time."""
    names = {t.name: f"{r.choice('ABXYZ')}{r.choice('abc')}{n}" for n, t in enumerate(program.tensors)}
    names.update({i: f"{r.choice('abcxyz')}{n}" for n, i in enumerate(sorted(program.sizes))})
    names.update({"t": r.choice(["t", "u", "step"])})
    return names


def spellings(program, r, infinite=False):
    """(lines, names): the text, and the new names of tensors. `infinite`: some value is."""
    yield text(program, Style()), {}
    yield text(program, Style(r, 0.4)), {}
    names = renaming(program, r)
    yield text(program, Style(None, 0, names)), names
    shuffled = text(program, Style(r, 0.1))
    r.shuffle(shuffled)
    yield shuffled, {}
    lines, axes = named(program, r, infinite)
    declared = program.axes
    program.axes = axes
    yield text(program, Style(r, 0.1), lines), {}
    program.axes = declared
    lines = inlined(program) if program.functions else []
    if lines and not any(is_refused(l) for l in lines):
        program.axes = {n for n in program.sizes if any(n in l.indices() for l in lines)} - {"t"}
        yield text(program, Style(r, 0.1), lines, functions=False), {}
        program.axes = declared
