"""Indexing and assignment in all forms against NumPy: fixed forms, then random ones.

NumPy and PyTorch differ in one point, in which `gradus` follows PyTorch: a single integer removes its axis before other indices
apply, so it is not treated as an array. `staged` applies such integers first, so that NumPy does the same.
"""

import itertools

import numpy as np
import pytest

import gradus
from oracle import array

A = np.arange(60.0).reshape(3, 4, 5)
I, J = np.array([2, 0, 1]), np.array([[0, 1], [1, 2]])
M1, M2, M3 = np.array([True, False, True]), A[:, :, 0] % 3 == 0, A % 2 == 0

FORMS = [
    (0,), (-1,), (1, 2), (1, -2, 3), (slice(None),), (slice(1, None),), (slice(None, -1), slice(1, 3)), (slice(None, None, 2),), (slice(0, 0),),
    (slice(-2, None), Ellipsis), (Ellipsis,), (Ellipsis, 0), (Ellipsis, slice(1, 4, 2)), (0, Ellipsis, -1), (None,), (slice(None), None), (None, 1, None, Ellipsis, None),
    (I,), (J,), (slice(None), J), (Ellipsis, I), (I, I), (I, slice(None), I), (slice(None), I, np.array([4, 0, 2])), (I[:, None], np.array([0, 3])), (0, slice(None), J),
    (J, None), (None, J), (I, 1), (np.array([-1, 0]),), (np.array([], dtype=int),), (np.array(2),), (M1,), (slice(None), np.array([True, False, False, True])), (M2,), (M3,), (M1, 0),
    (M1, slice(1, 3)), (Ellipsis, np.array([True, False, True, False, True])), (M2, slice(None, None, 2)), (np.zeros((3, 4, 5), bool),), (np.array([1, 2]), np.array([True, False, True, False])),
    ([0, 2],), ([True, False, True],), (slice(5, 9),),
]


def staged(a, index):
    """Returns a view of `a` with single integers applied, and the rest of the index."""
    first, rest = [], []
    for part in index:
        single = isinstance(part, (int, np.integer)) or (isinstance(part, np.ndarray) and part.ndim == 0)
        if single and not isinstance(part, bool):
            first.append(int(part))
            continue
        rest.append(part)
        if part is Ellipsis:
            first.append(Ellipsis)
        elif part is not None and not isinstance(part, bool):
            axes = part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1
            first += [slice(None)] * axes
    return a[tuple(first) if any(p is Ellipsis for p in first) else (*first, Ellipsis)], tuple(rest)


def to_ours(index):
    """Converts arrays to tensors; returns other objects unchanged."""
    return tuple(gradus.tensor(part) if isinstance(part, np.ndarray) else part for part in index)


def layouts():
    yield "contiguous", lambda: gradus.tensor(A)
    yield "transposed", lambda: gradus.tensor(np.ascontiguousarray(A.transpose(2, 0, 1))).permute(1, 2, 0)
    yield "every second", lambda: gradus.tensor(np.repeat(A, 2, 2))[:, :, ::2]


def describe(index):
    return ", ".join(f"{p.dtype}{p.shape}" if isinstance(p, np.ndarray) else "None" if p is None else str(p) for p in index)


@pytest.mark.parametrize("index", FORMS, ids=describe)
def test_reading(index):
    view, rest = staged(A, index)
    expected = view[rest]
    for layout, make in layouts():
        y = make()[to_ours(index)]
        assert tuple(y.shape) == expected.shape, layout
        np.testing.assert_array_equal(array(y), expected, err_msg=layout)
    if len(index) == 1:
        np.testing.assert_array_equal(array(gradus.tensor(A)[to_ours(index)[0]]), expected)


@pytest.mark.parametrize("index", FORMS, ids=describe)
def test_writing(index):
    for layout, make in layouts():
        for value in ("number", "array", "row"):
            a, x = A.copy(), make()
            view, rest = staged(a, index)
            shape = view[rest].shape
            if value == "number":
                given = -7.0
            else:
                shape = shape[-1:] if value == "row" else shape
                # An element may be indexed twice; which value stays is then unspecified, so all values are equal.
                given = np.full(shape, -3.0) if value == "row" else -1 - view[rest]
            view[rest] = given
            x[to_ours(index)] = gradus.tensor(given) if isinstance(given, np.ndarray) else given
            np.testing.assert_array_equal(array(x), a, err_msg=f"{layout}, {value}")


def random_part(rng, n):
    """Draws an index for an axis of `n` elements."""
    kind = rng.integers(0, 6)
    if kind == 0 and n:
        return int(rng.integers(-n, n))
    if kind == 1:
        start, stop = (None if rng.random() < 0.3 else int(rng.integers(-n - 1, n + 2)) for _ in range(2))
        return slice(start, stop, None if rng.random() < 0.5 else int(rng.integers(1, 4)))
    if kind == 2 and n:
        return "integers"
    if kind == 3:
        return rng.random(n) < 0.5 if rng.random() < 0.3 else slice(None)
    return slice(None)


