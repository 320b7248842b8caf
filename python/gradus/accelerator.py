"""PyTorch's queries about accelerators. There is none: the package computes on the CPU.

>>> import gradus
>>> gradus.accelerator.is_available(), gradus.accelerator.device_count(), gradus.accelerator.current_accelerator()
(False, 0, None)
"""


def is_available():
    """`False`."""
    return False


def device_count():
    """0."""
    return 0


def current_accelerator(check_available=False):
    """`None`."""
    return None


def _missing(*args, **kwargs):
    raise RuntimeError("there is no accelerator to use; this package computes on the CPU")


current_device_index = current_device_idx = set_device_index = set_device_idx = current_stream = set_stream = _missing


def synchronize(device=None):
    """Returns at once: nothing runs elsewhere."""


def empty_cache():
    """Nothing to free."""


def memory_allocated(device_index=None):
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
