"""Names tensors in traced graphs. Arguments get their names in the function's signature. Tensors from outside get the names of
variables or paths in modules, and state of optimizers the name of its parameter.
"""

import functools
import inspect
import itertools
import types

from ._native import Tensor, jit

#: Limits of a search: nesting of containers, objects and called functions; number of objects; number of parts of one container.
_DEEPEST, _MAX, _WIDEST = 6, 20000, 1000
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _is_module(x):
    return "_modules" in getattr(x, "__dict__", ()) and "_parameters" in x.__dict__


def arguments(function, count):
    """Returns names for the first `count` positional arguments of a function.

    >>> from gradus._names import arguments
    >>> arguments(lambda x, *rest: x, 3)
    ['x', 'rest.0', 'rest.1']
    """
    names = []
    try:
        parameters = inspect.signature(function.forward if _is_module(function) else function).parameters.values()
    except (TypeError, ValueError):  # a builtin
        parameters = ()
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}.{i}" for i in range(count - len(names))]
        elif parameter.kind in _POSITIONAL:
            names.append(parameter.name)
    missing = range(len(names), count)
    return (names + ["xyzuvw"[i] if count <= 6 else f"x{i}" for i in missing])[:count]


def _read_names(code):
    """Returns the global names that code reads, including functions defined inside of it."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _read_names(constant)
    return names


class _Search:
    """Tensors, modules and optimizers that a function can reach, under the names by which it reaches them."""

    def __init__(self):
        self.modules, self.tensors, self.optimizers, self.seen = [], [], [], set()

    def look(self, name, x, depth=0):
        """Searches an object that is called `name`."""
        if id(x) in self.seen or depth > _DEEPEST or len(self.seen) > _MAX:
            return
        if isinstance(x, (type(None), bool, int, float, str, bytes, type, types.ModuleType, types.BuiltinFunctionType)):
            return
        self.seen.add(id(x))
        if isinstance(x, Tensor):
            self.tensors.append((name, x))
        elif isinstance(x, (list, tuple)):
            for i, part in enumerate(x[:_WIDEST]):
                self.look(f"{name}.{i}", part, depth + 1)
        elif isinstance(x, dict):
            for key, part in itertools.islice(x.items(), _WIDEST):
                self.look(f"{name}.{key}", part, depth + 1)
        elif isinstance(x, types.FunctionType):
            self.function(x, depth)
        elif isinstance(x, types.MethodType):
            self.look("", x.__self__, depth)
            self.look("", x.__func__, depth)
        elif isinstance(x, jit):
            self.look(name, x.__wrapped__, depth)
        elif isinstance(x, functools.partial):
            for part in (x.func, *x.args, *x.keywords.values()):
                self.look(name, part, depth)
        elif _is_module(x):
            self.modules.append((name, x))
        elif {"param_groups", "state"} <= getattr(x, "__dict__", {}).keys():
            self.optimizers.append(x)
        elif isinstance(getattr(x, "__dict__", None), dict) and not type(x).__module__.startswith("gradus"):
            for attribute, part in list(x.__dict__.items()):
                self.look(f"{name}.{attribute}" if name else attribute, part, depth + 1)

    def function(self, function, depth):
        """Searches the variables that a function reads from outside."""
        if (function.__module__ or "").partition(".")[0] == "gradus":
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self.look(name, cell.cell_contents, depth + 1)
            except ValueError:  # not assigned yet
                pass
        for name in _read_names(function.__code__):
            if name in function.__globals__:
                self.look(name, function.__globals__[name], depth + 1)

    def named(self):
        """Yields tensors with their names, each once. A path has the module's name in front if there are several modules."""
        names = {}
        several = len(self.modules) > 1
        for name, module in self.modules:
            parts = [*module.named_parameters(), *module.named_buffers()]
            for path, tensor in parts:
                names.setdefault(id(tensor), (tensor, f"{name}.{path}" if several and name else path))
        for name, tensor in self.tensors:
            names.setdefault(id(tensor), (tensor, name or "outer"))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    of = names.get(id(parameter), (None, "parameter"))[1]
                    for key, value in optimizer.state.get(parameter, {}).items():
                        if isinstance(value, Tensor):
                            names.setdefault(id(value), (value, f"{of}.{key}"))
        return names.values()


def name_outside(function):
    """Names the tensors that a function reaches from outside: tensors of modules by their paths, tensors in variables by these, state
    of optimizers by its parameter."""
    search = _Search()
    search.look("", function)
    for tensor, name in search.named():
        tensor._set_name(name)
