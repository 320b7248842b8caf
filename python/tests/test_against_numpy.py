"""NumPy as oracle for values: elementwise functions, reductions and indexing over shapes, layouts and dtypes."""

import itertools

import numpy as np
import pytest

import gradus
from oracle import array

# --- layouts: the same array, stored in different ways ---------------------------------------------------------------


def layouts(a):
    """Returns tensors that are equal to `a`, with different layouts: contiguous, transposed, sliced, flipped, strided."""
    t = gradus.tensor
    yield "contiguous", t(a)
    if a.ndim >= 2:
        yield "transposed", t(np.ascontiguousarray(a.swapaxes(0, -1))).transpose(0, -1)
    if a.ndim >= 1:
        wide = np.repeat(a, 2, axis=-1)
        yield "every second", t(wide)[..., ::2]
        padded = np.concatenate([a[:1], a, a[:1]], axis=0)
        yield "sliced", t(padded)[1:1 + a.shape[0]] if a.shape[0] else t(a)
        yield "flipped", t(np.flip(a, 0).copy()).flip(0)
        yield "one element of an axis", t(np.stack([a, a], axis=-1))[..., 1]
    if a.ndim >= 1 and a.size and (a == a[..., :1]).all():
        yield "expanded", t(a[..., :1].copy()).expand(a.shape)


def check(ours, theirs, rtol=1e-6, atol=1e-6, what=""):
    ours, theirs = array(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, f"{what}: shape {ours.shape}, not {theirs.shape}"
    if theirs.dtype.kind in "fc":
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=what)
    else:
        np.testing.assert_array_equal(ours, theirs, err_msg=what)


SHAPES = [(), (1,), (5,), (0,), (3, 4), (3, 0), (1, 4), (2, 3, 4), (2, 1, 3, 2)]
rng = np.random.default_rng(5)


def draw(kind, shape, dtype=np.float64):
    u = rng.random(shape)
    values = {"any": 4 * u - 2, "pos": 0.2 + 2 * u, "unit": 1.8 * u - 0.9, "above one": 1.1 + u}[kind]
    return np.asarray(values, dtype)


# name, NumPy's function, where it is defined
UNARY = [
    ("abs", np.abs, "any"), ("neg", np.negative, "any"), ("exp", np.exp, "any"), ("expm1", np.expm1, "any"), ("exp2", np.exp2, "any"),
    ("log", np.log, "pos"), ("log2", np.log2, "pos"), ("log10", np.log10, "pos"), ("log1p", np.log1p, "pos"), ("sqrt", np.sqrt, "pos"),
    ("rsqrt", lambda a: 1 / np.sqrt(a), "pos"), ("reciprocal", np.reciprocal, "pos"), ("square", np.square, "any"), ("sin", np.sin, "any"),
    ("cos", np.cos, "any"), ("tan", np.tan, "unit"), ("asin", np.arcsin, "unit"), ("acos", np.arccos, "unit"), ("atan", np.arctan, "any"),
    ("sinh", np.sinh, "any"), ("cosh", np.cosh, "any"), ("tanh", np.tanh, "any"), ("asinh", np.arcsinh, "any"),
    ("acosh", np.arccosh, "above one"), ("atanh", np.arctanh, "unit"), ("floor", np.floor, "any"), ("ceil", np.ceil, "any"),
    ("round", np.round, "any"), ("trunc", np.trunc, "any"), ("sign", np.sign, "any"), ("sigmoid", lambda a: 1 / (1 + np.exp(-a)), "any"),
    ("isnan", np.isnan, "any"), ("isinf", np.isinf, "any"), ("isfinite", np.isfinite, "any"), ("logical_not", np.logical_not, "any"),
    ("deg2rad", np.deg2rad, "any"), ("rad2deg", np.rad2deg, "any"), ("sinc", np.sinc, "any"),
]
# float32 may differ by its own rounding
TOLERANCE = {np.float64: 1e-12, np.float32: 3e-6}


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name, function, kind", UNARY, ids=[row[0] for row in UNARY])
def test_unary(name, function, kind, dtype):
    for shape in SHAPES:
        a = draw(kind, shape, dtype)
        for layout, x in layouts(a):
            y = getattr(gradus, name)(x)
            check(y, function(a), TOLERANCE[dtype], TOLERANCE[dtype], f"{name} of {shape} {layout}")
            if array(y).dtype.kind == "f":
                assert array(y).dtype == dtype
        check(getattr(gradus.tensor(a), name)(), function(a), TOLERANCE[dtype], TOLERANCE[dtype], f"method {name} of {shape}")


