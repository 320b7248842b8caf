"""Dtypes of results against PyTorch's: between tensors with and without axes, and with Python's numbers."""

import itertools

import pytest

import gradus
from oracle import needs_torch, torch

DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
OPERATORS = {
    "+": lambda a, b: a + b, "*": lambda a, b: a * b, "/": lambda a, b: a / b, "==": lambda a, b: a == b,
    "where": None, "cat": None, "maximum": None,
}


def name(tensor):
    return str(tensor.dtype).split(".")[-1]


def apply(library, sign, a, b):
    if sign == "where":
        return library.where(library.tensor([True, False]), a, b)
    if sign == "cat":
        return library.cat([a.reshape(-1), b.reshape(-1)])
    if sign == "maximum":
        return library.maximum(a, b)
    return OPERATORS[sign](a, b)


# There are no such dtypes here; half precision with complex numbers PyTorch mostly refuses.
ABSENT = ("int16", "complex32", "bcomplex32")


def differ(ours, theirs, *dtypes):
    half_complex = any("16" in d for d in dtypes) and any("complex" in d for d in dtypes)
    return ours != theirs and theirs not in ABSENT and not (half_complex and theirs == "an error")


def outcome(library, sign, a, b):
    """The dtype of the result, or that there is none."""
    try:
        return name(apply(library, sign, a, b))
    except (RuntimeError, TypeError, ValueError):
        return "an error"


@needs_torch
@pytest.mark.parametrize("sign", OPERATORS)
def test_tensors(sign):
    wrong = []
    for a, b in itertools.product(DTYPES, DTYPES):
        for shapes in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
            if sign == "maximum" and ("complex" in a or "complex" in b):
                continue
            results = []
            for library in (gradus, torch):
                x, y = (library.ones(shape, dtype=getattr(library, d)) for shape, d in zip(shapes, (a, b)))
                results.append(outcome(library, sign, x, y))
            if differ(*results, a, b):
                wrong.append(f"{a}{shapes[0]} {sign} {b}{shapes[1]}: {results[0]}, not {results[1]}")
    assert not wrong, "\n".join(wrong)


@needs_torch
@pytest.mark.parametrize("sign", ["+", "*", "/", "=="])
def test_numbers(sign):
    wrong = []
    for dtype, number in itertools.product(DTYPES, (True, 2, 2.5, 1j)):
        for swap in (False, True):
            results = []
            for library in (gradus, torch):
                x = library.ones(2, dtype=getattr(library, dtype))
                results.append(outcome(library, sign, *((number, x) if swap else (x, number))))
            if differ(*results, dtype, "complex" if number == 1j else ""):
                wrong.append(f"{dtype} {sign} {number}{' swapped' if swap else ''}: {results[0]}, not {results[1]}")
    assert not wrong, "\n".join(wrong)


REDUCTIONS = ["sum", "mean", "prod", "cumsum", "amax", "argmax", "any", "std", "exp", "floor", "sign", "abs", "logical_not", "sigmoid", "sqrt", "reciprocal"]


@needs_torch
@pytest.mark.parametrize("function", REDUCTIONS)
def test_functions(function):
    wrong = []
    for dtype in DTYPES:
        if dtype.startswith("complex") and function in ("amax", "argmax", "floor", "sign"):
            continue
        results = []
        for library in (gradus, torch):
            x = library.ones(3, dtype=getattr(library, dtype))
            try:
                y = getattr(library, function)(x, 0) if function == "cumsum" else getattr(library, function)(x)
                results.append(name(y))
            except (RuntimeError, TypeError, ValueError):
                results.append("an error")
        # Gradus may accept calls that PyTorch refuses (means of integers). PyTorch's `any` of uint8 is uint8 for compatibility.
        if results[0] != results[1] and results[1] != "an error" and (function, dtype) != ("any", "uint8"):
            wrong.append(f"{function} of {dtype}: {results[0]}, not {results[1]}")
    assert not wrong, "\n".join(wrong)
