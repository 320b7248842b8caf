"""Runs one sample of PyTorch's op database with both packages, and describes how the results differ.

`examine(op, sample, dtype)` returns a `Finding`. The driver that runs the complete database is `op_database.py`.
"""

import collections
import dataclasses
import math
import types
import warnings

import numpy as np
import scipy.special
import torch

import gradus

#: The result of one sample: `kind` is a name of `KINDS`, `text` describes the difference.
Finding = collections.namedtuple("Finding", "kind text")

#: The kinds of findings. PyTorch itself refuses a few samples, which do not count.
KINDS = ("equal", "value", "dtype", "gradient", "raises", "missing", "accepted", "refused", "abort", "hang")

DTYPES = ("float64", "float32", "complex64", "complex128", "int64", "bool")

#: Dtypes and layouts that only PyTorch has. Samples that need them do not count.
ABSENT = {torch.int16, torch.uint16, torch.uint32, torch.uint64, torch.complex32}

#: Results are random: shape and dtype are compared.
RANDOM = set("""
bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal multinomial
new_empty new_empty_strided nn.functional.alpha_dropout nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d
nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.rrelu
normal rand rand_like randint randint_like randn randn_like uniform pca_lowrank svd_lowrank
nn.functional.feature_alpha_dropout
""".split())

#: Samples with random results, by their arguments: other samples of the same operation are not random.
RANDOM_SAMPLES = {
    "nn.functional.scaled_dot_product_attention": lambda args, given: given.get("dropout_p", 0.0) > 0,
    "nn.functional.multi_head_attention_forward": lambda args, given: args[9] > 0 and given.get("training", True),
}

#: Results are unique only up to a convention. The samples' own functions reduce them to what is defined.
PROCESSED = set("""
svd linalg.svd linalg.eig linalg.eigh linalg.qr qr eig symeig linalg.lu linalg.tensorinv geqrf linalg.householder_product
""".split())

#: Operations whose indices of equal elements are arbitrary in PyTorch, with the position of the argument `dim`, counted after the
#: input. The elements at these indices, the last result, are compared instead. Stable sorts have defined indices.
POINTING = {"argsort": 0, "sort": 0, "mode": 0, "topk": 1, "kthvalue": 1}

#: Operations that return eigenvalues in an arbitrary order. They are compared, with their vectors, in sorted order.
UNORDERED = {"linalg.eig", "linalg.eigvals"}

#: Logarithms of complex sums, which are defined up to 2πi, because PyTorch's branch depends on the order of the terms. Real parts
#: and angles are compared.
BRANCHES = {"logcumsumexp"}



def by_scipy(name, function):
    """Replaces PyTorch's special function of this name by a function of SciPy."""
    own = getattr(torch.special, name)
    return lambda x: torch.from_numpy(np.asarray(function(x.detach().double().numpy()))).to(own(x).dtype)


def cov_of_wide_weights(input, *, aweights=None, **others):
    """Computes `torch.cov` with weights converted to as many bits as the input has."""
    wide = {torch.float64: torch.float64, torch.complex128: torch.float64}.get(input.dtype)
    return torch.cov(input, aweights=aweights if aweights is None or wide is None else aweights.to(wide), **others)


#: Replacements for PyTorch's functions that are less precise than their dtype. Its Bessel functions have errors of 1e-8, and of 8e-7 for arguments above 5. `cov` sums 32-bit weights in 32 bits, even if the
#: result has 64 bits, and the sums cancel.
PRECISE = {
    "special.bessel_j0": by_scipy("bessel_j0", scipy.special.j0),
    "special.bessel_j1": by_scipy("bessel_j1", scipy.special.j1),
    "special.bessel_y0": by_scipy("bessel_y0", scipy.special.y0),
    "special.bessel_y1": by_scipy("bessel_y1", scipy.special.y1),
    "cov": cov_of_wide_weights,
}

#: Operations whose results have dtypes that `gradus` does not have.
NOT_HERE = {"short": "int16", "chalf": "complex32", "hash_tensor": "uint64"}

#: Inputs whose gradients PyTorch computes wrongly: those of `as_strided_scatter` are nonzero where the input is overwritten, and
#: zero where it is kept.
WRONG_GRADIENTS = {"as_strided_scatter": {0}}

#: Operations that sum many terms in another order, or iterate: (relative bound for 64 bits, for 32 bits).
BOUNDS = (1e-8, 3e-4)


