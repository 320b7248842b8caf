"""PyTorch's global settings. Settings without a meaning here are stored and returned."""

from . import _native
from ._examples import documented as _documented
from ._native import get_num_threads, set_num_threads  # noqa: F401

_kept = {"deterministic": False, "warn_only": False, "interop": 1}


def set_num_interop_threads(num):
    """Stored without effect: operations start in order.

    >>> import gradus
    >>> gradus.set_num_interop_threads(2)
    >>> gradus.get_num_interop_threads()
    2
    """
    _kept["interop"] = int(num)


def get_num_interop_threads():
    """Returns the value set by `set_num_interop_threads`."""
    return _kept["interop"]


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Stored without effect: results are always the same bits on any number of threads.

    >>> import gradus
    >>> gradus.use_deterministic_algorithms(True)
    >>> gradus.are_deterministic_algorithms_enabled()
    True
    """
    _kept["deterministic"], _kept["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled():
    """Returns the value set by `use_deterministic_algorithms`."""
    return _kept["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """Returns the value of `warn_only` set by `use_deterministic_algorithms`."""
    return _kept["deterministic"] and _kept["warn_only"]


def set_default_device(device):
    """Sets the default device of new tensors on this thread. `None` is the CPU.

    >>> import gradus
    >>> gradus.set_default_device("cpu")
    >>> gradus.get_default_device()
    device(type='cpu')
    """
    _native._set_default_device(device)


def get_default_device():
    """Returns the default device of new tensors."""
    return _native._default_device()


class memory_format:
    """A memory format of PyTorch; has no effect here."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"gradus.{self._name}"

    def __reduce__(self):
        return self._name  # one object each: found again by its name


class layout(memory_format):
    """The layout of a tensor: dense (strided) or sparse."""


channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
strided, sparse_coo = layout("strided"), layout("sparse_coo")

_documented(globals())
