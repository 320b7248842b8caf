"""Creation, indexing, ordering, histograms and masked reductions, each expression evaluated with both packages."""

import math

import numpy as np
import pytest

import gradus
from oracle import needs_torch, same, torch

rng = np.random.default_rng(31)
MATRIX, LINE, WEIGHTS = rng.standard_normal((4, 5)), rng.standard_normal(7), rng.random(7)
ROWS = np.array([[2, 1, 1], [0, 3, 3], [2, 1, 1], [0, 2, 9]])
MASK = np.array([[True, False, True, True, False], [False] * 5, [True] * 5, [False, True, False, True, True]])
WITH_NAN = np.where(rng.random((4, 5)) < 0.3, math.nan, MATRIX)

#: Expressions with the same value in both packages. `t` is the package; A, v, w, rows, mask and nan are its tensors.
EQUAL = """
t.logspace(0, 2, 5, device="cpu", dtype=t.float64)
t.logspace(-1, 1, 4, base=2.0, dtype=t.float64)
t.logspace(t.tensor(0.0), t.tensor(2.0), 5, dtype=t.float64)
t.logspace(0, 3, 4, dtype=t.int64)
t.logspace(0, 1 + 1j, 3, dtype=t.complex128)
t.logspace(1, 2, 1, dtype=t.float64)
t.linspace(t.tensor(0.0), t.tensor(2.0), 5, dtype=t.float64)
t.linspace(0, 7, 3, dtype=t.int64)
t.arange(-0.9, 2.1, 2.0, dtype=t.int64)
t.arange(5, 0, -0.5, dtype=t.int64)
t.arange(0, 64, 0.5, dtype=t.int32)
t.tril_indices(3, 4, 1, dtype=t.int32, device="cpu")
t.triu_indices(3, 4, -1, dtype=t.int32)
t.scalar_tensor(2.5, device="cpu", dtype=t.float64)
t.randint_like(rows, 3, 4, device="cpu")
t.normal(2.0, 0.0, (2, 3), device="cpu", dtype=t.float64)
t.empty_strided((2, 3), (1, 2), dtype=t.float64).shape
t.empty_permuted((2, 3), (1, 0)).shape
A.new_empty_strided((2, 3), (1, 2)).dtype.is_floating_point
rows.unique(dim=0)
rows.unique(dim=1, return_inverse=True, return_counts=True)
rows.unique(sorted=True, return_inverse=True, return_counts=True)
t.unique(rows == 1, dim=0, return_counts=True)
rows[:0].unique(dim=0, return_inverse=True)
t.unique_consecutive(rows.reshape(-1), return_inverse=True, return_counts=True)
t.unique_consecutive(rows, dim=1, return_inverse=True, return_counts=True)
t.unique_consecutive(rows[:0], dim=0, return_inverse=True)
t.searchsorted(v.sort().values, w, side="right")
t.searchsorted(v.sort().values, w, out_int32=True, right=True)
t.searchsorted(v, w, sorter=v.argsort())
t.searchsorted(A.sort(1).values, A)
t.searchsorted(v.sort().values, 0.25)
t.searchsorted(rows[0].sort().values, 1.5)
t.searchsorted(t.arange(5000.0), t.arange(-3.0, 5005.0, 7.5))
t.searchsorted(t.arange(5000.0), t.arange(0.0, 5000.0, 100.0), right=True)
t.searchsorted(t.arange(6000).reshape(2, 3000), t.arange(0, 6000, 11).reshape(2, 273))
t.searchsorted(t.tensor([1.0, 2.0]), t.tensor([float("nan"), 0.0]))
t.bucketize(v, w.sort().values, out_int32=True, right=True)
t.bucketize(rows, t.tensor([0.5, 1.5]))
t.searchsorted(t.tensor([1, 2]), v.float())
v.diff(prepend=w[:2], append=w[:1])
A.diff(2, 0, A[:1])
A.diff(0, 0, A[:1])
v.diff(9)
(rows == 1).diff(dim=1)
v.quantile(t.tensor([0.0, 0.3, 1.0], dtype=t.float64), interpolation="linear")
A.quantile(0.3, 1, keepdim=True, interpolation="lower")
A.quantile(0.3, 0, interpolation="higher")
A.quantile(t.tensor([0.3, 0.7], dtype=t.float64), 1, keepdim=True, interpolation="nearest")
A.quantile(t.tensor([0.3, 0.7], dtype=t.float64), keepdim=True, interpolation="midpoint")
nan.quantile(0.5, 1)
nan.nanquantile(t.tensor([0.1, 0.6], dtype=t.float64), -1, keepdim=True)
nan.nanquantile(0.25, interpolation="nearest")
A.index_add(0, t.tensor([1, 1]), A[:2], alpha=-2)
t.tensor(1.0).index_add(0, t.tensor([0]), t.tensor(3.0), alpha=2)
t.tensor([True, False]).index_add(0, t.tensor([1]), t.tensor([True]))
A.scatter(0, t.tensor([[1, 2], [1, 0]]), A[:2, :2].clone(), reduce="add")
A.scatter(0, t.tensor([[1, 2], [1, 0]]), 3.0, reduce="multiply")
A.scatter(1, t.tensor([[1], [2]]), value=7.0)
t.tensor(2.0).scatter_reduce(0, t.tensor(0), t.tensor(5.0), "prod")
t.tensor([True, True, False]).scatter_reduce(0, t.tensor([0, 2, 1]), t.tensor([False, True, True]), "prod")
t.tensor([True, False]).scatter_reduce(0, t.tensor([1, 1]), t.tensor([False, True]), "sum", include_self=False)
t.tensor([True, False]).scatter_add(0, t.tensor([1, 0]), t.tensor([True, False]))
t.tensor([True, False]).put(t.tensor([1]), t.tensor([True]), accumulate=True)
t.tensor([True, False]).index_put((t.tensor([1, 1]),), t.tensor([False, True]), accumulate=True)
t.tensor(1.0).index_fill(0, t.tensor([0]), 5.0)
t.tensor(1.0).index_copy(0, t.tensor([0]), t.tensor(5.0))
t.tensor(1.0).index_select(0, t.tensor([0]))
t.tensor(2.0).index_reduce(0, t.tensor([0]), t.tensor(5.0), "prod")
t.tensor(2.0).masked_select(t.tensor(True))
t.tensor(2.0).unfold(0, 1, 1)
t.tensor(2.0).unfold(0, 0, 1)
v.unfold(0, 0, 3).shape
t.tensor(2.0).gather(0, t.tensor(0))
v.gather(0, t.zeros(2, 0, dtype=t.int64)).shape
v.masked_scatter(t.tensor([[True] * 7, [False, True] * 3 + [False]]), t.arange(14, dtype=t.float64))
v.tensor_split(t.tensor(3))
A.tensor_split(t.tensor([1, 3]), 1)
t.tensor([3, 1, 3, 1, 2]).mode()
t.tensor(4).mode()
rows.mode(0, keepdim=True).values
rows.kthvalue(2, 0).values
rows.topk(2, 1).values
t.nonzero(t.tensor(3.0), as_tuple=True)
t.where(t.tensor(True))
t.nonzero_static(A > 0, size=4)
t.nonzero_static(A > 9, size=3, fill_value=7)
t.nonzero_static(t.tensor(1.0), size=2)
t.zeros(1, 1).squeeze(()).shape
v.repeat_interleave(t.tensor([0, 1, 2, 0, 0, 1, 1]), output_size=5)
t.repeat_interleave(t.tensor([2, 0, 1]))
v.histc(4, -1, 1)
v[:0].histc(3)
t.histogram(v, 4, weight=w)
t.histogram(v, 4, range=(-1.0, 1.0), density=True)
t.histogram(v, t.tensor([-1.0, 0.0, 2.0], dtype=t.float64))
t.histogramdd(A[:, :2], [2, 3])
t.histogramdd(A[:, :2], (t.tensor([-1.0, 0.0, 1.0], dtype=t.float64), t.tensor([-2.0, 2.0], dtype=t.float64)), density=True)
t.bincount(t.tensor([1, 1, 2]), weights=t.tensor([1, 2, 3]))
t.bincount(t.tensor([1, 1, 2]), weights=t.tensor([1.0, 2.0, 3.0]))
t.gradient(v, spacing=None)
t.tensor(True).sum_to_size(())
t.constant_pad_nd(A, (1, 2, 0, 1), 3.0)
t.constant_pad_nd(t.tensor([1j]), (1, 0), 2 + 1j)
t.view_copy(A, (5, 4))
t.permute_copy(A, (1, 0))
t.split_with_sizes_copy(A, [1, 3])
t.unbind_copy(A)
t.slice_copy(A, 1, 1, 4, 2)
t.alias_copy(A)
A.narrow_copy(1, 1, 2)
A.unsafe_chunk(3)
A.unsafe_split(3, 1)
t.as_strided_scatter(A, v[:2], (2,), (3,))
t.fill(A, t.tensor(2.0, dtype=t.float64))
t.resize_as_(v.clone(), w[:3])
t.conj_physical(t.tensor([1 + 2j]))
A.__rdiv__(2.0)
t.combinations(t.arange(5), 3)
t.combinations(t.arange(4), 2, with_replacement=True)
t.combinations(t.arange(6), 5)
t.combinations(t.arange(2), 3)
t.combinations(t.arange(3), 0)
t.masked.sum(A, 1, mask=mask)
t.masked.sum(rows, dtype=t.float64)
t.masked.prod(A, (0, 1), keepdim=True, mask=mask)
t.masked.mean(A, 1, mask=mask)
t.masked.amax(A, 1, mask=mask)
t.masked.amin(rows, 0, mask=rows > 1)
t.masked.argmax(A, 0, mask=mask)
t.masked.argmin(A, 0, mask=mask, dtype=t.int64)
t.masked.cumsum(A, 1, mask=mask)
t.masked.cumprod(A, 0, mask=mask)
t.masked.softmax(A, 1, mask=mask)
t.masked.log_softmax(A, 1, mask=mask)
t.masked.softmin(A, 1, mask=mask)
t.masked.norm(A, 3.0, 1, mask=mask)
t.masked.norm(A, -math.inf, 1, mask=mask)
t.masked.normalize(A, 2.0, 1, mask=mask)
t.masked.var(A, 1, mask=mask)
t.masked.std(A, 1, False, mask=mask, keepdim=True)
t.masked.median(A, 1, mask=mask)
t.masked.logsumexp(A, 1, mask=mask)
t.masked.logaddexp(A, A + 1, input_mask=mask)
""".strip().splitlines()