def pool_gradient(grad, input, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """Computes `max_pool2d_with_indices_backward` as the gradient of `max_pool2d`, which stays differentiable."""
    x = input if input.requires_grad else input.detach().requires_grad_(True)
    y = gradus.nn.functional.max_pool2d(x, kernel_size, stride or None, padding, dilation, ceil_mode)
    return gradus.autograd.grad(y, x, grad, create_graph=True)[0]


def sliced(input, dim=0, start=None, end=None, step=1):
    """Computes `slice` by indexing."""
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]


#: Functions that PyTorch has only as `torch.ops.aten.<name>`, with their equivalents.
ATEN = {
    "slice": sliced,
    "max_pool2d_with_indices_backward": pool_gradient,
    "native_dropout_backward": lambda grad, mask, scale: grad * mask.to(grad.dtype) * scale,
}


class Torch:
    """The object that samples' own functions use as `torch`: the package, and `ops.aten` with the table above."""

    ops = types.SimpleNamespace(aten=types.SimpleNamespace(**{name: types.SimpleNamespace(default=f) for name, f in ATEN.items()}))

    def __getattr__(self, name):
        return getattr(gradus, name)


class Missing(Exception):
    """Raised if `gradus` does not have the operation."""


def resolve(op):
    """Returns the function of `gradus` that corresponds to `op`."""
    inner = op.op
    if isinstance(inner, types.FunctionType) and "torch.testing._internal" in inner.__module__:
        return rebound(inner)
    if op.name.removeprefix("torch.ops.aten.").removesuffix(".default") in ATEN:
        return ATEN[op.name.removeprefix("torch.ops.aten.").removesuffix(".default")]
    for name in (op.name, *[alias.name for alias in op.aliases]):
        for owner in (gradus, gradus.Tensor):
            found = owner
            for part in name.split("."):
                found = getattr(found, part, None)
            if callable(found):
                return found
    raise Missing(op.name)


def rebound(function, seen=None):
    """Returns a copy of a function of the database that calls `gradus` instead of `torch`."""
    seen = {} if seen is None else seen
    if function in seen:
        return seen[function]
    names = dict(function.__globals__)
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    seen[function] = made
    names["torch"] = Torch()
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, types.FunctionType) and "torch.testing._internal" in (value.__module__ or ""):
            names[name] = rebound(value, seen)
        elif isinstance(value, types.ModuleType) and value.__name__.startswith("torch."):
            names[name] = module_like(value.__name__)
    if function.__closure__:
        made = types.FunctionType(made.__code__, names, made.__name__, made.__defaults__, tuple(
            types.CellType(rebound(c.cell_contents, seen) if isinstance(c.cell_contents, types.FunctionType) else c.cell_contents)
            for c in function.__closure__))
    return made


def module_like(name):
    found = gradus
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


class Skip(Exception):
    """Raised if a sample needs something that one of the packages does not have."""


def converted(x, leaves):
    """Converts an argument of a sample for `gradus`; `leaves` collects pairs of tensors that require gradients."""
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided or x.is_quantized or x.dtype in ABSENT or x.is_nested:
            raise Skip("a tensor of another layout or dtype")
        made = gradus.tensor(x.detach().resolve_conj().resolve_neg().to(torch.float32).numpy()).to(gradus.bfloat16) \
            if x.dtype is torch.bfloat16 else gradus.tensor(np.array(x.detach().resolve_conj().resolve_neg().numpy()))
        if isinstance(x, torch.nn.Parameter):
            made = gradus.nn.Parameter(made, requires_grad=x.requires_grad)
        elif x.requires_grad:
            made.requires_grad_(True)
        if x.requires_grad:
            leaves.append((x, made))
        return made
    if isinstance(x, torch.dtype):
        if x in ABSENT or not hasattr(gradus, str(x).split(".")[1]):
            raise Skip("a dtype that is not here")
        return getattr(gradus, str(x).split(".")[1])
    if isinstance(x, torch.device):
        return gradus.device(str(x))
    if isinstance(x, (torch.memory_format, torch.layout)):
        if x in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
            raise Skip("a sparse layout")
        return getattr(gradus, str(x).split(".")[1])
    if isinstance(x, torch.nn.PairwiseDistance):
        return gradus.nn.PairwiseDistance(x.norm, x.eps, x.keepdim)
    if isinstance(x, torch.nn.LinearCrossEntropyOptions):
        return gradus.nn.LinearCrossEntropyOptions(**{f.name: converted(getattr(x, f.name), leaves) for f in dataclasses.fields(x)})
    if isinstance(x, torch.Generator):
        raise Skip("a generator of PyTorch")
    if isinstance(x, torch.Size):
        return tuple(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return tuple(converted(part, leaves) for part in x)
    if isinstance(x, (list, tuple)):
        return type(x)(converted(part, leaves) for part in x)
    if isinstance(x, dict):
        return {key: converted(value, leaves) for key, value in x.items()}
    if isinstance(x, slice):
        return slice(*(converted(part, leaves) for part in (x.start, x.stop, x.step)))
    return x


def fresh(x, leaves):
    """Copies the tensors of an argument, because some operations write to their arguments."""
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided:
            raise Skip("a sparse tensor")
        made = x.detach().clone()
        if isinstance(x, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=x.requires_grad)
        elif x.requires_grad:
            made.requires_grad_(True)
        if x.requires_grad:
            leaves.append(made)
        return made
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return tuple(fresh(part, leaves) for part in x)
    if type(x) in (list, tuple):
        return type(x)(fresh(part, leaves) for part in x)
    if isinstance(x, dict):
        return {key: fresh(value, leaves) for key, value in x.items()}
    return x


def flat(x):
    """Returns all tensors and numbers of nested results."""
    if isinstance(x, dict):
        return [leaf for part in x.values() for leaf in flat(part)]
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in flat(part)]
    return [] if x is None else [x]


