"""Runs PyTorch's op database (`op_db`, all variants, six dtypes) with `gradus` and compares every sample.

    python python/tests/op_database.py                        # everything, one line per finding
    python python/tests/op_database.py --ops '^linalg' --dtypes float64
    python python/tests/op_database.py --every 20             # about one sample in twenty, at least one per op and dtype

    python python/tests/op_database.py --times 20             # also the entries that take most processor time

Workers run the samples. A worker that aborts or hangs is replaced, and the next worker continues after that sample. A worker hangs if
it spends more than `--patience` seconds of processor time on a sample, or `WAITING` times as long by the clock: other programs may
use the processor.
"""

import argparse
import collections
import json
import mmap
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))

#: Kinds of findings that are faults of the package; the others are differences that `docs/python.md` states.
WRONG = ("value", "gradient", "dtype", "abort", "hang")

#: The state that a worker shares with the driver: the number of the current sample, the count of equal samples, and the
#: processor time of the job so far.
PROGRESS = struct.Struct("qqd")

#: The number of the current sample before a worker has imported its packages, and how much longer than a sample that may take.
STARTING, START_PATIENCE = -2, 15

#: The factor by which a sample may exceed `--patience` by the clock.
WAITING = 30


def processor_time(pid):
    """Returns the processor time of a process in seconds, or `None` if the system does not report it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            user, system = file.read().rpartition(b")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def database():
    """Returns all entries by name; entries with variants have a name per variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
    # The import forbids changes of settings in this process, which other tests make.
    torch.backends.disable_global_flags.__globals__["__allow_nonbracketed_mutation_flag"] = True
    return {f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name: op for op in op_db}


def work(progress_file, every):
    """Runs a worker: reads jobs (`name dtype first`), writes a line of JSON per finding and an empty line per finished job."""
    import torch

    import gradus
    import op_samples

    torch.set_num_threads(1)
    gradus.set_num_threads(1)
    # Samples are seeded one by one. Seeds for devices that are not initialised are queued with a formatted stack trace each, which
    # would take a third of the run. The samples are on the CPU, whose generator is seeded as before.
    for device in (torch.cuda, torch.xpu, torch.mtia):
        device.manual_seed_all = lambda seed: None
    entries = database()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # so that output of operations does not mix with answers
    with open(progress_file, "r+b") as file:
        progress = mmap.mmap(file.fileno(), PROGRESS.size)
    for line in sys.stdin:
        name, dtype, first = line.split()
        equal, begin = 0, time.process_time()
        PROGRESS.pack_into(progress, 0, int(first), equal, 0.0)
        for i, sample in enumerate(samples(entries[name], dtype)):
            if i < int(first) or i % every:
                continue
            PROGRESS.pack_into(progress, 0, i, equal, time.process_time() - begin)
            finding = op_samples.examine(entries[name], sample, dtype)
            if finding is not None and finding.kind == "equal":
                equal += 1
            elif finding is not None and finding.kind != "refused":
                print(json.dumps([i, *finding]), file=answers)
        PROGRESS.pack_into(progress, 0, -1, equal, time.process_time() - begin)
        print(file=answers)


def samples(op, dtype):
    """Returns the samples of an entry, the same at each call."""
    import torch

    kind = getattr(torch, dtype)
    if kind not in op.supported_dtypes("cpu"):
        return
    torch.manual_seed(0)
    gradients = op.supports_autograd and dtype in ("float64", "complex128")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from op.sample_inputs("cpu", kind, requires_grad=gradients)


