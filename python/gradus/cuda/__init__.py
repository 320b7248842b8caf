"""What PyTorch programs ask about GPUs before they choose a device. This package computes on the CPU."""


def is_available():
    """Whether there is a GPU to use: no.

    >>> import gradus
    >>> gradus.cuda.is_available()
    False
    """
    return False


def device_count():
    """How many GPUs there are to use: none.

    >>> import gradus
    >>> gradus.cuda.device_count()
    0
    """
    return 0


def manual_seed(seed):
    """Nothing to seed.

    >>> import gradus
    >>> gradus.cuda.manual_seed(0)
    """


manual_seed_all = manual_seed


def synchronize(device=None):
    """Nothing to wait for.

    >>> import gradus
    >>> gradus.cuda.synchronize()
    """


def empty_cache():
    """Nothing to free.

    >>> import gradus
    >>> gradus.cuda.empty_cache()
    """


def get_device_name(device=None):
    """The name of a GPU: there is none.

    >>> import gradus
    >>> gradus.cuda.get_device_name()
    Traceback (most recent call last):
    RuntimeError: there is no GPU to use; this package computes on the CPU
    """
    raise RuntimeError("there is no GPU to use; this package computes on the CPU")


def current_device():
    """The number of the GPU in use: there is none.

    >>> import gradus
    >>> gradus.cuda.current_device()
    Traceback (most recent call last):
    RuntimeError: there is no GPU to use; this package computes on the CPU
    """
    raise RuntimeError("there is no GPU to use; this package computes on the CPU")


def memory_allocated(device=None):
    """Bytes in use on a GPU: none.

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
    """`False`: there is no GPU.

    >>> import gradus
    >>> gradus.cuda.is_bf16_supported()
    False
    """
    return False


def is_initialized():
    """`False`: there is no GPU.

    >>> import gradus
    >>> gradus.cuda.is_initialized()
    False
    """
    return False


def init():
    """Nothing to start.

    >>> import gradus
    >>> gradus.cuda.init()
    """


def set_device(device):
    """Raises: there is no GPU to choose.

    >>> import gradus
    >>> gradus.cuda.set_device(0)
    Traceback (most recent call last):
    RuntimeError: there is no GPU to use; this package computes on the CPU
    """
    raise RuntimeError("there is no GPU to use; this package computes on the CPU")


get_device_properties = get_device_capability = set_device
reset_peak_memory_stats = reset_max_memory_allocated = ipc_collect = empty_cache
