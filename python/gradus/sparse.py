"""Sparse tensors. `SparseTensor` holds indices and values; products, sums and conversions gather elements or add at indices.

Gradients flow to the values, and from products to the dense operand, since everything is composed of differentiable functions.
Dense functions raise an error that suggests `to_dense()` for a sparse tensor; those of the table `keywords.SPARSE` are handled here.
"""

import functools
import math

from . import _native
from ._native import Tensor
from ._results import Size
from .keywords import SPARSE
from .settings import sparse_coo
from .tensor_types import made as _classes

_USE = "sparse_tensor does not have this operation: call to_dense() first"


def _converts(name):
    def method(self, *args, **kwargs):
        return self._with(getattr(self._held, name)(*args, **kwargs))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name}` of the values."
    return method


class SparseTensor(Tensor):
    """A tensor of which only some elements are stored, with their indices.

    >>> import gradus
    >>> s = gradus.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> s @ gradus.ones(3, 1)
    tensor([[3.],
            [9.]])
    >>> s.to_dense().tolist(), s._nnz(), s.is_sparse
    ([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]], 3, True)
    """

    _results_keep_class = False

    def __new__(cls, indices, values, size, coalesced=False):
        made = Tensor.__new__(cls)._withhold(_USE)
        made._at, made._held, made._size, made._coalesced = indices, values, Size(size), coalesced
        return made

    def __init__(self, *args, **kwargs):
        pass

    def _with(self, values):
        """Returns a tensor with other values at the same indices, which follow the values to their device."""
        at = self._at if values.device == self._at.device else self._at.to(values.device)
        return SparseTensor(at, values, self._size, self._coalesced)

    # --- properties ---------------------------------------------------------------------------------------------

    shape = property(lambda self: self._size, doc="The extents.")
    dtype = property(lambda self: self._held.dtype, doc="The dtype of the values.")
    device = property(lambda self: self._held.device, doc="The device of the indices and values.")
    is_cpu = property(lambda self: self._held.is_cpu, doc="True if the tensor is on the CPU.")
    is_wgpu = property(lambda self: self._held.is_wgpu, doc="True if the tensor is on a WebGPU device.")
    ndim = property(lambda self: len(self._size), doc="The number of axes.")
    layout = property(lambda self: sparse_coo, doc="The kind of storage: `gradus.sparse_coo`.")
    is_sparse = property(lambda self: True, doc="True: the tensor is sparse.")
    is_leaf = property(lambda self: self._held.is_leaf, doc="True if the values are a leaf.")
    grad_fn = property(lambda self: self._held.grad_fn, doc="The operation that produced the values, if it was recorded.")
    requires_grad = property(lambda self: self._held.requires_grad, lambda self, on: self.requires_grad_(on) and None,
                             doc="True if the values require gradients.")
    T = property(lambda self: self.t(), doc="The transposed matrix.")
    mT = T

    @property
    def grad(self):
        """The gradient of a leaf: sparse, at the same indices."""
        return None if self._held.grad is None else self._with(self._held.grad)

    @grad.setter
    def grad(self, value):
        self._held.grad = None if value is None else value._held

    def size(self, dim=None):
        """Returns the extents, or one of them."""
        return self._size if dim is None else self._size[dim]

    def dim(self):
        """Returns the number of axes."""
        return len(self._size)

    ndimension = dim

    def numel(self):
        """Returns the number of elements, stored or not."""
        return math.prod(self._size)

    nelement = numel

    def sparse_dim(self):
        """Returns the number of sparse axes, which come first."""
        return self._at.shape[0]

    def dense_dim(self):
        """Returns the number of dense axes."""
        return self._held.dim() - 1

    def is_floating_point(self):
        """Returns true if values are real floats."""
        return self._held.is_floating_point()

    def is_complex(self):
        """Returns true if values are complex."""
        return self._held.is_complex()

    def is_coalesced(self):
        """Returns true if indices are sorted and each occurs once."""
        return self._coalesced

    def _nnz(self):
        """Returns the number of stored elements."""
        return self._at.shape[1]

    nnz = _nnz

    def _indices(self):
        return self._at

    def _values(self):
        return self._held

    def _asked(self, what):
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def indices(self):
        """Returns the indices, one row for each sparse axis. The tensor must be coalesced."""
        self._asked("indices")
        return self._at

    def values(self):
        """Returns the stored elements. The tensor must be coalesced."""
        self._asked("values")
        return self._held

    def __len__(self):
        return self._size[0]

    def __repr__(self):
        lines = [f"indices={self._at!r}", f"values={self._held.detach()!r}",
                 f"size={tuple(self._size)}, nnz={self._nnz()}, layout={sparse_coo!r}"]
        extra = ", requires_grad=True" if self.requires_grad else ""
        return "tensor(" + ",\n       ".join(lines) + extra + ")"

    # --- conversions --------------------------------------------------------------------------------------------

    def _zeros(self, *size):
        """Returns zeros with the dtype and device of the values."""
        return _native.zeros(size, dtype=self.dtype, device=self.device)

    def _flat(self):
        """Returns the row-major position of each stored index, and the number of positions."""
        extents = self._size[: self.sparse_dim()]
        place = _native.zeros(self._nnz(), dtype=_native.int64, device=self._at.device)
        for row, n in zip(self._at, extents):
            place = place * n + row
        return place, math.prod(extents)

    def coalesce(self):
        """Sorts indices and sums values at equal indices."""
        if self._coalesced:
            return self
        place, _ = self._flat()
        kept, inverse = place.unique(return_inverse=True)
        total = self._zeros(kept.shape[0], *self._held.shape[1:]).index_add(0, inverse, self._held)
        rows = []
        for n in reversed(self._size[: self.sparse_dim()]):
            rows.insert(0, kept % n)
            kept = kept // n
        at = _native.stack(rows) if rows else self._at[:, :1]
        return SparseTensor(at, total, self._size, True)

    def to_dense(self, dtype=None, *, masked_grad=None):
        """Returns all elements, zeros where none is stored."""
        place, count = self._flat()
        whole = self._zeros(count, *self._held.shape[1:]).index_add(0, place, self._held).reshape(tuple(self._size))
        return whole if dtype is None else whole.to(dtype)

    def to_sparse(self, *args, **kwargs):
        """Returns the tensor itself."""
        return self

    to_sparse_coo = to_sparse

    def requires_grad_(self, requires_grad=True):
        """Sets whether the stored values, which must be a leaf, require gradients."""
        self._held.requires_grad_(requires_grad)
        return self

    def clone(self, *, memory_format=None):
        """Returns a copy that gradients flow through."""
        return SparseTensor(self._at.clone(), self._held.clone(), self._size, self._coalesced)

    def numpy(self, *, force=False):
        """Raises an error: not all elements are in memory."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __deepcopy__(self, memo):
        made = SparseTensor(self._at.clone(), self._held.detach().clone(), self._size, self._coalesced)
        return memo.setdefault(id(self), made.requires_grad_(self.requires_grad))

    def __reduce_ex__(self, protocol):
        return SparseTensor, (self._at, self._held, tuple(self._size), self._coalesced)

    # --- products -----------------------------------------------------------------------------------------------

    def _matrix(self, name):
        if self.sparse_dim() != 2 or self.dense_dim() != 0:
            raise RuntimeError(f"{name}: expected a sparse matrix with 2 sparse and 0 dense axes, not {self.sparse_dim()} and {self.dense_dim()}")

    def matmul(self, other):
        """Computes the product with a dense matrix or vector, which is dense, or with a sparse matrix, which is sparse."""
        self._matrix("matmul")
        if isinstance(other, SparseTensor):
            return self.matmul(other.to_dense()).to_sparse()
        if other.dim() == 1:
            return self.matmul(other.unsqueeze(1)).squeeze(1)
        rows, columns = self._at
        if other.dim() != 2 or other.shape[0] != self._size[1]:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({self._size[0]}x{self._size[1]} and {'x'.join(map(str, other.shape))})")
        if other.dtype is not self.dtype:
            raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {self.dtype} != {other.dtype}")
        parts = self._held.unsqueeze(1) * other.index_select(0, columns)
        return self._zeros(self._size[0], other.shape[1]).index_add(0, rows, parts)

    mm = mv = smm = spmm = __matmul__ = matmul

    def __rmatmul__(self, other):
        if other.dim() == 1:
            return self.t().matmul(other)
        return self.t().matmul(other.t()).t()

    # --- sums and other arithmetic ------------------------------------------------------------------------------

    def add(self, other, *, alpha=1):
        """Computes the sum: sparse with a sparse tensor, dense with a dense one."""
        if not isinstance(other, SparseTensor):
            if not isinstance(other, Tensor):
                raise RuntimeError("add(sparse, dense) is not supported for numbers: call to_dense() first")
            return self.to_dense() + alpha * other
        if self._size != other._size:
            raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(self._size)} != {list(other._size)}")
        at, values = _native.cat([self._at, other._at], 1), _native.cat([self._held, other._held * alpha], 0)
        both = SparseTensor(at, values, self._size)
        return both.coalesce() if self._coalesced and other._coalesced else both

    __add__ = __radd__ = add

    def sub(self, other, *, alpha=1):
        """Computes the difference."""
        return self.add(other, alpha=-alpha)

    __sub__ = sub

    def __rsub__(self, other):
        return other - self.to_dense()

    def mul(self, other):
        """Computes the product of elements, which is sparse."""
        if isinstance(other, SparseTensor):
            other = other.to_dense()
        if isinstance(other, Tensor) and other.dim():
            spread = other.expand(tuple(self._size))
            own = self.coalesce()
            place, count = own._flat()
            return own._with(own._held * spread.reshape(count, *own._held.shape[1:]).index_select(0, place))
        return self._with(self._held * other)

    __mul__ = __rmul__ = multiply = mul

    def div(self, other, *, rounding_mode=None):
        """Divides by a number."""
        if isinstance(other, Tensor) and other.dim():
            raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
        return self._with(self._held.div(other, rounding_mode=rounding_mode))

    __truediv__ = div

    def __neg__(self):
        return self._with(-self._held)

    def neg(self):
        """Computes the negated tensor."""
        return -self

    def __pow__(self, exponent):
        return self.coalesce()._with(self.coalesce()._held ** exponent)

    pow = __pow__

    def sum(self, dim=None, keepdim=False, *, dtype=None):
        """Computes the sum of all elements, or along axes. The sum along axes is sparse if a sparse axis remains."""
        own = self if dtype is None else self.to(dtype)
        if dim is None:
            return own._held.sum()
        if keepdim:
            raise NotImplementedError("sum of a sparse tensor with keepdim=True: call to_dense() first")
        dims = {d % self.dim() for d in ((dim,) if isinstance(dim, int) else dim)}
        first = self.sparse_dim()
        inner = tuple(d - first + 1 for d in dims if d >= first)
        values = own._held.sum(inner) if inner else own._held
        rows = [i for i in range(first) if i not in dims]
        if not rows:
            return values.sum(0)
        size = [n for i, n in enumerate(self._size) if i not in dims]
        return SparseTensor(_native.stack([self._at[i] for i in rows]), values, size).coalesce()

    def transpose(self, dim0, dim1):
        """Swaps two sparse axes."""
        a, b = dim0 % self.dim(), dim1 % self.dim()
        if max(a, b) >= self.sparse_dim():
            raise RuntimeError(f"transpose: can only transpose sparse axes, of which there are {self.sparse_dim()}, not axes {dim0} and {dim1}")
        rows, size = list(self._at), list(self._size)
        rows[a], rows[b], size[a], size[b] = rows[b], rows[a], size[b], size[a]
        return SparseTensor(_native.stack(rows), self._held, size)

    def t(self):
        """Computes the transposed matrix."""
        if self.dim() > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
        return self.transpose(0, 1) if self.dim() == 2 else self

    def index_select(self, dim, index):
        """Selects rows or columns by index."""
        return self.to_dense().index_select(dim, index).to_sparse()

    def __getitem__(self, index):
        return self.to_dense()[index]


for _name in "to float double half bfloat16 cpu cuda wgpu detach abs sqrt type contiguous".split():
    setattr(SparseTensor, _name, _converts(_name))


def sparse_coo_tensor(indices, values, size=None, *, dtype=None, device=None, requires_grad=False, check_invariants=None, is_coalesced=None):
    """Returns a sparse tensor of indices, a row for each axis, and values; values at equal indices add up.

    >>> import gradus
    >>> gradus.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 0., 3.],
            [9., 0., 0.]])
    """
    at = _native.as_tensor(indices).to(_native.int64)
    held = _native.as_tensor(values, dtype=dtype, device=device)
    if at.dim() == 1:
        at = at.unsqueeze(0)
    if at.dim() != 2 or held.dim() < 1 or at.shape[1] != held.shape[0]:
        raise RuntimeError(f"indices of shape {tuple(at.shape)} and values of shape {tuple(held.shape)} do not fit: "
                           "indices need a row for each sparse axis and a column for each value")
    if size is None:
        if at.shape[1] == 0:
            raise RuntimeError("found no size and no indices to infer it from")
        size = [int(row.max()) + 1 for row in at] + list(held.shape[1:])
    size = Size(size)
    if len(size) != at.shape[0] + held.dim() - 1:
        raise RuntimeError(f"number of dimensions must be sparse_dim ({at.shape[0]}) + dense_dim ({held.dim() - 1}), but got {len(size)}")
    if tuple(size[at.shape[0]:]) != tuple(held.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {list(size[at.shape[0]:])}, got {list(held.shape[1:])}")
    if at.shape[1] and not at._is_traced:
        if bool((at < 0).any()):
            raise RuntimeError("found negative index in indices")
        for axis, row in enumerate(at):
            if int(row.max()) >= size[axis]:
                raise RuntimeError(f"size is inconsistent with indices: for dim {axis}, size is {size[axis]} but found index {int(row.max())}")
    if requires_grad:
        held = held.detach().requires_grad_()
    return SparseTensor(at.to(held.device), held, size, bool(is_coalesced))


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """Returns the elements that are not zero, with their indices; with `sparse_dim`, for the first axes only.

    >>> import gradus
    >>> gradus.eye(2).to_sparse().indices().tolist()
    [[0, 1], [0, 1]]
    """
    if layout is not None and layout is not sparse_coo:
        raise NotImplementedError(f"to_sparse: there is no {layout!r} layout, only gradus.sparse_coo")
    count = self.dim() if sparse_dim is None else sparse_dim
    if not 0 < count <= self.dim():
        raise RuntimeError(f"sparse_dim must be from 1 to {self.dim()}, not {count}")
    kept = self.detach() != 0
    if count < self.dim():
        kept = kept.flatten(count).any(-1)
    at = kept.nonzero().t()
    return SparseTensor(at, self[tuple(at)], self.shape, True)


def mm(input, mat2, reduce="sum"):
    """Computes the product of matrices, the first of which is sparse.

    With `reduce`, an element of the result is the mean, the largest or the smallest of the products that a sum would add. Only
    products of stored elements count.

    >>> import gradus
    >>> gradus.sparse.mm(gradus.eye(2).to_sparse(), gradus.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    >>> a = gradus.tensor([[1.0, 3.0], [0.0, 2.0]]).to_sparse()
    >>> gradus.sparse.mm(a, gradus.ones(2, 1), "mean").tolist()
    [[2.0], [2.0]]
    """
    if reduce == "sum":
        return input.mm(mat2) if isinstance(input, SparseTensor) else input @ mat2
    if reduce not in ("mean", "amax", "amin"):
        raise ValueError(f"reduce must be sum, mean, amax or amin, not {reduce!r}")
    if not isinstance(input, SparseTensor):
        raise TypeError(f"sparse.mm: with reduce={reduce!r} the first matrix must be sparse")
    own = input.coalesce()
    own._matrix("mm")
    rows, columns = own._at[0], own._at[1]
    products = own._held.unsqueeze(1) * mat2.index_select(0, columns)
    zeros = _native.zeros((own._size[0], mat2.shape[1]), dtype=products.dtype, device=products.device)
    return zeros.scatter_reduce(0, rows.unsqueeze(1).expand_as(products), products, reduce, include_self=False)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """`beta * input + alpha * mat1 @ mat2`, where the first matrix is sparse.

    >>> import gradus
    >>> gradus.sparse.addmm(gradus.ones(2, 1), gradus.eye(2).to_sparse(), gradus.ones(2, 1)).tolist()
    [[2.0], [2.0]]
    """
    return beta * input + alpha * mm(mat1, mat2)


def sum(input, dim=None, dtype=None):
    """Computes the sum of a sparse tensor, or along axes.

    >>> import gradus
    >>> gradus.sparse.sum(gradus.eye(3).to_sparse()).item()
    3.0
    """
    return input.sum(dim, dtype=dtype)


def _masked_softmax(input, dim, dtype, log):
    """Applies softmax or log_softmax to the stored elements along an axis, as if the others were minus infinity."""
    own = (input if dtype is None else input.to(dtype)).coalesce()
    own._matrix("softmax")
    group, count = own._at[1 - dim % 2], own._size[1 - dim % 2]
    top = _native.full((count,), -math.inf, dtype=own.dtype, device=own.device).scatter_reduce(0, group, own._held.detach(), "amax")
    shifted = own._held - top.index_select(0, group)
    total = own._zeros(count).index_add(0, group, shifted.exp()).index_select(0, group)
    return own._with(shifted - total.log() if log else shifted.exp() / total)


def softmax(input, dim, *, dtype=None):
    """`softmax` along an axis of the stored elements of a matrix.

    >>> import gradus
    >>> gradus.sparse.softmax(gradus.eye(2).to_sparse(), 1).to_dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return _masked_softmax(input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None):
    """Computes the logarithm of `softmax`.

    >>> import gradus
    >>> gradus.sparse.log_softmax(gradus.eye(2).to_sparse(), 1).to_dense().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return _masked_softmax(input, dim, dtype, True)


def _typed(dtype):
    """PyTorch's older constructors: `sparse.FloatTensor(indices, values, size)`."""

    def make(indices=None, values=None, size=None, *, device=None):
        return sparse_coo_tensor(indices, values, size, dtype=dtype, device=device)

    return make


for _name, _cls in _classes("gradus.sparse").items():
    globals()[_name] = functools.update_wrapper(_typed(_cls.dtype), _cls, assigned=("__name__", "__qualname__"), updated=())


def _of_method(name):
    """Dispatches a top-level function to the method of the sparse argument."""

    def function(input, *args, **kwargs):
        if isinstance(input, SparseTensor):
            return getattr(input, name)(*args, **kwargs)
        if name in ("mm", "matmul"):
            return args[0].__rmatmul__(input)
        if name in ("add", "mul"):
            return getattr(args[0], name)(input, *args[1:], **kwargs)
        raise RuntimeError(f"{name}: the sparse tensor has to be the first argument")

    return function


SPARSE.update({name: _of_method(name) for name in "mm matmul mv add sub mul div sum transpose t neg abs sqrt pow index_select clone detach".split()})
SPARSE["addmm"] = addmm


def spmm(input, mat2):
    """Computes the product of matrices, the first of which may be sparse.

    >>> import gradus
    >>> gradus.spmm(gradus.eye(2).to_sparse(), gradus.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """
    return mm(input, mat2)


Tensor.to_sparse = to_sparse
Tensor.to_sparse_coo = to_sparse
