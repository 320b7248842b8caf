"""Writes pytorch.json: golden values and gradients computed by PyTorch.

Run by hand, with torch installed, from the repository root:

    python tests/golden/make.py

It writes tests/golden/pytorch.json next to this file (with the torch version in
it), deterministically, in float64.  While it runs, every gradient of a case that
is not marked as a special point is also compared with differences of sixth order,
so that a case on an accidental kink, or a gradient in less than double precision,
stops the script.
README.md describes the format.
"""

import itertools
import json
import math
import os
import zlib

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

INF = math.inf
DTYPES = {
    torch.float64: "f64",
    torch.complex128: "c128",
    torch.int64: "i64",
    torch.bool: "bool",
}
# Marks that appear in "args" but are not arguments of the operation.
#   special: values at 0, -0, inf, nan, ...; outputs only
#   ties, kink: a gradient at a point where the function has no unique one
#   empty: a dimension of size zero
MARKS = ("special", "ties", "kink", "empty")

cases = []
counts = {}
worst = {}  # of each name, the worst disagreement with the differences
gen = torch.Generator()
gen.manual_seed(0)


# ---- inputs ------------------------------------------------------------------


def u(lo, hi, *shape):
    """Uniform in (lo, hi), three decimals, never near zero."""
    x = torch.rand(shape, generator=gen) * (hi - lo) + lo
    x = torch.round(x * 1000) / 1000
    return torch.where(x.abs() < 0.06, x + (0.1 if hi > 0.2 else -0.1), x)


def r(*shape):
    return u(-2.0, 2.0, *shape)


def p(*shape):
    return u(0.3, 2.5, *shape)


