"""`torch.fx`, so that programs which mark functions for it can be imported. Functions are traced with `gradus.trace`.

>>> import gradus.fx
>>> @gradus.fx.wrap
... def f(x):
...     return x + 1
>>> f(1), isinstance(f, gradus.fx.Proxy)
(2, False)
"""

from ..nn import Module

_INSTEAD = "does not exist here: gradus.trace(function, *arguments) gives the graph of a function of tensors"


def wrap(fn_or_name):
    """Returns a function, or the name of one, unchanged: nothing is traced symbolically."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name


class _Absent:
    """A class that can be imported and derived from, but not instantiated."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"fx.{type(self).__name__} {_INSTEAD}")


class Proxy(_Absent):
    """PyTorch's class of traced values, so that `isinstance` can name it; no value here is an instance."""


class Node(_Absent):
    """One operation of a graph."""


class Graph(_Absent):
    """Operations in order."""


class Tracer(_Absent):
    """Records graphs in PyTorch; cannot be instantiated here."""


class Transformer(_Absent):
    """Transforms graphs in PyTorch; cannot be instantiated here."""


class Interpreter(_Absent):
    """Runs graphs node by node in PyTorch; cannot be instantiated here."""


class GraphModule(Module):
    """A module made from a graph in PyTorch; no module here is an instance."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"fx.GraphModule {_INSTEAD}")


def symbolic_trace(root, concrete_args=None):
    """Raises an error: functions are traced with `gradus.trace`."""
    raise NotImplementedError(f"fx.symbolic_trace {_INSTEAD}")


from . import proxy  # noqa: E402,F401
