"""Every program in examples/python at a small scale, with this package and, where it is installed, with PyTorch itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradus
from oracle import needs_torch

FOLDER = Path(__file__).parents[2] / "examples" / "python"

# program, arguments, the text before its result, a condition on the result (at full scale, results are better)
RUNS = [
    ("micrograd.py", ["--steps", "80"], "accuracy: ", lambda x: x >= 0.9),
    ("makemore.py", ["--steps", "300"], "loss of the network: ", lambda x: x < 2.5),
    ("nanogpt.py", ["--steps", "40", "--tokens", "40"], "validation loss: ", lambda x: x < 3.1),
    ("seed001.py", ["--steps", "300", "--samples", "2"], "loss: ", lambda x: x < 3.0),
    ("seed004.py", [], "rules: ", lambda x: x < 1e-12),
]


def run(path, arguments, words, holds, cwd):
    packages = os.pathsep.join([str(Path(gradus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": packages}
    done = subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True, timeout=300, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found = re.findall(re.escape(words) + r"([-+.\de]+)", done.stdout)
    assert found and holds(float(found[-1].rstrip(","))), done.stdout[-2000:]


@pytest.mark.parametrize("name, arguments, words, holds", RUNS, ids=[row[0] for row in RUNS])
def test_example(name, arguments, words, holds, tmp_path):
    run(FOLDER / name, arguments, words, holds, tmp_path)


@needs_torch
@pytest.mark.parametrize("name, arguments, words, holds", RUNS, ids=[row[0] for row in RUNS])
def test_example_with_pytorch(name, arguments, words, holds, tmp_path):
    """Only the import lines are changed back."""
    lines = (FOLDER / name).read_text().splitlines()
    changed = [re.sub(r"\bgradus\b", "torch", line) if re.match(r"(import|from) gradus", line) else line for line in lines]
    assert "gradus" not in "\n".join(changed)
    folder = tmp_path / "examples" / "python"
    folder.mkdir(parents=True)
    (folder.parent / "data").symlink_to(FOLDER.parent / "data")
    (folder / name).write_text("\n".join(changed) + "\n")
    run(folder / name, arguments, words, holds, tmp_path)
