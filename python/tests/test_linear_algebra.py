"""Linear algebra and products against PyTorch: factors in LAPACK's forms, halves of Hermitian matrices, weights, factors of sums.

In an expression `t` is the library and `x, y, z` are the inputs. Gradients of floating point inputs are compared, in float64 and
from random cotangents.
"""

import time

import numpy as np
import pytest

import gradus
from oracle import flat, needs_torch, pull_back, same, tensors, torch

rng = np.random.default_rng(11)
NAN = float("nan")


def f(*shape):
    return rng.standard_normal(shape)


def c(*shape):
    return f(*shape) + 1j * f(*shape)


def ints(*shape):
    return rng.integers(-9, 9, shape)


def truths(*shape):
    return rng.random(shape) < 0.5


def spd(*shape):
    a = f(*shape)
    return a @ a.swapaxes(-1, -2) + np.eye(shape[-1])


#: Numbers whose differences float32 cannot represent.
BIG = 2**40 + 1

CASES = [
    # Factors of sums have the dtype of the result, and the input is ignored if beta is 0.
    ("t.addmm(x, y, z, beta=1 + 2j, alpha=2 - 1j)", c(3, 5), c(3, 4), c(4, 5)),
    ("t.addmm(x, y, z, beta=3, alpha=2)", ints(3, 5) + BIG, ints(3, 4), ints(4, 5) + BIG),
    ("t.addmm(x, y, z, beta=0)", np.full((3, 5), NAN), f(3, 4), f(4, 5)),
    ("t.addmm(x, y, z, beta=0.5, alpha=-2)", f(5), f(3, 4), f(4, 5)),
    ("t.addmv(x, y, z, beta=0)", np.full(3, NAN), f(3, 4), f(4)),
    ("t.addmv(x, y, z, beta=2, alpha=3)", ints(3) + BIG, ints(3, 4), ints(4) + BIG),
    ("t.addmv(x, y, z, beta=0.2, alpha=0.6)", ints(3), ints(3, 4), ints(4)),
    ("t.addmv(x, y, z, beta=2j, alpha=3)", c(3), c(3, 4), c(4)),
    ("t.addr(x, y, z, beta=0)", np.full((3, 4), NAN), f(3), f(4)),
    ("t.addr(x, y, z, beta=3, alpha=2)", truths(3, 4), truths(3), truths(4)),
    ("t.addr(x, y, z, beta=False)", truths(3, 4), truths(3), truths(4)),
    ("t.addr(x, y, z, beta=2, alpha=3)", ints(3, 4) + BIG, ints(3), ints(4)),
    ("t.addbmm(x, y, z, beta=0)", np.full((3, 5), NAN), f(2, 3, 4), f(2, 4, 5)),
    ("t.addbmm(x, y, z, beta=2, alpha=3)", ints(3, 5) + BIG, ints(2, 3, 4), ints(2, 4, 5)),
    ("t.baddbmm(x, y, z, beta=0)", np.full((2, 3, 5), NAN), f(2, 3, 4), f(2, 4, 5)),
    ("t.baddbmm(x, y, z, beta=2, alpha=3)", ints(2, 3, 5) + BIG, ints(2, 3, 4), ints(2, 4, 5)),
    ("t.baddbmm(x, y, z, beta=1j)", c(3, 5), c(2, 3, 4), c(2, 4, 5)),
    ("t.addcmul(x, y, z, value=3)", ints(3, 4) + BIG, ints(3, 1), ints(4)),
    ("t.addcmul(x, y, z)", ints(3, 4) + BIG, ints(3, 1), ints(4)),
    ("t.addcmul(x, y, z, value=1 - 2j)", c(3, 4), c(3, 1), c(4)),
    ("t.addcdiv(x, y, z, value=0.5)", f(3, 4), f(3, 1), 1 + rng.random(4)),
    ("t.add(x, y, alpha=True)", truths(3, 4), truths(4)), ("t.add(x, y, alpha=False)", truths(3, 4), truths(4)),
    ("t.outer(x, y)", truths(3), truths(4)), ("t.kron(x, y)", truths(2, 3), truths(3, 2)),
    ("t.inner(x, y)", f(), f(2, 3)), ("t.inner(x, y)", f(2, 3, 4), f(5, 2, 4)), ("t.inner(x, y)", ints(3) + BIG, ints(3)),
    ("t.tensordot(x, y, ([0, 1], [2, 0]))", f(1, 1, 3), f(2, 1, 4)), ("t.tensordot(x, y, ([], []))", f(2, 3), f(4)),
    ("t.tensordot(x, y, 0)", f(2), f(3)),
    ("x.sum_to_size(())", np.array(True)), ("x.sum_to_size((1,))", truths(5)), ("x.sum_to_size((5,))", truths(5)), ("x.sum_to_size((2, 1))", f(3, 2, 4)),
    *((f"t.cdist(x, y, 2.0, '{mode}')", f(2, 30, 3), f(4, 3)) for mode in
      ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")),
    ("t.cov(x, fweights=y, aweights=z, correction=0)", f(3, 4), np.array([1, 2, 1, 3]), 0.1 + rng.random(4)),
    ("t.cov(x, fweights=y)", f(4), np.array([1, 2, 1, 3])), ("t.cov(x, aweights=y)", c(3, 4), 0.1 + rng.random(4)), ("t.cov(x)", f(1, 4)),
    ("t.cov(x)", ints(3, 4)), ("t.corrcoef(x)", f(3, 5)), ("t.corrcoef(x)", f(1, 5)), ("t.corrcoef(x)", c(3, 5)),
    # Factors with LAPACK's signs and pivots.
    ("t.linalg.qr(x)", f(5, 3)), ("t.linalg.qr(x)", f(4, 4)), ("t.linalg.qr(x)", f(2, 3, 5)), ("t.linalg.qr(x)", c(4, 3)), ("t.linalg.qr(x)", c(3, 3)),
    ("t.linalg.qr(x)", np.eye(3)), ("t.linalg.qr(x.detach(), mode='complete')", f(5, 3)), ("t.linalg.qr(x, mode='complete')", c(5, 3)),
    ("t.linalg.qr(x.detach(), mode='r')", f(5, 3)),
    ("t.geqrf(x.detach())", f(5, 3)), ("t.geqrf(x)", c(2, 3, 4)), ("t.geqrf(x.detach())", np.triu(f(3, 3))), ("t.geqrf(x)", c(3, 1)),
    ("t.linalg.householder_product(x, y)", f(4, 3), f(3)), ("t.linalg.householder_product(x, y)", c(2, 4, 3), c(2, 2)),
    *((f"t.ormqr(x, y, z, {left}, {transpose})", f(4, 3), f(3), f(4, 2) if left else f(2, 4)) for left in (True, False) for transpose in (True, False)),
    ("t.ormqr(x, y, z, True, True)", c(2, 4, 2), c(2, 2), c(2, 4, 3)), ("t.ormqr(x, y, z, False)", c(2, 4, 2), c(2, 2), c(2, 3, 4)),
    ("t.linalg.lu_factor(x)", f(2, 4, 4)), ("t.linalg.lu_factor(x)", np.array([[3, 1], [2.2 + 2.2j, 5]])), ("t.linalg.lu(x, pivot=True)", c(4, 3)),
    ("t.linalg.lu(x)", c(6, 6)), ("t.lu(x, get_infos=True)", f(3, 4)), ("t.lu(x)", c(5, 5)), ("t.linalg.lu_factor_ex(x)", f(2, 3, 3)),
    ("t.linalg.lu_factor_ex(x.detach())", np.zeros((2, 2))), ("t.lu_unpack(*t.linalg.lu_factor(x))", f(2, 4, 3)),
    ("t.lu_unpack(*t.linalg.lu_factor(x), unpack_data=False)[0]", f(3, 3)), ("t.lu_solve(y, *t.linalg.lu_factor(x))", spd(2, 3, 3), f(2, 3, 2)),
    *((f"t.linalg.lu_solve(*t.linalg.lu_factor(x), y, left={left}, adjoint={adjoint})", spd(3, 3), f(2, 3, 3)) for left in (True, False) for adjoint in (True, False)),
    ("t.triangular_solve(x, y)", f(3, 2), np.triu(spd(3, 3))), ("t.triangular_solve(x, y, False, True, True)", f(2, 3, 2), spd(3, 3)),
    ("t.linalg.ldl_factor(x.detach())", f(5, 5)), ("t.linalg.ldl_factor(x.detach())", np.array([[0.0, 2, 1], [2, 0, 3], [1, 3, 0.1]])),
    ("t.linalg.ldl_factor(x, hermitian=True)", c(6, 6)), ("t.linalg.ldl_factor(x)", c(2, 6, 6)), ("t.linalg.ldl_factor_ex(x.detach())", np.zeros((2, 3, 3))),
    *((f"t.linalg.ldl_solve(*t.linalg.ldl_factor(x, hermitian={h}), y, hermitian={h})", c(2, 5, 5), c(2, 5, 3)) for h in (True, False)),
    ("t.linalg.matrix_sqrth(x)", spd(2, 3, 3)), ("t.linalg.matrix_sqrth(x)", np.eye(3)), ("t.linalg.polar(x)", f(2, 4, 3)), ("t.linalg.polar(x)", np.eye(3)),
    ("t.linalg.polar(x)", c(4, 2)), ("t.norm(x, 'nuc')", f(3, 4)), ("t.norm(x, 'nuc', (0, 2), True)", f(2, 3, 4)),
    ("t.linalg.vander(x, N=3)", f()), ("t.linalg.vander(x, N=4)", f(2, 3)), ("t.svd(x, compute_uv=False)", f(2, 3, 4)),
    # Halves: only one is read, and the gradient is Hermitian.
    *((f"t.linalg.eigvalsh(x, UPLO='{half}')", f(4, 4)) for half in "LU"), *((f"t.linalg.eigh(x, '{half}')[1] ** 2", f(4, 4)) for half in "LU"),
    *((f"t.linalg.cholesky(x, upper={upper})", spd(3, 3) + (np.tril if upper else np.triu)(f(3, 3), -1 if upper else 1)) for upper in (True, False)),
    ("t.linalg.eigvalsh(x)", np.tril(f(3, 3)) + np.triu(np.full((3, 3), NAN), 1)), ("t.linalg.cholesky_ex(x, upper=True)", spd(2, 3, 3)),
    # Tolerances.
    ("t.linalg.matrix_rank(x, atol=1.0, rtol=0.1)", f(2, 4, 3)), ("t.linalg.matrix_rank(x, atol=y)", f(2, 4, 3), np.array([0.5, 1.5])),
    ("t.linalg.matrix_rank(x, hermitian=True)", spd(3, 3)), ("t.linalg.matrix_rank(x, 0.5)", f(3, 4)), ("t.linalg.pinv(x, rtol=0.3)", f(4, 3)),
    ("t.linalg.pinv(x, atol=0.5, rtol=0.0)", np.diag([3.0, 3.0, 0.1])), ("t.linalg.pinv(x, hermitian=True)", f(4, 4)), ("t.linalg.pinv(x, atol=1.0)", c(3, 4)),
    *((f"t.linalg.lstsq(x, y, driver='{driver}')", f(2, 5, 3), f(2, 5, 2)) for driver in ("gels", "gelsy", "gelsd", "gelss")),
    ("t.linalg.lstsq(x, y)", f(3, 5), f(3, 2)), ("t.linalg.lstsq(x, y)", f(2, 5, 3), f(2, 5)), ("t.linalg.lstsq(x.detach(), y.detach(), rcond=0.5, driver='gelsd')", f(5, 3), f(5, 2)),
]
CASES = [(case[0], case[1:]) for case in CASES]


def both(text, inputs):
    """Computes results and gradients of an expression with each library."""
    runs = []
    for library in (gradus, torch):
        given = tensors(library, inputs)
        result = eval(text, {"t": library, **dict(zip("xyz", given))})
        real = [y for y in flat(result) if hasattr(y, "is_complex") and not y.is_complex()]
        pull_back(real)
        runs.append((result, [x.grad for x in given]))
    return runs


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text, inputs", CASES, ids=[f"{i}-{text}" for i, (text, _) in enumerate(CASES)])
def test_function(text, inputs):
    (ours, our_grads), (theirs, their_grads) = both(text, inputs)
    same(ours, theirs, what="values")
    for i, (a, b) in enumerate(zip(our_grads, their_grads)):
        if a is None or b is None:  # a gradient of zeros may also be `None`
            assert all(g is None or not np.any(np.asarray(g.numpy())) for g in (a, b)), f"gradient {i}: ours {a}, theirs {b}"
        else:
            same(a, b, what=f"gradient {i}")


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.stack([np.zeros((2, 2)), np.eye(2), np.ones((2, 2))]), spd(3, 3)])
def test_the_method_lu_is_the_function(matrix):
    ours, theirs = (t.tensor(matrix).lu(get_infos=True) for t in (gradus, torch))
    same(ours, theirs)
    same(gradus.lu(gradus.tensor(matrix), get_infos=True), theirs)
    same(gradus.tensor(matrix).lu(), torch.tensor(matrix).lu())


