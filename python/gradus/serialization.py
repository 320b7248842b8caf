"""`save` and `load`: tensors and the containers around them, as safetensors files. No code is ever loaded.

`saved_objects.py` handles modules and NumPy arrays.

A flat dictionary of tensors is written as a plain safetensors file. Anything else (nested dictionaries,
lists, tuples, numbers, text; which tensors are the same, are parameters, require gradients) is kept as a tree in the file's
metadata, which refers to tensors by name.
"""

import json
import math
import os
import tempfile

from ._examples import documented as _documented
from ._native import Tensor, load_safetensors, save_safetensors
from . import saved_objects
from ._device import device
from ._results import Size
from .nn.module import Module
from .nn.parameter import Parameter
from .saved_objects import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals  # noqa: F401

_TREE = "gradus.tree"
_DEVICES = "gradus.devices"
#: Kinds of tensors in the tree: whether it is a parameter, and whether it requires gradients.
_KINDS = {"tensor": (False, False), "leaf": (False, True), "frozen": (True, False), "parameter": (True, True)}


def _kind(value):
    """Returns the kind of a tensor in the tree."""
    what = isinstance(value, Parameter), value.requires_grad
    return next(kind for kind, is_ in _KINDS.items() if is_ == what)


class _Writer:
    """Splits an object into named tensors and a tree of plain JSON."""

    def __init__(self):
        self.tensors = {}
        self.modules = {}  # the number of each written module and object, by identity
        self.named = {}  # the name of each written tensor, by identity: a shared tensor is written once, and read as one

    def name(self, path):
        name = base = ".".join(path) if path else "tensor"
        n = 1
        while name in self.tensors:
            n += 1
            name = f"{base}#{n}"
        return name

    def keep(self, path, tensor):
        """Stores a tensor under a name made of a path, and returns the name."""
        name = self.name(path)
        self.tensors[name] = tensor
        return name

    def tree(self, value, path):
        if id(value) in self.modules:
            return {"again": self.modules[id(value)][0]}
        if isinstance(value, Module):
            self.modules[id(value)] = len(self.modules), value
        if isinstance(value, Tensor):
            if id(value) not in self.named:
                self.named[id(value)] = name = self.name(path)
                self.tensors[name] = value.detach()
            return {_kind(value): self.named[id(value)]}
        if isinstance(value, dict):
            return {"dict": [[self.tree(k, path), self.tree(v, path + [str(k)])] for k, v in value.items()]}
        if isinstance(value, Size):
            return {"size": list(value)}
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.tree(v, path + [str(i)]) for i, v in enumerate(value)]}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, complex):
            return {"complex": [repr(value.real), repr(value.imag)]}
        if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
            return self.tree(value.item(), path)
        found = saved_objects.written(value, self.tree, self.keep, path)
        if found is not None:
            return found
        where = ".".join(path) or "the object itself"
        hint = "; save its state_dict()" if hasattr(value, "state_dict") else ""
        raise TypeError(f"cannot save {where}: {type(value).__name__} is not a tensor, number, text or container of such{hint}")


def _build(tree, tensors, modules):
    if not isinstance(tree, dict):
        return tree
    [(kind, value)] = tree.items()
    if kind == "again":
        return modules[value]
    if kind == "module":
        number = len(modules)
        modules.append(None)  # keeps the numbering of modules
        modules[number] = saved_objects.read(kind, value, lambda part: _build(part, tensors, modules), tensors)
        return modules[number]
    if kind in _KINDS:
        parameter, requires_grad = _KINDS[kind]
        if parameter and not isinstance(tensors[value], Parameter):
            tensors[value] = Parameter(tensors[value], requires_grad)
        return tensors[value].requires_grad_(requires_grad)
    if kind == "dict":
        return {_build(k, tensors, modules): _build(v, tensors, modules) for k, v in value}
    if kind in ("list", "tuple"):
        parts = [_build(v, tensors, modules) for v in value]
        return parts if kind == "list" else tuple(parts)
    if kind == "float":
        return float(value)
    if kind == "complex":
        return complex(float(value[0]), float(value[1]))
    return saved_objects.read(kind, value, lambda part: _build(part, tensors, modules), tensors)


