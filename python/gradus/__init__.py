"""Gradus: tensors with derivatives, under PyTorch's names.

>>> import gradus
>>> x = gradus.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad.tolist()
[2.0, 4.0]
"""

from ._device import device
from ._results import Size
from .core import *  # noqa: F403
from .settings import *  # noqa: F403
from .tensor_types import *  # noqa: F403
from .transforms import *  # noqa: F403
from . import wgpu, accelerator, amp, autograd, backends, compiler, cuda, data, distributed, distributions, fft, func, linalg, masked, nn, optim, random, signal, special, testing, utils
from ._device import located_in as _located_in

_located_in(special.__name__)
from .amp import GradScaler, autocast, is_autocast_enabled
from .compiled import compile
from .nn import functional
from .nn.functional import (
    affine_grid_generator, alpha_dropout, ctc_loss, embedding_bag, embedding_renorm_, feature_alpha_dropout, grid_sampler, grid_sampler_2d,
    grid_sampler_3d,
)
from .random import seed
from .serialization import load, save
from .sparse import sparse_coo_tensor, spmm
from .storage import FloatStorage, Storage, TypedStorage, UntypedStorage
from .version import __version__
from . import _C, fx, hub, models, multiprocessing, onnx, overrides, serialization, sparse, storage, types, version

import sys as _sys

from .limits import NAMED_ONLY as _NAMED_ONLY

for _name, _dtype in _NAMED_ONLY.items():
    globals().setdefault(_name, _dtype)
short, chalf = globals()["int16"], globals()["complex32"]

_sys.modules[__name__ + ".functional"] = functional  # so that it can be imported too
_sys.modules[__name__ + ".jit"] = jit  # noqa: F405


def typename(obj):
    """Returns the name of an object's type; for a tensor, its PyTorch type name.

    >>> import gradus
    >>> gradus.typename(gradus.ones(2)), gradus.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):  # noqa: F405
        return obj.type()
    cls = type(obj)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _assert(condition, message):
    """Raises an `AssertionError` with a message unless a condition is true."""
    assert condition, message