@needs_torch
@pytest.mark.parametrize("p", [1, -1, float("inf"), float("-inf"), "fro", "nuc", 2, -2, None])
def test_condition_numbers_of_singular_matrices(p):
    singular = np.diag([2.0, 0.0]) if p in ("nuc", 2, -2, None) else np.ones((2, 2))
    for matrix in (singular, np.stack([singular, np.diag([1.0, 4.0])])):
        same(gradus.linalg.cond(gradus.tensor(matrix), p), torch.linalg.cond(torch.tensor(matrix), p))


MINORS = [np.ones((3, 3)), np.full((3, 3), NAN), np.diag([1.0, NAN, 1.0]), np.diag([1.0, 1.0, -1.0]), np.zeros((2, 2)), -np.eye(1), spd(4, 4), np.zeros((2, 0, 0)),
          np.stack([np.diag([1.0, -1.0, 1.0]), np.eye(3), np.diag([-1.0, 1.0, NAN])]), np.stack([spd(3, 3), spd(3, 3) - 9 * np.eye(3)]) + 0j,
          np.diag(np.where(np.arange(60) == 41, -1.0, 1.0))]


@needs_torch
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("matrix", MINORS)
def test_orders_of_minors(matrix, upper):
    """Tests `cholesky_ex(...).info`, also when traced."""
    found = gradus.linalg.cholesky_ex(gradus.tensor(matrix), upper=upper)
    theirs = torch.linalg.cholesky_ex(torch.tensor(matrix), upper=upper)
    same(found.info, theirs.info)
    right = (theirs.info == 0).numpy()
    assert np.allclose(found.L.numpy()[right], theirs.L.numpy()[right]) and np.isnan(found.L.numpy()[~right]).all()
    same(gradus.jit(lambda x: gradus.linalg.cholesky_ex(x, upper=upper).info)(gradus.tensor(matrix)), theirs.info)