def save(obj, f, pickle_module=None, pickle_protocol=None, _use_new_zipfile_serialization=True):
    """Writes a state dictionary, or any nest of containers, tensors, modules, arrays, numbers and text.

    `f` is a path or a binary file. A path is written atomically.

    >>> import gradus, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> gradus.save({"step": 3, "model": gradus.nn.Linear(2, 1).state_dict()}, path)
    >>> saved = gradus.load(path)
    >>> saved["step"], sorted(saved["model"])
    (3, ['bias', 'weight'])
    """
    flat = isinstance(obj, dict) and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in obj.items())
    plain = flat and all(_kind(v) == "tensor" for v in obj.values()) and len({id(v) for v in obj.values()}) == len(obj)
    metadata = {"format": "pt"} if flat else {}
    if not plain:
        writer = _Writer()
        metadata[_TREE] = json.dumps(writer.tree(obj, []), allow_nan=False, ensure_ascii=False)
    # Other readers find every name of a flat dictionary, without reading the tree.
    tensors = {k: v.detach() for k, v in obj.items()} if flat else writer.tensors
    devices = {name: str(tensor.device) for name, tensor in tensors.items() if not tensor.is_cpu}
    if devices:
        metadata[_DEVICES] = json.dumps(devices, ensure_ascii=False)
        tensors = {name: tensor.cpu() for name, tensor in tensors.items()}
    if not hasattr(f, "write"):
        save_safetensors(os.fspath(f), tensors, metadata)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensors")
        save_safetensors(path, tensors, metadata)
        with open(path, "rb") as file:
            f.write(file.read())


def _refuse_pickles(start):
    """Raises an error with advice for a file of `torch.save`."""
    if start.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x04")):
        raise ValueError(
            "this is a pickle of torch.save, which could run any code when it is loaded, so it is not. Write the tensors with "
            "PyTorch as `safetensors.torch.save_file(model.state_dict(), path)` and load that file, or give load_state_dict "
            "the state_dict of a PyTorch model directly"
        )


def _mapped(tensor, location, map_location):
    """Moves a tensor that was saved on a device to the device given by `map_location`."""
    if callable(map_location) and not isinstance(map_location, device):
        found = map_location(tensor.untyped_storage(), location)
        to = location if found is None else found.device
    elif isinstance(map_location, dict):
        to = map_location.get(location, location)
    else:
        to = location if map_location is None else map_location
    try:
        return tensor.to(to)
    except RuntimeError as error:
        if map_location is None:
            raise RuntimeError(f"Attempting to deserialize object on a {location} device but it is not available. If you are running on a "
                               "CPU-only machine, please use gradus.load with map_location=gradus.device('cpu') to map your storages to "
                               "the CPU.") from error
        raise


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """Reads what `save` wrote, or any other safetensors file as a dictionary of tensors.

    Tensors are put on the devices that they were saved on, or where `map_location` says: a device, a dictionary from names to devices,
    or a function of a storage and a name. `weights_only` and the others are accepted for compatibility: only data is ever
    loaded. A module is loaded if its class is the package's own or allowed by `serialization.add_safe_globals`.
    """
    if not hasattr(f, "read"):
        os.stat(f)  # raises Python's own errors for invalid paths
        if not os.path.isdir(f):
            with open(f, "rb") as file:
                _refuse_pickles(file.read(4))
        tensors, metadata = load_safetensors(os.fspath(f))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tensors")
            content = f.read()
            _refuse_pickles(content[:4])
            with open(path, "wb") as file:
                file.write(content)
            tensors, metadata = load_safetensors(path)
    devices = json.loads((metadata or {}).get(_DEVICES, "{}"))
    if devices or map_location is not None:
        tensors = {name: _mapped(tensor, str(devices.get(name, "cpu")), map_location) for name, tensor in tensors.items()}
    if _TREE not in (metadata or {}):
        return tensors
    return _build(json.loads(metadata[_TREE]), tensors, [])

_documented(globals())