def distinct(*shape):
    """Values at least 0.25 apart: no ties, so max, sort and pools are smooth."""
    n = math.prod(shape)
    x = (torch.randperm(n, generator=gen) - n // 2) * 0.25 + 0.115
    return (torch.round(x * 1000) / 1000).reshape(shape)


def offgrid(*shape):
    """Away from integers and halves."""
    x = torch.randint(-3, 4, shape, generator=gen) + u(0.1, 0.4, *shape)
    return torch.round(x * 1000) / 1000


def c(*shape):
    return torch.complex(r(*shape), r(*shape))


def i(lo, hi, *shape):
    return torch.randint(lo, hi, shape, generator=gen)


def b(*shape):
    return torch.rand(shape, generator=gen) < 0.5


def perm_ids(n, k):
    return torch.randperm(n, generator=gen)[:k]


def t(data, dtype=torch.float64):
    return torch.tensor(data, dtype=dtype)


def t_int(data):
    return torch.tensor(data, dtype=torch.int64)


def t_bool(data):
    return torch.tensor(data, dtype=torch.bool)


# ---- recording ---------------------------------------------------------------


def number(v):
    if isinstance(v, bool):
        return int(v)
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf")
    return v


def encode(x):
    if x is None:
        return None
    x = x.detach().resolve_conj().resolve_neg().contiguous()
    flat = torch.view_as_real(x).flatten() if x.is_complex() else x.flatten()
    return {
        "shape": list(x.shape),
        "dtype": DTYPES[x.dtype],
        "data": [number(v) for v in flat.tolist()],
    }


def encode_arg(v):
    if isinstance(v, (list, tuple)):
        return [encode_arg(e) for e in v]
    if isinstance(v, bool) or v is None:
        return v
    return number(v)


def smooth(x):
    return x.is_floating_point() or x.is_complex()


def cotangent(x):
    def draw():
        v = torch.round(torch.randn(x.shape, generator=gen) * 1000) / 1000
        return torch.where((v.abs() < 0.05) | (v == 1), v + 0.3, v)

    return torch.complex(draw(), draw()) if x.is_complex() else draw()


def differences(loss, inputs, k):
    """The gradient of loss by input k, each real and imaginary part in turn."""
    h = 1e-3
    result = torch.zeros_like(inputs[k])
    for n, unit in itertools.product(range(result.numel()), (1, 1j) if result.is_complex() else (1,)):
        total = 0.0
        for steps, weight in [(1, 45), (2, -9), (3, 1)]:
            for side in (1, -1):
                xs = [x.clone() for x in inputs]
                xs[k].view(-1)[n] += side * steps * h * unit
                total += side * weight * loss(xs).item()
        result.view(-1)[n] += unit * total / (60 * h)
    return result


def add(name, fn, inputs, /, _nograd=(), _buffers=(), _grad=True, _check=True, **args):
    """Records fn(*inputs, **args).

    _nograd: positions of float inputs that get no gradient (null in the file);
    _buffers: positions of float outputs outside the gradient (null cotangent);
    _grad=False: outputs only; _check=False: a gradient that is none, by definition.
    """
    marks = [m for m in MARKS if args.get(m)]
    call_args = {k: v for k, v in args.items() if k not in MARKS}
    if "special" in marks:
        _grad = False

    def call(*xs):
        out = fn(*xs, **call_args)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    leaves = [x.detach().clone() for x in inputs]
    wanted = []
    if _grad:
        wanted = [k for k, x in enumerate(leaves) if smooth(x) and k not in _nograd]
        for k in wanted:
            leaves[k].requires_grad_()
    outputs = call(*leaves)
    live = [k for k, y in enumerate(outputs) if smooth(y) and k not in _buffers]
    cots = [None] * len(outputs)
    grads = [None] * len(inputs)
    if wanted and live:
        for k in live:
            cots[k] = cotangent(outputs[k])
        found = torch.autograd.grad(
            [outputs[k] for k in live],
            [leaves[k] for k in wanted],
            [cots[k] for k in live],
        )
        for k, g in zip(wanted, found):
            g = g.resolve_conj().contiguous()
            assert g.shape == inputs[k].shape and g.dtype == inputs[k].dtype, name
            grads[k] = g
        if not marks:
            loss = lambda xs: sum((cots[k].conj() * y).real.sum() for k, y in enumerate(call(*xs)) if k in live)
            for k in wanted if _check else []:
                error = (differences(loss, inputs, k) - grads[k]).abs().max() if grads[k].numel() else t(0.0)
                worst[name] = max(worst.get(name, 0.0), (error / max(1.0, grads[k].abs().max())).item())
                assert worst[name] < 1e-9, (name, args, k, worst[name])
            for x in [*outputs, *found]:
                assert torch.isfinite(x).all(), (name, args)
    cases.append(
        {
            "name": name,
            "args": {k: encode_arg(v) for k, v in args.items()},
            "inputs": [encode(x) for x in inputs],
            "outputs": [encode(y) for y in outputs],
            "cotangents": [encode(y) for y in cots],
            "grads": [encode(g) for g in grads],
        }
    )
    # Each case draws from its own seed, so that a new case disturbs only its neighbour.
    counts[name] = counts.get(name, 0) + 1
    gen.manual_seed(zlib.crc32(f"{name} {counts[name]}".encode()))


# ---- pointwise, one input ----------------------------------------------------

SPECIAL = t([0.0, -0.0, INF, -INF, math.nan, 1.0, -1.0, 1e-300, 1e300, 0.5])


def cbrt(x):
    return x.sign() * x.abs() ** (1 / 3)


def exact_cbrt(x):
    return t([math.cbrt(v) for v in x.tolist()])


class Digamma(torch.autograd.Function):
    """torch.digamma, whose own gradient is good to nine digits only; here it is zeta(2, x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.digamma(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        trigamma = torch.special.zeta(2.0, torch.where(x < 0, 1 - x, x))
        return g * torch.where(x < 0, (math.pi / torch.sin(math.pi * x)) ** 2 - trigamma, trigamma)


def unary():
    table = [
        ("exp", torch.exp, (-2, 2)),
        ("log", torch.log, (0.2, 4)),
        ("expm1", torch.expm1, (-2, 2)),
        ("log1p", torch.log1p, (-0.8, 3)),
        ("exp2", torch.exp2, (-2, 2)),
        ("log2", torch.log2, (0.2, 4)),
        ("log10", torch.log10, (0.2, 4)),
        ("sin", torch.sin, (-4, 4)),
        ("cos", torch.cos, (-4, 4)),
        ("tan", torch.tan, (-1.3, 1.3)),
        ("asin", torch.asin, (-0.9, 0.9)),
        ("acos", torch.acos, (-0.9, 0.9)),
        ("atan", torch.atan, (-3, 3)),
        ("sinh", torch.sinh, (-2, 2)),
        ("cosh", torch.cosh, (-2, 2)),
        ("tanh", torch.tanh, (-2, 2)),
        ("asinh", torch.asinh, (-3, 3)),
        ("acosh", torch.acosh, (1.2, 4)),
        ("atanh", torch.atanh, (-0.9, 0.9)),
        ("erf", torch.erf, (-2, 2)),
        ("erfc", torch.erfc, (-2, 2)),
        ("erfinv", torch.erfinv, (-0.9, 0.9)),
        ("lgamma", torch.lgamma, (0.3, 5)),
        ("digamma", Digamma.apply, (0.3, 5)),
        ("sqrt", torch.sqrt, (0.2, 4)),
        ("rsqrt", torch.rsqrt, (0.2, 4)),
        ("abs", torch.abs, (-2, 2)),
        ("sign", torch.sign, (-2, 2)),
        ("neg", torch.neg, (-2, 2)),
        ("reciprocal", torch.reciprocal, (0.2, 3)),
        ("square", torch.square, (-2, 2)),
        ("sigmoid", torch.sigmoid, (-4, 4)),
        ("rad2deg", torch.rad2deg, (-4, 4)),
        ("deg2rad", torch.deg2rad, (-180, 180)),
        ("sinc", torch.sinc, (-2, 2)),
        ("isnan", torch.isnan, (-2, 2)),
        ("isinf", torch.isinf, (-2, 2)),
        ("isfinite", torch.isfinite, (-2, 2)),
    ]
    for name, fn, (lo, hi) in table:
        add(name, fn, [u(lo, hi, 2, 3)])
        add(name, fn, [SPECIAL], special=True)
    for name in ["floor", "ceil", "round", "trunc", "frac"]:
        fn = getattr(torch, name)
        add(name, fn, [offgrid(2, 3)])
        add(name, fn, [SPECIAL], special=True)
    add("cbrt", cbrt, [r(2, 3)])
    add("cbrt", exact_cbrt, [SPECIAL], special=True)
    add("lgamma", torch.lgamma, [t([-0.3, -1.6, -2.45])])
    add("digamma", Digamma.apply, [t([-0.3, -1.6, -2.45])])
    add("round", torch.round, [t([0.5, 1.5, 2.5, -0.5, -1.5, -2.5])], kink=True)
    add("erfc", torch.erfc, [t([5.0, 10.0, 20.0, -6.0])], special=True)
    add("expm1", torch.expm1, [t([1e-10, -1e-10, 1e-5])], special=True)
    add("log1p", torch.log1p, [t([1e-10, -1e-10, 1e-5])], special=True)
    add("abs", torch.abs, [t([0.0, -1.0, 2.0])], kink=True)
    add("sign", torch.sign, [t([0.0, -1.0, 2.0])], kink=True)
    add("sqrt", torch.sqrt, [t([0.0, 4.0])], kink=True)
    add("sinc", torch.sinc, [t([0.0, 0.5, 1.0])], kink=True)
    for name in ["neg", "abs", "sign", "square"]:
        add(name, getattr(torch, name), [t_int([[-3, 0, 2], [7, -1, 5]])])
    add("logical_not", torch.logical_not, [b(2, 3)])
    add("logical_not", torch.logical_not, [SPECIAL], special=True)
    add("bitwise_not", torch.bitwise_not, [t_int([[0, 1, -1], [255, -256, 2**40]])])
    add("bitwise_not", torch.bitwise_not, [t_bool([True, False])])
    add("logit", torch.logit, [u(0.1, 0.9, 2, 3)], eps=None)
    add("logit", torch.logit, [t([0.02, 0.3, 0.5, 0.97])], eps=0.1)
    add("logit", torch.logit, [t([0.0, 1.0, 0.5, 1.5])], eps=None, special=True)
    nan_in = t([math.nan, INF, -INF, 1.5, -2.0])
    add("nan_to_num", torch.nan_to_num, [nan_in], nan=0.25, posinf=9.0, neginf=-8.0, kink=True)
    add("nan_to_num", torch.nan_to_num, [nan_in], nan=0.0, posinf=None, neginf=None, special=True)


# ---- pointwise, several inputs -----------------------------------------------

BROADCAST = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), ())]
EDGE = t([0.0, -0.0, INF, -INF, math.nan, 2.0, -1.5])


def grid(v):
    return [v.reshape(-1, 1), v.reshape(1, -1)]


def pair(shape_a, shape_b):
    """Two inputs whose broadcast elements are at least 0.1 apart."""
    while True:
        x, y = r(*shape_a), r(*shape_b)
        if (x - y).abs().min() > 0.1 and y.abs().min() > 0.2:
            return [x, y]


def modulo_pair(shape_a, shape_b):
    while True:
        x, y = u(-5, 5, *shape_a), r(*shape_b)
        q = x / y
        if y.abs().min() > 0.8 and (q - q.round()).abs().min() > 0.05:
            return [x, y]


def binary():
    plain = ["add", "sub", "mul", "div", "maximum", "minimum", "atan2", "hypot", "logaddexp", "copysign"]
    for name in plain:
        fn = getattr(torch, name)
        for sa, sb in BROADCAST:
            add(name, fn, pair(sa, sb))
    for sa, sb in BROADCAST:
        add("pow", torch.pow, [p(*sa), r(*sb)])
    add("pow", torch.pow, [t([[-2.0, -0.5], [1.5, -3.0]]), t([[2.0, 3.0], [-2.0, 0.0]])], _nograd=(1,))
    add("pow", torch.pow, [t([0.0, 0.0, 0.0, 2.0]), t([2.0, 1.0, 0.0, 0.0])], kink=True)
    add("pow", torch.pow, [t_int([[2, -3], [0, 5]]), t_int([[10, 3], [0, 1]])])
    for name in ["fmod", "remainder"]:
        fn = getattr(torch, name)
        for sa, sb in BROADCAST:
            add(name, fn, modulo_pair(sa, sb))
        add(name, fn, [t_int([[7, -7, 7, -7, 6]]), t_int([[3, 3, -3, -3, 2]])])
    for name in [
        "div", "pow", "maximum", "minimum", "atan2", "hypot", "fmod", "remainder", "logaddexp",
        "copysign", "eq", "ne", "lt", "le", "gt", "ge", "xlogy",
    ]:
        add(name, getattr(torch, name), grid(EDGE), special=True)
    tie_a, tie_b = t([[1.0, 2.0, -1.0], [0.0, 3.0, 5.0]]), t([[1.0, -2.0, -1.0], [0.0, 3.5, 5.0]])
    add("maximum", torch.maximum, [tie_a, tie_b], ties=True)
    add("minimum", torch.minimum, [tie_a, tie_b], ties=True)
    add("hypot", torch.hypot, [t([3.0, 1e200]), t([4.0, 1e200])], special=True)
    ints = [t_int([[7, -7, 0], [3, -9, 12]]), t_int([[2, -3, 5]])]
    for name in ["add", "sub", "mul", "maximum", "minimum"]:
        add(name, getattr(torch, name), ints)
    div_in = [t_int([[7, -7, 7, -7], [6, -6, 0, 1]]), t_int([[2, 2, -2, -2], [3, 3, -4, 5]])]
    add("floor_divide", torch.floor_divide, div_in)
    add("floor_divide", torch.floor_divide, [t_int([[9], [-9]]), t_int([4, -4, 5])])
    add("floor_divide", torch.floor_divide, modulo_pair((2, 3), (3,)), _grad=False)
    trunc = lambda x, y: torch.div(x, y, rounding_mode="trunc")
    add("div_trunc", trunc, div_in)
    add("div_trunc", trunc, [t_int([[9], [-9]]), t_int([4, -4, 5])])

    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        fn = getattr(torch, name)
        add(name, fn, [t([[1.0, 2.0, 3.0], [0.5, 2.0, -1.0]]), t([1.0, 2.5, -1.0])])
        add(name, fn, [t_int([[1], [2]]), t_int([[1, 2, 3]])])
    for name in ["logical_and", "logical_or", "logical_xor"]:
        fn = getattr(torch, name)
        add(name, fn, [t_bool([[True], [False]]), t_bool([[True, False]])])
        add(name, fn, [b(2, 3), b(3)])
    bits = [t_int([[12, -7, 255], [0, 2**40 + 5, -1]]), t_int([[10, 3, -256]])]
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        fn = getattr(torch, name)
        add(name, fn, bits)
        add(name, fn, [t_bool([[True], [False]]), t_bool([[True, False]])])
    shift = [t_int([[12, -7, 255], [1, 2**40 + 5, -1]]), t_int([[1, 3, 0]])]
    add("bitwise_shl", torch.bitwise_left_shift, shift)
    add("bitwise_shr", torch.bitwise_right_shift, shift)

    add("where", torch.where, [b(2, 3), r(2, 3), r(2, 3)])
    add("where", torch.where, [t_bool([[True], [False]]), r(3), r(2, 1)])
    add("where", torch.where, [b(2, 3), r(2, 3), r()])
    add("where", torch.where, [b(2, 3), i(-5, 5, 2, 3), i(-5, 5, 2, 3)])
    add("lerp", torch.lerp, [r(2, 3), r(3), u(0.1, 0.9, 2, 3)])
    add("lerp", torch.lerp, [r(2, 3), r(2, 1), u(0.1, 0.9)])
    clamp_in = t([[-1.7, -0.4, 0.3], [0.9, 1.6, -0.8]])
    for lo, hi in [(-0.5, 1.0), (None, 0.5), (0.1, None)]:
        add("clamp", torch.clamp, [clamp_in], min=lo, max=hi)
    add("clamp", torch.clamp, [t([-0.5, 1.0, 0.0, 2.0])], min=-0.5, max=1.0, kink=True)
    add("clamp", torch.clamp, [SPECIAL], min=-0.5, max=0.75, special=True)
    add("clamp", torch.clamp, [t_int([-9, 2, 14])], min=-3, max=5)
    add("xlogy", torch.xlogy, [r(2, 3), p(3)])
    add("xlogy", torch.xlogy, [t([0.0, 0.0, 2.0]), t([0.5, 2.0, 3.0])])
    heavy = [t([[-1.0, 0.0, 2.0], [0.0, -0.5, 0.0]]), t([0.5, 0.25, -1.0])]
    add("heaviside", torch.heaviside, heavy, _grad=False)


# ---- complex -----------------------------------------------------------------


def complex_():
    for name in [
        "neg", "reciprocal", "square", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "abs", "angle", "conj", "real", "imag",
    ]:
        fn = getattr(torch, name)
        if name == "conj":
            fn = torch.conj_physical
        add(name, fn, [c(2, 3)])
    for name in ["exp", "log", "sqrt", "sin"]:
        add(name, getattr(torch, name), [torch.complex(t([-1.0, -2.0, 0.0, 3.0]), t([0.0, -0.0, 1.0, 0.0]))], special=True)
    add("abs", torch.abs, [torch.complex(t([0.0, 3.0, 0.0]), t([0.0, -4.0, 2.0]))], kink=True)
    for name in ["add", "sub", "mul", "div", "pow"]:
        add(name, getattr(torch, name), [c(2, 3), c(3)])
    add("mul", torch.mul, [c(2, 3), r(2, 3)])
    add("complex", torch.complex, [r(2, 3), r(2, 3)])
    add("polar", torch.polar, [p(2, 3), r(2, 3)])
    add("matmul", torch.matmul, [c(2, 3), c(3, 2)])
    add("matmul", torch.matmul, [c(2, 2, 3), c(3, 2)])
    add("einsum", lambda x, y, equation: torch.einsum(equation, x, y), [c(2, 3), c(3, 2)], equation="ij,jk->ki")
    add("sum", torch_sum, [c(2, 3)], dims=[1], keepdim=False)
    add("sum", torch_sum, [c(2, 3)], dims=None, keepdim=False)
    add("mean", torch_mean, [c(2, 3)], dims=[0], keepdim=True)
    add("prod", torch_prod, [c(2, 3)], dims=[1], keepdim=False)
    add("cumsum", torch.cumsum, [c(2, 3)], dim=1)


# ---- reductions --------------------------------------------------------------


def all_dims(x, dims):
    return list(range(x.dim())) if dims is None else dims


def torch_sum(x, dims, keepdim):
    return torch.sum(x, dim=all_dims(x, dims), keepdim=keepdim)


def torch_mean(x, dims, keepdim):
    return torch.mean(x, dim=all_dims(x, dims), keepdim=keepdim)


def torch_prod(x, dims, keepdim):
    for d in all_dims(x, dims):
        x = torch.prod(x, dim=d, keepdim=True)
    if not keepdim:
        x = x.squeeze(all_dims(x, dims))
    return x


def over(fn):
    """The operation with dims: a list, or null for all of them."""
    return lambda x, dims, keepdim, **kw: fn(x, dim=all_dims(x, dims), keepdim=keepdim, **kw)


def arg_reduce(fn):
    return lambda x, dim, keepdim: fn(x, dim=dim, keepdim=keepdim)


def norm(x, p, dims, keepdim):
    return torch.linalg.vector_norm(x, p, dim=all_dims(x, dims), keepdim=keepdim)


NAN_ROWS = [[1.0, math.nan, 2.0], [INF, 1.0, -INF], [-INF, -INF, -INF], [INF, INF, 0.0]]


def reductions():
    dims = [(None, False), ([1], False), ([0, 2], False), ([-1], True), ([1, 2], True)]
    nan_rows = t(NAN_ROWS)
    for name, fn in [
        ("sum", torch_sum),
        ("mean", torch_mean),
        ("amax", over(torch.amax)),
        ("amin", over(torch.amin)),
        ("logsumexp", over(torch.logsumexp)),
    ]:
        for d, keep in dims:
            add(name, fn, [distinct(2, 3, 2)], dims=d, keepdim=keep)
        add(name, fn, [nan_rows], dims=[1], keepdim=False, special=True)
    add("sum", torch_sum, [torch.zeros(2, 0)], dims=[1], keepdim=False, empty=True)
    add("sum", torch_sum, [torch.zeros(2, 0)], dims=[0], keepdim=False, empty=True)
    add("sum", torch_sum, [i(-9, 9, 2, 3)], dims=[1], keepdim=False)
    add("logsumexp", over(torch.logsumexp), [t([[1000.0, 1001.0], [-1000.0, -1001.0]])], dims=[1], keepdim=False)
    for d, keep in [([1], False), ([0], True), (None, False), ([0, 2], False)]:
        add("prod", torch_prod, [r(2, 3, 2)], dims=d, keepdim=keep)
    zeros = t([[1.5, 0.0, -2.0], [0.0, 3.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    add("prod", torch_prod, [zeros], dims=[1], keepdim=False)
    add("prod", lambda x, dims, keepdim: torch.prod(x), [t([[2.0, 0.0], [3.0, -1.0]])], dims=None, keepdim=False)
    add("prod", torch_prod, [torch.zeros(2, 0)], dims=[1], keepdim=False, empty=True)
    add("prod", torch_prod, [i(1, 6, 2, 3)], dims=[1], keepdim=False)
    for name in ["var", "std"]:
        fn = over(getattr(torch, name))
        for d, keep in [(None, False), ([1], False), ([0, 2], True)]:
            for correction in [1, 0]:
                add(name, fn, [r(2, 3, 2)], dims=d, keepdim=keep, correction=correction)
    tie = t([[2.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    for name in ["amax", "amin"]:
        fn = over(getattr(torch, name))
        add(name, fn, [tie], dims=[1], keepdim=False, ties=True)
        add(name, fn, [tie], dims=None, keepdim=False, ties=True)
        add(name, fn, [i(-9, 9, 2, 3)], dims=[1], keepdim=False)
    for ord_ in [1.0, 2.0, 3.0, INF]:
        add("norm", norm, [distinct(2, 3)], p=ord_, dims=[1], keepdim=False)
        add("norm", norm, [distinct(2, 3)], p=ord_, dims=None, keepdim=False)
    add("norm", norm, [r(2, 3, 2)], p=2.0, dims=[0, 2], keepdim=True)
    add("norm", norm, [t([[0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])], p=2.0, dims=[1], keepdim=False, kink=True)
    add("norm", norm, [t([[0.0, 0.0, 0.0], [3.0, 0.0, -4.0]])], p=1.0, dims=[1], keepdim=False, kink=True)
    add("norm", norm, [t([[2.0, -2.0, 1.0], [0.0, 1.0, -5.0]])], p=INF, dims=[1], keepdim=False, ties=True)
    for name in ["argmax", "argmin"]:
        fn = arg_reduce(getattr(torch, name))
        add(name, fn, [distinct(2, 3)], dim=None, keepdim=False)
        add(name, fn, [distinct(2, 3, 2)], dim=1, keepdim=False)
        add(name, fn, [distinct(2, 3)], dim=-1, keepdim=True)
        add(name, fn, [tie], dim=1, keepdim=False, ties=True)
        add(name, fn, [nan_rows[:1]], dim=1, keepdim=False, special=True)
        add(name, fn, [t_int([[3, 9, -2], [5, 0, 1]])], dim=0, keepdim=False)
    flags = t_bool([[[True, False], [True, True]], [[False, False], [True, True]]])
    for name in ["any", "all"]:
        fn = over(getattr(torch, name))
        add(name, fn, [flags], dims=None, keepdim=False)
        add(name, fn, [flags], dims=[2], keepdim=False)
        add(name, fn, [flags], dims=[0, 1], keepdim=True)
        add(name, fn, [torch.zeros(2, 0, dtype=torch.bool)], dims=[1], keepdim=False, empty=True)

    for name in ["cumsum", "cumprod", "logcumsumexp"]:
        fn = getattr(torch, name)
        add(name, fn, [r(2, 3)], dim=1)
        add(name, fn, [r(2, 3, 2)], dim=-2)
    add("cumsum", torch.cumsum, [i(-9, 9, 2, 3)], dim=0)
    add("cumprod", torch.cumprod, [t([[2.0, 0.0, 3.0, 4.0], [0.0, 1.5, 0.0, -2.0], [1.0, 2.0, 3.0, 0.0]])], dim=1)
    add("logcumsumexp", torch.logcumsumexp, [t([[-INF, 1.0, 2.0], [1000.0, 1001.0, -5.0]])], dim=1, special=True)
    for name in ["cummax", "cummin"]:
        full = getattr(torch, name)
        fn = lambda x, dim, full=full: full(x, dim=dim).values
        add(name, fn, [distinct(2, 4)], dim=1)
        add(name, fn, [distinct(3, 2)], dim=0)
        add(name, fn, [t([[1.0, 2.0, 2.0, 1.0, 0.5, 0.5]])], dim=1, ties=True)
        add(name, fn, [t([[1.0, math.nan, 2.0, INF]])], dim=1, special=True)
    for name in ["softmax", "log_softmax"]:
        fn = getattr(torch, name)
        add(name, fn, [r(2, 3)], dim=1)
        add(name, fn, [r(2, 3, 2)], dim=0)
        add(name, fn, [r(2, 3, 2)], dim=-2)
        add(name, fn, [t([[1000.0, 1001.0, 999.0], [-1000.0, -1000.5, -999.0]])], dim=1)
        add(name, fn, [t([[0.5, -INF, 1.0], [-INF, -INF, -INF], [INF, 0.0, 1.0]])], dim=1, special=True)


# ---- contraction -------------------------------------------------------------


def einsum(*xs, equation):
    return torch.einsum(equation, *xs)


def contraction():
    for sa, sb in [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((2, 2, 3), (3,)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 2, 3), (2, 3, 2)),
        ((2, 1, 2, 3), (2, 3, 2)),
    ]:
        add("matmul", torch.matmul, [r(*sa), r(*sb)])
    add("matmul", torch.matmul, [torch.zeros(2, 0), torch.zeros(0, 3)], empty=True)
    add("matmul", torch.matmul, [i(-5, 5, 2, 3), i(-5, 5, 3, 2)])
    add("bmm", torch.bmm, [r(2, 2, 3), r(2, 3, 2)])
    add("dot", torch.dot, [r(4), r(4)])
    add("outer", torch.outer, [r(3), r(4)])
    add("kron", torch.kron, [r(2, 2), r(2, 3)])
    for equation, shapes in [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 2)]),
        ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
        ("ii->i", [(3, 3)]),
        ("ii->", [(3, 3)]),
        ("ij->", [(2, 3)]),
        ("ij->ji", [(2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij,ij->i", [(2, 3), (2, 3)]),
        ("ij,kj->ik", [(2, 3), (2, 3)]),
        ("abc,cd,de->abe", [(2, 2, 3), (3, 2), (2, 3)]),
        ("bhid,bhjd->bhij", [(1, 2, 2, 3), (1, 2, 3, 3)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]),
    ]:
        add("einsum", einsum, [r(*s) for s in shapes], equation=equation)
    add("tensordot", torch.tensordot, [r(2, 3, 4), r(4, 3, 2)], dims=[[1, 2], [1, 0]])
    add("tensordot", torch.tensordot, [r(2, 3), r(3, 2)], dims=[[0], [1]])
    linear = lambda x, w, bias_=None, bias=False: F.linear(x, w, bias_)
    add("linear", linear, [r(2, 3), r(4, 3), r(4)], bias=True)
    add("linear", linear, [r(2, 2, 3), r(2, 3)], bias=False)
    add("linear", linear, [r(3), r(2, 3), r(2)], bias=True)
    bilinear = lambda x, y, w, bias_=None, bias=False: F.bilinear(x, y, w, bias_)
    add("bilinear", bilinear, [r(2, 3), r(2, 2), r(2, 3, 2), r(2)], bias=True)
    add("bilinear", bilinear, [r(2, 3), r(2, 2), r(2, 3, 2)], bias=False)
    add("addmm", torch.addmm, [r(2, 2), r(2, 3), r(3, 2)], beta=1.0, alpha=1.0)
    add("addmm", torch.addmm, [r(2), r(2, 3), r(3, 2)], beta=0.5, alpha=-1.5)


# ---- convolution, pooling, resampling ----------------------------------------


def conv_of(fn):
    return lambda x, w, bias_=None, bias=False, **kw: fn(x, w, bias_, **kw)


def conv(n, x, w, stride, padding, dilation, groups, bias):
    fn = getattr(F, f"conv{n}d")
    extra = [r(w[0])] if bias else []
    add(
        f"conv{n}d", conv_of(fn), [r(*x), r(*w), *extra],
        stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias,
    )


def conv_transpose(n, x, w, stride, padding, output_padding, dilation, groups, bias):
    fn = getattr(F, f"conv_transpose{n}d")
    extra = [r(w[1] * groups)] if bias else []
    add(
        f"conv_transpose{n}d", conv_of(fn), [r(*x), r(*w), *extra],
        stride=stride, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups, bias=bias,
    )


def convolution():
    conv(1, (2, 2, 5), (3, 2, 3), [1], [0], [1], 1, True)
    conv(1, (1, 2, 6), (2, 2, 3), [2], [1], [1], 1, False)
    conv(1, (1, 2, 7), (2, 2, 2), [1], [2], [3], 1, True)
    conv(1, (1, 4, 5), (4, 2, 2), [1], [0], [1], 2, True)
    conv(1, (1, 3, 5), (3, 1, 3), [1], [1], [1], 3, False)
    conv(2, (1, 2, 4, 4), (2, 2, 3, 3), [1, 1], [0, 0], [1, 1], 1, True)
    conv(2, (1, 2, 5, 4), (2, 2, 3, 2), [2, 1], [1, 0], [1, 1], 1, False)
    conv(2, (1, 1, 5, 5), (1, 1, 2, 2), [1, 2], [1, 2], [2, 1], 1, True)
    conv(2, (1, 4, 3, 3), (2, 2, 2, 2), [1, 1], [0, 0], [1, 1], 2, True)
    conv(2, (1, 2, 4, 4), (4, 1, 3, 3), [2, 2], [1, 1], [1, 1], 2, False)
    conv(3, (1, 2, 3, 3, 3), (2, 2, 2, 2, 2), [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, True)
    conv(3, (1, 2, 3, 2, 4), (2, 1, 2, 1, 2), [2, 1, 1], [1, 0, 1], [1, 1, 2], 2, False)
    conv_transpose(1, (1, 2, 4), (2, 3, 3), [1], [0], [0], [1], 1, True)
    conv_transpose(1, (1, 2, 4), (2, 2, 3), [2], [1], [1], [1], 1, False)
    conv_transpose(1, (1, 4, 3), (4, 1, 2), [3], [0], [2], [2], 2, True)
    conv_transpose(2, (1, 2, 3, 3), (2, 2, 2, 2), [1, 1], [0, 0], [0, 0], [1, 1], 1, True)
    conv_transpose(2, (1, 2, 2, 3), (2, 1, 3, 2), [2, 3], [1, 0], [1, 2], [1, 2], 1, False)
    conv_transpose(2, (1, 2, 2, 2), (2, 2, 2, 2), [2, 2], [0, 1], [0, 0], [1, 1], 2, True)
    conv_transpose(3, (1, 2, 2, 2, 2), (2, 1, 2, 2, 2), [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], 1, True)
    conv_transpose(3, (1, 2, 2, 1, 2), (2, 1, 2, 1, 2), [2, 1, 2], [1, 0, 0], [1, 0, 1], [1, 1, 1], 2, False)

    add("unfold", F.unfold, [r(1, 2, 3, 4)], kernel_size=[2, 2], stride=[1, 1], padding=[0, 0], dilation=[1, 1])
    add("unfold", F.unfold, [r(1, 1, 4, 5)], kernel_size=[2, 3], stride=[2, 1], padding=[1, 0], dilation=[2, 1])
    add("fold", F.fold, [r(1, 8, 6)], output_size=[3, 4], kernel_size=[2, 2], stride=[1, 1], padding=[0, 0], dilation=[1, 1])
    add("fold", F.fold, [r(1, 4, 6)], output_size=[3, 4], kernel_size=[2, 2], stride=[2, 2], padding=[1, 1], dilation=[1, 1])

    def max_pool(n, x, kernel_size, stride, padding, dilation, **marks):
        data = x if isinstance(x, torch.Tensor) else distinct(*x)
        add(
            f"max_pool{n}d", getattr(F, f"max_pool{n}d"), [data],
            kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=False, **marks,
        )

    max_pool(1, (1, 2, 6), [2], [2], [0], [1])
    max_pool(1, (1, 2, 7), [3], [2], [1], [2])
    max_pool(1, t([[[1.0, 1.0, 0.0, 2.0, 2.0, 2.0]]]), [3], [3], [0], [1], ties=True)
    max_pool(2, (1, 2, 4, 4), [2, 2], [2, 2], [0, 0], [1, 1])
    max_pool(2, (1, 1, 5, 5), [3, 2], [1, 2], [1, 0], [1, 2])
    max_pool(2, torch.zeros(1, 1, 3, 3), [2, 2], [1, 1], [0, 0], [1, 1], ties=True)
    max_pool(3, (1, 1, 3, 4, 3), [2, 2, 2], [1, 2, 1], [0, 0, 1], [1, 1, 1])
    max_pool(3, (1, 1, 2, 4, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1])

    def avg_pool(n, x, kernel_size, stride, padding, count_include_pad):
        add(
            f"avg_pool{n}d", getattr(F, f"avg_pool{n}d"), [r(*x)],
            kernel_size=kernel_size, stride=stride, padding=padding,
            ceil_mode=False, count_include_pad=count_include_pad,
        )

    avg_pool(1, (1, 2, 6), [2], [2], [0], True)
    avg_pool(1, (1, 2, 5), [3], [1], [1], True)
    avg_pool(1, (1, 2, 5), [3], [2], [1], False)
    avg_pool(2, (1, 2, 4, 4), [2, 2], [2, 2], [0, 0], True)
    avg_pool(2, (1, 1, 4, 5), [3, 2], [2, 1], [1, 1], True)
    avg_pool(2, (1, 1, 4, 5), [3, 2], [2, 1], [1, 1], False)
    avg_pool(3, (1, 1, 2, 4, 4), [2, 2, 2], [1, 2, 2], [0, 0, 0], True)
    avg_pool(3, (1, 1, 3, 2, 3), [2, 2, 2], [2, 1, 1], [1, 0, 1], False)
    add("adaptive_avg_pool1d", F.adaptive_avg_pool1d, [r(1, 2, 5)], output_size=[3])
    add("adaptive_avg_pool1d", F.adaptive_avg_pool1d, [r(1, 2, 6)], output_size=[2])
    add("adaptive_avg_pool2d", F.adaptive_avg_pool2d, [r(1, 2, 4, 5)], output_size=[2, 3])
    add("adaptive_avg_pool2d", F.adaptive_avg_pool2d, [r(1, 2, 3, 3)], output_size=[1, 1])
    add("adaptive_max_pool2d", F.adaptive_max_pool2d, [distinct(1, 2, 4, 5)], output_size=[2, 3])
    add("adaptive_max_pool2d", F.adaptive_max_pool2d, [distinct(1, 2, 3, 3)], output_size=[1, 1])

    def interpolate(x, size, mode, align_corners):
        add("interpolate", F.interpolate, [r(*x)], size=size, mode=mode, align_corners=align_corners)

    interpolate((1, 2, 3), [6], "nearest", None)
    interpolate((1, 1, 2, 3), [4, 6], "nearest", None)
    interpolate((1, 1, 5, 4), [3, 2], "nearest", None)
    interpolate((1, 1, 2, 3), [5, 4], "nearest", None)
    for align in [False, True]:
        interpolate((1, 1, 2, 3), [4, 6], "bilinear", align)
        interpolate((1, 1, 5, 4), [3, 2], "bilinear", align)
        interpolate((1, 2, 2, 3), [3, 5], "bilinear", align)
    add("pixel_shuffle", F.pixel_shuffle, [r(1, 4, 2, 3)], upscale_factor=2)
    add("pixel_shuffle", F.pixel_shuffle, [r(1, 9, 1, 2)], upscale_factor=3)

    # pad: torch's order, last dimension first, (before, after) each
    add("pad", F.pad, [r(2, 3)], pad=[1, 2], mode="constant", value=0.0)
    add("pad", F.pad, [r(2, 3)], pad=[1, 0, 0, 2], mode="constant", value=1.5)
    add("pad", F.pad, [r(3, 4)], pad=[-1, 1, 1, -1], mode="constant", value=0.5)
    for mode in ["reflect", "replicate", "circular"]:
        add("pad", F.pad, [r(1, 2, 4)], pad=[2, 1], mode=mode, value=None)
        add("pad", F.pad, [r(1, 1, 3, 4)], pad=[1, 2, 2, 1], mode=mode, value=None)


# ---- movement ----------------------------------------------------------------


def slice_(x, start, stop, step):
    return x[tuple(slice(*s) for s in zip(start, stop, step))]


def movement():
    add("reshape", torch.reshape, [r(2, 3, 2)], shape=[3, 4])
    add("reshape", torch.reshape, [r(2, 3)], shape=[-1])
    add("permute", torch.permute, [r(2, 3, 4)], dims=[2, 0, 1])
    add("permute", torch.permute, [r(2, 3)], dims=[-1, 0])
    add("transpose", torch.transpose, [r(2, 3, 4)], dim0=0, dim1=2)
    add("transpose", torch.transpose, [r(2, 3, 2)], dim0=-1, dim1=-2)
    add("movedim", torch.movedim, [r(2, 3, 4)], source=[0], destination=[2])
    add("movedim", torch.movedim, [r(2, 3, 4)], source=[0, 2], destination=[1, 0])
    add("flip", torch.flip, [r(2, 3)], dims=[1])
    add("flip", torch.flip, [r(2, 3, 2)], dims=[0, -1])
    add("roll", torch.roll, [r(2, 4)], shifts=[1], dims=[1])
    add("roll", torch.roll, [r(3, 4)], shifts=[-1, 6], dims=[0, 1])
    for k in [1, 2, 3, -1]:
        add("rot90", torch.rot90, [r(2, 3)], k=k, dims=[0, 1])
    add("cat", lambda *xs, dim: torch.cat(xs, dim), [r(2, 3), r(1, 3)], dim=0)
    add("cat", lambda *xs, dim: torch.cat(xs, dim), [r(2, 1), r(2, 3), r(2, 2)], dim=-1)
    add("stack", lambda *xs, dim: torch.stack(xs, dim), [r(2, 3), r(2, 3)], dim=0)
    add("stack", lambda *xs, dim: torch.stack(xs, dim), [r(2, 3), r(2, 3), r(2, 3)], dim=-1)
    split = lambda x, size, dim, piece: torch.split(x, size, dim)[piece]
    chunk = lambda x, chunks, dim, piece: torch.chunk(x, chunks, dim)[piece]
    add("split", split, [r(2, 5)], size=2, dim=1, piece=0)
    add("split", split, [r(2, 5)], size=2, dim=1, piece=2)
    add("split", split, [r(5, 2)], size=[1, 3, 1], dim=0, piece=1)
    add("chunk", chunk, [r(2, 5)], chunks=2, dim=1, piece=0)
    add("chunk", chunk, [r(7, 2)], chunks=3, dim=0, piece=2)
    expand = lambda x, shape: x.expand(shape)
    add("expand", expand, [r(2, 1)], shape=[2, 3])
    add("expand", expand, [r(3)], shape=[2, 2, 3])
    add("expand", expand, [r(1, 3)], shape=[2, -1, -1])
    add("repeat", lambda x, repeats: x.repeat(repeats), [r(2, 2)], repeats=[1, 3])
    add("repeat", lambda x, repeats: x.repeat(repeats), [r(2)], repeats=[2, 2])
    add("tile", lambda x, reps: torch.tile(x, reps), [r(2, 3)], reps=[2])
    add("tile", lambda x, reps: torch.tile(x, reps), [r(2)], reps=[2, 3])
    interleave = lambda x, repeats, dim: torch.repeat_interleave(
        x, torch.tensor(repeats) if isinstance(repeats, list) else repeats, dim=dim
    )
    add("repeat_interleave", interleave, [r(2, 3)], repeats=2, dim=1)
    add("repeat_interleave", interleave, [r(3, 2)], repeats=[2, 0, 3], dim=0)
    add("repeat_interleave", interleave, [r(2, 2)], repeats=3, dim=None)
    add("narrow", torch.narrow, [r(2, 5)], dim=1, start=1, length=3)
    add("narrow", torch.narrow, [r(4, 2)], dim=0, start=2, length=2)
    add("squeeze", torch.squeeze, [r(2, 1, 3)], dim=1)
    add("squeeze", lambda x, dim: torch.squeeze(x), [r(1, 2, 1)], dim=None)
    add("unsqueeze", torch.unsqueeze, [r(2, 3)], dim=0)
    add("unsqueeze", torch.unsqueeze, [r(2, 3)], dim=-1)
    add("flatten", torch.flatten, [r(2, 3, 2)], start_dim=1, end_dim=-1)
    for name in ["tril", "triu"]:
        for shape, k in [((3, 3), 0), ((2, 4), 1), ((2, 3, 2), -1)]:
            add(name, getattr(torch, name), [r(*shape)], diagonal=k)
    add("diag", torch.diag, [r(3)], diagonal=0)
    add("diag", torch.diag, [r(2)], diagonal=-1)
    add("diag", torch.diag, [r(3, 3)], diagonal=0)
    add("diag", torch.diag, [r(2, 4)], diagonal=1)
    add("diagonal", torch.diagonal, [r(3, 4)], offset=0, dim1=0, dim2=1)
    add("diagonal", torch.diagonal, [r(2, 3, 3)], offset=-1, dim1=1, dim2=2)
    add("diagonal", torch.diagonal, [r(3, 2, 3)], offset=1, dim1=0, dim2=2)
    add("diag_embed", torch.diag_embed, [r(2, 3)], offset=0, dim1=-2, dim2=-1)
    add("diag_embed", torch.diag_embed, [r(2, 2)], offset=1, dim1=-2, dim2=-1)
    add("trace", torch.trace, [r(3, 3)])
    add("trace", torch.trace, [r(2, 4)])
    mesh = lambda *xs, indexing: torch.meshgrid(*xs, indexing=indexing)
    add("meshgrid", mesh, [r(2), r(3)], indexing="ij")
    add("meshgrid", mesh, [r(2), r(3)], indexing="xy")
    tensor_unfold = lambda x, dim, size, step: x.unfold(dim, size, step)
    add("tensor_unfold", tensor_unfold, [r(2, 5)], dim=1, size=3, step=1)
    add("tensor_unfold", tensor_unfold, [r(7, 2)], dim=0, size=2, step=3)
    # slice: one start, stop and step for each dimension; null as in Python
    add("slice", slice_, [r(4, 5)], start=[1, 0], stop=[3, 5], step=[1, 2])
    add("slice", slice_, [r(4, 5)], start=[None, -3], stop=[None, None], step=[3, 1])
    add("slice", slice_, [r(2, 3, 4)], start=[0, None, 1], stop=[1, -1, 4], step=[1, 1, 2])


# ---- gather, scatter, sort ---------------------------------------------------


def index(x, *ids, spec):
    ids = iter(ids)
    return x[tuple(next(ids) if s == "t" else slice(None) for s in spec)]


def indexing():
    gather = lambda x, ids, dim: torch.gather(x, dim, ids)
    add("gather", gather, [r(3, 4), i(0, 4, 3, 2)], dim=1)
    add("gather", gather, [r(3, 4), i(0, 3, 2, 4)], dim=0)
    add("gather", gather, [r(2, 3, 2), i(0, 3, 2, 4, 2)], dim=-2)
    along = lambda x, ids, dim: torch.take_along_dim(x, ids, dim)
    add("take_along_dim", along, [r(3, 4), i(0, 4, 3, 2)], dim=1)
    add("take_along_dim", along, [r(3, 4), i(0, 4, 1, 2)], dim=1)
    select = lambda x, ids, dim: torch.index_select(x, dim, ids)
    add("index_select", select, [r(3, 4), t_int([2, 0, 2])], dim=0)
    add("index_select", select, [r(3, 4), t_int([1, 1, 3, 0, 1])], dim=1)
    # index: x[spec], ":" a whole dimension, "t" the next index tensor
    add("index", index, [r(3, 4), t_int([2, 0, 2])], spec=["t"])
    add("index", index, [r(3, 2), t_int([[2, 0], [1, -1]])], spec=["t"])
    add("index", index, [r(2, 3, 2), t_int([0, 2, 2, -2])], spec=[":", "t"])
    add("index", index, [r(3, 4), t_int([0, 2, 0]), t_int([1, 3, 1])], spec=["t", "t"])
    add("index", index, [r(3, 4), t_int([[0], [2]]), t_int([1, 3, 0])], spec=["t", "t"])
    add("masked_fill", torch.masked_fill, [r(2, 3), b(2, 3)], value=-1.5)
    add("masked_fill", torch.masked_fill, [r(2, 3), t_bool([True, False, True])], value=0.0)
    add("masked_select", torch.masked_select, [r(2, 3), t_bool([[True, False, True], [False, True, True]])])
    add("masked_select", torch.masked_select, [r(2, 3), t_bool([True, False, True])])

    unique = torch.stack([perm_ids(4, 2) for _ in range(3)])
    scatter = lambda x, ids, src, dim: torch.scatter(x, dim, ids, src)
    add("scatter", scatter, [r(3, 4), unique, r(3, 2)], dim=1)
    add("scatter", scatter, [r(4, 3), t_int([[3, 0, 1], [1, 2, 0]]), r(2, 3)], dim=0)
    add("scatter", lambda x, ids, dim, value: torch.scatter(x, dim, ids, value), [r(3, 4), unique], dim=1, value=0.75)
    scatter_add = lambda x, ids, src, dim: torch.scatter_add(x, dim, ids, src)
    add("scatter_add", scatter_add, [r(3, 4), t_int([[1, 1], [3, 0], [2, 2]]), r(3, 2)], dim=1)
    add("scatter_add", scatter_add, [r(3, 2), t_int([[0, 1], [0, 2], [1, 1], [0, 2]]), r(4, 2)], dim=0)
    reduce = lambda x, ids, src, dim, reduce, include_self: torch.scatter_reduce(
        x, dim, ids, src, reduce=reduce, include_self=include_self
    )
    ids = t_int([[1, 1, 0], [3, 0, 3]])
    for kind in ["amax", "amin", "sum", "prod", "mean"]:
        for include_self in [True, False]:
            both = distinct(14)
            inputs = [both[:8].reshape(2, 4), ids, both[8:].reshape(2, 3)]
            add("scatter_reduce", reduce, inputs, dim=1, reduce=kind, include_self=include_self)
    # without the self values, these must not equal the result: torch counts them as ties
    tied = lambda include_self: [
        t([[1.0, 2.0, 0.0, 3.0]] if include_self else [[9.0, 9.0, 0.0, 9.0]]),
        t_int([[1, 1, 3, 0]]),
        t([[2.0, 2.0, 3.0, 1.0]]),
    ]
    for kind in ["amax", "amin"]:
        for include_self in [True, False]:
            add("scatter_reduce", reduce, tied(include_self), dim=1, reduce=kind, include_self=include_self, ties=True)
    index_add = lambda x, ids, src, dim, alpha: torch.index_add(x, dim, ids, src, alpha=alpha)
    add("index_add", index_add, [r(3, 2), t_int([2, 0, 2]), r(3, 2)], dim=0, alpha=1.0)
    add("index_add", index_add, [r(2, 3), t_int([1, 1]), r(2, 2)], dim=1, alpha=-0.5)
    index_copy = lambda x, ids, src, dim: torch.index_copy(x, dim, ids, src)
    add("index_copy", index_copy, [r(3, 2), t_int([2, 0]), r(2, 2)], dim=0)
    add("index_copy", index_copy, [r(2, 4), t_int([3, 1, 0]), r(2, 3)], dim=1)
    embedding = lambda w, ids, padding_idx: F.embedding(ids, w, padding_idx=padding_idx)
    add("embedding", embedding, [r(5, 3), t_int([[0, 2], [2, 4]])], padding_idx=None)
    add("embedding", embedding, [r(4, 2), t_int([1, 0, 1, 3])], padding_idx=1, _check=False)
    add("one_hot", F.one_hot, [t_int([0, 2, 1])], num_classes=4)
    add("one_hot", F.one_hot, [t_int([[0, 2], [1, 1]])], num_classes=3)
    add("take", torch.take, [r(2, 3), t_int([[0, 5], [3, 5]])])

    sort = lambda x, dim, descending: torch.sort(x, dim=dim, descending=descending, stable=True)
    argsort = lambda x, dim, descending: torch.argsort(x, dim=dim, descending=descending, stable=True)
    tie = t([[2.0, 1.0, 2.0, 1.0], [0.0, 0.0, -1.0, 0.0]])
    odd = t([[1.0, math.nan, -INF, INF, 0.0]])
    for descending in [False, True]:
        for name, fn in [("sort", sort), ("argsort", argsort)]:
            add(name, fn, [distinct(2, 4)], dim=1, descending=descending)
            add(name, fn, [distinct(3, 2)], dim=0, descending=descending)
            add(name, fn, [tie], dim=1, descending=descending, ties=True)
            add(name, fn, [odd], dim=1, descending=descending, special=True)
    for k, dim, largest in [(2, 1, True), (3, -1, False), (1, 0, True)]:
        add("topk", torch.topk, [distinct(3, 4)], k=k, dim=dim, largest=largest, sorted=True)
    add("nonzero", torch.nonzero, [t([[0.0, 1.0, -2.0], [3.0, 0.0, 0.0]])], _grad=False)
    add("nonzero", torch.nonzero, [t_bool([True, False, True, True])])


# ---- activations -------------------------------------------------------------


def hardsigmoid(x):
    """F.hardsigmoid's gradient has one sixth in single precision; this one has not."""
    return F.relu6(x + 3) / 6


def activations():
    for name in ["relu", "relu6", "selu", "silu", "mish", "softsign", "hardsigmoid", "hardswish", "logsigmoid", "tanhshrink"]:
        fn = getattr(F, name) if name != "hardsigmoid" else hardsigmoid
        add(name, fn, [u(-5, 5, 2, 3)])
    add("leaky_relu", F.leaky_relu, [r(2, 3)], negative_slope=0.01)
    add("leaky_relu", F.leaky_relu, [r(2, 3)], negative_slope=0.3)
    add("elu", F.elu, [r(2, 3)], alpha=1.0)
    add("elu", F.elu, [r(2, 3)], alpha=0.5)
    add("celu", F.celu, [r(2, 3)], alpha=1.0)
    add("celu", F.celu, [r(2, 3)], alpha=2.0)
    add("gelu", F.gelu, [r(2, 3)], approximate="none")
    add("gelu", F.gelu, [r(2, 3)], approximate="tanh")
    add("softplus", F.softplus, [r(2, 3)], beta=1.0, threshold=20.0)
    add("softplus", F.softplus, [r(2, 3)], beta=2.5, threshold=20.0)
    add("softplus", F.softplus, [t([-30.0, 19.5, 25.0])], beta=1.0, threshold=20.0)
    add("hardtanh", F.hardtanh, [t([-1.7, -0.4, 0.3, 1.6])], min_val=-1.0, max_val=1.0)
    add("hardtanh", F.hardtanh, [t([-1.7, -0.4, 0.3, 1.6])], min_val=-0.5, max_val=2.0)
    add("glu", F.glu, [r(2, 4)], dim=1)
    add("glu", F.glu, [r(4, 2)], dim=0)
    add("softshrink", F.softshrink, [t([-1.7, -0.4, 0.3, 0.8])], lambd=0.5)
    add("hardshrink", F.hardshrink, [t([-1.7, -0.4, 0.3, 0.8])], lambd=0.5)
    add("threshold", F.threshold, [t([-1.7, -0.4, 0.3, 0.8])], threshold=0.1, value=-2.0)
    add("prelu", F.prelu, [r(2, 3), t([0.25])])
    add("prelu", F.prelu, [r(2, 3, 2), t([0.25, -0.1, 0.6])])
    # at the kinks
    for name, at in [
        ("relu", [0.0, -0.0, 1.0]),
        ("relu6", [0.0, 6.0, 3.0]),
        ("selu", [0.0, 1.0]),
        ("hardsigmoid", [-3.0, 3.0, 0.0]),
        ("hardswish", [-3.0, 3.0, 0.0]),
        ("softsign", [0.0, 1.0]),
    ]:
        add(name, getattr(F, name) if name != "hardsigmoid" else hardsigmoid, [t(at)], kink=True)
    add("leaky_relu", F.leaky_relu, [t([0.0, 1.0])], negative_slope=0.2, kink=True)
    add("elu", F.elu, [t([0.0, 1.0])], alpha=0.5, kink=True)
    add("celu", F.celu, [t([0.0, 1.0])], alpha=2.0, kink=True)
    add("hardtanh", F.hardtanh, [t([-1.0, 1.0, 0.0])], min_val=-1.0, max_val=1.0, kink=True)
    add("softshrink", F.softshrink, [t([-0.5, 0.5, 0.0])], lambd=0.5, kink=True)
    add("hardshrink", F.hardshrink, [t([-0.5, 0.5, 0.0])], lambd=0.5, kink=True)
    add("threshold", F.threshold, [t([0.1, 0.2])], threshold=0.1, value=-2.0, kink=True)
    add("prelu", F.prelu, [t([0.0, -1.0]), t([0.25])], kink=True)
    wide = t([-INF, INF, math.nan, -1000.0, 1000.0, 0.0])
    for name in ["relu", "silu", "mish", "logsigmoid", "selu"]:
        add(name, getattr(F, name), [wide], special=True)
    for approximate in ["none", "tanh"]:
        add("gelu", F.gelu, [t([-1000.0, 1000.0, math.nan, 0.0, INF])], approximate=approximate, special=True)


# ---- normalisation -----------------------------------------------------------


def norms():
    layer_norm = lambda x, w=None, bias=None, *, normalized_shape, affine, eps: F.layer_norm(x, normalized_shape, w, bias, eps)
    add("layer_norm", layer_norm, [r(2, 4), r(4), r(4)], normalized_shape=[4], affine=True, eps=1e-5)
    add("layer_norm", layer_norm, [r(2, 4)], normalized_shape=[4], affine=False, eps=1e-5)
    add("layer_norm", layer_norm, [r(2, 3, 2), r(3, 2), r(3, 2)], normalized_shape=[3, 2], affine=True, eps=0.1)
    rms_norm = lambda x, w=None, *, normalized_shape, affine, eps: F.rms_norm(x, normalized_shape, w, eps)
    add("rms_norm", rms_norm, [r(2, 4), r(4)], normalized_shape=[4], affine=True, eps=1e-6)
    add("rms_norm", rms_norm, [r(2, 3, 2)], normalized_shape=[3, 2], affine=False, eps=1e-3)
    group_norm = lambda x, w=None, bias=None, *, num_groups, affine, eps: F.group_norm(x, num_groups, w, bias, eps)
    add("group_norm", group_norm, [r(2, 4, 2), r(4), r(4)], num_groups=2, affine=True, eps=1e-5)
    add("group_norm", group_norm, [r(2, 2, 2, 2)], num_groups=1, affine=False, eps=1e-5)
    instance_norm = lambda x, w=None, bias=None, *, affine, eps: F.instance_norm(x, weight=w, bias=bias, eps=eps)
    add("instance_norm", instance_norm, [r(2, 2, 4), r(2), r(2)], affine=True, eps=1e-5)
    add("instance_norm", instance_norm, [r(1, 2, 2, 3)], affine=False, eps=1e-5)

    # batch_norm: inputs x, running mean, running variance, then weight and bias when affine;
    # outputs y and, in training, the new running mean and variance.
    def batch_norm(x, mean, var, w=None, bias=None, *, training, momentum, eps, affine):
        mean, var = mean.clone(), var.clone()
        y = F.batch_norm(x, mean, var, w, bias, training, momentum, eps)
        return (y, mean, var) if training else y

    for shape in [(4, 3), (2, 3, 2), (2, 2, 2, 2)]:
        n = shape[1]
        for training in [True, False]:
            affine = shape != (4, 3) or training
            extra = [r(n), r(n)] if affine else []
            add(
                "batch_norm", batch_norm, [r(*shape), r(n), p(n), *extra], _nograd=(1, 2), _buffers=(1, 2),
                training=training, momentum=0.1 if n == 3 else 0.3, eps=1e-5, affine=affine,
            )
    add("local_response_norm", F.local_response_norm, [r(1, 5, 2)], size=3, alpha=0.1, beta=0.75, k=1.0)
    add("local_response_norm", F.local_response_norm, [r(1, 4, 2, 2)], size=2, alpha=0.5, beta=0.5, k=2.0)
    add("normalize", F.normalize, [r(2, 3)], p=2.0, dim=1, eps=1e-12)
    add("normalize", F.normalize, [r(2, 3)], p=1.0, dim=0, eps=1e-12)
    add("cosine_similarity", F.cosine_similarity, [r(2, 3), r(2, 3)], dim=1, eps=1e-8)
    add("cosine_similarity", F.cosine_similarity, [r(3, 2), r(1, 2)], dim=0, eps=1e-8)
    add("pairwise_distance", F.pairwise_distance, [r(2, 3), r(2, 3)], p=2.0, eps=1e-6, keepdim=False)
    add("pairwise_distance", F.pairwise_distance, [r(2, 3), r(3)], p=1.0, eps=1e-6, keepdim=True)
    cdist = lambda x, y, p: torch.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist")
    add("cdist", cdist, [r(3, 2), r(4, 2)], p=2.0)
    add("cdist", cdist, [r(2, 2, 3), r(2, 3, 3)], p=2.0)
    add("cdist", cdist, [t([[0.0, 1.0], [2.0, 2.0]]), t([[0.0, 1.0], [5.0, 6.0]])], p=2.0, kink=True)
    add("cross", torch.linalg.cross, [r(2, 3), r(2, 3)], dim=-1)
    add("cross", torch.linalg.cross, [r(3, 2), r(3, 2)], dim=0)


# ---- losses ------------------------------------------------------------------


def losses():
    # cross_entropy, nll_loss: inputs x, target, then the class weights when weight is true
    def cross_entropy(x, target_, w=None, *, target, weight, ignore_index, label_smoothing, reduction):
        kw = {} if ignore_index is None else {"ignore_index": ignore_index}
        return F.cross_entropy(x, target_, weight=w, label_smoothing=label_smoothing, reduction=reduction, **kw)

    def ce(x, target_, kind="index", weight=None, ignore_index=None, label_smoothing=0.0, reduction="mean"):
        extra = [] if weight is None else [weight]
        add(
            "cross_entropy", cross_entropy, [x, target_, *extra], _nograd=(2,), target=kind, weight=weight is not None,
            ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction,
        )

    ids = t_int([2, 0, 1])
    for reduction in ["mean", "sum", "none"]:
        ce(r(3, 4), ids, reduction=reduction)
        ce(r(3, 4), ids, weight=p(4), reduction=reduction)
        ce(r(3, 4), t_int([2, 1, 3]), ignore_index=1, reduction=reduction)
        ce(r(3, 4), F.softmax(r(3, 4), 1).mul(1000).round().div(1000), kind="prob", reduction=reduction)
    ce(r(3, 4), ids, label_smoothing=0.1)
    ce(r(3, 4), ids, weight=p(4), label_smoothing=0.2)
    ce(r(3, 4), t_int([2, -100, 3]), weight=p(4), ignore_index=-100, label_smoothing=0.2)
    ce(r(2, 3), t([[0.25, 0.5, 0.25], [0.125, 0.75, 0.125]]), kind="prob", weight=p(3), label_smoothing=0.1)
    ce(r(2, 3, 2), t_int([[0, 2], [1, 1]]))
    ce(r(2, 3, 2), t_int([[0, 2], [1, 1]]), weight=p(3), reduction="none")
    ce(r(4), t_int(2))

    def nll(x, target_, w=None, *, weight, ignore_index, reduction):
        kw = {} if ignore_index is None else {"ignore_index": ignore_index}
        return F.nll_loss(x, target_, weight=w, reduction=reduction, **kw)

    for reduction in ["mean", "sum", "none"]:
        add("nll_loss", nll, [r(3, 4), ids], weight=False, ignore_index=None, reduction=reduction)
        add("nll_loss", nll, [r(3, 4), ids, p(4)], _nograd=(2,), weight=True, ignore_index=1, reduction=reduction)
    add("nll_loss", nll, [r(2, 3, 2), t_int([[0, 2], [1, 1]])], weight=False, ignore_index=None, reduction="mean")

    for reduction in ["mean", "sum", "none"]:
        add("mse_loss", F.mse_loss, pair((2, 3), (2, 3)), reduction=reduction)
        add("l1_loss", F.l1_loss, pair((2, 3), (2, 3)), reduction=reduction)
        add("kl_div", F.kl_div, [r(2, 3), u(0.1, 0.9, 2, 3)], log_target=False, reduction=reduction)
        add("kl_div", F.kl_div, [r(2, 3), r(2, 3)], log_target=True, reduction=reduction)
    add("kl_div", F.kl_div, [r(2, 3), u(0.1, 0.9, 2, 3)], log_target=False, reduction="batchmean")
    add("kl_div", F.kl_div, [r(2, 3), r(2, 3)], log_target=True, reduction="batchmean")
    add("l1_loss", F.l1_loss, [t([1.0, 2.0]), t([1.0, 3.0])], reduction="sum", kink=True)
    near, far = t([[0.3, -1.7, 0.4], [2.1, -0.2, 0.9]]), t([[0.1, 0.4, 1.9], [1.8, 0.3, -0.8]])
    for reduction, width in [("mean", 1.0), ("none", 0.4), ("sum", 1.6)]:
        add("smooth_l1_loss", F.smooth_l1_loss, [near, far], beta=width, reduction=reduction)
        add("huber_loss", F.huber_loss, [near, far], delta=width, reduction=reduction)
    add("smooth_l1_loss", F.smooth_l1_loss, [t([0.0, 1.0, -1.0]), t([0.0, 0.0, 0.0])], beta=1.0, reduction="none", kink=True)
    add("huber_loss", F.huber_loss, [t([0.0, 1.0, -1.0]), t([0.0, 0.0, 0.0])], delta=1.0, reduction="none", kink=True)

    # binary_cross_entropy: inputs x, target, then weight, then pos_weight when those are true
    def bce(x, y, w=None, *, weight, reduction):
        return F.binary_cross_entropy(x, y, w, reduction=reduction)

    def bce_logits(x, y, *rest, weight, pos_weight, reduction):
        rest = list(rest)
        w = rest.pop(0) if weight else None
        pw = rest.pop(0) if pos_weight else None
        return F.binary_cross_entropy_with_logits(x, y, weight=w, pos_weight=pw, reduction=reduction)

    prob = lambda *shape: u(0.1, 0.9, *shape)
    for reduction in ["mean", "sum", "none"]:
        add("binary_cross_entropy", bce, [prob(2, 3), prob(2, 3)], weight=False, reduction=reduction)
        add("binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3)], weight=False, pos_weight=False, reduction=reduction)
    add("binary_cross_entropy", bce, [prob(2, 3), prob(2, 3), p(2, 3)], _nograd=(2,), weight=True, reduction="mean")
    add("binary_cross_entropy", bce, [t([0.0, 1.0, 0.0]), t([1.0, 0.0, 0.0])], weight=False, reduction="none", special=True)
    add(
        "binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3), p(2, 3)], _nograd=(2,),
        weight=True, pos_weight=False, reduction="mean",
    )
    add(
        "binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3), p(3)], _nograd=(2,),
        weight=False, pos_weight=True, reduction="mean",
    )
    add(
        "binary_cross_entropy_with_logits", bce_logits, [r(2, 3), prob(2, 3), p(2, 3), p(3)], _nograd=(2, 3),
        weight=True, pos_weight=True, reduction="sum",
    )
    big = [t([-1000.0, 1000.0, 0.0, 1000.0]), t([0.0, 1.0, 1.0, 0.0])]
    add("binary_cross_entropy_with_logits", bce_logits, big, weight=False, pos_weight=False, reduction="none", special=True)

    signs = t([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
    spread = t([[0.4, 0.3, 1.5], [1.6, -0.7, 0.2]])
    add("hinge_embedding_loss", F.hinge_embedding_loss, [spread, signs], _nograd=(1,), margin=1.0, reduction="mean")
    add("hinge_embedding_loss", F.hinge_embedding_loss, [spread, signs], _nograd=(1,), margin=2.0, reduction="none")
    row = t([1.0, -1.0, 1.0])
    ranked = [t([0.3, 1.2, -0.4]), t([0.9, 0.5, -1.6]), row]
    add("margin_ranking_loss", F.margin_ranking_loss, ranked, _nograd=(2,), margin=0.0, reduction="mean")
    add("margin_ranking_loss", F.margin_ranking_loss, ranked, _nograd=(2,), margin=0.5, reduction="sum")
    add("cosine_embedding_loss", F.cosine_embedding_loss, [r(3, 4), r(3, 4), row], _nograd=(2,), margin=0.0, reduction="mean")
    add("cosine_embedding_loss", F.cosine_embedding_loss, [p(3, 4), p(3, 4), row], _nograd=(2,), margin=0.2, reduction="none")
    for swap in [False, True]:
        add(
            "triplet_margin_loss", F.triplet_margin_loss, [r(3, 4), r(3, 4), r(3, 4)],
            margin=5.0, p=2.0, eps=1e-6, swap=swap, reduction="none" if swap else "mean",
        )
    for full in [False, True]:
        add("gaussian_nll_loss", F.gaussian_nll_loss, [r(2, 3), r(2, 3), p(2, 3)], full=full, eps=1e-6, reduction="none" if full else "mean")
    for log_input, full, reduction in [(True, False, "mean"), (False, False, "sum"), (True, True, "none"), (False, True, "mean")]:
        # full: Stirling's term, only where the target is above one
        counts_ = t([[0.0, 2.0, 3.0], [0.5, 4.0, 7.0]])
        add(
            "poisson_nll_loss", F.poisson_nll_loss, [p(2, 3), counts_], _nograd=(1,),
            log_input=log_input, full=full, eps=1e-8, reduction=reduction,
        )
    add("soft_margin_loss", F.soft_margin_loss, [r(2, 3), signs], _nograd=(1,), reduction="mean")
    add("soft_margin_loss", F.soft_margin_loss, [r(2, 3), signs], _nograd=(1,), reduction="none")


# ---- attention ---------------------------------------------------------------


def rope(x, base, offset):
    """x: [..., T, D].  Rotates (x[i], x[i + D/2]) by (offset + t) * base^(-2i/D)."""
    length, d = x.shape[-2:]
    rate = base ** (-torch.arange(0, d, 2) / d)
    angle = (offset + torch.arange(length)).unsqueeze(1) * rate
    angle = torch.cat([angle, angle], dim=-1)
    lo, hi = x[..., : d // 2], x[..., d // 2 :]
    return x * angle.cos() + torch.cat([-hi, lo], dim=-1) * angle.sin()


def attention():
    # inputs q, k, v, then the mask unless mask is "none" (bool: true takes part)
    def sdpa(q, k, v, m=None, *, mask, is_causal, scale, enable_gqa):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)

    def case(q, k, v, m=None, *, mask="none", is_causal=False, scale=None, enable_gqa=False, **marks):
        extra = [] if m is None else [m]
        add(
            "scaled_dot_product_attention", sdpa, [q, k, v, *extra],
            mask=mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa, **marks,
        )

    qkv = lambda: [r(1, 2, 3, 2), r(1, 2, 3, 2), r(1, 2, 3, 2)]
    case(*qkv())
    case(r(2, 1, 2, 3), r(2, 1, 3, 3), r(2, 1, 3, 2))
    case(*qkv(), is_causal=True)
    case(r(1, 1, 2, 3), r(1, 1, 4, 3), r(1, 1, 4, 2), is_causal=True)
    case(*qkv(), r(3, 3), mask="float")
    case(*qkv(), r(1, 2, 3, 3), mask="float")
    keep = t_bool([[True, False, True], [True, True, False], [False, True, True]])
    case(*qkv(), keep, mask="bool")
    case(*qkv(), scale=0.3)
    case(*qkv(), is_causal=True, scale=1.0)
    case(r(1, 4, 2, 2), r(1, 2, 3, 2), r(1, 2, 3, 2), enable_gqa=True)
    case(r(1, 4, 3, 2), r(1, 2, 3, 2), r(1, 2, 3, 2), is_causal=True, enable_gqa=True)
    none_left = t_bool([[True, False, True], [False, False, False]])
    case(r(1, 1, 2, 2), r(1, 1, 3, 2), r(1, 1, 3, 2), none_left, mask="bool", kink=True)
    add("rope", rope, [r(1, 2, 3, 4)], base=10000.0, offset=0)
    add("rope", rope, [r(2, 3, 6)], base=100.0, offset=5)


# ---- the file ----------------------------------------------------------------


def main():
    for section in [
        unary, binary, complex_, reductions, contraction, convolution, movement, indexing,
        activations, norms, losses, attention,
    ]:
        gen.manual_seed(zlib.crc32(section.__name__.encode()))
        section()
    version = torch.__version__.split("+")[0]
    lines = [json.dumps(x, separators=(",", ":"), allow_nan=False) for x in cases]
    assert len(set(lines)) == len(lines), "a case twice"
    text = '{"torch":"%s","cases":[\n%s\n]}\n' % (version, ",\n".join(lines))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch.json")
    with open(path, "w", newline="\n") as f:
        f.write(text)
    print(f"torch {version}: {len({x['name'] for x in cases})} names, {len(cases)} cases, {len(text)} bytes")
    print("against differences, at worst:", sorted(((v, k) for k, v in worst.items()), reverse=True)[:5])


if __name__ == "__main__":
    main()
