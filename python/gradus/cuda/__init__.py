"""What PyTorch programs ask about GPUs before they choose a device. This package computes on the CPU."""


def is_available():
    """Whether there is a GPU to use: no."""
    return False


def device_count():
    """How many GPUs there are to use: none."""
    return 0


def manual_seed(seed):
    """Nothing to seed."""


manual_seed_all = manual_seed


def synchronize(device=None):
    """Nothing to wait for."""


def empty_cache():
    """Nothing to free."""


def get_device_name(device=None):
    """The name of a GPU: there is none."""
    raise RuntimeError("there is no GPU to use; this package computes on the CPU")


def current_device():
    """The number of the GPU in use: there is none."""
    raise RuntimeError("there is no GPU to use; this package computes on the CPU")


def memory_allocated(device=None):
    """Bytes in use on a GPU: none."""
    return 0


max_memory_allocated = memory_reserved = memory_allocated

from . import amp  # noqa: E402
