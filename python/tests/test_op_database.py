"""Runs a part of PyTorch's op database in six dtypes: no wrong value, gradient or dtype, no abort, no hang.

`python python/tests/op_database.py` runs all of it. A table in `docs/python.md` lists the operations that may be missing.
"""

import os
import pathlib
import re

import pytest

import op_database
from oracle import peer_or_skip

#: Runs one of this number of samples, at least one per entry and dtype.
EVERY = 12

#: Largest fraction of samples for which an existing operation raises an error although PyTorch returns a result.
RAISED = 0.004


@pytest.fixture(scope="module")
def results():
    peer_or_skip("torch")
    return op_database.run(every=EVERY, workers=os.cpu_count())


def documented():
    """Returns the operations in the table of missing ones."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
    table = page.read_text().split("## Operations that are missing")[1].split("\n## ")[0]
    return {name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize("kind", op_database.WRONG)
def test_no_sample_is_wrong(results, kind):
    """Every operation that exists returns PyTorch's results."""
    found = [line for line in results[1] if line[3] == kind]
    assert not found, f"{len(found)} samples: {found[:10]}"


def test_few_samples_raise(results):
    """Operations accept the arguments that PyTorch accepts."""
    counts, found = results
    ran = sum(n for entry in counts.values() for kind, n in entry.items() if kind != "missing")
    raised = [line for line in found if line[3] == "raises"]
    assert len(raised) <= RAISED * ran, f"{len(raised)} of {ran}: {raised[:10]}"


def test_missing_operations_are_documented(results):
    """The table lists exactly the missing operations."""
    missing = {op_database.database()[line[0]].name for line in results[1] if line[3] == "missing"}
    assert missing == documented()
    assert len(missing) <= 25