def array(x):
    """Converts a tensor or number to an array, and returns it with the name of its dtype. Sparse tensors become dense."""
    if isinstance(x, torch.Tensor) and x.layout is torch.sparse_coo or isinstance(x, gradus.sparse.SparseTensor):
        x = x.to_dense()
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided or x.dtype in ABSENT:
            raise Skip("a result of another layout or dtype")
        name = str(x.dtype).split(".")[1]
        x = x.detach().resolve_conj().resolve_neg()
        # `force=True`, because the gradient of `sgn` is a tensor without memory.
        return (x.float() if x.dtype is torch.bfloat16 else x).numpy(force=True), name
    if isinstance(x, gradus.Tensor):
        name = str(x.dtype).split(".")[1]
        return np.asarray((x.detach().float() if name == "bfloat16" else x.detach()).numpy()), name
    if isinstance(x, (torch.dtype, gradus.dtype)):
        return np.asarray(0), str(x).split(".")[1]
    return np.asarray(x), type(x).__name__


def difference(ours, theirs, bounds=BOUNDS, values=True):
    """Returns the difference of nested results as a `Finding`, or `None`."""
    ours, theirs = flat(ours), flat(theirs)
    if len(ours) != len(theirs):
        return Finding("value", f"{len(ours)} results, not {len(theirs)}")
    found = None
    for i, (a, b) in enumerate(zip(ours, theirs)):
        (a, kind), (b, wanted) = array(a), array(b)
        if a.shape != b.shape:
            return Finding("value", f"result {i}: shape {list(a.shape)}, not {list(b.shape)}")
        if kind != wanted:
            found = found or Finding("dtype", f"result {i}: {kind}, not {wanted}")
        if values and not close(a, b, bounds[wanted in ("float32", "complex64", "float16", "bfloat16", "complex32")]):
            return Finding("value", f"result {i}: {shown(a)}, not {shown(b)}")
    return found


def close(a, b, bound):
    if b.dtype.kind in "biuU":
        return bool(np.array_equal(a, b))
    if b.size == 0:
        return True
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        scale = float(finite.max()) if finite.size else 1.0
        a, b = (np.asarray(x, dtype=np.complex128 if b.dtype.kind == "c" else np.float64) for x in (a, b))
        parts = ((a.real, b.real), (a.imag, b.imag)) if b.dtype.kind == "c" else ((a, b),)
        return all(np.allclose(x, y, rtol=bound, atol=bound * max(min(scale, 1e300), 1e-3), equal_nan=True) for x, y in parts)


def shown(x):
    return np.array2string(x.reshape(-1)[:6], precision=6, threshold=6).replace("\n", "")


def said(error):
    return f"{type(error).__name__}: {error}".replace("\n", " | ")[:300]


def examine(op, sample, dtype):
    """Runs one sample with both packages: values, dtypes and, for 64-bit floats, gradients from random cotangents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return examined(op, sample, dtype)
        except Skip:
            return None


def pointed(op, arguments, results):
    """Replaces the last result, indices, by the elements of the input at these indices."""
    x, args, kwargs = arguments
    dim = kwargs.get("dim", args[POINTING[op.name]] if len(args) > POINTING[op.name] else -1)
    *others, indices = flat(results)
    at, name = array(indices)
    at = torch.tensor(at)
    if name != "int64" or x.dim() == 0:
        return results
    at = at if at.dim() == x.dim() else at.unsqueeze(dim)
    return [*others, x.detach().gather(dim, at)]


def in_order(results):
    """Sorts eigenvalues, with their vectors, by a weighted sum of both parts, which differs for conjugates."""
    values = results if not isinstance(results, tuple) else results[0]
    at = array(values)[0]
    at = np.argsort(at.real + 0.7 * at.imag, -1)
    at = torch.tensor(at) if isinstance(values, torch.Tensor) else gradus.tensor(at)
    values = values.take_along_dim(at, -1)
    return values if not isinstance(results, tuple) else (values, results[1].take_along_dim(at.unsqueeze(-2), -1))


def reduced(op, process, results):
    """Reduces results to their uniquely defined part, by the sample's own function."""
    return process(in_order(results) if op.name in UNORDERED else results)


