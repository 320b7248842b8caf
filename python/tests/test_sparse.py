"""Sparse tensors compared with PyTorch's: attributes, conversions, products, sums, and gradients of values and dense operands."""

import numpy as np
import pytest
from oracle import array, needs_torch, same, tensors, torch

import gradus

INDICES = np.array([[0, 2, 1, 0, 2], [1, 0, 3, 1, 3]])  # (0, 1) twice
VALUES = np.array([1.5, -2.0, 0.5, 3.0, 4.0])
DENSE = np.random.default_rng(0).standard_normal((4, 2))
LEFT = np.random.default_rng(1).standard_normal((2, 3))
VECTOR = np.random.default_rng(2).standard_normal(4)

#: Expressions of a sparse matrix `s` (3, 4) and dense `d` (4, 2), `l` (2, 3) and `v` (4).
PRODUCTS = """
t.mm(s, d)
t.spmm(s, d)
t.matmul(s, d)
t.sparse.mm(s, d)
s @ d
s.mm(d)
s.matmul(d)
t.mv(s, v)
s @ v
s.mv(v)
t.sparse.addmm(t.ones(3, 2, dtype=t.float64), s, d)
s.t() @ l.t()
s.transpose(0, 1).mm(l.t())
(2.0 * s) @ d
(s * 3 / 2) @ d
(-s) @ d
(s + s) @ d
s.to_dense() @ d
s.coalesce() @ d
s.coalesce().values() * v[:4]
s.sum() * d
t.sparse.sum(s) * d
t.sparse.sum(s, 0).to_dense() * v
t.sparse.sum(s, dim=[1]).to_dense() @ l.t()
(s.to_dense() + s) @ d
(s.coalesce() * (l.t() @ d.t())).to_dense()
t.sparse.softmax(s.coalesce(), 1).to_dense() @ d
t.sparse.log_softmax(s.coalesce(), 0).to_dense() @ d
s.double() @ d
s.clone() @ d
""".strip().split("\n")


def _evaluate(t, expression):
    values, d, l, v = tensors(t, [VALUES, DENSE, LEFT, VECTOR])
    s = t.sparse_coo_tensor(t.tensor(INDICES), values, (3, 4))
    result = eval(expression, {"t": t, "s": s, "d": d, "l": l, "v": v})
    cotangent = np.random.default_rng(5).standard_normal(tuple(result.shape))
    result.backward(t.tensor(cotangent))
    return [result] + [x.grad for x in (values, d, l, v)]


@needs_torch
@pytest.mark.parametrize("expression", PRODUCTS)
def test_values_and_gradients(expression):
    ours, theirs = _evaluate(gradus, expression), _evaluate(torch, expression)
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None), expression
        same(a, b, what=expression)


@needs_torch
@pytest.mark.parametrize("t", [gradus, torch])
def test_attributes(t):
    s = t.sparse_coo_tensor(INDICES, VALUES, (3, 4))
    assert s.is_sparse and not t.ones(2).is_sparse and str(s.layout).endswith("sparse_coo")
    assert tuple(s.shape) == (3, 4) and s.size(1) == 4 and s.dim() == 2 and s._nnz() == 5 and s.numel() == 12
    assert s.sparse_dim() == 2 and s.dense_dim() == 0 and s.dtype == t.float64 and not s.is_coalesced()
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.values()
    c = s.coalesce()
    assert c.is_coalesced() and c.indices().tolist() == [[0, 1, 2, 2], [1, 3, 0, 3]] and c.values().tolist() == [4.5, 0.5, -2.0, 4.0]
    assert s.t().to_dense().tolist() == s.to_dense().t().tolist()
    assert isinstance(s, t.Tensor)


@needs_torch
@pytest.mark.parametrize("t", [gradus, torch])
def test_to_sparse_and_back(t):
    x = t.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], dtype=t.float64, requires_grad=True)
    s = x.to_sparse()
    assert s.is_coalesced() and s.indices().tolist() == [[0, 1, 1], [1, 0, 2]] and s.values().tolist() == [2.0, 3.0, 4.0]
    (s.to_dense() * t.arange(6, dtype=t.float64).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [3.0, 0.0, 5.0]]
    assert x.detach().to_sparse(1).values().tolist() == x.tolist()