#: Expressions for which both packages raise an error.
REFUSED = """
t.linspace(0, 1, 3, dtype=t.bool)
t.logspace(0, 1, 3, dtype=t.bool)
A.scatter(0, t.tensor([[0]]), t.ones(1, 1))
A.scatter_reduce(0, t.tensor([[0]]), t.ones(1, 1), "sum")
A.scatter_add(0, t.tensor([[0]]), t.ones(1, 1))
A.index_add(0, t.tensor([0]), t.ones(1, 5))
A.index_copy(0, t.tensor([0]), t.ones(1, 5))
A.clip(None, None)
A.clamp()
v.repeat_interleave(2, output_size=3)
v.quantile(2.0)
v.quantile(0.5, interpolation="closest")
v.quantile(t.tensor([0.5]))
t.searchsorted(v, w, side="left", right=True)
v.masked_scatter(v < 9, w[:2])
rows[:0, :0].unique(dim=0)
t.as_strided(v, (9,), (1,))
t.combinations(A)
t.masked.mean(rows)
""".strip().splitlines()

#: Expressions of `a` and `q` whose gradients agree. `a` has four elements, `q` two.
DIFFERENTIATED = """
a.quantile(q)
a.quantile(q, interpolation="lower")
a.nanquantile(q)
a.diff(prepend=q)
a.index_add(0, t.tensor([1, 0]), q, alpha=3)
a.scatter(0, t.tensor([1, 0]), q)
a.masked_scatter(t.tensor([True, False, True, False]), q)
a.mode().values * q
a.unfold(0, 2, 1) @ q
t.fill(a, q.sum())
t.masked.softmax(a, 0, mask=t.tensor([True, False, True, True])) * q[0]
t.masked.var(a, 0, mask=t.tensor([True, False, True, True])) * q
t.slice_scatter(a, q, 0, 1, 3)
t.as_strided_copy(a, (2,), (2,)) * q
""".strip().splitlines()


