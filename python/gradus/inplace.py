"""In-place methods of `Tensor`, derived from those that return a new tensor, and PyTorch's queries about memory."""

import math

from . import _native
from ._examples import documented as _documented
from ._native import Tensor
from .grad_mode import no_grad
from .settings import strided

#: In place with the same shape: `x.tril_()` is `x.copy_(x.tril())`.
_SAME_SHAPE = "tril triu clip masked_scatter scatter_reduce index_reduce index_put index_fill nan_to_num erfinv logit lgamma digamma cumsum cumprod renorm gcd lcm i0 float_power ldexp mvlgamma clamp_min clamp_max round addbmm addmm addmv addr baddbmm put"
#: In place with another shape.
_OTHER_SHAPE = "squeeze unsqueeze t transpose swapaxes swapdims"


def _copying(method, name):
    def change(self, *args, **kwargs):
        return self.copy_(method(self, *args, **kwargs))

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"Applies `{name[:-1]}` in place."
    return change


def _becoming(method, name):
    def change(self, *args, **kwargs):
        if self.requires_grad and self.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return self._become(method(self.clone(), *args, **kwargs))

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"Applies `{name[:-1]}` in place."
    return change


def fill_diagonal_(self, fill_value, wrap=False):
    """In place: fills the main diagonal. With `wrap`, the diagonal starts again below in a tall matrix.

    >>> import gradus
    >>> gradus.zeros(2, 2).fill_diagonal_(3)
    tensor([[3., 0.],
            [0., 3.]])
    """
    if self.dim() < 2:
        raise RuntimeError("fill_diagonal_ needs a tensor of at least 2 axes")
    steps = [_native.arange(n, device=self.device).reshape([-1 if i == axis else 1 for i in range(self.dim())]) for axis, n in enumerate(self.shape)]
    if wrap and self.dim() == 2:
        steps[0] = steps[0] % (self.shape[1] + 1)
    on = steps[0] == steps[1]
    for other in steps[2:]:
        on = on & (steps[0] == other)
    return self.copy_(self.masked_fill(on, fill_value))


def _open(self, generator):
    """Draws in the open interval (0, 1)."""
    return _native.rand(tuple(self.shape), generator=generator, dtype=_native.float64, device="cpu").clamp(2.0**-25, 1 - 2.0**-25)


def exponential_(self, lambd=1.0, *, generator=None):
    """In place: draws from an exponential distribution.

    >>> import gradus
    >>> bool((gradus.empty(9).exponential_() > 0).all())
    True
    """
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    with no_grad():
        return self.copy_(-(-_open(self, generator)).log1p() / lambd)


def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """In place: draws from a Cauchy distribution.

    >>> import gradus
    >>> abs(gradus.empty(9999).cauchy_(5.0).median().item() - 5) < 0.1
    True
    """
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    with no_grad():
        return self.copy_(median + sigma * (math.pi * (_open(self, generator) - 0.5)).tan())


def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """In place: draws from a log-normal distribution, exponentials of normal draws.

    >>> import gradus
    >>> bool((gradus.empty(9).log_normal_() > 0).all())
    True
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    with no_grad():
        return self.copy_((mean + std * _native.randn(tuple(self.shape), generator=generator, dtype=_native.float64, device="cpu")).exp())


def geometric_(self, p, *, generator=None):
    """In place: draws from a geometric distribution, the number of trials of probability `p` until the first success.

    >>> import gradus
    >>> gradus.empty(3).geometric_(0.999999)
    tensor([1., 1., 1.])
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    with no_grad():
        return self.copy_((_open(self, generator).log() / math.log1p(-p)).ceil())


def random_(self, low=None, high=None, *, generator=None):
    """In place: draws integers in [low, high); without `high`, up to the largest that the dtype represents.

    >>> import gradus
    >>> x = gradus.zeros(100).random_(3, 5)
    >>> sorted(set(x.tolist()))
    [3.0, 4.0]
    """
    if high is None:
        most = {"float32": 2**24, "float64": 2**53, "float16": 2**11, "bfloat16": 2**8, "int8": 2**7, "uint8": 2**8, "bool": 2,
                "int32": 2**31 - 1, "int64": 2**63 - 1}
        low, high = (0, most[str(self.dtype).split(".")[-1]]) if low is None else (0, low)
    with no_grad():
        return self.copy_(_native.randint(low, high, tuple(self.shape), generator=generator, device="cpu"))