BINARY = [
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide), ("maximum", np.maximum), ("minimum", np.minimum),
    ("pow", np.power), ("remainder", np.remainder), ("fmod", np.fmod), ("floor_divide", np.floor_divide), ("atan2", np.arctan2),
    ("hypot", np.hypot), ("logaddexp", np.logaddexp), ("copysign", np.copysign), ("eq", np.equal), ("ne", np.not_equal), ("lt", np.less),
    ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
]
PAIRS = [((), ()), ((3,), ()), ((), (2, 3)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((0,), (1,)), ((2, 0), (1, 1)), ((5, 1, 2), (3, 2))]


@pytest.mark.parametrize("name, function", BINARY, ids=[row[0] for row in BINARY])
def test_binary_over_broadcasting_and_layouts(name, function):
    for left, right in PAIRS:
        a, b = draw("pos", left), draw("pos", right)
        expected = function(a, b)
        for (la, x), (lb, y) in itertools.product(layouts(a), layouts(b)):
            check(getattr(gradus, name)(x, y), expected, 1e-12, 1e-12, f"{name} of {left} {la}, {right} {lb}")


OPERATORS = [
    ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b), ("/", lambda a, b: a / b), ("//", lambda a, b: a // b),
    ("%", lambda a, b: a % b), ("**", lambda a, b: a**b), ("<", lambda a, b: a < b), ("<=", lambda a, b: a <= b), (">", lambda a, b: a > b),
    (">=", lambda a, b: a >= b), ("==", lambda a, b: a == b), ("!=", lambda a, b: a != b),
]


@pytest.mark.parametrize("sign, op", OPERATORS, ids=[row[0] for row in OPERATORS])
def test_operators_with_numbers_on_either_side(sign, op):
    a = draw("pos", (3, 4))
    n = np.arange(1, 13).reshape(3, 4)
    x, k = gradus.tensor(a), gradus.tensor(n)
    for scalar in (2, 2.5):
        check(op(x, scalar), op(a, scalar), 1e-12, what=f"tensor {sign} {scalar}")
        check(op(scalar, x), op(scalar, a), 1e-12, what=f"{scalar} {sign} tensor")
    check(op(k, 2), op(n, 2), what=f"ints {sign} 2")
    if sign != "**":
        check(op(2, k), op(2, n), what=f"2 {sign} ints")


@pytest.mark.parametrize("sign, op", [row for row in OPERATORS if row[0] in ("+", "-", "*", "/", "//", "%", "**")], ids=lambda v: v if isinstance(v, str) else "")
def test_inplace_operators(sign, op):
    a, b = draw("pos", (3, 4)), draw("pos", (4,))
    x = gradus.tensor(a)
    alias = x
    exec(f"x {sign}= y", {}, names := {"x": x, "y": gradus.tensor(b)})
    check(names["x"], op(a, b), 1e-12, what=f"{sign}=")
    check(alias, op(a, b), 1e-12, what=f"{sign}= through another name")


INTEGERS = [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor), ("add", np.add), ("mul", np.multiply),
            ("maximum", np.maximum), ("remainder", np.remainder), ("floor_divide", np.floor_divide), ("eq", np.equal), ("lt", np.less)]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("name, function", INTEGERS, ids=[row[0] for row in INTEGERS])
def test_integers(name, function, dtype):
    low = 0 if dtype == "uint8" else -9
    a, b = rng.integers(low, 10, (3, 4)).astype(dtype), rng.integers(1, 10, (4,)).astype(dtype)
    y = getattr(gradus, name)(gradus.tensor(a), gradus.tensor(b))
    check(y, function(a, b), what=name)
    assert array(y).dtype == function(a, b).dtype


# --- reductions ------------------------------------------------------------------------------------------------------

REDUCTIONS = [
    ("sum", np.sum, "any"), ("mean", np.mean, "any"), ("prod", np.prod, "any"), ("amax", np.max, "any"), ("amin", np.min, "any"),
    ("std", lambda a, **k: np.std(a, ddof=1, **k), "any"), ("var", lambda a, **k: np.var(a, ddof=1, **k), "any"),
    ("logsumexp", lambda a, **k: np.log(np.sum(np.exp(a), **k)), "any"),
]


def axes_of(rank):
    yield from (-1, 0)
    for n in range(2, rank + 1):
        yield from itertools.combinations(range(rank), n)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name, function, kind", REDUCTIONS, ids=[row[0] for row in REDUCTIONS])
