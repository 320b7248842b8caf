"""`device` objects. Any device can be named, as in PyTorch; tensors can be on the CPU and on GPUs of the type `wgpu`."""

import functools
import sys
import threading
import types

from . import _native

#: The first device other than the CPU that was requested; until then all tensors are on the CPU.
OPENED = []

#: The device types of PyTorch, and `wgpu`: GPUs through WebGPU.
_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
          "mps", "meta", "hpu", "mtia", "privateuseone", "wgpu")

_entered = threading.local()


class UnsupportedDtype(TypeError):
    """Raised if a device lacks a dtype."""


class device:
    """A device, by its type and number. It need not exist until a tensor is put on it.

    `"wgpu:TEXT"` is the first device with this text in the name of its adapter or driver, which must exist.

    Used as a context or decorator, sets the default device of new tensors.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    >>> device("cuda", 1) == device("cuda:1"), device("cpu").index
    (True, None)
    >>> import gradus
    >>> with gradus.device("cpu"):
    ...     gradus.zeros(2).device
    device(type='cpu')
    """

    __slots__ = ("type", "index")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "wgpu" if _native._devices("wgpu") else "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if name not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {name}")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if name == "wgpu" and number and not number.isdigit():
                number = _native._device_number(type)
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __eq__(self, other):
        return (self.type, self.index) == (other.type, other.index) if isinstance(other, device) else NotImplemented

    def __hash__(self):
        return hash((self.type, self.index))

    def __enter__(self):
        before = _native._set_default_device(self)
        _entered.__dict__.setdefault("all", []).append(before)
        return self

    def __exit__(self, *exc):
        _native._set_default_device(_entered.all.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return call

    def __reduce__(self):
        return device, (self.type, self.index)

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{number})"


CPU = device("cpu")


def moved(value, to):
    """Moves tensors in lists, tuples and dictionaries; returns anything else unchanged."""
    if isinstance(value, _native.Tensor):
        return value.to(to)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(v, to) for v in value))
    if isinstance(value, (list, tuple)):
        parts = [moved(v, to) for v in value]
        return parts if type(value) is list else type(value)(parts)
    if isinstance(value, dict):
        return {k: moved(v, to) for k, v in value.items()}
    return value


def first(values):
    """Returns the first device other than the CPU among tensors."""
    for value in values:
        found = value.device if isinstance(value, _native.Tensor) else first(value) if isinstance(value, (list, tuple)) else None
        if found is not None and found.type != "cpu":
            return found
    return None


def near(function, args, kwargs):
    """Calls a function of the package so that tensors it makes are on the device of its operands.

    If the device lacks a dtype that the function needs, the function runs on the CPU, and its results are moved to the device.
    """
    try:
        return _native._call_near(function, args, kwargs)
    except UnsupportedDtype:
        there = first([*args, *kwargs.values()])
        if there is None or _native.is_tracing():
            raise
        return moved(_native._call_on("cpu", function, moved(args, "cpu"), moved(kwargs, "cpu")), there)


def located(function):
    """Wraps a function so that it makes tensors on the device of its operands."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return near(function, args, kwargs) if OPENED else function(*args, **kwargs)

    return call


def located_in(name):
    """Wraps the public functions of a module by `located`."""
    module = sys.modules[name]
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__ and not name.startswith("_"):
            setattr(module, name, located(value))
