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

from . import amp  # noqa: E402