def test_minors_of_a_large_matrix_are_found_quickly():
    x = gradus.eye(400)
    x[300, 300] = -1
    start = time.monotonic()
    assert gradus.linalg.cholesky_ex(x).info == 301
    assert time.monotonic() - start < 20


@needs_torch
@pytest.mark.parametrize("upper", [True, False])
def test_cholesky_takes_upper(upper):
    """Tests `cholesky(upper=)` as function and method; PyTorch now has it in `linalg` only."""
    a = spd(2, 3, 3) + (np.tril if upper else np.triu)(f(3, 3), -1 if upper else 1)
    theirs, (gradient,) = both(f"t.linalg.cholesky(x, upper={upper})", [a])[1]
    for text in (f"t.cholesky(x, upper={upper})", f"t.cholesky(x, {upper})", f"x.cholesky(upper={upper})", f"x.cholesky({upper})"):
        (x,) = tensors(gradus, [a])
        factor = eval(text, {"t": gradus, "x": x})
        pull_back([factor])
        same((factor, x.grad), (theirs, gradient), what=text)


#: Functions of matrices, and shapes that have no elements.
EMPTY = [(name, shape) for name, shapes in {
    "cholesky": [(0, 0), (0, 2, 2)], "cholesky_ex": [(0, 0), (0, 2, 2), (2, 0, 0)], "inv_ex": [(0, 0), (0, 2, 2), (3, 0, 0)], "inv": [(0, 0)], "eigh": [(0, 0), (0, 3, 3)],
    "eigvalsh": [(0, 3, 3)], "eig": [(0, 0)], "qr": [(0, 3), (3, 0), (0, 2, 3)], "svd": [(0, 3), (3, 0), (0, 3, 2)], "svdvals": [(2, 0, 3)],
    "lu": [(0, 3), (3, 0), (0, 2, 2)], "lu_factor": [(0, 0), (3, 0), (0, 2, 2)], "lu_factor_ex": [(0, 0), (0, 2, 3)], "ldl_factor": [(0, 0), (0, 2, 2)],
    "ldl_factor_ex": [(2, 0, 0)], "matrix_sqrth": [(0, 0)], "polar": [(3, 0), (0, 3, 2)], "pinv": [(0, 3), (3, 0), (0, 3, 2)], "matrix_rank": [(0, 3), (2, 0, 3), (0, 2, 2)],
    "det": [(0, 0), (0, 2, 2)], "slogdet": [(0, 0)], "matrix_norm": [(0, 3), (0, 2, 2)], "matrix_exp": [(0, 0)],
}.items() for shape in shapes]


