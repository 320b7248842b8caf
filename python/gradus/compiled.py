"""`compile`, under the name that PyTorch programs use for `jit`."""

import functools
import sys
import types
import typing

from .nn import Module
from .transforms import jit


def _found(module, name):
    """Returns the attribute of a module with this name."""
    return functools.reduce(getattr, name.split("."), sys.modules[module])


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, disable=False):
    """Compiles a function to one program for each shape of its arguments; for a module, its `forward`.

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


def _unchanged(obj=None, *args, **kwargs):
    """A decorator for TorchScript; returns the Python function unchanged. Also accepts arguments.

    >>> import gradus
    >>> @gradus.jit.script
    ... def f(x):
    ...     return x * 2 if x.sum() > 0 else x
    >>> f(gradus.ones(2))
    tensor([2., 2.])
    """
    return obj if callable(obj) else _unchanged


def _no_scripts(*args, **kwargs):
    """Raises an error: there are no script files."""
    raise NotImplementedError("there are no script files: save the state_dict() of the module")


# PyTorch's names in the module `jit`. They do not compile, because scripts may read values of tensors.
for _name in ("script", "trace", "freeze", "ignore", "unused", "export"):
    setattr(jit, _name, staticmethod(_unchanged))
jit.is_scripting = jit.is_tracing = staticmethod(lambda: False)
jit.ScriptModule = jit.RecursiveScriptModule = Module
jit.ScriptFunction = type(lambda: 0)
jit.Final, jit.Attribute = typing.Final, lambda value, type: value
jit.annotate = staticmethod(lambda the_type, the_value: the_value)
jit.isinstance = staticmethod(isinstance)
_annotations = types.ModuleType("gradus.jit.annotations", "Types of arguments that are one number or several.")
for _name in "BroadcastingList1 BroadcastingList2 BroadcastingList3 BroadcastingListx".split():
    setattr(_annotations, _name, list)
_annotations.List, _annotations.Dict, _annotations.Tuple, _annotations.Optional = typing.List, typing.Dict, typing.Tuple, typing.Optional
sys.modules[_annotations.__name__] = jit.annotations = _annotations
jit._overload = jit._overload_method = jit.script_if_tracing = jit.script_method = jit.interface = jit.optimize_for_inference = staticmethod(_unchanged)
jit.set_fusion_strategy = staticmethod(lambda strategy: None)
jit.save = staticmethod(_no_scripts)
jit.load = staticmethod(_no_scripts)
