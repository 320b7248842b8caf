"""Checks that the type stubs agree with the modules."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from oracle import peer_or_skip

ROOT = Path(__file__).parents[2]


def generator():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "python" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.version_info < (3, 10), reason="this Python cannot read the signatures of native classes")
def test_stubs_are_up_to_date():
    stale = [path.name for path, text in generator().files().items() if not path.exists() or path.read_text() != text]
    assert not stale, f"run `python python/stubs.py`: {stale}"


def test_stubs_are_python():
    for path, text in generator().files().items():
        ast.parse(text, filename=str(path))


def test_a_type_checker_accepts_a_program_and_finds_a_fault(tmp_path):
    peer_or_skip("mypy")
    good, bad = ROOT / "examples" / "python" / "nanogpt.py", tmp_path / "bad.py"
    bad.write_text("import gradus\nx = gradus.ones(2).softmaxx(0)\ny: int = gradus.ones(2).sum(0, keepdim='no')\n")
    for path, fits in ((good, True), (bad, False)):
        command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), str(path)]
        environment = {"MYPYPATH": str(ROOT / "python"), "PATH": ""}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert (done.returncode == 0) == fits, done.stdout
    assert "softmaxx" in done.stdout and "keepdim" in done.stdout and "Incompatible types in assignment" in done.stdout