@needs_torch
@pytest.mark.parametrize("name, shape", EMPTY)
def test_matrices_without_elements(name, shape):
    ours, theirs = (getattr(t.linalg, name)(t.zeros(*shape, dtype=t.float64)) for t in (gradus, torch))
    same(ours, theirs)


@needs_torch
@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 5)])
def test_norms_of_matrices_without_elements(shape):
    for order in (1, 2, np.inf, "nuc", "fro"):
        for keepdim in (False, True):
            try:
                theirs = torch.linalg.norm(torch.zeros(shape), order, keepdim=keepdim)
            except (RuntimeError, IndexError):
                continue
            same(gradus.linalg.norm(gradus.zeros(*shape), order, keepdim=keepdim), theirs, what=f"{order} {keepdim}")


TRACED = [
    ("t.linalg.eigvalsh(x, UPLO='U')", spd(3, 3)), ("t.linalg.cholesky(x, upper=True)", spd(3, 3)), ("t.linalg.matrix_sqrth(x)", spd(3, 3)), ("t.linalg.polar(x)[0]", f(4, 3)),
    ("t.linalg.pinv(x, rtol=1e-3)", f(4, 3)), ("t.linalg.lstsq(x, x[:, :1]).solution", f(4, 3)), ("t.linalg.qr(x)[0]", f(4, 3)), ("t.linalg.lu_factor(x)[0]", f(4, 3)),
    ("t.linalg.lu_solve(*t.linalg.lu_factor(x), x)", spd(3, 3)), ("t.lu_unpack(*t.lu(x))[1]", f(4, 4)), ("t.linalg.householder_product(x, x[0])", f(4, 3)), ("t.cov(x)", f(3, 4)),
]


