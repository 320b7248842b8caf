"""Names that were added later, each compared with PyTorch: values, dtypes and gradients."""

import inspect
import math

import numpy as np
import pytest

import gradus
from oracle import needs_torch, pull_back, same, tensors, torch

rng = np.random.default_rng(21)
A, V = rng.standard_normal((3, 4)), rng.standard_normal(4)
SQUARES, RIGHT = rng.standard_normal((2, 4, 4)), rng.standard_normal((2, 4, 2))
POSITIVE = SQUARES @ SQUARES.transpose(0, 2, 1) + np.eye(4)
TALL, HOLES = rng.standard_normal((4, 3)), np.where(rng.random((3, 4)) < 0.3, math.nan, A)
BLOCK = rng.standard_normal((2, 3, 6))
BYTES = bytearray(np.arange(1, 5, dtype="f4").tobytes())

#: Expressions, each with the arrays that it uses.
CASES = {
    "arcsinh": ("x.arcsinh()", A), "arccosh": ("(x.abs() + 1.5).arccosh()", A), "arctanh": ("(x / 9).arctanh()", A),
    "is_nonzero": ("t.tensor(x.sum().is_nonzero())", A), "prelu": ("x.prelu(y.abs().sum().reshape(1))", A, V), "hardshrink": ("x.hardshrink(0.3)", A),
    "addmm_": ("(z * 1).addmm_(x, y, beta=2, alpha=3)", A, TALL, rng.standard_normal((3, 3))),
    "put": ("x.put(t.tensor([1, -1, 5]), y[:3])", A, V), "put_": ("(x * 1).put_(t.tensor([[1, 1]]), y[:2].reshape(1, 2), accumulate=True)", A, V),
    "slogdet": ("x.slogdet()", SQUARES), "pinverse": ("t.pinverse(x)", TALL),
    "nanquantile": ("t.nanquantile(x, 0.3)", HOLES), "nanquantile of rows": ("x.nanquantile(t.tensor([0.1, 0.5, 1.0]).double(), dim=1, keepdim=True)", HOLES),
    "quantile with holes": ("x.detach().quantile(0.3, dim=1)", HOLES), "quantile": ("x.quantile(0.7, 0)", A),
    "select_scatter": ("x.select_scatter(y, 0, -1)", A, V), "slice_scatter": ("t.slice_scatter(x, y[:3].reshape(3, 1).expand(3, 2), 1, 0, None, 2)", A, V),
    "diagonal_scatter": ("t.diagonal_scatter(x, y[:2], 2)", A, V), "diagonal_scatter of others": ("x.diagonal_scatter(y.expand(2, 4), 0, 1, 2)", SQUARES, V),
    "gradient": ("t.gradient(x)", A), "gradient with steps": ("t.gradient(x, spacing=[2.0, 0.5], edge_order=2)", A),
    "gradient at places": ("t.gradient(x, spacing=(y.detach().abs().cumsum(0),), dim=1)", A, V), "gradient at places, order 2": ("t.gradient(x, spacing=[y.detach().abs().cumsum(0)], dim=-1, edge_order=2)", A, V),
    "frombuffer": ("t.frombuffer(BYTES, dtype=t.float32)",), "part of a buffer": ("t.frombuffer(BYTES, dtype=t.int32, count=2, offset=4)",),
    "doubles of a buffer": ("t.frombuffer(BYTES, dtype=t.float64)",), "halves of a buffer": ("t.frombuffer(BYTES, dtype=t.bfloat16).float()",),
    "lu_factor": ("t.linalg.lu_factor(x)", SQUARES), "lu_factor, tall": ("t.linalg.lu_factor(x)", TALL), "lu_factor, wide": ("t.linalg.lu_factor(x)", A),
    "lu_solve": ("t.linalg.lu_solve(*t.linalg.lu_factor(x), y)", SQUARES, RIGHT), "lu_solve, adjoint": ("t.linalg.lu_solve(*t.linalg.lu_factor(x), y, adjoint=True)", SQUARES, RIGHT),
    "lu_solve from the right": ("t.linalg.lu_solve(*t.linalg.lu_factor(x), y.mT, left=False)", SQUARES, RIGHT),
    "inv_ex": ("t.linalg.inv_ex(x)", SQUARES), "cholesky_ex": ("t.linalg.cholesky_ex(x)", POSITIVE), "upper cholesky_ex": ("t.linalg.cholesky_ex(x, upper=True)", POSITIVE),
    "inv_ex of singular": ("t.linalg.inv_ex(x.detach()).info", np.stack([np.eye(2), np.ones((2, 2)), np.zeros((2, 2))])),
    "cholesky_ex of others": ("t.linalg.cholesky_ex(x.detach()).info", np.stack([np.eye(3), np.diag([1.0, 1, -1]), np.diag([1.0, -1, 1])])),
    "tensorinv": ("t.linalg.tensorinv(x.reshape(2, 3, 6))", BLOCK), "tensorinv, ind": ("t.linalg.tensorinv(x.reshape(6, 2, 3), ind=1)", BLOCK),
    "tensorsolve": ("t.linalg.tensorsolve(x, y)", BLOCK, A[:2, :3].copy()), "tensorsolve, dims": ("t.linalg.tensorsolve(x.transpose(1, 2), y, dims=(1,))", BLOCK, A[:2, :3].copy()),
    "Variable": ("t.autograd.Variable(x, requires_grad=True) * 2", A),
}


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_names(case):
    expression, *arrays = CASES[case]
    results, leaves = [], []
    for t in (gradus, torch):
        given = tensors(t, arrays)
        found = eval(expression, {"t": t, "BYTES": BYTES, **dict(zip("xyz", given))})
        pull_back(found)
        results.append(found)
        leaves.append([x.grad for x in given])
    same(*results, what=case)
    for ours, theirs in zip(*leaves):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            same(ours, theirs, what=f"gradient of {case}")


