"""Names of PyTorch's private module that programs use: error classes, and switches without effect.

>>> import gradus
>>> issubclass(gradus._C._LinAlgError, RuntimeError)
True
"""

from ._device import device  # noqa: F401
from ._native import Generator, Tensor as TensorBase, dtype, is_grad_enabled as _is_grad_enabled  # noqa: F401
from ._results import Size  # noqa: F401
from .linalg import LinAlgError as _LinAlgError  # noqa: F401


def _log_api_usage_once(*args):
    """Does nothing: nothing is logged."""


def _get_tracing_state():
    """Returns `None`: scripts are not traced."""
    return None


def _is_tracing():
    """Returns `False`."""
    return False
