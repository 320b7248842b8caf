"""Switches that PyTorch programs set: where nothing depends on one, it is kept and given back."""

from . import _native
from ._examples import documented as _documented
from ._native import get_num_threads, set_num_threads  # noqa: F401

_kept = {"deterministic": False, "warn_only": False, "interop": 1}


def set_num_interop_threads(num):
    """Kept and given back: operations start one after the other.

    >>> import gradus
    >>> gradus.set_num_interop_threads(2)
    >>> gradus.get_num_interop_threads()
    2
    """
    _kept["interop"] = int(num)


def get_num_interop_threads():
    """What `set_num_interop_threads` said."""
    return _kept["interop"]


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Kept and given back: results are the same bits on any number of threads, whether asked for or not.

    >>> import gradus
    >>> gradus.use_deterministic_algorithms(True)
    >>> gradus.are_deterministic_algorithms_enabled()
    True
    """
    _kept["deterministic"], _kept["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled():
    """What `use_deterministic_algorithms` said."""
    return _kept["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """What `use_deterministic_algorithms` said of warnings."""
    return _kept["deterministic"] and _kept["warn_only"]


def set_default_device(device):
    """Sets where functions without `device=` make tensors, on this thread. `None` is the CPU.

    >>> import gradus
    >>> gradus.set_default_device("cpu")
    >>> gradus.get_default_device()
    device(type='cpu')
    """
    _native._set_default_device(device)


def get_default_device():
    """Where functions without `device=` make tensors."""
    return _native._default_device()


class memory_format:
    """An order of elements in memory that PyTorch programs ask for; tensors are the same in any."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"gradus.{self._name}"

    def __reduce__(self):
        return self._name  # one object each: found again by its name


class layout(memory_format):
    """How elements are stored: all of them, or in sparse tensors some with their indices."""


channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
strided, sparse_coo = layout("strided"), layout("sparse_coo")

_documented(globals())
