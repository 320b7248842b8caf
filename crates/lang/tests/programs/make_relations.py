"""Makes random logic programs: facts, recursive rules, negation, comparisons, counts and minima of groups.

Values come from naive rounds over sets of tuples. A spelling may use symbols instead of numbers; their domain has the
order of first appearance in its text.
"""

import math
import random
from itertools import product as combinations


class Rule:
    """`head` and `body` are (name, variables); `absent` are negated atoms, `tests` comparisons of two variables."""

    def __init__(self, head, body, absent, tests):
        self.head, self.body, self.absent, self.tests = head, body, absent, tests

    def text(self, r=None):
        atom = lambda a: f"{a[0]}({','.join(a[1])})"
        parts = [atom(a) for a in self.body]
        parts += [f"!{atom(a)}" for a in self.absent] + [f"({x} {sign} {y})" for x, sign, y in self.tests]
        if r is not None:
            r.shuffle(parts)
        # A test after a name would be a call of it, which brackets are not.
        return f"{atom(self.head)} = {' * '.join(parts) if r is not None and r.random() < 0.5 else ' '.join(parts)}"

    def solutions(self, facts, n):
        def walk(atoms, bound):
            if not atoms:
                yield bound
                return
            name, args = atoms[0]
            for fact in facts[name]:
                new = dict(bound)
                if all(new.setdefault(v, x) == x for v, x in zip(args, fact)):
                    yield from walk(atoms[1:], new)

        signs = {"!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b}
        for bound in walk(self.body, {}):
            holds = all(signs[s](bound[x], bound[y]) for x, s, y in self.tests)
            if holds and not any(tuple(bound[v] for v in args) in facts[name] for name, args in self.absent):
                yield bound


class Relations:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        n = self.n = r.choice([3, 4, 5])
        self.ranks, self.given, self.rules = {}, {}, []
        for name in "EFG"[: r.choice([1, 2, 3])]:
            rank = self.ranks[name] = r.choice([1, 2, 2, 2])
            facts = {tuple(r.randrange(n) for _ in range(rank)) for _ in range(r.choice([2, 4, 6]))}
            # Every position has the largest number, so that all domains are the same.
            self.given[name] = sorted(facts | {(n - 1,) * rank})
        self.strata = []
        for k in range(r.choice([1, 2, 3])):
            self.predicate(f"R{k}")
        self.last = list(self.ranks)[-1]
        self.age = [r.choice([3, 1, 4, 5, 9, 2.5, 6, 0.5]) for _ in range(n)]

    def predicate(self, name):
        r = self.r
        lower = list(self.ranks)
        rank = self.ranks[name] = r.choice([1, 2, 2, 3])
        own = []
        for k in range(r.choice([1, 2, 2])):
            for _ in range(50):
                variables = ["x", "y", "z", "w"][: r.choice([2, 3, 3, 4])]
                known = lower + ([name] if k > 0 else [])
                body = [(p, [r.choice(variables) for _ in range(self.ranks[p])]) for p in r.choices(known, k=r.choice([1, 2, 2, 3]))]
                if k > 0 and r.random() < 0.6:
                    body.append((name, [r.choice(variables) for _ in range(rank)]))
                bound = sorted({v for _, args in body for v in args})
                if len(bound) < min(rank, 2):
                    continue
                head = [r.choice(bound) for _ in range(rank)]
                absent = []
                if r.random() < 0.3:
                    p = r.choice(lower)
                    absent.append((p, [r.choice(bound) for _ in range(self.ranks[p])]))
                tests = []
                if r.random() < 0.3 and len(bound) > 1:
                    x, y = r.sample(bound, 2)
                    tests.append((x, r.choice(["!=", "<", "<="]), y))
                own.append(Rule((name, head), body, absent, tests))
                break
        self.strata.append((name, own))

    def solve(self, order=None):
        """All facts; with symbols, numbers are compared by the order of their domain."""
        at = (lambda x: order.index(x)) if order else (lambda x: x)
        facts = {name: {tuple(at(x) for x in f) for f in own} for name, own in self.given.items()}
        for name, rules in self.strata:
            facts[name] = set()
            while True:
                new = {tuple(s[v] for v in rule.head[1]) for rule in rules for s in rule.solutions(facts, self.n)}
                if new <= facts[name]:
                    break
                facts[name] |= new
        return facts

    def expectations(self, facts, order=None):
        out = []
        for name in list(self.given) + [s[0] for s in self.strata]:
            cells = combinations(range(self.n), repeat=self.ranks[name])
            out.append(f"# expect {name} = {[float(c in facts[name]) for c in cells]}")
        counts = [sum(1.0 for f in facts[self.last] if f[0] == x) for x in range(self.n)]
        out.append(f"# expect Count = {counts}")
        age = [self.age[x] for x in order] if order else self.age
        least = [min((age[f[-1]] for f in facts[self.last] if f[0] == x), default=math.inf) for x in range(self.n)]
        out.append(f"# expect Least = {least}")
        return out

    def spellings(self, r):
        names = [f"n{r.randrange(1000)}_{x}" for x in range(self.n)]
        for symbols in [False, False, True]:
            word = (lambda x: f'"{names[x]}"') if symbols else str
            lines = [f"{p}({', '.join(map(word, f))})" for p, own in self.given.items() for f in own]
            rules = [rule.text(r) for _, own in self.strata for rule in own]
            rank = self.ranks[self.last]
            v = ["a", "b", "c"][:rank]
            rules.append(f"Count[a] = {self.last}({','.join(v)})")
            ages = [f"Age[{word(x)}] = {self.age[x]}" for x in range(self.n)]
            rules.append(f"Least[a] min= Age[{v[-1]}] when {self.last}({','.join(v)})")
            # One domain for all positions.
            links = [f"Link(u) = {p}({','.join('u' * rank)})" for p, rank in self.ranks.items()]
            all = lines + ages + rules + links
            r.shuffle(all)
            order = None
            if symbols:
                seen = []
                for line in all:
                    for x in line.split('"')[1::2]:
                        if names.index(x) not in seen:
                            seen.append(names.index(x))
                order = seen
            yield all, self.expectations(self.solve(order), order)