def names(t):
    given = {"A": MATRIX, "v": LINE, "w": WEIGHTS, "rows": ROWS, "mask": MASK, "nan": WITH_NAN}
    return {"t": t, "math": math, **{name: t.tensor(value) for name, value in given.items()}}


@needs_torch
@pytest.mark.parametrize("code", EQUAL)
def test_values(code):
    ours, theirs = (eval(code, names(t)) for t in (gradus, torch))
    if hasattr(theirs, "numel") and not hasattr(theirs, "dtype"):
        assert tuple(ours) == tuple(theirs)
    else:
        same(ours, theirs, what=code)


@needs_torch
@pytest.mark.parametrize("code", REFUSED)
def test_calls_that_pytorch_refuses(code):
    for t in (torch, gradus):
        with pytest.raises((RuntimeError, ValueError, NotImplementedError, TypeError)):
            eval(code, names(t))


@needs_torch
@pytest.mark.parametrize("code", DIFFERENTIATED)
def test_gradients(code):
    found = []
    for t in (gradus, torch):
        a = t.tensor([0.5, -1.25, 2.0, 0.125], dtype=t.float64, requires_grad=True)
        q = t.tensor([0.3, 0.9], dtype=t.float64, requires_grad=True)
        y = eval(code, {"t": t, "a": a, "q": q})
        cotangent = t.tensor(np.random.default_rng(3).standard_normal(tuple(y.shape)))
        (y * cotangent).sum().backward()
        found.append([y, *(t.zeros_like(x) if x.grad is None else x.grad for x in (a, q))])
    same(found[0], found[1], what=code)


