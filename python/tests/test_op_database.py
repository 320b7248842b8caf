"""A sample of PyTorch's op database, in six dtypes: no wrong value, gradient or dtype, no abort, no hang.

`python python/tests/op_database.py` runs all of it. What may be missing stands in a table of `docs/python.md`.
"""

import os
import pathlib
import re

import pytest

from oracle import peer_or_skip

#: One sample in this many, at least one per entry and dtype.
EVERY = 12

#: Samples of operations that exist here and raise although PyTorch gives a result: at most this share.
RAISED = 0.01


@pytest.fixture(scope="module")
def results():
    peer_or_skip("torch")
    import op_database

    return op_database.run(every=EVERY, workers=os.cpu_count())


def documented():
    """The operations that the table of missing ones names."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
    table = page.read_text().split("## Operations that are missing")[1].split("\n## ")[0]
    return {name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize("kind", ["value", "gradient", "dtype", "abort", "hang"])
def test_no_sample_is_wrong(results, kind):
    """Every operation that exists returns PyTorch's results."""
    found = [line for line in results[1] if line[3] == kind]
    assert not found, f"{len(found)} samples: {found[:10]}"


def test_few_samples_raise(results):
    """Arguments that PyTorch takes are taken."""
    counts, found = results
    ran = sum(n for entry in counts.values() for kind, n in entry.items() if kind != "missing")
    raised = [line for line in found if line[3] == "raises"]
    assert len(raised) <= RAISED * ran, f"{len(raised)} of {ran}: {raised[:10]}"


def test_missing_operations_are_documented(results):
    """The table lists exactly the missing operations."""
    import op_database

    missing = {op_database.database()[line[0]].name for line in results[1] if line[3] == "missing"}
    assert missing == documented()
    assert len(missing) <= 25
