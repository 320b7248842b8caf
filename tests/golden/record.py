"""Records the golden cases: draws random inputs, stores results, and compares gradients with differences."""

import itertools
import math
import zlib

import torch

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
worst = {}  # largest difference between gradients and finite differences, by name
gen = torch.Generator()
gen.manual_seed(0)


# ---- inputs ------------------------------------------------------------------


def u(lo, hi, *shape):
    """Draws uniform numbers in (lo, hi) with three decimals, never near zero."""
    x = torch.rand(shape, generator=gen) * (hi - lo) + lo
    x = torch.round(x * 1000) / 1000
    return torch.where(x.abs() < 0.06, x + (0.1 if hi > 0.2 else -0.1), x)


def r(*shape):
    return u(-2.0, 2.0, *shape)


def p(*shape):
    return u(0.3, 2.5, *shape)


def distinct(*shape):
    """Draws numbers at least 0.25 apart, so that there are no ties, and max, sort and pools are smooth."""
    n = math.prod(shape)
    x = (torch.randperm(n, generator=gen) - n // 2) * 0.25 + 0.115
    return (torch.round(x * 1000) / 1000).reshape(shape)


def offgrid(*shape):
    """Draws numbers that are not near integers or halves."""
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


def pair(shape_a, shape_b):
    """Draws two inputs whose broadcast elements are more than 0.1 apart; the second is more than 0.2 away from zero."""
    while True:
        x, y = r(*shape_a), r(*shape_b)
        if (x - y).abs().min() > 0.1 and y.abs().min() > 0.2:
            return [x, y]


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
    """Computes the gradient of a loss with respect to input k by differences, for each real and imaginary part."""
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
    _grad=False: records outputs only; _check=False: the gradient is a convention and does not equal differences.
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
    # Each case draws from its own seed, so that a new case changes only the next one.
    counts[name] = counts.get(name, 0) + 1
    gen.manual_seed(zlib.crc32(f"{name} {counts[name]}".encode()))