def resize_(self, *sizes, memory_format=None):
    """In place: changes the shape; the first elements are kept, new ones are zeros.

    >>> import gradus
    >>> gradus.tensor([1, 2, 3]).resize_(2, 2)
    tensor([[1, 2],
            [3, 0]])
    """
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    count, flat = math.prod(sizes), self.reshape(-1)
    if count > flat.shape[0]:
        flat = _native.cat([flat, _native.zeros(count - flat.shape[0], dtype=self.dtype, device=self.device)])
    return self._become(flat[:count].reshape(sizes).clone())


def resize_as_(self, other, memory_format=None):
    """In place: changes the shape to that of another tensor.

    >>> import gradus
    >>> gradus.tensor([1, 2, 3]).resize_as_(gradus.zeros(2))
    tensor([1, 2])
    """
    return self.resize_(tuple(other.shape))


def set_(self, source):
    """In place: takes over the value of another tensor.

    >>> import gradus
    >>> gradus.zeros(1).set_(gradus.ones(2))
    tensor([1., 1.])
    """
    return self._become(source.detach().clone())


def apply_(self, callable):
    """In place: applies a Python function to each element.

    >>> import gradus
    >>> gradus.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
    tensor([10., 20.])
    """
    with no_grad():
        return self.copy_(_native.tensor([callable(x) for x in self.reshape(-1).tolist()], dtype=self.dtype).reshape(self.shape))


def ndimension(self):
    """Number of axes.

    >>> import gradus
    >>> gradus.zeros(2, 3).ndimension()
    2
    """
    return self.dim()


def is_shared(self):
    """Returns False: memory is not shared between processes.

    >>> import gradus
    >>> gradus.zeros(2).is_shared()
    False
    """
    return False


def is_inference(self):
    """Returns False: tensors do not record that they were made in `inference_mode`.

    >>> import gradus
    >>> gradus.zeros(2).is_inference()
    False
    """
    return False


def to_dense(self):
    """Returns the tensor: it is dense.

    >>> import gradus
    >>> gradus.zeros(2).to_dense()
    tensor([0., 0.])
    """
    return self


def data_ptr(self):
    """Returns the address of the first element in host memory."""
    if not self.is_cpu:
        raise RuntimeError(f"a tensor on {self.device} has no address in host memory; use Tensor.cpu() first")
    return self.numpy(force=True).__array_interface__["data"][0]


def pin_memory(self, device=None):
    """Returns the tensor: there is no pinned memory."""
    return self


def is_pinned(self, device=None):
    """Returns False: there is no pinned memory."""
    return False


def share_memory_(self):
    """Returns the tensor: threads share memory."""
    return self


def get_device(self):
    """Returns the number of the tensor's device among those of its type; -1 on the CPU."""
    return -1 if self.is_cpu else self.device.index


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """Raises an error: there is no CUDA device."""
    raise RuntimeError("there is no CUDA device; use .cpu() or .to('wgpu')")


def install():
    """Adds these methods to `Tensor`."""
    for name in _SAME_SHAPE.split():
        method = getattr(Tensor, name, None)
        if method is not None and not hasattr(Tensor, name + "_"):
            setattr(Tensor, name + "_", _copying(method, name + "_"))
    for name in _OTHER_SHAPE.split():
        if not hasattr(Tensor, name + "_"):
            setattr(Tensor, name + "_", _becoming(getattr(Tensor, name), name + "_"))
    for function in (fill_diagonal_, exponential_, cauchy_, log_normal_, geometric_, random_, resize_, resize_as_, set_, apply_, ndimension, is_shared, is_inference, to_dense, data_ptr, pin_memory, is_pinned, share_memory_, get_device, cuda):
        if not hasattr(Tensor, function.__name__):
            setattr(Tensor, function.__name__, function)
    _documented({name: getattr(Tensor, name) for name in dir(Tensor)})
    for name in "is_sparse is_sparse_csr is_quantized is_meta is_mkldnn is_mps is_nested is_xla is_xpu".split():
        setattr(Tensor, name, property(lambda self: False, doc="False: tensors are dense, on the CPU or wgpu."))
    Tensor.layout = property(lambda self: strided, doc="How elements are stored.")
    Tensor.itemsize = property(lambda self: self.element_size(), doc="Bytes of an element.")
    Tensor.mH = property(lambda self: self.adjoint() if self.is_complex() else self.mT, doc="Matrices transposed and conjugated.")
