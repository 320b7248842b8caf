"""Dtypes of new tensors, and whether they are copies, compared with PyTorch."""

import numpy as np
import pytest

import gradus
from oracle import needs_torch, torch


def name(x):
    return str(x.dtype).split(".")[-1]


@pytest.mark.parametrize("dtype, expected", [(float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128")])
def test_python_types_as_dtypes(dtype, expected):
    made = [
        gradus.tensor([1, 0], dtype=dtype), gradus.zeros(2, dtype=dtype), gradus.full((2,), 1, dtype=dtype), gradus.ones(2).to(dtype),
        gradus.zeros_like(gradus.ones(2), dtype=dtype), gradus.ones(2).new_zeros(2, dtype=dtype),
        gradus.as_tensor([1], dtype=dtype), gradus.ones(2).type(dtype),
    ]
    assert [name(x) for x in made] == [expected] * len(made)


def test_the_python_type_float_keeps_all_digits():
    assert gradus.tensor(0.1, dtype=float).item() == 0.1
    assert gradus.arange(3, dtype=float).dtype == gradus.float64 and gradus.nn.Linear(2, 1, dtype=float).weight.dtype == gradus.float64


COPIES = {
    "tensor": lambda a: gradus.tensor(a), "with dtype": lambda a: gradus.tensor(a, dtype=gradus.float32), "new_tensor": lambda a: a.new_tensor(a),
    "asarray": lambda a: gradus.asarray(a, copy=True), "Parameter": lambda a: gradus.nn.Parameter(gradus.tensor(a)),
    "list": lambda a: gradus.tensor([a])[0], "part": lambda a: gradus.tensor(a[:3]), "clone": lambda a: a.clone(),
}


@pytest.mark.parametrize("how", COPIES)
def test_new_tensors_are_copies(how):
    n = np.ones(3, "f4")
    copied = COPIES[how](gradus.from_numpy(n))
    n[:] = 9
    assert copied.tolist() == [1.0, 1.0, 1.0]


@needs_torch
def test_copies_of_shared_tensors():
    theirs = torch.ones(3)
    ours = gradus.tensor(gradus.from_dlpack(theirs))
    theirs.fill_(9)
    shared = gradus.ones(3)
    copied = gradus.tensor(shared)
    torch.from_dlpack(shared).fill_(7)
    assert ours.tolist() == copied.tolist() == [1.0, 1.0, 1.0]


def test_copies_in_compiled_functions():
    f = gradus.jit(lambda x: gradus.tensor(x).mul_(2) + x)
    assert f(gradus.ones(2)).tolist() == f(gradus.ones(2)).tolist() == [3.0, 3.0]


LISTS = [
    [np.float64(1.0), 2.0], [2.0, np.float64(1.0)], [np.float32(1), 2.0], [np.int32(1), 2], [np.int32(1)], [np.int32(1), 2.5], [np.float16(1)],
    [np.float16(1), 2.0], [np.float16(1), 2], [np.float32(1), np.float64(2)], [np.complex64(1)], [np.complex128(1)], [[np.float64(1)], [2]],
    [np.int64(1), np.float32(2)], [np.uint8(3)], [np.int32(2), True], [np.float64(1), 2j], [1j, np.float64(1)], [True, 1], [1, 2.5], [],
]


@needs_torch
@pytest.mark.parametrize("data", LISTS, ids=str)
def test_lists_of_numpy_scalars(data):
    ours, theirs = gradus.tensor(data), torch.tensor(data)
    assert name(ours) == name(theirs) and ours.tolist() == theirs.tolist()
    assert gradus.tensor(data, dtype=gradus.complex64).dtype == gradus.complex64


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (8, 8), (5, 13), (100, 100)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "bool", "int64", "complex128"])
def test_zeros(shape, dtype):
    x = gradus.zeros(*shape, dtype=getattr(gradus, dtype))
    assert tuple(x.shape) == shape and name(x) == dtype and x.is_contiguous()
    assert x.reshape(-1).tolist() == [0] * x.numel()
    assert (x.fill_(1) == 1).all() and (gradus.zeros(*shape, dtype=getattr(gradus, dtype)) == 0).all()
