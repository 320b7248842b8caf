"""Writes and reads objects other than containers and tensors for `save` and `load`: modules, NumPy arrays, dtypes, functions by name.

A module is written as the name of its class with its attributes, parameters, buffers and submodules. Reading makes an object of that
class without calling `__init__`, and only if the class is one of the package's own or was allowed by `add_safe_globals`. Names are
looked up among allowed objects and those that modules of the package define and that are imported already: nothing is imported, and no
code of the file runs.
"""

import sys
import types
from collections import OrderedDict

from . import _native
from ._device import device
from ._native import Tensor, dtype
from ._results import Size
from .nn.members import Register
from .nn.module import Module

#: The types of objects that files may name.
_NAMED = (types.FunctionType, types.BuiltinFunctionType, type)

#: The modules of the package whose functions and classes files may name, with those of their submodules; "" is the package itself. Of
#: other modules, files may name only layers.
_MODULES = ("", "_device", "_native", "_results", "composed", "core", "fft", "linalg", "nn", "special")

#: Objects that files may name, in addition to the package's own.
_allowed = {}


def name_of(obj):
    """Returns the name that an object has in files."""
    return f"{obj.__module__}.{obj.__qualname__}"


def add_safe_globals(safe_globals):
    """Allows `load` to make objects of these classes, and to use these functions, if a file names them.

    >>> import gradus
    >>> class Net(gradus.nn.Module):
    ...     pass
    >>> gradus.serialization.add_safe_globals([Net])
    >>> Net in gradus.serialization.get_safe_globals()
    True
    >>> gradus.serialization.clear_safe_globals()
    """
    for entry in safe_globals:
        obj, name = entry if isinstance(entry, tuple) else (entry, name_of(entry))
        _allowed[name] = obj


def get_safe_globals():
    """Returns the objects that `add_safe_globals` has allowed.

    >>> import gradus
    >>> gradus.serialization.get_safe_globals()
    []
    """
    return list(_allowed.values())


def clear_safe_globals():
    """Clears the objects allowed by `add_safe_globals`.

    >>> import gradus
    >>> gradus.serialization.clear_safe_globals()
    """
    _allowed.clear()


class safe_globals:
    """A context in which `load` may make objects of these classes.

    >>> import gradus
    >>> class Net(gradus.nn.Module):
    ...     pass
    >>> with gradus.serialization.safe_globals([Net]):
    ...     len(gradus.serialization.get_safe_globals())
    1
    """

    def __init__(self, safe_globals):
        self._given = list(safe_globals)

    def __enter__(self):
        self._before = dict(_allowed)
        add_safe_globals(self._given)

    def __exit__(self, *exc):
        _allowed.clear()
        _allowed.update(self._before)


def _found(name):
    """Returns the object with this name, if it is allowed."""
    if name in _allowed:
        return _allowed[name]
    where, _, last = name.rpartition(".")
    package, _, part = where.partition(".")
    found = vars(sys.modules[where]).get(last) if package == __package__ and where in sys.modules else None
    if isinstance(found, _NAMED) and name_of(found) == name:  # it is defined there, not only imported
        if isinstance(found, type) and issubclass(found, Module):
            return found
        if part.split(".")[0] in _MODULES and not last.startswith(("_", "load", "save")):
            return found
    raise ValueError(f"the file names {name}, which is not allowed: if you trust it, call gradus.serialization.add_safe_globals([…]) with "
                     "that class, or load inside of `with gradus.serialization.safe_globals([…])`")


def written(value, tree, tensors, path):
    """Returns the JSON of a value, or `None` if its type is not handled here. `tree` writes contents, and
    `tensors` stores tensors by path."""
    if isinstance(value, Module):
        return _module_written(value, tree, path)
    if isinstance(value, dtype):
        return {"dtype": repr(value).rpartition(".")[2]}
    if isinstance(value, device):
        return {"device": str(value)}
    if type(value).__module__ == "numpy" and hasattr(value, "__array_interface__"):
        if value.dtype.kind not in "biufc":
            raise TypeError(f"cannot save {'.'.join(path) or 'the array'}: arrays of {value.dtype} hold objects or text")
        import numpy

        array = numpy.ascontiguousarray(value)
        name = tensors(path, _native.tensor(numpy.frombuffer(array.tobytes(), numpy.uint8), device="cpu"))
        return {"array": [name, array.dtype.str, list(value.shape)]}
    if isinstance(value, (set, frozenset)):
        return {"set": [tree(v, path) for v in sorted(value, key=repr)]}
    if isinstance(value, _NAMED):
        if "<" in value.__qualname__:
            raise TypeError(f"cannot save {'.'.join(path) or 'the object'}: {value.__qualname__} has no name by which it could be found")
        return {"name": name_of(value)}
    return None


def _module_written(module, tree, path):
    """Writes the class and all attributes; hooks are code and raise an error."""
    cls, attributes = type(module), {}
    if "<" in cls.__qualname__:
        raise TypeError(f"cannot save {'.'.join(path) or 'the module'}: {cls.__qualname__} is local, so it could not be found; save its state_dict()")
    for name, value in module.__dict__.items():
        if name.endswith("_hooks"):
            if value:
                raise TypeError(f"cannot save {'.'.join(path) or cls.__name__}: it has hooks, which are code; remove them, or save its state_dict()")
        elif not (name == "forward" and callable(value)):
            attributes[name] = tree(dict(value) if isinstance(value, Register) else value, path + ([] if name[:1] == "_" else [name]))
    return {"module": [name_of(cls), attributes]}


def read(kind, value, build, tensors):
    """Reads an object from the JSON of `written`."""
    if kind == "dtype":
        found = getattr(_native, value, None) if isinstance(value, str) else None
        if not isinstance(found, dtype):
            raise ValueError(f"the file names a dtype {value!r}, which does not exist")
        return found
    if kind == "device":
        return device(value)
    if kind == "set":
        return {build(v) for v in value}
    if kind == "size":
        return Size(value)
    if kind == "name":
        return _found(value)
    if kind == "array":
        import numpy

        name, what, shape = value
        kept = numpy.dtype(what)
        if kept.kind not in "biufc":
            raise ValueError(f"the file has an array of {what}, which is not a number")
        return numpy.frombuffer(tensors[name].cpu().numpy().tobytes(), kept).reshape(shape).copy()
    if kind == "module":
        name, attributes = value
        cls = _found(name)
        if not (isinstance(cls, type) and issubclass(cls, Module)):
            raise ValueError(f"the file has a module of {name}, which is not a Module class")
        made = cls.__new__(cls)
        Module.__init__(made)
        for key, entry in attributes.items():
            found = build(entry)
            if isinstance(made.__dict__.get(key), Register):
                _fill(made, key, found)
            elif isinstance(made.__dict__.get(key), OrderedDict):
                raise ValueError(f"the file sets {key} of a module, which are hooks")
            else:
                made.__dict__[key] = found
        return made
    raise ValueError(f"the file's tree holds a {kind!r}, which this version does not know")


def _fill(module, register, entries):
    """Registers the values that were read, after checking their types."""
    wanted = Module if register == "_modules" else Tensor
    for name, value in entries.items():
        if not isinstance(name, str) or not (value is None or isinstance(value, wanted)):
            raise ValueError(f"the file has {type(value).__name__} as {register} {name!r} of a module")
        module.__dict__[register][name] = value
