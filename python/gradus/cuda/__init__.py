"""Queries of PyTorch programs about CUDA devices. There are none here; the package computes on the CPU and on `wgpu` devices."""


def is_available():
    """Returns False: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.is_available()
    False
    """
    return False


def device_count():
    """Returns 0: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.device_count()
    0
    """
    return 0


def manual_seed(seed):
    """Has no effect.

    >>> import gradus
    >>> gradus.cuda.manual_seed(0)
    """


manual_seed_all = manual_seed


def synchronize(device=None):
    """Has no effect.

    >>> import gradus
    >>> gradus.cuda.synchronize()
    """


def empty_cache():
    """Has no effect.

    >>> import gradus
    >>> gradus.cuda.empty_cache()
    """


def get_device_name(device=None):
    """Raises an error: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.get_device_name()
    Traceback (most recent call last):
    RuntimeError: there is no CUDA device; this package computes on the CPU and on `wgpu` devices
    """
    raise RuntimeError("there is no CUDA device; this package computes on the CPU and on `wgpu` devices")


def current_device():
    """Raises an error: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.current_device()
    Traceback (most recent call last):
    RuntimeError: there is no CUDA device; this package computes on the CPU and on `wgpu` devices
    """
    raise RuntimeError("there is no CUDA device; this package computes on the CPU and on `wgpu` devices")


def memory_allocated(device=None):
    """Returns 0: no CUDA memory is in use.

    >>> import gradus
    >>> gradus.cuda.memory_allocated()
    0
    """
    return 0


max_memory_allocated = memory_reserved = memory_allocated

from ..tensor_types import made as _classes  # noqa: E402
from . import amp  # noqa: E402

globals().update(_classes(__name__, absent=True))  # so that programs can name them


def is_bf16_supported(including_emulation=True):
    """Returns False: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.is_bf16_supported()
    False
    """
    return False


def is_initialized():
    """Returns False: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.is_initialized()
    False
    """
    return False


def init():
    """Has no effect.

    >>> import gradus
    >>> gradus.cuda.init()
    """


def set_device(device):
    """Raises an error: there is no CUDA device.

    >>> import gradus
    >>> gradus.cuda.set_device(0)
    Traceback (most recent call last):
    RuntimeError: there is no CUDA device; this package computes on the CPU and on `wgpu` devices
    """
    raise RuntimeError("there is no CUDA device; this package computes on the CPU and on `wgpu` devices")


get_device_properties = get_device_capability = set_device
reset_peak_memory_stats = reset_max_memory_allocated = ipc_collect = empty_cache
