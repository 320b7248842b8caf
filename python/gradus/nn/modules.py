"""Where PyTorch has its layers, by topic: programs import some that begin with `_` from there.

>>> from gradus.nn.modules.batchnorm import _BatchNorm
>>> from gradus.nn.modules.utils import _pair
>>> import gradus
>>> isinstance(gradus.nn.BatchNorm2d(3), _BatchNorm), _pair(3)
(True, (3, 3))
"""

import sys as _sys
import types as _types

from . import activation, attention, containers, conv, dropout, linear, loss, module, norm, pooling, recurrent, transformer
from .module import Module  # noqa: F401

utils = _types.ModuleType(f"{__name__}.utils", "Numbers for every axis.")


def _ntuple(n):
    """What makes `n` numbers of one, and leaves several as they are."""
    return lambda x: tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


utils._ntuple = _ntuple
utils._single, utils._pair, utils._triple, utils._quadruple = map(_ntuple, range(1, 5))

#: The modules here under PyTorch's names for them.
_TOPICS = {
    "activation": activation, "attention": attention, "batchnorm": norm, "container": containers, "conv": conv, "dropout": dropout,
    "flatten": linear, "instancenorm": norm, "linear": linear, "loss": loss, "module": module, "normalization": norm, "padding": pooling,
    "pooling": pooling, "rnn": recurrent, "sparse": linear, "transformer": transformer, "upsampling": pooling, "utils": utils,
}
for _name, _module in _TOPICS.items():
    globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import nn

    return getattr(nn, name)
