"""Finds the leading minor at which a Cholesky factorisation fails.

Takes matrices; returns an order for each. `linalg.cholesky_ex` reports it as `info`.
"""

from . import _native
from ._native import _value_error
from .composed.factor import _first, cholesky


def first_bad_minor(A, upper):
    """Returns the order of the first leading minor that is not positive, or 0."""
    n, lead = A.shape[-1], tuple(A.shape[:-2])
    if A._is_traced:  # an error could not be caught
        rest, pivots = A.mH if upper else A, []
        for _ in range(n):
            pivot, column = rest[..., :1, :1].real if A.is_complex() else rest[..., :1, :1], rest[..., 1:, :1]
            rest = rest[..., 1:, 1:] - column @ column.mH / pivot.to(A.dtype)
            pivots.append(pivot.reshape(lead))
        return _first((_native.stack(pivots, -1) > 0).logical_not() if n else _native.ones(*lead, 0) > 0)
    if not A.numel() or _has_factor(A, upper):
        return _native.zeros(lead, dtype=_native.int32)
    place, one, found = _native.arange(n), _native.eye(n, dtype=A.dtype), []
    for a in A.reshape(-1, n, n).unbind(0):
        good, bad = (n, n) if _has_factor(a, upper) else (0, n)
        while bad - good > 1:
            k = (good + bad) // 2
            inside = place < k
            block = _native.where(inside & inside.unsqueeze(1), a, one)  # one shape, so that it is compiled once
            good, bad = (k, bad) if _has_factor(block, upper) else (good, k)
        found.append(bad if good < bad else 0)
    return _native.tensor(found, dtype=_native.int32).reshape(lead)


def _has_factor(A, upper):
    try:
        cholesky(A, upper)
    except _value_error():
        return False
    return True
