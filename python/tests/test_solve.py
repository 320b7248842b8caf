"""`linalg.solve` compared with PyTorch: which right sides are vectors and which are matrices, for many shapes, with gradients."""

import itertools

import numpy as np
import pytest

import gradus
from oracle import needs_torch, same, torch

LEADS = [(), (1,), (2,), (3,), (0,), (2, 3), (3, 1), (3, 3)]
#: Shapes of right sides. Both packages refuse those that fit no matrix.
RIGHTS = [
    (), (0,), (1,), (2,), (3,), (4,), (3, 3), (3, 2), (3, 0), (2, 3), (4, 3), (1, 3), (0, 3), (0, 0), (0, 2), (2, 0), (3, 1), (1, 1), (1, 2),
    (2, 3, 3), (2, 3, 2), (3, 3, 3), (3, 3, 2), (1, 3, 2), (2, 2, 3), (0, 3, 2), (2, 0, 2), (3, 0, 0), (3, 0), (2, 3, 3, 2), (3, 3, 3, 2), (3, 3, 0), (2, 3, 1), (3, 1, 3),
    (2, 1, 1), (5, 2, 3, 3, 2),
]


def matrices(*shape):
    """Draws well-conditioned matrices."""
    n = shape[-1]
    return np.random.default_rng(sum(shape) + 7 * len(shape)).normal(size=shape) + 3 * np.eye(n)


def attempt(t, a, b, **options):
    """Returns the solution and the gradients of its product with fixed numbers, or `None` if the call raises an error."""
    a, b = (t.tensor(x, requires_grad=True) for x in (a, b))
    try:
        x = t.linalg.solve(a, b, **options)
    except RuntimeError:
        return None
    weights = np.cos(np.arange(int(np.prod(tuple(x.shape))))).reshape(tuple(x.shape))
    (x * t.tensor(weights)).sum().backward()
    return x, a.grad, b.grad


@needs_torch
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("n", [3, 1, 0])
@pytest.mark.parametrize("lead", LEADS, ids=str)
def test_right_sides_of_vectors_and_matrices(lead, n, left):
    a, fitting = matrices(*lead, n, n), 0
    for shape in RIGHTS:
        b = np.random.default_rng(len(shape)).normal(size=shape)
        ours, theirs = attempt(gradus, a, b, left=left), attempt(torch, a, b, left=left)
        what = f"solve of {a.shape} and {shape}, left={left}"
        assert (ours is None) == (theirs is None), f"{what}: {ours}, not {theirs}"
        if ours is not None:
            same(ours, theirs, what=what)
            fitting += 1
    assert fitting > 0


@needs_torch
def test_as_many_matrices_as_rows():
    # As many matrices as rows: a right side of two axes is vectors; one more axis makes it matrices.
    a, b = matrices(3, 3, 3), np.random.default_rng(0).normal(size=(3, 3))
    assert tuple(gradus.linalg.solve(gradus.tensor(a), gradus.tensor(b)).shape) == (3, 3)
    assert tuple(gradus.linalg.solve(gradus.tensor(a), gradus.tensor(b[None])).shape) == (3, 3, 3)
    same(attempt(gradus, a, b), attempt(torch, a, b))
    same(attempt(gradus, a, b[None]), attempt(torch, a, b[None]))
    for t in (gradus, torch):
        with pytest.raises(RuntimeError):
            t.linalg.solve(t.tensor(a), t.tensor(b), left=False)


@needs_torch
@pytest.mark.parametrize("dtype", ["complex128", "float32"])
def test_other_dtypes_and_graphs(dtype):
    for lead, shape in itertools.product([(), (4,), (3,)], [(3,), (4, 3), (3, 3), (3, 2)]):
        a, b = matrices(*lead, 3, 3).astype(dtype), np.random.default_rng(1).normal(size=shape).astype(dtype)
        try:
            theirs = torch.linalg.solve(torch.tensor(a), torch.tensor(b))
        except RuntimeError:
            continue
        tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {}
        same(gradus.linalg.solve(gradus.tensor(a), gradus.tensor(b)), theirs, **tolerance)
        same(gradus.jit(gradus.linalg.solve)(gradus.tensor(a), gradus.tensor(b)), theirs, **tolerance)


@needs_torch
@pytest.mark.parametrize("lead, shape", [((), (3,)), ((4,), (4, 3)), ((3,), (3, 3)), ((3,), (1, 3, 3)), ((2,), (3, 2)), ((0,), (3,)), ((0,), (0, 3))], ids=str)
def test_vmap_and_second_derivatives(lead, shape):
    a, b = matrices(*lead, 3, 3), np.random.default_rng(1).normal(size=shape)

    def curved(t):
        x, y = (t.tensor(v, requires_grad=True) for v in (a, b))
        (g, h) = t.autograd.grad((t.linalg.solve(x, y) ** 3).sum(), (x, y), create_graph=True)
        return t.autograd.grad((g * g).sum() + (h ** 3).sum(), (x, y))

    same(curved(gradus), curved(torch))


@needs_torch
def test_solve_ex():
    singular = np.array([[[1.0, 2], [2, 4]], [[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, 0], [0, 0]]])
    for b in (np.ones((4, 2, 1)), np.ones((4, 2)), np.ones(2), np.ones((2, 3))):
        ours, theirs = (t.linalg.solve_ex(t.tensor(singular), t.tensor(b)) for t in (gradus, torch))
        same(ours.info, theirs.info)
        assert tuple(ours.result.shape) == tuple(theirs.result.shape)
        same(ours.result[1:3], theirs.result[1:3])
        assert bool(ours.result[0].isnan().all()) and not bool(theirs.result[0].isfinite().all())
    for a, b in [((2, 0, 0), (2, 0)), ((0, 2, 2), (2,)), ((0, 0), (0, 3)), ((5, 4, 3, 3), (3, 2)), ((3, 3), (4, 3, 2)), ((3, 3), (3,))]:
        a, b = matrices(*a), np.random.default_rng(1).normal(size=b)
        same(tuple(gradus.linalg.solve_ex(gradus.tensor(a), gradus.tensor(b))), tuple(torch.linalg.solve_ex(torch.tensor(a), torch.tensor(b))))
    same(tuple(gradus.linalg.solve_ex(gradus.tensor(singular[1]), gradus.ones(3, 2, dtype=gradus.float64), left=False)),
         tuple(torch.linalg.solve_ex(torch.tensor(singular[1]), torch.ones(3, 2, dtype=torch.float64), left=False)))
    with pytest.raises(gradus.linalg.LinAlgError, match="singular"):
        gradus.linalg.solve_ex(gradus.tensor(singular), gradus.ones(2, dtype=gradus.float64), check_errors=True)


@needs_torch
@pytest.mark.parametrize("matrix, right", [((0, 0), (0, 2)), ((2, 0, 0), (2, 0, 3)), ((0, 3, 3), (0, 3, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (3, 2))], ids=str)
@pytest.mark.parametrize("left, adjoint", list(itertools.product([True, False], repeat=2)))
def test_lu_solve_without_elements(matrix, right, left, adjoint):
    a, b = matrices(*matrix), np.zeros(right if left else (*right[:-2], right[-1], right[-2]))
    found = [t.linalg.lu_solve(*t.linalg.lu_factor(t.tensor(a)), t.tensor(b), left=left, adjoint=adjoint) for t in (gradus, torch)]
    same(*found)
