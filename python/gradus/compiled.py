"""`compile`, under the name that PyTorch programs use for `jit`."""

import functools
import sys

from .nn import Module
from .transforms import jit


def _found(module, name):
    """What has this name in a module."""
    return functools.reduce(getattr, name.split("."), sys.modules[module])


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """A function that runs as one program for each shape of its arguments; of a module, its `forward`.

    >>> import gradus
    >>> model = gradus.compile(gradus.nn.Linear(2, 3))
    >>> tuple(model(gradus.ones(4, 2)).shape)
    (4, 3)
    """
    if model is None:  # as a decorator with arguments
        return lambda function: compile(function, disable=disable)
    if disable:
        return model
    if isinstance(model, Module):
        model.forward = jit(model.forward)
        return model
    return jit(model)


def _as_it_is(obj=None, *args, **kwargs):
    """What PyTorch would translate or leave out of a translation; here it stays a function of Python. Also with arguments first.

    >>> import gradus
    >>> @gradus.jit.script
    ... def f(x):
    ...     return x * 2 if x.sum() > 0 else x
    >>> f(gradus.ones(2))
    tensor([2., 2.])
    """
    return obj if callable(obj) else _as_it_is


# What PyTorch has in a module of that name. None of it traces, since scripts may look at values.
for _name in ("script", "trace", "freeze", "ignore", "unused", "export"):
    setattr(jit, _name, staticmethod(_as_it_is))
jit.is_scripting = jit.is_tracing = staticmethod(lambda: False)
jit.ScriptModule = Module