def test_reductions(name, function, kind, keepdim):
    for shape in [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)]:
        a = draw(kind, shape)
        for axes in axes_of(len(shape)):
            if name == "prod" and not isinstance(axes, int):
                continue
            if name in ("std", "var") and np.prod([shape[i] for i in np.atleast_1d(axes)]) == 1:
                continue
            expected = function(a, axis=axes, keepdims=keepdim)
            for layout, x in layouts(a):
                check(getattr(gradus, name)(x, axes, keepdim=keepdim), expected, 1e-10, 1e-10, f"{name} of {shape} {layout} over {axes}")
        if name not in ("logsumexp",):
            check(getattr(gradus.tensor(a), name)(), function(a), 1e-10, 1e-10, f"{name} of {shape}")


def test_reductions_of_empty_arrays():
    for shape, axis in [((0,), 0), ((3, 0), 1), ((0, 4), 0)]:
        a = np.zeros(shape)
        check(gradus.sum(gradus.tensor(a), axis), a.sum(axis))
        check(gradus.prod(gradus.tensor(a), axis), a.prod(axis))
        check(gradus.any(gradus.tensor(a), axis), a.any(axis))
        check(gradus.all(gradus.tensor(a), axis), a.all(axis))
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            gradus.amax(gradus.tensor(a), axis)
    check(gradus.tensor(np.zeros((3, 0))).sum(0), np.zeros(0))


@pytest.mark.parametrize("name, function", [("argmax", np.argmax), ("argmin", np.argmin)])
def test_argmax_and_argmin(name, function):
    for shape in [(5,), (3, 4), (2, 3, 4)]:
        a = draw("any", shape)
        for layout, x in layouts(a):
            check(getattr(gradus, name)(x), function(a), what=f"{name} {layout}")
            for axis in range(-len(shape), len(shape)):
                check(getattr(x, name)(axis), function(a, axis=axis), what=f"{name} {layout} along {axis}")


@pytest.mark.parametrize("name, function", [("cumsum", np.cumsum), ("cumprod", np.cumprod)])
def test_cumulative_functions(name, function):
    for shape in [(5,), (3, 4), (2, 3, 4), (0, 3)]:
        a = draw("any", shape)
        for (layout, x), axis in itertools.product(layouts(a), range(len(shape))):
            check(getattr(gradus, name)(x, axis), function(a, axis=axis), 1e-10, what=f"{name} {layout} along {axis}")


def test_sorting():
    for shape in [(7,), (3, 5), (2, 3, 4)]:
        a = draw("any", shape)
        for (layout, x), axis in itertools.product(layouts(a), range(len(shape))):
            values, places = gradus.sort(x, axis)
            check(values, np.sort(a, axis), what=layout)
            check(places, np.argsort(a, axis), what=layout)
            check(gradus.sort(x, axis, descending=True)[0], -np.sort(-a, axis), what=layout)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_first_of_short_and_long_rows(dtype, largest):
    rows = np.random.default_rng(0).integers(-4, 4, (3, 7)).astype(dtype)
    if rows.dtype.kind == "f":
        rows[0, 2] = rows[1, 5] = np.nan
    x = gradus.tensor(rows)
    # Other code sorts long rows. These have the same elements, followed by many that are sorted to the end.
    worst = -9 if largest else 9
    long = gradus.cat([x, gradus.full((3, 300), worst, dtype=x.dtype)], 1)
    for a, b in [(x, long), (x.T.contiguous().T, long)]:
        (values, positions), (want, places) = a.topk(4, 1, largest), b.topk(4, 1, largest)
        np.testing.assert_array_equal(values.numpy(), want.numpy())
        assert positions.tolist() == places.tolist()


def test_booleans():
    for shape in SHAPES:
        a = rng.random(shape) < 0.6
        for layout, x in layouts(a):
            check(x.all(), a.all(), what=layout)
            check(x.any(), a.any(), what=layout)
            check(x.sum(), a.sum(), what=layout)
            check(~x, ~a, what=layout)


