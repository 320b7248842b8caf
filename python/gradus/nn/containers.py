"""Modules made of modules: `Sequential`, lists and dictionaries of modules and of parameters."""

from collections import OrderedDict
from collections.abc import Mapping

from ..core import Tensor
from .module import Module
from .parameter import Parameter


def _position(index, length):
    """Resolves a position counted from either end."""
    index = index.__index__()
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range for {length} entries")
    return index % length


class _Container:
    """Base of all containers: entries in a dictionary of the module, and the conversion of values to entries."""

    _register = "_modules"

    def _entries(self):
        return self.__dict__[self._register]

    def _wrap(self, value):
        return value

    def __len__(self):
        return len(self._entries())


class _ListContainer(_Container):
    """Base of `ModuleList` and `Sequential`: entries are submodules named "0", "1", …."""

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
        self.add_module(str(len(self)), self._wrap(value))
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
        """Inserts an entry before a position."""
        values = list(self)
        values.insert(index, self._wrap(value))
        self._renumber(values)

    def pop(self, index=-1):
        """Removes and returns an entry."""
        value = self[index]
        del self[index]
        return value


class ModuleList(_ListContainer, Module):
    """A list of modules.

    >>> from gradus import nn
    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), [name for name, _ in layers.named_parameters()][:2]
    (3, ['0.weight', '0.bias'])
    """

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def _wrap(self, value):
        if value is not None and not isinstance(value, Module):
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


class Sequential(_ListContainer, Module):
    """Modules applied in sequence, passed in order or as a dictionary.

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


def _as_parameter(value):
    """Converts a value to an entry: tensors become parameters, modules and other objects stay unchanged."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(names, values, kind):
    """Formats one line for each entry."""
    lines = []
    for name, value in zip(names, values):
        if isinstance(value, Tensor):
            shape = "x".join(str(n) for n in value.shape)
            what = "Parameter" if isinstance(value, Parameter) else "Tensor"
            lines.append(f"  ({name}): {what} containing: [{kind(value)} of size {shape}]")
        else:
            lines.append(f"  ({name}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(Module):
    """A list of parameters; plain tensors become parameters. Modules and other objects can be entries too: each is the attribute
    named "0", "1", …, so that parameters of modules are found.

    >>> import gradus
    >>> from gradus import nn
    >>> params = nn.ParameterList([gradus.zeros(2), nn.ParameterList([gradus.zeros(3)])])
    >>> len(params), list(params.state_dict())
    (2, ['0', '1.0'])
    """

    _register = "_parameters"

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def __contains__(self, value):
        return any(entry is value for entry in self)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, str(_position(index, self._size)))

    def __setitem__(self, index, value):
        setattr(self, str(_position(index, self._size)), _as_parameter(value))

    def append(self, value):
        """Adds an entry at the end."""
        name = str(self._size)
        self._size += 1
        setattr(self, name, _as_parameter(value))
        return self

    def extend(self, values):
        """Adds entries at the end."""
        if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)

    def __add__(self, values):
        return type(self)(list(self) + list(values))

    def _become(self, values):
        for i in range(self._size):
            delattr(self, str(i))
        self._size = 0
        self.extend(values)

    def __delitem__(self, index):
        values = list(self)
        del values[index]
        self._become(values)

    def insert(self, index, value):
        """Inserts an entry before a position."""
        values = list(self)
        values.insert(index, value)
        self._become(values)

    def pop(self, index=-1):
        """Removes and returns an entry."""
        value = self[index]
        del self[index]
        return value

    def extra_repr(self):
        return _described(range(self._size), self, lambda value: value.dtype)


class _DictContainer(_Container):
    """Methods of a dictionary of modules."""

    def __iter__(self):
        return iter(self._entries())

    def __contains__(self, key):
        return key in self._entries()

    def __getitem__(self, key):
        return self._entries()[key]

    def __setitem__(self, key, value):
        self.add_module(key, value)

    def __delitem__(self, key):
        del self._entries()[key]

    def keys(self):
        """Returns the names."""
        return self._entries().keys()

    def values(self):
        """Returns the entries."""
        return self._entries().values()

    def items(self):
        """Names and entries."""
        return self._entries().items()

    def get(self, key, default=None):
        """Returns the entry of a name, or a default."""
        return self._entries().get(key, default)

    def pop(self, key):
        """Removes and returns an entry."""
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


class ModuleDict(_DictContainer, Module):
    """Modules by name.

    >>> from gradus import nn
    >>> parts = nn.ModuleDict({"in": nn.Linear(2, 3), "act": nn.ReLU()})
    >>> list(parts)
    ['in', 'act']
    """

    def __init__(self, modules=None):
        super().__init__()
        self.update({} if modules is None else modules)


class ParameterDict(Module):
    """Parameters by name; plain tensors become parameters. Modules and other objects can be entries too, as attributes of that name.

    Entries of a plain dictionary come in the order of their names, those of an `OrderedDict` in its own, as in PyTorch.

    >>> import gradus
    >>> list(gradus.nn.ParameterDict({"w": gradus.zeros(2), "b": gradus.zeros(1)}).keys())
    ['b', 'w']
    """

    _register = "_parameters"

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}').")
        return key

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._name(key))

    def __setitem__(self, key, value):
        name = self._name(key)
        if name not in self._keys and hasattr(type(self), name):
            raise KeyError(f"attribute '{name}' already exists")
        self._keys[name] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """Returns the names."""
        return self._keys.keys()

    def values(self):
        """Returns the entries."""
        return [self[key] for key in self._keys]

    def items(self):
        """Names and entries."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key, default=None):
        """Returns the entry of a name, or a default."""
        return self[key] if key in self._keys else default

    def setdefault(self, key, default=None):
        """Returns the entry of a name; adds the default if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Removes and returns an entry."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Removes and returns the last entry with its name."""
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self):
        """Removes all entries."""
        for key in list(self._keys):
            del self[key]

    def copy(self):
        """Returns a copy of the dictionary."""
        return type(self)(OrderedDict(self.items()))

    def fromkeys(self, keys, default=None):
        """Returns a dictionary of these names, each with the default."""
        return type(self)(OrderedDict((key, default) for key in keys))

    def update(self, parameters):
        """Takes entries from a dictionary or from pairs."""
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        elif hasattr(parameters, "__iter__"):
            pairs = [tuple(pair) for pair in parameters]
            for i, pair in enumerate(pairs):
                if len(pair) != 2:
                    raise ValueError(f"ParameterDict update sequence element #{i} has length {len(pair)}; 2 is required")
        else:
            raise TypeError(f"ParametersDict.update should be called with an iterable of key/value pairs, but got {type(parameters).__name__}")
        for key, value in pairs:
            self[key] = value

    def __or__(self, other):
        both = self.copy()
        both.update(other)
        return both

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return _described(self._keys, self.values(), lambda value: value.type())