@pytest.mark.parametrize("text, x", TRACED, ids=[text for text, _ in TRACED])
def test_compiled_and_batched(text, x):
    x = gradus.tensor(x)

    def function(x):
        return eval(text, {"t": gradus, "x": x})

    expected = function(x)
    same(gradus.jit(function)(x), expected)
    same(gradus.vmap(function)(gradus.stack([x, 2 * x + 0.1])), gradus.stack([expected, function(2 * x + 0.1)]))
    g = gradus.tensor(f(*expected.shape))
    leaf = x.clone().requires_grad_(True)
    (function(leaf) * g).sum().backward()
    same(gradus.func.grad(lambda x: (function(x) * g).sum())(x), leaf.grad)
    direction = gradus.tensor(f(*x.shape))
    along = gradus.func.jvp(function, (x,), (direction,))[1]
    assert (along * g).sum().item() == pytest.approx((leaf.grad * direction).sum().item(), rel=1e-8)


@needs_torch
def test_named_results():
    x, y = (gradus.tensor(f(4, 2)), gradus.tensor(f(4, 1)))
    assert gradus.linalg.lstsq(x, y)._fields == ("solution", "residuals", "rank", "singular_values")
    assert gradus.geqrf(x)._fields == ("a", "tau") and gradus.linalg.polar(x)._fields == ("U", "H")
    assert gradus.linalg.lu_factor_ex(x)._fields == ("LU", "pivots", "info")
    assert gradus.linalg.ldl_factor_ex(x.T @ x)._fields == ("LD", "pivots", "info")
    assert gradus.triangular_solve(y[:2], x[:2])._fields == ("solution", "cloned_coefficient")