# functions that reduce a row, and then return a value for each of its elements
BY_ROW = [
    ("softmax", lambda x: x.softmax(-1), lambda a: np.exp(a) / np.exp(a).sum(-1, keepdims=True)),
    ("log_softmax", lambda x: x.log_softmax(-1), lambda a: a - np.log(np.exp(a).sum(-1, keepdims=True))),
    ("layer_norm", lambda x: gradus.nn.functional.layer_norm(x, x.shape[-1:]),
     lambda a: (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)),
    ("rms_norm", lambda x: gradus.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-6), lambda a: a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-6)),
    ("normalize", lambda x: gradus.nn.functional.normalize(x, dim=-1), lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True)),
    ("minus the mean", lambda x: x - x.mean(-1, keepdim=True), lambda a: a - a.mean(-1, keepdims=True)),
    ("over the sum", lambda x: x / x.sum(-1, keepdim=True), lambda a: a / a.sum(-1, keepdims=True)),
    ("cumsum", lambda x: x.cumsum(-1), lambda a: a.cumsum(-1)),
]
EXPANDED = [((2, 3), ()), ((3, 4), (1, 4)), ((3, 4), (3, 1)), ((3, 4), (4,)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 4), (2, 1, 4)),
            ((2, 3, 4), (1, 1, 1)), ((1, 5), (1, 1)), ((16, 16), ()), ((2, 64), (1, 64)), ((64, 3), (64, 1))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("name, ours, theirs", BY_ROW, ids=[row[0] for row in BY_ROW])
def test_rows_of_expanded_tensors(name, ours, theirs, dtype):
    for shape, small in EXPANDED:
        a = draw("pos", small, dtype)
        # fills the memory that the result reuses with NaN
        freed = [gradus.full((n,), float("nan")).add(1.0) for n in (2, 4, 6, 8, 12, 16, 24, 64, 256) for _ in range(4)]
        del freed
        check(ours(gradus.tensor(a).expand(shape)), theirs(np.broadcast_to(a, shape)), TOLERANCE[dtype], TOLERANCE[dtype] * 10, f"{name} of {small} as {shape}")


# --- products --------------------------------------------------------------------------------------------------------


def test_products_over_layouts():
    for left, right in [((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3), (3, 2))]:
        a, b = draw("any", left), draw("any", right)
        for (la, x), (lb, y) in itertools.product(layouts(a), layouts(b)):
            check(x @ y, a @ b, 1e-10, 1e-10, f"{left} {la} @ {right} {lb}")


@pytest.mark.parametrize("text, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]), ("ij->ji", [(2, 3)]), ("ii", [(3, 3)]), ("ij->", [(2, 3)]),
    ("i,j,k->kij", [(2,), (3,), (4,)]), ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]), ("ijk,ikl,lm->jm", [(2, 3, 4), (2, 4, 5), (5, 2)]),
])
def test_einsum(text, shapes):
    arrays = [draw("any", shape) for shape in shapes]
    check(gradus.einsum(text, *map(gradus.tensor, arrays)), np.einsum(text, *arrays), 1e-10, 1e-10)


# --- making, moving, converting --------------------------------------------------------------------------------------


def test_creation():
    check(gradus.arange(5), np.arange(5))
    check(gradus.arange(2, 9, 3), np.arange(2, 9, 3))
    check(gradus.arange(0.5, 3.0, 0.5, dtype=gradus.float64), np.arange(0.5, 3.0, 0.5))
    check(gradus.arange(5, 0, -2), np.arange(5, 0, -2))
    check(gradus.linspace(-1, 1, 5, dtype=gradus.float64), np.linspace(-1, 1, 5))
    check(gradus.logspace(0, 2, 3, dtype=gradus.float64), np.logspace(0, 2, 3))
    check(gradus.eye(3, 4), np.eye(3, 4))
    check(gradus.full((2, 3), 7), np.full((2, 3), 7))
    check(gradus.zeros(2, 0, 3), np.zeros((2, 0, 3)))
    check(gradus.ones((2, 3), dtype=gradus.int32), np.ones((2, 3), np.int32))
    check(gradus.tril(gradus.ones(3, 4), -1), np.tril(np.ones((3, 4)), -1))
    x = gradus.tensor([[1, 2], [3, 4]])
    assert x.dtype == gradus.int64 and gradus.tensor(1.0).dtype == gradus.float32 and gradus.tensor([True]).dtype == gradus.bool
    check(gradus.zeros_like(x), np.zeros((2, 2), np.int64))
    check(gradus.full_like(x, 3, dtype=gradus.float64), np.full((2, 2), 3.0))
    assert gradus.tensor([[1, 2.5]]).tolist() == [[1.0, 2.5]] and gradus.tensor([]).shape[0] == 0
    with pytest.raises((ValueError, RuntimeError)):
        gradus.tensor([[1, 2], [3]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool"])
def test_arrays_round_trip(dtype):
    a = rng.integers(0, 2, (2, 3)).astype(dtype)
    for b in (a, a.T, a[:, ::2], a[:0], np.array(a[0, 0])):
        back = gradus.tensor(b).numpy()
        assert back.dtype == b.dtype
        np.testing.assert_array_equal(back, b)
    for other in ("float64", "int64", "bool", "uint8"):
        np.testing.assert_array_equal(array(gradus.tensor(a).to(getattr(gradus, other))), a.astype(other))


def test_arrays_with_negative_strides():
    a = np.arange(12.0).reshape(3, 4)
    for b in (a[::-1], a[:, ::-1], a[::-1, ::-2]):
        np.testing.assert_array_equal(gradus.tensor(b).numpy(), b)


@pytest.mark.parametrize("make", [
    lambda: np.arange(24.0).reshape(2, 3, 4),
    lambda: np.arange(24.0, dtype="float32").reshape(4, 6)[::-1, ::2],
    lambda: np.array(3.5),
    lambda: np.zeros((0, 3)),
    lambda: np.array([True, False]),
    lambda: np.broadcast_to(np.arange(3), (2, 3)),
    lambda: np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])["b"],
    lambda: np.frombuffer(bytes(range(40)), dtype="u1")[3:],
    lambda: np.array([1 + 2j, 3j], dtype="complex64"),
])
def test_arrays_of_every_layout(make):
    a = make()
    x = gradus.from_numpy(a)
    del a
    check(x, make())
    back = x.numpy()
    del x
    np.testing.assert_array_equal(back, make())
    assert back.dtype == make().dtype and not back.flags.writeable


