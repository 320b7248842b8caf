"""Parametrizations: attributes of a module that are computed from trained parameters."""

import contextlib

from ...core import Tensor, no_grad
from ..containers import ModuleDict, ModuleList
from ..parameter import Parameter


class ParametrizationList(ModuleList):
    """The functions by which an attribute is computed, in sequence, and their input: `original`, or, if
    an inverse returns several tensors, `original0`, `original1` and so on.

    >>> import gradus
    >>> from gradus.nn.utils.parametrize import register_parametrization
    >>> layer = register_parametrization(gradus.nn.Linear(2, 2), "weight", gradus.nn.Softplus(), unsafe=True)
    >>> layer.parametrizations.weight
    ParametrizationList(
      (0): Softplus(beta=1.0, threshold=20.0)
    )
    """

    def __init__(self, modules, original, unsafe=False):
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        trained = isinstance(original, Parameter)
        for name, part in zip(self._names(), [value] if self.is_tensor else value):
            part = part.detach().clone()
            if trained:
                self.register_parameter(name, Parameter(part, original.requires_grad))
            else:
                self.register_buffer(name, part)

    def _names(self):
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Sets the attribute to a value, through the functions' inverses."""
        with no_grad():
            for module in reversed(list(self)):
                value = module.right_inverse(value)
            for name, part in zip(self._names(), [value] if self.is_tensor else value):
                getattr(self, name).data = part

    def forward(self):
        value = [getattr(self, name) for name in self._names()]
        for module in self:
            value = [module(*value)]
        return value[0]


_cache, _caching = {}, []


@contextlib.contextmanager
def cached():
    """A context in which every parametrized attribute is computed once.

    >>> import gradus
    >>> with gradus.nn.utils.parametrize.cached():
    ...     pass
    """
    _caching.append(True)
    try:
        yield
    finally:
        _caching.pop()
        if not _caching:
            _cache.clear()


def _computed(name):
    def get(self):
        if not _caching:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


def is_parametrized(module, tensor_name=None):
    """Returns true if an attribute of a module, or any attribute, is parametrized.

    >>> import gradus
    >>> gradus.nn.utils.parametrize.is_parametrized(gradus.nn.Linear(2, 2))
    False
    """
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    return isinstance(found, ModuleDict) and (len(found) > 0 if tensor_name is None else tensor_name in found)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes a module compute an attribute from a trained parameter.

    >>> import gradus
    >>> class Symmetric(gradus.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> layer = gradus.nn.utils.parametrize.register_parametrization(gradus.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all()), [name for name, _ in layer.named_parameters()]
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        listed = module.parametrizations[tensor_name]
        if hasattr(parametrization, "right_inverse"):
            with no_grad():
                value = parametrization.right_inverse(listed())
                for old in reversed(list(listed)):
                    value = old.right_inverse(value) if hasattr(old, "right_inverse") else value
                listed.original.data = value
        listed.append(parametrization)
        return module
    original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if original is None:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    listed = ParametrizationList([parametrization], original, unsafe)
    with no_grad():
        value = listed()
        if not unsafe and (tuple(value.shape) != tuple(original.shape) or value.dtype != original.dtype):
            raise ValueError(f"Registering a parametrization may not change the shape or dtype of the tensor, unless the `unsafe` flag is "
                             f"enabled: {tuple(original.shape)} became {tuple(value.shape)}")
    delattr(module, tensor_name)
    if not is_parametrized(module):
        # A new class, because properties belong to classes.
        old = type(module)
        module.__class__ = type(f"Parametrized{old.__name__}", (old,), {"__module__": old.__module__, "__doc__": old.__doc__, "_before": old})
        module.add_module("parametrizations", ModuleDict())
    setattr(type(module), tensor_name, _computed(tensor_name))
    module.parametrizations[tensor_name] = listed
    return module


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes an attribute a parameter again: with its current value, or with the trained original.

    >>> import gradus
    >>> from gradus.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(gradus.nn.Linear(2, 3))
    >>> parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if not leave_parametrized and not listed.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.")
    with no_grad():
        value = listed().detach().clone() if leave_parametrized else listed.original.detach().clone()
    trained = bool(listed._parameters)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if trained:
        module.register_parameter(tensor_name, Parameter(value))
    else:
        module.register_buffer(tensor_name, value)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._before
    return module


def type_before_parametrizations(module):
    """Returns the class of a module before its parametrization.

    >>> import gradus
    >>> gradus.nn.utils.parametrize.type_before_parametrizations(gradus.nn.Linear(2, 2)).__name__
    'Linear'
    """
    return type(module)._before if is_parametrized(module) else type(module)
