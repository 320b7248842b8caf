"""Gradus: tensors with derivatives, under PyTorch's names.

>>> import gradus
>>> x = gradus.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad.tolist()
[2.0, 4.0]
"""

from ._device import device
from ._native import __version__
from ._results import Size
from .core import *  # noqa: F403
from .settings import *  # noqa: F403
from .transforms import *  # noqa: F403
from . import amp, autograd, backends, cuda, data, distributed, distributions, fft, func, linalg, nn, optim, random, special, testing, utils
from .amp import GradScaler, autocast, is_autocast_enabled
from .compiled import compile
from .nn import functional
from .nn.functional import ctc_loss, embedding_bag
from .random import seed
from .serialization import load, save

import sys as _sys

_sys.modules[__name__ + ".functional"] = functional  # so that it can be imported too