@needs_torch
def test_can_cast():
    names = "bool uint8 int64 float16 float32 float64 complex64".split()
    for a in names:
        for b in names:
            assert gradus.can_cast(getattr(gradus, a), getattr(gradus, b)) == torch.can_cast(getattr(torch, a), getattr(torch, b)), (a, b)


def test_other_names():
    assert isinstance(gradus.ones(1), gradus.autograd.Variable) and gradus.utils.data.get_worker_info() is None
    found = gradus.utils.data.default_convert([np.arange(2), {"a": ("x", np.float64(2.5))}])
    assert found[0].tolist() == [0, 1] and found[1]["a"][0] == "x" and found[1]["a"][1].dtype == gradus.float64
    with pytest.raises(ValueError, match="bytes"):
        gradus.frombuffer(b"abc", dtype=gradus.int32)
    with pytest.raises(gradus.linalg.LinAlgError, match="singular"):
        gradus.linalg.inv_ex(gradus.zeros(2, 2), check_errors=True)
    with pytest.raises(RuntimeError, match="size"):
        gradus.zeros(2, 3).select_scatter(gradus.ones(3), 1, 0)


def test_negative_defaults_are_shown():
    for function, argument, expected in [(gradus.functional.cross_entropy, "ignore_index", -100), (gradus.functional.nll_loss, "ignore_index", -100),
                                         (gradus.Tensor.topk, "dim", -1), (gradus.Tensor.sort, "dim", -1), (gradus.Tensor.flatten, "end_dim", -1), (gradus.fft.fft, "dim", -1)]:
        assert inspect.signature(function).parameters[argument].default == expected
    assert list(inspect.signature(gradus.Tensor.topk).parameters) == ["self", "k", "dim", "largest", "sorted", "axis"]


#: Calls with NumPy's names of axis arguments, as functions and methods of a matrix.
NUMPY_AXIS_NAMES = """
sum(x, axis=1, keepdims=True) | mean(x, axis=0) | max(x, axis=1) | min(x, axis=0, keepdims=True) | argmax(x, axis=1) | argmin(x, axis=0, keepdims=True)
std(x, axis=1) | var(x, axis=0, keepdims=True) | logsumexp(x, axis=1) | softmax(x, axis=0) | log_softmax(x, axis=1) | median(x, axis=1)
cumsum(x, axis=0) | cumprod(x, axis=1) | cummax(x, axis=0) | cummin(x, axis=1) | logcumsumexp(x, axis=1) | sort(x, axis=0) | argsort(x, axis=0)
topk(x, 2, axis=0) | count_nonzero(x, axis=1) | squeeze(x, axis=0) | unsqueeze(x, axis=1) | chunk(x, 2, axis=1) | unbind(x, axis=1) | repeat_interleave(x, 2, axis=0)
take_along_dim(x, argsort(x, 0), axis=0) | cross(x, x + 1, axis=1) | diff(x, axis=1) | nansum(x, axis=0) | nanmean(x, axis=1, keepdims=True) | kthvalue(x, 2, axis=0)
mode(x, axis=1) | aminmax(x, axis=1) | std_mean(x, axis=0) | var_mean(x, axis=1, keepdims=True) | tensor_split(x, 2, axis=0) | trapezoid(x, axis=1) | cumulative_trapezoid(x, axis=0)
trapezoid(x, sort(x * x, 0)[0], dim=0) | cumulative_trapezoid(x, sort(x * x, 0)[0], dim=0) | trapezoid(x, x[:, 0], dim=0)
"""


@needs_torch
@pytest.mark.parametrize("text", [t.strip() for t in NUMPY_AXIS_NAMES.replace("\n", "|").split("|") if t.strip()])
def test_numpy_names_of_axis_arguments(text):
    values = np.random.default_rng(3).standard_normal((4, 3))
    names = ("argsort", "sort", text.partition("(")[0])
    run = lambda t: eval(text, {**{name: getattr(t, name) for name in names}, "x": t.tensor(values)})  # noqa: E731
    same(run(gradus), run(torch), what=text)
    name, rest = text.split("(x, ", 1)
    if hasattr(torch.Tensor, name):
        run = lambda t: eval(f"x.{name}({rest}", {"argsort": t.argsort, "x": t.tensor(values)})  # noqa: E731
        same(run(gradus), run(torch), what=text)


def test_a_missing_axis_argument():
    for name in ("cumsum", "unsqueeze", "logsumexp", "cummax"):
        with pytest.raises(TypeError, match="dim"):
            getattr(gradus.ones(2, 2), name)()