@needs_torch
@pytest.mark.parametrize("t", [gradus, torch])
def test_a_sparse_leaf_has_a_sparse_gradient(t):
    s = t.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2), requires_grad=True)
    t.sparse.mm(s, t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert s.requires_grad and s.is_leaf and s.grad.is_sparse and s.grad.to_dense().tolist() == [[0.0, 7.0], [3.0, 0.0]]


@needs_torch
@pytest.mark.parametrize("t", [gradus, torch])
def test_older_constructors_and_values_with_axes(t):
    s = t.sparse.FloatTensor(t.LongTensor([[0, 1], [2, 0]]), t.FloatTensor([3, 4]), t.Size([2, 3]))
    assert s.to_dense().tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 0.0]]
    h = t.sparse_coo_tensor([[1, 0, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (2, 2))
    assert h.to_dense().tolist() == [[3.0, 4.0], [6.0, 8.0]] and (h.sparse_dim(), h.dense_dim()) == (1, 1)
    assert t.sparse_coo_tensor([[0, 2]], [1.0, 2.0]).shape == (3,)


@pytest.mark.parametrize("indices, values, size", [([[0, 3]], [1.0, 2.0], (3,)), ([[0, -1]], [1.0, 2.0], (3,)), ([[0, 1]], [1.0], (3,)), ([[0]], [1.0], (3, 3))])
def test_wrong_indices_are_refused(indices, values, size):
    with pytest.raises(RuntimeError):
        gradus.sparse_coo_tensor(indices, values, size)


@needs_torch
@pytest.mark.parametrize("reduce", ["mean", "amax", "amin"])
def test_products_that_reduce_otherwise(reduce):
    """A row without elements is 0; the others reduce the products of stored elements only."""
    results = []
    for t in (gradus, torch):
        values, d = tensors(t, [VALUES, DENSE])
        s = t.sparse_coo_tensor(t.tensor(INDICES), values.detach(), (4, 4))
        y = t.sparse.mm(s.to_sparse_csr() if t is torch else s, d, reduce)
        y.backward(t.tensor(np.random.default_rng(5).standard_normal((4, 2))))
        results.append([array(y), array(d.grad)])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=0)
    with pytest.raises(ValueError, match="sum, mean, amax or amin"):
        gradus.sparse.mm(gradus.eye(2).to_sparse(), gradus.eye(2), "prod")


def test_errors_of_other_functions_name_to_dense():
    s = gradus.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="to_dense"):
        gradus.exp(s)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        s @ gradus.ones(3, 2)


@needs_torch
def test_a_graph_layer_trains_alike():
    """Trains a graph convolution for some steps in each package."""

    def losses(t):
        rng = np.random.default_rng(3)
        adjacency = t.tensor((rng.random((6, 6)) > 0.5).astype(np.float64)).to_sparse()
        x, w = t.tensor(rng.standard_normal((6, 4))), t.nn.Parameter(t.tensor(rng.standard_normal((4, 3))))
        y, optimizer, found = t.tensor(rng.integers(0, 3, 6)), t.optim.Adam([w], lr=0.1), []
        for _ in range(5):
            loss = t.nn.functional.nll_loss(t.nn.functional.log_softmax(t.spmm(adjacency, t.mm(x, w)), dim=1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(gradus) == pytest.approx(losses(torch), rel=1e-12)


needs_gpu = pytest.mark.skipif(not gradus.wgpu.is_available(), reason="there is no wgpu adapter")


@needs_gpu
def test_tensors_on_a_gpu():
    indices, values, dense = [[0, 2, 1, 0], [1, 0, 3, 1]], [1.5, -2.0, 0.5, 3.0], DENSE.astype(np.float32)

    def results(device):
        held = gradus.tensor(values, device=device, requires_grad=True)
        s, d = gradus.sparse_coo_tensor(indices, held, (3, 4)), gradus.tensor(dense, device=device)
        done = [s.to_dense(), s @ d, s.coalesce().to_dense(), gradus.sparse.mm(s, d, "amax"), gradus.sparse.softmax(s, 1).to_dense(),
                s.sum(), (s + s).t().to_dense(), s * 2 @ d]
        assert {str(x.device) for x in [s, s.coalesce(), s.t(), *done]} == {"cpu" if device == "cpu" else "wgpu:0"}
        sum(x.sum() for x in done).backward()
        return [x.tolist() for x in [*done, held.grad]]

    for found, expected in zip(results("wgpu"), results("cpu")):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@needs_gpu
def test_moves():
    s = gradus.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    there = gradus.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), device="wgpu")
    assert s.is_cpu and there.is_wgpu and there._indices().device == gradus.device("wgpu:0")
    for moved in (there, s.to("wgpu"), s.wgpu(), s.to("wgpu").to("cpu").to("wgpu")):
        assert (moved.device, moved._indices().device, moved._values().device) == (gradus.device("wgpu:0"),) * 3
        assert moved.to_dense().tolist() == [[0.0, 1.0], [2.0, 0.0]]
    back = there.cpu()
    assert (back.device, back._indices().device) == (s.device, s.device) and back.to_dense().tolist() == s.to_dense().tolist()
