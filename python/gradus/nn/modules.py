"""PyTorch's modules of layers, by topic, from which programs also import private names.

>>> from gradus.nn.modules.batchnorm import _BatchNorm
>>> from gradus.nn.modules.utils import _pair
>>> import gradus
>>> isinstance(gradus.nn.BatchNorm2d(3), _BatchNorm), _pair(3)
(True, (3, 3))
"""

import functools as _functools
import sys as _sys
import types as _types

from . import activation, adaptive, containers, conv, dropout, lazy, linear, loss, module, norm, pooling, recurrent, transformer
from .module import Module  # noqa: F401

utils = _types.ModuleType(f"{__name__}.utils", "Numbers for every axis.")


def _ntuple(n):
    """Returns a function that repeats one number `n` times, and returns several unchanged."""
    return lambda x: tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


utils._ntuple = _ntuple
utils._single, utils._pair, utils._triple, utils._quadruple = map(_ntuple, range(1, 5))

#: PyTorch's names of topics, and the module here with their private names.
_TOPICS = {
    "activation": activation, "adaptive": adaptive, "batchnorm": norm, "channelshuffle": pooling, "container": containers, "conv": conv,
    "distance": pooling, "dropout": dropout, "flatten": linear, "fold": pooling, "instancenorm": norm, "lazy": lazy, "linear": linear,
    "loss": loss, "module": module, "normalization": norm, "padding": pooling, "pixelshuffle": pooling, "pooling": pooling,
    "rnn": recurrent, "sparse": linear, "transformer": transformer, "upsampling": pooling,
}


def _layer(topic, name):
    """Looks up a layer; private names only in the module of the topic."""
    from .. import nn

    if hasattr(_TOPICS[topic], name):
        return getattr(_TOPICS[topic], name)
    if not name.startswith("_") and hasattr(nn, name):
        return getattr(nn, name)
    raise AttributeError(f"module '{__name__}.{topic}' has no attribute {name!r}")


for _name in _TOPICS:
    globals()[_name] = _types.ModuleType(f"{__name__}.{_name}", "Layers of one topic.")
    globals()[_name].__getattr__ = _functools.partial(_layer, _name)
for _name in (*_TOPICS, "utils"):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import nn

    return getattr(nn, name)
