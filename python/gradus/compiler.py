"""`torch.compiler`: marks for functions that are compiled.

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
    """Whether a function is being traced for `jit` or `compile`."""
    return is_tracing()


is_dynamo_compiling = is_compiling


def is_exporting():
    """`False`: nothing is exported."""
    return False


def _as_it_is(fn=None, *args, **kwargs):
    """Gives a function back, also as a decorator with arguments."""
    return fn if callable(fn) else _as_it_is


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself. Inside of a compiled function it is traced as any other: there are no breaks in graphs."""
    return _as_it_is(fn)


allow_in_graph = assume_constant_result = _as_it_is


def reset():
    """Nothing to forget: compiled functions keep their own programs."""


def cudagraph_mark_step_begin():
    """Nothing to mark."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The one way there is to compile."""
    return ["gradus"]


def set_stance(*args, **kwargs):
    """A context and a setting that changes nothing."""
    return contextlib.nullcontext()
