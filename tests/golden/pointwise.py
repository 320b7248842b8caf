"""Golden cases of pointwise functions."""

import math

import torch

from record import *  # noqa: F403: functions that draw inputs and record cases
from tensors import torch_mean, torch_prod, torch_sum


# ---- pointwise, one input ----------------------------------------------------

SPECIAL = t([0.0, -0.0, INF, -INF, math.nan, 1.0, -1.0, 1e-300, 1e300, 0.5])


def cbrt(x):
    return x.sign() * x.abs() ** (1 / 3)


def exact_cbrt(x):
    return t([math.cbrt(v) for v in x.tolist()])


class Digamma(torch.autograd.Function):
    """torch.digamma with the gradient zeta(2, x), because PyTorch's gradient has only nine correct digits."""

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