def random_index(rng, shape):
    parts = [random_part(rng, n) for n in shape[: rng.integers(0, len(shape) + 1)]]
    common = [(), (2,), (3, 1), (1, 2), (3, 2)][rng.integers(0, 5)]
    if any(isinstance(p, np.ndarray) for p in parts):  # a mask of one axis must broadcast with the other arrays
        parts = [slice(None) if isinstance(p, str) else p for p in parts]
        seen = False
        for i, p in enumerate(parts):
            if isinstance(p, np.ndarray) and seen:
                parts[i] = slice(None)
            seen = seen or isinstance(p, np.ndarray)
    for i, p in enumerate(parts):
        if isinstance(p, str):
            size = common if rng.random() < 0.7 else ()
            parts[i] = np.array(rng.integers(-shape[i], shape[i], size))
    for _ in range(rng.integers(0, 3)):
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    if len([p for p in parts if p is not None]) < len(shape) and rng.random() < 0.3:
        at = int(rng.integers(0, len(parts) + 1))
        tail = len([p for p in parts[at:] if p is not None])
        # indices after the ellipsis apply to the last axes, so it is used only if no index of fixed size follows
        if tail == 0:
            parts.insert(at, Ellipsis)
    return tuple(parts)


@pytest.mark.parametrize("seed", range(300))
def test_random_indices(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(0 if seed % 10 == 0 else 1, 6, rng.integers(1, 5)))
    a = rng.standard_normal(shape)
    index = random_index(rng, shape)
    try:
        view, rest = staged(a, index)
        expected = view[rest]
    except IndexError:
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            gradus.tensor(a)[to_ours(index)]
        return
    x = gradus.tensor(a)
    y = x[to_ours(index)]
    assert tuple(y.shape) == np.shape(expected), describe(index)
    np.testing.assert_array_equal(array(y), expected, err_msg=describe(index))
    view[rest] = 2.5
    x[to_ours(index)] = 2.5
    np.testing.assert_array_equal(array(x), a, err_msg=describe(index))


WRONG = [(True, 0), (False, 0), (3,), (-4,), (0, 4), (0, 0, 5), (0, 0, 0, 0), (np.array([3]),), (np.array([True, False]),), (I, np.array([0, 1])), ("a",), (1.5,), (slice(None, None, 0),)]


@pytest.mark.parametrize("index", WRONG, ids=describe)
def test_wrong_indices_are_errors(index):
    x = gradus.tensor(A)
    with pytest.raises((IndexError, TypeError, ValueError, RuntimeError)):
        x[to_ours(index)]
    with pytest.raises((IndexError, TypeError, ValueError, RuntimeError)):
        x[to_ours(index)] = 1.0
    np.testing.assert_array_equal(array(x), A)


def test_values_that_do_not_fit_are_errors():
    x = gradus.tensor(A)
    with pytest.raises((RuntimeError, ValueError)):
        x[0] = gradus.zeros(3)
    np.testing.assert_array_equal(array(x), A)


def test_views_share_and_copies_do_not():
    x = gradus.tensor(A)
    x[1][2][3] = -1.0
    assert x[1, 2, 3].item() == -1.0
    row = x[0]
    row[0, 0] = 55.0
    assert x[0, 0, 0].item() == 55.0
    chosen = x[gradus.tensor([0, 1])]
    chosen[0, 0, 0] = 99.0
    assert x[0, 0, 0].item() == 55.0
    x[0] += 1.0
    assert x[0, 0, 0].item() == 56.0


def test_iteration_and_length():
    x = gradus.tensor(A)
    assert len(x) == 3
    for ours, theirs in itertools.zip_longest(x, A):
        np.testing.assert_array_equal(array(ours), theirs)
    with pytest.raises(TypeError):
        len(gradus.tensor(1.0))
    a, b = gradus.tensor([1, 2])
    assert (a.item(), b.item()) == (1, 2)


def test_gradients_of_reading_and_writing():
    x = gradus.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[gradus.tensor([0, 0, 2])] * gradus.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 3.0]
    x.grad = None
    v = gradus.tensor(5.0, requires_grad=True)
    y = x * 2
    y[1] = v
    (y * gradus.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 200.0] and v.grad.item() == 10.0


@pytest.mark.parametrize("view", [
    lambda x: x.movedim(0, -1), lambda x: x.movedim((0, 2), (2, 1)), lambda x: x.moveaxis(1, 0), lambda x: x.ravel(), lambda x: x[0].H,
    lambda x: x.mH, lambda x: x.type(gradus.float32),
])
def test_axes_in_other_places_are_views(view):
    x = gradus.arange(24.0).reshape(2, 3, 4)
    expected, part = view(x).clone(), view(x)
    assert gradus.equal(part, expected)
    part[0] = -1
    assert gradus.equal(view(x), part) and (view(x)[0] == -1).all() and (x == -1).sum() == part[0].numel()


def test_movedim_has_numpys_order():
    x = np.arange(24.0).reshape(2, 3, 4)
    for source, destination in [(0, -1), (-1, 0), ((0, 2), (2, 1)), ((2, 0), (0, 1)), ((0, 1, 2), (1, 2, 0))]:
        found = gradus.tensor(x).movedim(source, destination)
        assert np.array_equal(found.numpy(), np.moveaxis(x, source, destination))
    with pytest.raises(Exception):
        gradus.tensor(x).movedim(0, 5)
