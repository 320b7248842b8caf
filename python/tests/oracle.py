"""Helpers that tests share: PyTorch as oracle if it is installed, conversion to arrays, comparison of nested results."""

import importlib
import os
import warnings

import numpy as np
import pytest

import gradus

#: If true, a comparison fails if a package is missing, instead of being skipped. `cargo xtask test --oracles` sets the variable.
REQUIRED = os.environ.get("GRADUS_ORACLES") == "required"


def peer(name):
    """Returns a package that tests compare with, or `None` if it is not installed. Raises if comparisons are required."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if REQUIRED:
            raise
        return None


def peer_or_skip(name, **kwargs):
    """Returns a package that a test compares with. Skips the test if the package is not installed."""
    return peer(name) or pytest.skip(f"{name} is not installed: there is nothing to compare with", **kwargs)


def needs(*names):
    """Returns a mark that skips tests if one of the packages is not installed."""
    missing = ", ".join(name for name in names if peer(name) is None)
    return pytest.mark.skipif(missing != "", reason=f"{missing} is not installed: there is nothing to compare with")


torch = peer("torch")
needs_torch = needs("torch")


def array(x):
    """Converts a tensor or number to an array."""
    if hasattr(x, "detach"):
        x = x.detach().numpy()
    return np.asarray(x)


def flat(x):
    """Returns all tensors of nested tuples, lists and dictionaries."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in flat(part)]
    return [] if x is None else [x]


def same(ours, theirs, rtol=1e-9, atol=1e-10, what=""):
    """Compares nested results leaf by leaf: shape, class of dtype, values."""
    ours, theirs = flat(ours), flat(theirs)
    assert len(ours) == len(theirs), f"{what}: {len(ours)} results, not {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        a, b = array(a), array(b)
        assert a.shape == b.shape, f"{what}, result {i}: shape {a.shape}, not {b.shape}"
        assert a.dtype == b.dtype, f"{what}, result {i}: dtype {a.dtype}, not {b.dtype}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=f"{what}, result {i}")


def tensors(t, arrays, grad=True):
    """Converts arrays to tensors of a library; floating point tensors become leaves."""
    made = []
    for x in arrays:
        x = np.array(x)
        made.append(t.tensor(x, requires_grad=True) if grad and x.dtype.kind == "f" else t.tensor(x))
    return made


def differentiable(x):
    return hasattr(x, "requires_grad") and x.requires_grad


def pull_back(results, seed=0):
    """Runs backward from all differentiable results with random cotangents."""
    rng = np.random.default_rng(seed)
    total = None
    for y in flat(results):
        cotangent = rng.standard_normal(tuple(y.shape))
        if differentiable(y):
            library = gradus if isinstance(y, gradus.Tensor) else torch
            part = (y * library.tensor(cotangent, dtype=y.dtype)).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    return total is not None


#: The packages whose uncompiled function gives the expected numbers; for `parametrize`.
BOTH = [pytest.param("gradus"), pytest.param("torch", marks=needs_torch)]


def compare(run, other="gradus"):
    """Checks that the numbers which `run(t, jit)` returns are the same without `jit`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(gradus, gradus.jit)
    expected = run(gradus if other == "gradus" else torch, lambda f: f)
    assert len(found) == len(expected)
    for i, (a, b) in enumerate(zip(found, expected)):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-7, nan_ok=True), i
