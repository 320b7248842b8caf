"""`torch.compiler`: markers of compiled functions.

>>> import gradus
>>> @gradus.compiler.disable
... def f(x):
...     return x + 1
>>> f(1), gradus.compiler.is_compiling()
(2, False)
"""

import contextlib

from ._native import is_tracing
from .compiled import compile  # noqa: F401


def is_compiling():
    """Returns true if a function is being traced for `jit` or `compile`."""
    return is_tracing()


is_dynamo_compiling = is_compiling


def is_exporting():
    """`False`: nothing is exported."""
    return False


def _unchanged(fn=None, *args, **kwargs):
    """Returns a function unchanged, also as a decorator with arguments."""
    return fn if callable(fn) else _unchanged


def disable(fn=None, recursive=True, *, reason=None):
    """Returns the function unchanged. Inside of a compiled function it is traced like any other: there are no graph breaks."""
    return _unchanged(fn)


allow_in_graph = assume_constant_result = _unchanged


def reset():
    """Has no effect: compiled functions keep their own programs."""


def cudagraph_mark_step_begin():
    """Has no effect."""


def list_backends(exclude_tags=("debug", "experimental")):
    """Returns the only backend."""
    return ["gradus"]


def set_stance(*args, **kwargs):
    """A context and a setting that changes nothing."""
    return contextlib.nullcontext()
