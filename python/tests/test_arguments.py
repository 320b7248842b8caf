"""Arguments that PyTorch's functions accept: numbers as the first operand, dtypes, and the default dtype."""

import math
import pytest

import gradus
from oracle import needs_torch, torch


def outcome(library, name, args):
    """Returns the dtype and elements of a result, or that there is an error."""
    try:
        y = getattr(library, name)(*args)
        return str(y.dtype).split(".")[1], y.tolist()
    except (RuntimeError, TypeError, NotImplementedError):
        return "raises"


@needs_torch
@pytest.mark.parametrize("number", [5, 2.5])
@pytest.mark.parametrize("name", [
    "mul", "multiply", "add", "sub", "subtract", "div", "divide", "true_divide", "remainder", "floor_divide", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "xlogy"])
def test_the_first_operand_may_be_a_number(name, number):
    others = [([1, 3], "int64"), ([2, 3], "int32"), (2, "int32"), ([0.5, 2.0], "float64"), (0.5, "float64"), ([1.5], "bfloat16")]
    for values, dtype in others:
        ours, theirs = (outcome(t, name, (number, t.tensor(values, dtype=getattr(t, dtype)))) for t in (gradus, torch))
        if ours == "raises" or theirs == "raises":
            assert ours == theirs, dtype
        else:
            assert ours[0] == theirs[0] and ours[1] == pytest.approx(theirs[1], rel=1e-6), dtype
    assert outcome(gradus, name, (number, 3)) == outcome(torch, name, (number, 3))


def test_a_first_operand_that_is_no_number_is_refused():
    with pytest.raises(TypeError):
        gradus.mul("a", gradus.ones(2))
    with pytest.raises(TypeError):
        gradus.mul(2, "a")


def test_ndtri_of_small_probabilities():
    y = gradus.special.ndtri(gradus.tensor([1e-20, 0.0, 1.0], dtype=gradus.float64)).tolist()
    assert y[0] == pytest.approx(-9.262340089798408, rel=1e-14) and y[1:] == [-float("inf"), float("inf")]
    assert gradus.special.ndtri(gradus.tensor([1e-8])).item() == pytest.approx(-5.612001, rel=2e-7)


def test_derivatives_of_ndtri_in_the_tails():
    x = gradus.tensor([1e-4, 0.03, 0.4, 0.96], dtype=gradus.float64, requires_grad=True)
    z = gradus.special.ndtri(x)
    slope, = gradus.autograd.grad(z.sum(), x, create_graph=True)
    second, = gradus.autograd.grad(slope.sum(), x)
    # With the density p: z' = 1 / p(z), and z'' = z / p(z)^2.
    inverse = [math.sqrt(2 * math.pi) * math.exp(v * v / 2) for v in z.tolist()]
    assert slope.tolist() == pytest.approx(inverse, rel=1e-12)
    assert second.tolist() == pytest.approx([v * i * i for v, i in zip(z.tolist(), inverse)], rel=1e-12)


def test_isin_of_many_test_elements():
    found = gradus.isin(gradus.arange(200000), gradus.arange(0, 400000, 3))
    assert found.sum().item() == 66667 and found[:5].tolist() == [True, False, False, True, False]


def test_windows_and_ranges_have_the_default_dtype():
    gradus.set_default_dtype(gradus.float64)
    try:
        for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
            for length in (1, 4):
                assert getattr(gradus, f"{name}_window")(length).dtype == gradus.float64
        assert gradus.hann_window(4, dtype=gradus.float32).dtype == gradus.float32
        assert gradus.range(0, 3).dtype == gradus.float64
    finally:
        gradus.set_default_dtype(gradus.float32)
    assert gradus.hann_window(4).dtype == gradus.range(0, 3).dtype == gradus.float32


def test_dtypes_of_reductions():
    x = gradus.tensor([[3.0, float("nan")], [4.0, 1.0]])
    y = gradus.tensor([3.0, 4.0])
    for value, expected in ((gradus.nansum(x, dtype=gradus.float64), 8.0), (x.nanmean(dtype=gradus.float64), 8 / 3), (gradus.norm(y, dtype=gradus.float64), 5.0)):
        assert value.dtype == gradus.float64 and value.item() == pytest.approx(expected, rel=1e-15)


def test_draws_with_one_probability():
    assert gradus.bernoulli(gradus.zeros(3), p=1.0).tolist() == [1.0] * 3
    share = gradus.bernoulli(gradus.zeros(20000), p=0.3, generator=gradus.Generator().manual_seed(0)).mean().item()
    assert share == pytest.approx(0.3, abs=0.02)


def test_segments_that_do_not_match_the_data_are_refused():
    x = gradus.ones(4)
    with pytest.raises(RuntimeError, match="sum 4"):
        gradus.segment_reduce(x, "sum", lengths=gradus.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="unsupported reduction"):
        gradus.segment_reduce(x, "median", lengths=gradus.tensor([4]))
    with pytest.raises(RuntimeError, match="one of lengths and offsets"):
        gradus.segment_reduce(x, "sum")