def test_integers_beyond_32_bits_are_drawn_from_the_whole_range():
    for low, high in ((0, 2**40), (-(2**62), 2**62), (-(2**63), 2**63 - 1)):
        x = gradus.randint(low, high, (4000,), generator=gradus.Generator().manual_seed(1)).numpy()
        assert x.min() >= low and x.max() < high
        share = (x.astype(np.float64) - low) / (float(high) - float(low))
        assert abs(share.mean() - 0.5) < 0.02 and abs(share.std() - 12**-0.5) < 0.02
        assert len(set((x % 1024).tolist())) > 900  # low bits vary too


def test_more_rows_than_memory_holds_are_refused_at_once():
    with pytest.raises(MemoryError):
        gradus.combinations(gradus.arange(10000), 6)
    with pytest.raises(MemoryError):
        gradus.as_strided(gradus.ones(3), (10**15,), (0,))
    with pytest.raises(MemoryError):
        gradus.ones(1).expand(10**15).tolist()


def test_a_masked_scatter_and_static_positions_can_be_compiled():
    x, mask = gradus.arange(4.0), gradus.tensor([True, False, True, False])
    scatter = gradus.jit(lambda x, mask: x.masked_scatter(mask, gradus.tensor([9.0, 8.0])))
    assert scatter(x, mask).tolist() == [9.0, 1.0, 8.0, 3.0]
    assert gradus.jit(lambda x: gradus.nonzero_static(x, size=2))(x).tolist() == [[1], [2]]