@pytest.mark.parametrize("call", [
    lambda t: t.tensordot(t.ones(3), t.ones(3), 10**18), lambda t: t.tensordot(t.ones(3), t.ones(3), -1), lambda t: t.linalg.lu(t.eye(2), pivot=False),
    lambda t: t.addmm(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), beta=1j), lambda t: t.addmv(t.ones(3), t.ones(2, 2), t.ones(2)),
    lambda t: t.linalg.eigh(t.eye(2), "X"), lambda t: t.linalg.polar(t.ones(2, 3)), lambda t: t.cov(t.ones(2, 3), fweights=t.ones(3)),
    lambda t: t.linalg.householder_product(t.ones(2, 3), t.ones(2)), lambda t: t.cdist(t.ones(2, 2), t.ones(2, 2), 2.0, "x"),
], ids=range(10))
@pytest.mark.parametrize("t", [gradus, pytest.param(torch, marks=needs_torch)], ids=["gradus", "torch"])
def test_invalid_calls_are_refused(t, call):
    with pytest.raises((RuntimeError, ValueError)):
        call(t)


def test_sketches_of_matrices_of_low_rank():
    a = gradus.tensor(f(7, 2) @ f(2, 5), requires_grad=True)
    for x in (a, a.T, a.expand(2, 7, 5)):
        u, s, v = gradus.svd_lowrank(x, q=3)
        same((u * s.unsqueeze(-2)) @ v.mT, x, rtol=0, atol=1e-9)
        same(s[..., :2], gradus.linalg.svdvals(x)[..., :2])
    _, s, v = gradus.pca_lowrank(a, q=2)
    centred = a - a.mean(0)
    same(s, gradus.linalg.svdvals(centred)[:2])
    same(centred @ v @ v.T, centred, rtol=0, atol=1e-9)


def test_second_derivatives_of_roots_and_polar_factors():
    x = gradus.tensor(spd(3, 3), requires_grad=True)
    assert gradus.autograd.gradcheck(lambda x: gradus.linalg.matrix_sqrth((x + x.T) / 2), x)
    assert gradus.autograd.gradgradcheck(lambda x: gradus.linalg.matrix_sqrth((x + x.T) / 2), x)
    y = gradus.tensor(f(4, 3), requires_grad=True)
    assert gradus.autograd.gradgradcheck(lambda y: tuple(gradus.linalg.polar(y)), y)
    assert gradus.autograd.gradgradcheck(lambda y: gradus.linalg.pinv(y, rtol=1e-3), y)
