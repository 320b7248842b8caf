"""Golden cases of reductions, contractions, movement, indexing and sorting."""

import math

import torch
import torch.nn.functional as F

from record import *  # noqa: F403: functions that draw inputs and record cases


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
    """Wraps an operation: dims is a list, or null for all dimensions."""
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
