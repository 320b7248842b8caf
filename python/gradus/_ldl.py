"""The factors `L D Lᵀ` of symmetric and Hermitian matrices that may be indefinite, by the pivoting of Bunch and Kaufman.

`factored` and `solved` process one matrix. They read and write LAPACK's form: `D` on and next to the diagonal, `L` below it, and
one pivot for each row, negative for rows of blocks of two. `linalg` has the functions for several matrices.
"""

import math

from . import _native

#: The threshold of Bunch-Kaufman pivoting, which bounds the growth of elements.
_ALPHA = (1 + math.sqrt(17)) / 8


def _size(x):
    """Returns the key by which pivots are compared: |real part| + |imaginary part|."""
    return x.real.abs() + x.imag.abs() if x.is_complex() else x.abs()


def _exchanged(a, i, j):
    """Exchanges rows `i` and `j`."""
    order = list(range(a.shape[0]))
    order[i], order[j] = order[j], order[i]
    return a.index_select(0, _native.tensor(order))


def _pivot(a, hermitian):
    """Returns the index of the pivot, the size of its block (2 if it is a block with index 0) and whether there is no pivot."""
    first = abs(a[0, 0].real.item() if hermitian else _size(a[0, 0]).item())
    column = _size(a[1:, 0])
    largest = column.amax().item() if len(column) else 0.0
    if max(first, largest) == 0:
        return 0, 1, True
    if first >= _ALPHA * largest:
        return 0, 1, False
    at = 1 + column.argmax().item()
    sizes = _size(a[at])
    own = abs(a[at, at].real.item()) if hermitian else sizes[at].item()
    sizes[at] = 0
    other = sizes.amax().item()
    if first * other >= _ALPHA * largest * largest:
        return 0, 1, False
    return (at, 1, False) if own >= _ALPHA * other else (at, 2, False)


def factored(A, hermitian):
    """Factors a matrix given by its lower half. Returns factors, pivots, and the index of the first zero of `D` counted from 1, or 0."""
    n, conj = A.shape[0], (lambda x: x.conj()) if hermitian and A.is_complex() else (lambda x: x)
    if hermitian and A.is_complex():  # the diagonal is real
        A = A - (1j * A.diagonal().imag).diag().to(A.dtype)
    out, pivots, info, k = A.tril(), [0] * n, 0, 0
    # Both halves are stored, so that an exchange swaps rows and columns.
    rest = A.tril() + conj(A.tril(-1).mT)
    while k < n:
        at, size, none = _pivot(rest, hermitian)
        if none and not info:
            info = k + 1
        if at != size - 1:
            rest = _exchanged(_exchanged(rest, size - 1, at).mT, size - 1, at).mT
        pivots[k:k + size] = [(k + at + 1) * (1 if size == 1 else -1)] * size
        block, below = rest[:size, :size], rest[size:, :size]
        factors = below if none else _native.solve(block.mT, below.mT).mT
        out[k:k + size, k:k + size] = block.tril()
        out[k + size:, k:k + size] = factors
        if not none:
            rest = rest[size:, size:] - factors @ conj(below.mT)
        else:
            rest = rest[size:, size:]
        k += size
    if hermitian and A.is_complex():
        out = out - (1j * out.diagonal().imag).diag().to(out.dtype)
    return out, pivots, info


def solved(LD, pivots, B, hermitian):
    """Solves `A X = B` with the factors of `A`."""
    conj = (lambda x: x.conj()) if hermitian and LD.is_complex() else (lambda x: x)
    n, k, steps = LD.shape[0], 0, []
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        steps.append((k, size, k + size - 1, abs(pivots[k]) - 1))
        k += size
    for k, size, i, j in steps:
        B = _exchanged(B, i, j)
        below, block = LD[k + size:, k:k + size], LD[k:k + size, k:k + size]
        own = B[k:k + size]
        block = block.tril() + conj(block.tril(-1).mT)
        B = _native.cat([B[:k], _native.solve(block, own), B[k + size:] - below @ own])
    for k, size, i, j in reversed(steps):
        own = B[k:k + size] - conj(LD[k + size:, k:k + size].mT) @ B[k + size:]
        B = _exchanged(_native.cat([B[:k], own, B[k + size:]]), i, j)
    return B
