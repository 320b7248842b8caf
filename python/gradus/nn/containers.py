"""Modules made of modules: `Sequential`, lists and dictionaries of modules and of parameters."""

from ..core import Tensor
from .module import Module
from .parameter import Parameter


def _position(index, length):
    """A position counted from either end."""
    index = index.__index__()
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range for {length} entries")
    return index % length


class _Held:
    """What all containers share: entries in a register of the module, and how a value becomes one."""

    _register = "_modules"

    def _entries(self):
        return self.__dict__[self._register]

    def _wrap(self, value):
        return value

    def __len__(self):
        return len(self._entries())


class _Listed(_Held):
    """What lists of modules and lists of parameters share: entries named "0", "1", …, in one register."""

    def __iter__(self):
        return iter(list(self._entries().values()))

    def __contains__(self, value):
        return any(entry is value for entry in self._entries().values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return list(self)[_position(index, len(self))]

    def __setitem__(self, index, value):
        name = list(self._entries())[_position(index, len(self))]
        setattr(self, name, self._wrap(value))

    def _renumber(self, values):
        entries = self._entries()
        entries.clear()
        for i, value in enumerate(values):
            entries[str(i)] = value

    def __delitem__(self, index):
        values = list(self)
        del values[index]
        self._renumber(values)

    def append(self, value):
        """Adds an entry at the end."""
        setattr(self, str(len(self)), self._wrap(value))
        return self

    def extend(self, values):
        """Adds entries at the end."""
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)

    def __add__(self, values):
        return type(self)(list(self) + list(values))

    def insert(self, index, value):
        """Puts an entry before a position."""
        values = list(self)
        values.insert(index, self._wrap(value))
        self._renumber(values)

    def pop(self, index=-1):
        """Removes an entry and gives it."""
        value = self[index]
        del self[index]
        return value


class ModuleList(_Listed, Module):
    """Modules in a list.

    >>> from gradus import nn
    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), [name for name, _ in layers.named_parameters()][:2]
    (3, ['0.weight', '0.bias'])
    """

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def _wrap(self, value):
        if not isinstance(value, Module):
            raise TypeError(f"{type(value).__name__} is not a Module subclass")
        return value

    def __repr__(self):
        groups = []
        for i, text in enumerate(repr(module) for module in self):
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        if not groups:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in groups:
            head = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append("  " + (head + text).replace("\n", "\n  "))
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


class Sequential(_Listed, Module):
    """Modules one after the other, given in order or as a dictionary of names.

    >>> import gradus
    >>> from gradus import nn
    >>> net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    >>> tuple(net(gradus.zeros(2, 3)).shape), len(net[:2])
    ((2, 1), 2)
    """

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def __add__(self, other):
        return type(self)(*self, *other)


class ParameterList(_Listed, Module):
    """Parameters in a list; plain tensors become parameters.

    >>> import gradus
    >>> params = gradus.nn.ParameterList([gradus.zeros(2), gradus.zeros(3)])
    >>> [tuple(p.shape) for p in params]
    [(2,), (3,)]
    """

    _register = "_parameters"

    def __init__(self, values=None):
        super().__init__()
        self.extend(() if values is None else values)

    def _wrap(self, value):
        return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value

    def extra_repr(self):
        return "\n".join(f"({name}): {_describe(value)}" for name, value in self._parameters.items())


class _Named(_Held):
    """What dictionaries of modules and of parameters share."""

    def __iter__(self):
        return iter(self._entries())

    def __contains__(self, key):
        return key in self._entries()

    def __getitem__(self, key):
        return self._entries()[key]

    def __setitem__(self, key, value):
        register = self.register_parameter if self._register == "_parameters" else self.add_module
        register(key, self._wrap(value))

    def __delitem__(self, key):
        del self._entries()[key]

    def keys(self):
        """The names."""
        return self._entries().keys()

    def values(self):
        """The entries."""
        return self._entries().values()

    def items(self):
        """Names and entries."""
        return self._entries().items()

    def get(self, key, default=None):
        """The entry of a name, or a default."""
        return self._entries().get(key, default)

    def pop(self, key):
        """Removes an entry and gives it."""
        value = self[key]
        del self[key]
        return value

    def clear(self):
        """Removes all entries."""
        self._entries().clear()

    def update(self, values):
        """Takes entries from a dictionary or from pairs."""
        for key, value in values.items() if hasattr(values, "items") else values:
            self[key] = value


class ModuleDict(_Named, Module):
    """Modules by name.

    >>> from gradus import nn
    >>> parts = nn.ModuleDict({"in": nn.Linear(2, 3), "act": nn.ReLU()})
    >>> list(parts)
    ['in', 'act']
    """

    def __init__(self, modules=None):
        super().__init__()
        self.update({} if modules is None else modules)


class ParameterDict(_Named, Module):
    """Parameters by name; plain tensors become parameters.

    >>> import gradus
    >>> list(gradus.nn.ParameterDict({"w": gradus.zeros(2)}).keys())
    ['w']
    """

    _register = "_parameters"
    _wrap = ParameterList._wrap

    def __init__(self, values=None):
        super().__init__()
        self.update({} if values is None else values)

    def extra_repr(self):
        return "\n".join(f"({name}): {_describe(value)}" for name, value in self._parameters.items())


def _describe(value):
    shape = "x".join(str(n) for n in value.shape)
    return f"Parameter containing: [{value.dtype} of size {shape}]"
