"""Compares the memory of workloads with other systems: python3 bench/memory.py ours="target/release/peers --worker" ...

Each argument NAME=COMMAND starts a worker of the protocol in `bench/README.md`, one process per workload. The memory of a
workload is the peak of resident memory from the preparation to the end of some repetitions, minus the resident memory
before it. The latter is measured after a small matrix product (W1.128), so that libraries which a system loads at its first
operation are not counted. Ratio = the smallest value of the other systems with the same result / ours; more than 1 means
that Gradus needs less.

    --workloads W4,W5     workloads to measure (default: the training steps)
    --out FILE            write the numbers as JSON
    --folder FOLDER       folder in which the commands run"""
import argparse, json, os, shlex, subprocess, sys, time

OURS = "ours"


class Worker:
    def __init__(self, command, folder):
        threads = {k: "2" for k in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BENCH_THREADS")}
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=folder, text=True, env={**os.environ, **threads})

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"ok": false, "error": "the worker ended"}')
        if not answer.get("ok"):
            raise RuntimeError(answer.get("error", "failed"))
        return answer

    def memory(self, which):
        """Returns `VmRSS` or `VmHWM`, in MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            line = next(line for line in status if line.startswith(which))
        return int(line.split()[1]) / 1024

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")


def measure(command, folder, workload):
    worker = Worker(command, folder)
    try:
        version = worker.ask(cmd="hello")["version"]
        worker.ask(cmd="prep", workload="W1.128")
        worker.ask(cmd="run", workload="W1.128", min_ms=20, min_reps=2, warm=2, warm_ms=5, max_reps=100)
        worker.ask(cmd="drop", workload="W1.128")
        before = worker.memory("VmRSS")
        worker.forget_peak()
        check = worker.ask(cmd="prep", workload=workload)["check"]
        worker.ask(cmd="run", workload=workload, min_ms=300, min_reps=5, warm=2, warm_ms=15, max_reps=100)
        return version, {"mib": worker.memory("VmHWM") - before, "check": check}
    finally:
        worker.process.kill()
        worker.process.wait()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workers", nargs="+", metavar="NAME=COMMAND")
    options.add_argument("--workloads", default="W4,W5,W6,W7,W8")
    options.add_argument("--out")
    options.add_argument("--folder", default=".")
    a = options.parse_args()
    workers = dict(w.split("=", 1) for w in a.workers)
    found = {"date": time.strftime("%F %T"), "systems": {}, "memory": {}}
    for workload in a.workloads.split(","):
        row = found["memory"].setdefault(workload, {})
        for name, command in workers.items():
            try:
                found["systems"][name], row[name] = measure(command, a.folder, workload)
            except (RuntimeError, OSError) as e:
                print(f"{name} {workload}: {e}", file=sys.stderr)
    if a.out:
        with open(a.out, "w") as out:
            json.dump(found, out, indent=1)
    table(found)


def table(found):
    others = [name for name in found["systems"] if name != OURS]
    print("\n| workload | ours, MiB |" + "".join(f" {name} |" for name in others) + " ratio |")
    print("|---|" + "---|" * (len(others) + 2))
    for workload, row in found["memory"].items():
        size = {name: row[name]["mib"] for name in row}
        checks = {name: row[name]["check"] for name in row}
        same = [n for n in others if n in size and abs(checks[n] - checks[OURS]) <= 1e-3 * abs(checks[n])]
        cells = "".join(f" {size[n]:.1f} |" if n in size else " – |" for n in others)
        ratio = f"{min(size[n] for n in same) / size[OURS]:.2f}" if same else "–"
        print(f"| {workload} | {size[OURS]:.1f} |{cells} {ratio} |")


if __name__ == "__main__":
    main()