def examined(op, sample, dtype):
    if op.name in NOT_HERE:
        raise Skip(f"a result of {NOT_HERE[op.name]}")
    leaves = []
    arguments = fresh((sample.input, tuple(sample.args), dict(sample.kwargs)), leaves)
    pairs = []
    try:
        mine = converted(arguments, pairs)
    except AttributeError as error:
        return Finding("raises", said(error))
    wrong = None
    try:
        theirs = PRECISE.get(op.name, op.op)(arguments[0], *arguments[1], **arguments[2])
    except Exception as error:
        wrong = error
    try:
        ours = resolve(op)(mine[0], *mine[1], **mine[2])
    except Missing:
        return Finding("missing", op.name)
    except Exception as error:
        if wrong is not None:
            return Finding("refused", "")
        if isinstance(error, AttributeError) and "module 'gradus" in str(error):
            return Finding("missing", said(error))
        return Finding("raises", said(error))
    if wrong is not None:
        return Finding("accepted", f"PyTorch raises {said(wrong)}")
    random = op.name in RANDOM or (op.name in RANDOM_SAMPLES and RANDOM_SAMPLES[op.name](*arguments[1:]))
    a, b = ours, theirs
    if op.name in PROCESSED or op.name in UNORDERED:
        process = sample.output_process_fn_grad
        a, b = reduced(op, rebound(process), ours), reduced(op, process, theirs)
    elif op.name in BRANCHES and theirs.is_complex() and ours.is_complex():
        a, b = ([x.real, x.imag.sin(), x.imag.cos()] for x in (ours, theirs))
    elif op.name in POINTING and not arguments[2].get("stable"):
        a, b = (pointed(op, arguments, results) for results in (ours, theirs))
    found = difference(a, b, BOUNDS, values=not random)
    if found is not None or random or dtype not in ("float64", "complex128") or not pairs:
        return found or Finding("equal", "")
    return gradient_difference(op, sample) or Finding("equal", "")


def gradient_difference(op, sample):
    """Returns the difference of gradients from random cotangents as a `Finding`, or `None`."""
    process = sample.output_process_fn_grad
    leaves, pairs = [], []
    arguments = fresh((sample.input, tuple(sample.args), dict(sample.kwargs)), leaves)
    mine = converted(arguments, pairs)
    wrapper = op.gradcheck_wrapper
    try:
        theirs = reduced(op, process, wrapper(PRECISE.get(op.name, op.op), arguments[0], *arguments[1], **arguments[2]))
    except Exception:
        return None
    kept = [i for i, y in enumerate(flat(theirs)) if isinstance(y, torch.Tensor) and y.requires_grad]
    if not kept:
        return None
    rng = np.random.default_rng(1)
    outputs = [flat(theirs)[i] for i in kept]
    cotangents = [rng.standard_normal(tuple(y.shape)) + (1j * rng.standard_normal(tuple(y.shape)) if y.is_complex() else 0) for y in outputs]
    try:
        wanted = torch.autograd.grad(
            outputs, [x for x, _ in pairs], [torch.tensor(c, dtype=y.dtype) for c, y in zip(cotangents, outputs)], allow_unused=True)
    except Exception:
        return None
    try:
        ours = flat(reduced(op, rebound(process), rebound(wrapper)(resolve(op), mine[0], *mine[1], **mine[2])))
        results = [ours[i] for i in kept]
        given = [gradus.tensor(c, dtype=y.dtype) for c, y in zip(cotangents, results)]
        live = [i for i, y in enumerate(results) if y.requires_grad]
        grads = gradus.autograd.grad([results[i] for i in live], [y for _, y in pairs], [given[i] for i in live], allow_unused=True)
    except Exception as error:
        return Finding("raises", "gradient: " + said(error))
    for i, ((x, y), a, b) in enumerate(zip(pairs, grads, wanted)):
        a = gradus.zeros_like(y.detach()) if a is None else a
        b = torch.zeros_like(x.detach()) if b is None else b
        found = None if i in WRONG_GRADIENTS.get(op.name, ()) else difference(a, b, (1e-6, 1e-3))
        if found is not None:
            return Finding("gradient", f"input {i}: {found.text}")
    return None
