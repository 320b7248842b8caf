"""Prints the table of `bench/README.md` from a runner's results: python3 bench/table.py results.json [our name]

Ratio = time of the best other system / ours: the median of the ratios of single rounds, with the 95 % confidence interval of that
median by order statistics. More than 1 means that Gradus is faster."""
import json, math, statistics, sys

# Target ratios by the beginning of a workload's name; the longest match counts.
WANTED = {"W1": 0.95, "W1.2048bf16": 0.7, "W2": 1.0, "W3": 1.2, "W4": 1.0, "W5": 1.1, "W6": 1.0, "W7": 1.0, "W8": 2.0,
          "W9.nograd": 3.0, "W9.grad": 2.0, "W11": 4.0, "W11.compiled": 1.0}
# Largest number of milliseconds by which the first step of a process (W10) may exceed a later one (W5).
FIRST = 50


def interval(ratios):
    """Returns the two ratios that enclose the true median with a probability of at least 95 %, for any distribution. Fewer
    than six ratios do not suffice for that; then the smallest and the largest are returned."""
    ordered, n = sorted(ratios), len(ratios)
    below = [sum(math.comb(n, i) for i in range(k + 1)) / 2**n for k in range(n // 2)]
    cut = sum(chance <= 0.025 for chance in below)
    return ordered[max(0, cut - 1)], ordered[min(n - 1, n - cut)]


def rows(results, own):
    for workload, systems in results.items():
        ours = systems.get(own, {}).get("samples")
        others = {name: s for name, s in systems.items() if name != own and s.get("samples")}
        if not ours or not others:
            continue
        best = min(others, key=lambda name: statistics.median(others[name]["samples"]))
        theirs = others[best]["samples"]
        ratios = [t / o for t, o in zip(theirs, ours)]
        low, high = interval(ratios)
        # Workloads that start a new process have no value to compare.
        checks = [s["check"] for s in (systems[own], others[best]) if "check" in s]
        agree = "-" if len(checks) < 2 else "yes" if abs(checks[0] - checks[1]) <= 1e-3 * abs(checks[1]) else "NO"
        yield workload, statistics.median(ours), best, statistics.median(theirs), statistics.median(ratios), low, high, agree


def main():
    data, own = json.load(open(sys.argv[1])), sys.argv[2] if len(sys.argv) > 2 else "ours"
    meta = data["meta"]
    print(f"{meta['date']}, {meta['cpu'].strip()}, {meta['threads']} threads, {meta['rounds']} rounds; "
          + ", ".join(f"{name} {version}" for name, version in data["peers"].items() if name != own) + ".")
    print("\n| workload | ours, ms | best other | its ms | ratio | 95 % | wanted | same value |\n|---|---|---|---|---|---|---|---|")
    for w, ours, best, theirs, ratio, low, high, agree in rows(data["results"], own):
        fits = [name for name in WANTED if w == name or w.startswith(name + ".")]
        wanted = WANTED[max(fits, key=len)] if fits else None
        aim = "-" if wanted is None else f"{wanted}" if high >= wanted else f"{wanted}, missed"
        print(f"| {w} | {ours:.4g} | {best} | {theirs:.4g} | {ratio:.2f} | {low:.2f}–{high:.2f} | {aim} | {agree} |")
    first, later = (data["results"].get(w, {}).get(own, {}).get("median") for w in ("W10", "W5"))
    if first and later:
        print(f"\nThe first step (W10) takes {first - later:.0f} ms longer than a later one (W5); {FIRST} wanted"
              + (", missed." if first - later > FIRST else "."))


if __name__ == "__main__":
    main()