def test_numpy_arrays_do_not_change_with_the_tensor():
    x = gradus.arange(8.0)
    shown = x.numpy()
    x.zero_()
    x[2] = 5.0
    x.add_(1)
    np.testing.assert_array_equal(shown, np.arange(8.0))
    a = np.ones(8)
    x = gradus.from_numpy(a)
    a[0] = 2
    assert x[0] == 2
    x.zero_()
    np.testing.assert_array_equal(a, [2, 1, 1, 1, 1, 1, 1, 1])


def test_shared_memory_of_arrays():
    a = np.arange(6.0).reshape(2, 3)
    x = gradus.from_numpy(a)
    a[0, 0] = 100
    assert x[0, 0].item() == 100
    check(gradus.from_numpy(a[:, ::2]), a[:, ::2])
    np.testing.assert_array_equal(np.asarray(x), a)


MOVES = [
    ("reshape", lambda x: x.reshape(4, -1), lambda a: a.reshape(4, -1)), ("permute", lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    ("flatten", lambda x: x.flatten(1), lambda a: a.reshape(2, 12)), ("unsqueeze", lambda x: x.unsqueeze(1), lambda a: a[:, None]),
    ("expand", lambda x: x[:, :1].expand(2, 5, 4), lambda a: np.broadcast_to(a[:, :1], (2, 5, 4))), ("flip", lambda x: x.flip(0, 2), lambda a: a[::-1, :, ::-1]),
    ("roll", lambda x: x.roll(2, 1), lambda a: np.roll(a, 2, 1)), ("repeat", lambda x: x.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    ("tile", lambda x: x.tile((2,)), lambda a: np.tile(a, (2,))), ("movedim", lambda x: x.movedim(0, -1), lambda a: np.moveaxis(a, 0, -1)),
    ("repeat_interleave", lambda x: x.repeat_interleave(2, 1), lambda a: a.repeat(2, 1)), ("diagonal", lambda x: x.diagonal(0, 1, 2), lambda a: a.diagonal(0, 1, 2)),
    ("cat", lambda x: gradus.cat([x, x[:, :1]], 1), lambda a: np.concatenate([a, a[:, :1]], 1)), ("stack", lambda x: gradus.stack([x, x], 2), lambda a: np.stack([a, a], 2)),
    ("squeeze", lambda x: x[:, :1].squeeze(), lambda a: a[:, :1].squeeze()), ("swapaxes", lambda x: x.swapaxes(0, 2), lambda a: a.swapaxes(0, 2)),
]


@pytest.mark.parametrize("name, ours, theirs", MOVES, ids=[row[0] for row in MOVES])
def test_movement(name, ours, theirs):
    a = draw("any", (2, 3, 4))
    for layout, x in layouts(a):
        check(ours(x), theirs(a), what=f"{name} {layout}")
