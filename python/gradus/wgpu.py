"""WebGPU devices (through Vulkan, Metal and Direct3D drivers): their number, properties and memory.

>>> import gradus
>>> gradus.wgpu.is_available() == (gradus.wgpu.device_count() > 0)
True
"""

from . import _native
from ._device import device as _device


def _device_name(device):
    """Returns the name of a device passed as a number, a string, a `gradus.device` or None."""
    if device is None or isinstance(device, int):
        return f"wgpu:{device or 0}"
    found = _device(device)
    if found.type != "wgpu":
        raise ValueError(f"Expected a wgpu device, but got: {found}")
    return f"wgpu:{found.index or 0}"


def is_available():
    """Returns true if there is a device of this type.

    >>> import gradus
    >>> isinstance(gradus.wgpu.is_available(), bool)
    True
    """
    return device_count() > 0


def device_count():
    """Returns the number of devices of this type.

    >>> import gradus
    >>> gradus.wgpu.device_count() >= 0
    True
    """
    return len(_native._devices("wgpu"))


def current_device():
    """Returns the device number of `"wgpu"` without a number.

    >>> import gradus
    >>> gradus.wgpu.current_device()
    0
    """
    return 0


class Properties:
    """Properties of a device, as attributes: `name`, `driver`, `backend`, `kind`, and a dictionary `facts` of all properties."""

    def __init__(self, facts):
        self.facts = dict(facts)
        self.name = self.facts.get("adapter", "")
        self.driver, self.backend, self.kind = (self.facts.get(key, "") for key in ("driver", "backend", "kind"))

    def __repr__(self):
        return f"_WgpuDeviceProperties({', '.join(f'{key}={value!r}' for key, value in self.facts.items())})"


def get_device_properties(device=None):
    """Returns the properties of a device: its name, its driver and its limits.

    >>> import gradus
    >>> [p for p in map(gradus.wgpu.get_device_properties, range(gradus.wgpu.device_count())) if not p.name]
    []
    """
    name = _device_name(device)
    for found, facts in _native._devices("wgpu"):
        if found == name:
            return Properties(facts)
    raise RuntimeError(f'no device "{name}": there are {device_count()} of the type wgpu')


def get_device_name(device=None):
    """Returns the name of a device.

    >>> import gradus
    >>> [gradus.wgpu.get_device_name(i) for i in range(gradus.wgpu.device_count()) if not gradus.wgpu.get_device_name(i)]
    []
    """
    return get_device_properties(device).name


def synchronize(device=None):
    """Waits until all work on a device is done.

    >>> import gradus
    >>> if gradus.wgpu.is_available():
    ...     gradus.wgpu.synchronize()
    """
    _native._finish(_device_name(device))


def memory_allocated(device=None):
    """Bytes that tensors hold on a device.

    >>> import gradus
    >>> not gradus.wgpu.is_available() or gradus.wgpu.memory_allocated() >= 0
    True
    """
    return _native._memory(_device_name(device))[0] if is_available() else 0


def memory_reserved(device=None):
    """Bytes allocated from the system, in use or kept for later.

    >>> import gradus
    >>> not gradus.wgpu.is_available() or gradus.wgpu.memory_reserved() >= 0
    True
    """
    return _native._memory(_device_name(device))[1] if is_available() else 0


def max_memory_allocated(device=None):
    """Returns the peak number of bytes that tensors held.

    >>> import gradus
    >>> not gradus.wgpu.is_available() or gradus.wgpu.max_memory_allocated() >= 0
    True
    """
    return _native._memory(_device_name(device))[2] if is_available() else 0


def empty_cache():
    """Frees memory that is kept for later use.

    >>> import gradus
    >>> gradus.wgpu.empty_cache()
    """
    from ._device import OPENED

    if OPENED:
        _native._trim("wgpu:0")


def manual_seed(seed):
    """Has no effect: the default generator draws for every device.

    >>> import gradus
    >>> gradus.wgpu.manual_seed(0)
    """


manual_seed_all = manual_seed
