"""Compares closures and shortest paths with clingo: time and peak memory of complete processes.

    cargo build --release -p gradus-cli
    pip install clingo
    python3 bench/relations.py target/release/gradus

Each program runs in a process of its own, so the times of both systems include start-up and reading the facts. Both print the
number of results, which must agree. clingo has no minimum over recursive rules, so its program for shortest paths derives
every distance up to the longest one.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

NODES = 5000


def line_edges():
    return [(i, i + 1) for i in range(NODES - 1)]


def tree_edges(seed=1):
    rng = random.Random(seed)
    return [(rng.randrange(max(0, i - 1), i) if i % 50 else rng.randrange(i), i) for i in range(1, NODES)]


def random_edges(edges, nodes=NODES, seed=2):
    rng = random.Random(seed)
    return sorted({(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(edges)})


def weighted_edges(edges=100_000, nodes=20_000, seed=3):
    rng = random.Random(seed)
    return [(rng.randrange(nodes), rng.randrange(nodes), rng.randrange(1, 10)) for _ in range(edges)]


CLOSURE = """E(x,y) = table("edges.tsv")
T(x,y) = E(x,y)
T(x,z) = E(x,y) T(y,z)
Count = T(x,y)
"""
PATHS = """E(x,y,w) = table("edges.tsv")
D[0] min= 0
D[y] min= D[x] + index(w) when E(x,y,w)
Near(x) = D[x] < inf
Count = Near(x)
"""
CLINGO_CLOSURE = "t(X,Y) :- e(X,Y). t(X,Z) :- e(X,Y), t(Y,Z). #show. "
CLINGO_PATHS = "d(0,0). d(Y,D+W) :- d(X,D), e(X,Y,W), D+W <= {most}. near(X) :- d(X,_). #show. "

CLINGO = """
import clingo, sys
control = clingo.Control(["--warn=none"])
control.load(sys.argv[1])
control.ground([("base", [])])
name, rank = sys.argv[2], int(sys.argv[3])
print(sum(1 for _ in control.symbolic_atoms.by_signature(name, rank)))
"""


def measure(command, folder):
    """Runs a process; returns its time in seconds, its peak memory in MiB and its output."""
    before = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    if status != 0:
        raise SystemExit(f"{command} failed: {status}")
    return seconds, usage.ru_maxrss / 1024, output


def longest_distance(edges, nodes):
    """Returns the longest of the shortest distances from node 0."""
    import heapq

    out = {}
    for a, b, w in edges:
        out.setdefault(a, []).append((b, w))
    best, queue = {}, [(0, 0)]
    while queue:
        d, x = heapq.heappop(queue)
        if x not in best:
            best[x] = d
            for y, w in out.get(x, ()):
                heapq.heappush(queue, (d + w, y))
    return max(best.values())


def main():
    gradus = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    paths = weighted_edges()
    cases = [
        ("closure of a line, 5,000 nodes", line_edges(), CLOSURE, CLINGO_CLOSURE, ("t", 2)),
        ("closure of a tree, 5,000 nodes", tree_edges(), CLOSURE, CLINGO_CLOSURE, ("t", 2)),
        ("closure of a random graph, 10,000 edges", random_edges(10_000), CLOSURE, CLINGO_CLOSURE, ("t", 2)),
        (
            "shortest paths, 100,000 edges",
            paths,
            PATHS,
            CLINGO_PATHS.replace("{most}", str(longest_distance(paths, 20_000))),
            ("near", 1),
        ),
    ]
    print("| work | facts | ours, s | clingo, s | ratio | ours, MiB | clingo, MiB |\n|---|---|---|---|---|---|---|")
    for name, edges, ours, theirs, (signature, rank) in cases:
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/edges.tsv", "w") as f:
                f.writelines("\t".join(map(str, e)) + "\n" for e in edges)
            with open(f"{folder}/program.eq", "w") as f:
                f.write(ours)
            with open(f"{folder}/program.lp", "w") as f:
                f.write(theirs + "\n")
                f.writelines(f"e({','.join(map(str, e))}).\n" for e in edges)
            with open(f"{folder}/clingo_count.py", "w") as f:
                f.write(CLINGO)
            run = [gradus, "run", "program.eq", "--only", "Count", "--json", "--f64"]
            clingo = [sys.executable, "clingo_count.py", "program.lp", signature, str(rank)]
            found = {"ours": [], "clingo": []}
            for _ in range(rounds):
                found["ours"].append(measure(run, folder))
                found["clingo"].append(measure(clingo, folder))
            count = json.loads(found["ours"][0][2])["Count"]["data"]
            assert int(count) == int(found["clingo"][0][2]), (name, count, found["clingo"][0][2])
            best = {who: min(r[0] for r in runs) for who, runs in found.items()}
            peak = {who: min(r[1] for r in runs) for who, runs in found.items()}
            print(
                f"| {name} | {int(count):,} | {best['ours']:.3f} | {best['clingo']:.3f} | "
                f"{best['clingo'] / best['ours']:.1f} | {peak['ours']:.0f} | {peak['clingo']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