class Worker:
    """A process that runs jobs, and the state of its job."""

    def __init__(self, every):
        with tempfile.NamedTemporaryFile(prefix="gradus-op-", delete=False) as file:
            file.write(PROGRESS.pack(STARTING, 0, 0.0))
        self.progress = file.name
        command = [sys.executable, os.path.abspath(__file__), "--worker", self.progress, "--every", str(every)]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.job, self.since, self.used, self.seen, self.text = None, 0.0, 0.0, None, b""

    def give(self, job):
        """Starts a job: name, dtype and the number of the first sample."""
        self.job, self.since, self.seen = job, time.monotonic(), None
        self.process.stdin.write("{} {} {}\n".format(*job).encode())
        self.process.stdin.flush()

    def state(self):
        """Returns the number of the current sample, the count of equal samples, and the processor time of the job."""
        with open(self.progress, "rb") as file:
            return PROGRESS.unpack(file.read())

    def lines(self):
        """Returns the complete lines that the worker has written since the last call."""
        self.text += self.process.stdout.read() or b""
        *lines, self.text = self.text.split(b"\n")
        return lines

    def stuck(self, patience):
        """Returns true if no sample has ended in `patience` seconds of processor time, or far longer by the clock. Imports may take longer."""
        at, used = self.state(), processor_time(self.process.pid)
        if at != self.seen:
            self.seen, self.since, self.used = at, time.monotonic(), used
        patience *= START_PATIENCE if at[0] == STARTING else 1
        computed = patience if used is None or self.used is None else used - self.used
        waited = time.monotonic() - self.since
        return waited > patience and (computed >= patience or waited > WAITING * patience)

    def close(self):
        """Ends the process."""
        self.process.kill()
        self.process.wait()
        os.unlink(self.progress)


def run(ops=None, dtypes=None, every=1, workers=2, patience=20.0, report=None, times=None):
    """Runs jobs on workers. Returns counts per entry, and all findings as `(entry, dtype, sample, kind, text)`.

    `times`, a counter, gets the processor time of each entry.
    """
    import op_samples

    jobs = collections.deque(
        (name, dtype, 0) for name in database() if not ops or re.search(ops, name) for dtype in dtypes or op_samples.DTYPES)
    counts, found = collections.defaultdict(collections.Counter), []

    def note(name, dtype, i, kind, text):
        counts[name][kind] += 1
        found.append((name, dtype, i, kind, text))
        if report:
            report(f"{name} {dtype} {i}: {kind}: {text}")

    active = []
    while jobs or active:
        while jobs and len(active) < workers:
            active.append(Worker(every))
            active[-1].give(jobs.popleft())
        for worker in list(active):
            (name, dtype, _), status, done = worker.job, worker.process.poll(), False
            for line in worker.lines():
                if line:
                    note(name, dtype, *json.loads(line))
                else:
                    done = True
            if done:
                _, equal, seconds = worker.state()
                counts[name]["equal"] += equal
                if times is not None:
                    times[name] += seconds
                if jobs:
                    worker.give(jobs.popleft())
                    continue
            elif status is None and not worker.stuck(patience):
                continue
            else:
                at, equal, _ = worker.state()
                if at == STARTING:
                    worker.close()
                    raise RuntimeError(f"a worker did not start (exit status {status}): {' '.join(worker.process.args)}")
                counts[name]["equal"] += equal
                note(name, dtype, at, "hang" if status is None else "abort", f"exit status {status}")
                jobs.append((name, dtype, at + 1))
            worker.close()
            active.remove(worker)
        # Answers wake the driver, as does the end of a worker, which closes its pipe. Hangs are checked four times a second.
        select.select([worker.process.stdout for worker in active], [], [], 0.25)
    return counts, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ops", help="entries whose name has this regular expression")
    parser.add_argument("--dtypes", type=lambda text: text.split(","))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=20.0)
    parser.add_argument("--times", type=int, default=0, help="list that many entries, those that take most processor time")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker, arguments.every)
        return 0
    begin = time.monotonic()
    times = collections.Counter()
    counts, found = run(arguments.ops, arguments.dtypes, arguments.every, arguments.workers, arguments.patience, print, times)
    total = sum(counts.values(), collections.Counter())
    print(f"\n{sum(total.values())} samples in {time.monotonic() - begin:.0f} s: " + ", ".join(f"{n} {kind}" for kind, n in total.most_common()))
    print(f"{sum(times.values()):.0f} s of processor time in samples", *[f"{n:8.2f} s {name}" for name, n in times.most_common(arguments.times)], sep="\n")
    missing = sorted({name for name, *_, kind, _ in found if kind == "missing"})
    print(f"{len(missing)} entries missing: {' '.join(missing)}")
    return int(any(kind in WRONG for *_, kind, _ in found))


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    sys.exit(main())
