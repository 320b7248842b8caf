"""PyTorch's queries about accelerators: the GPUs of the type `wgpu`, if there are any.

>>> import gradus
>>> gradus.accelerator.is_available() == (gradus.accelerator.current_accelerator() is not None)
True
"""

from . import wgpu
from ._device import device as _device


def is_available():
    """Returns true if there is a device other than the CPU.

    >>> import gradus
    >>> gradus.accelerator.is_available() == gradus.wgpu.is_available()
    True
    """
    return wgpu.is_available()


def device_count():
    """Returns the number of devices other than the CPU.

    >>> import gradus
    >>> gradus.accelerator.device_count() == gradus.wgpu.device_count()
    True
    """
    return wgpu.device_count()


def current_accelerator(check_available=False):
    """Returns the type of the devices other than the CPU, or `None`.

    >>> import gradus
    >>> gradus.accelerator.current_accelerator() in (None, gradus.device("wgpu"))
    True
    """
    return _device("wgpu") if is_available() else None


def _missing(*args, **kwargs):
    raise RuntimeError("streams are not supported; work on a device runs in order")


current_stream = set_stream = _missing


def current_device_index():
    """Returns the default device number of the accelerator type.

    >>> import gradus
    >>> gradus.accelerator.current_device_index() if gradus.accelerator.is_available() else 0
    0
    """
    if not is_available():
        raise RuntimeError("there is no accelerator to use")
    return wgpu.current_device()


def set_device_index(device):
    """Accepts the first device only; select others by name, such as `"wgpu:1"`.

    >>> import gradus
    >>> gradus.accelerator.set_device_index(0) if gradus.accelerator.is_available() else None
    """
    if not is_available():
        raise RuntimeError("there is no accelerator to use")
    if (device if isinstance(device, int) else _device(device).index or 0) != 0:
        raise RuntimeError("the current device is always the first; name another one, as in device='wgpu:1'")


current_device_idx, set_device_idx = current_device_index, set_device_index


def synchronize(device=None):
    """Waits until all work on a device is done.

    >>> import gradus
    >>> gradus.accelerator.synchronize()
    """
    if is_available():
        wgpu.synchronize(device)


def empty_cache():
    """Frees memory that is kept for later use.

    >>> import gradus
    >>> gradus.accelerator.empty_cache()
    """
    wgpu.empty_cache()


def memory_allocated(device_index=None):
    """Bytes that tensors hold on a device.

    >>> import gradus
    >>> gradus.accelerator.memory_allocated() >= 0
    True
    """
    return wgpu.memory_allocated(device_index)


memory_reserved, max_memory_allocated, max_memory_reserved = wgpu.memory_reserved, wgpu.max_memory_allocated, wgpu.memory_reserved
