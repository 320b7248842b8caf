"""Layers that infer their input size at the first call."""

from .._native import _outside
from . import conv, norm
from .linear import Linear
from .module import Module
from .parameter import UninitializedParameter, is_lazy


class LazyModuleMixin(Module):
    """Base of lazy layers: until the first call they hold parameters without shapes, then they become the regular layer.

    >>> import gradus
    >>> isinstance(gradus.nn.LazyLinear(3), gradus.nn.modules.lazy.LazyModuleMixin)
    True
    """

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        self._made_with = args, kwargs
        kind = {name: kwargs[name] for name in ("device", "dtype") if name in kwargs}
        for name in self._lazy_names(*args, **kwargs):
            self.register_parameter(name, UninitializedParameter(**kind))

    def _lazy_names(self, *args, bias=True, affine=None, **kwargs):
        affine = not issubclass(self._layer, norm._InstanceNorm) if affine is None else affine
        return ["weight", "bias"] if bias and affine else ["weight"] if affine else []

    def _become(self, width):
        args, kwargs = self._made_with
        before = self.__dict__
        made = self._layer(width, *args, **kwargs)
        parameters, own = before["_parameters"], dict(made.__dict__)
        for name, lazy in parameters.items():  # keeps the parameter objects, because an optimizer may hold them already
            if is_lazy(lazy):
                lazy._materialize_as(made._parameters[name])
                own["_parameters"][name] = lazy
                own["_buffers"].update({k: b if b is None else b.to(lazy.device) for k, b in own["_buffers"].items()})
        kept = {k: before[k] for k in before if k.endswith("_hooks") or k == "training"}
        before.clear()
        before.update(own)
        before.update(kept)
        self.__class__ = self._layer

    def has_uninitialized_params(self):
        """Returns true if parameters have no shapes yet.

        >>> import gradus
        >>> gradus.nn.LazyLinear(3).has_uninitialized_params()
        True
        """
        return any(is_lazy(p) for p in self._parameters.values())

    def __call__(self, *args, **kwargs):
        _outside(lambda: self._become(args[0].shape[self._axis]))  # outside of traces, because it persists
        return self(*args, **kwargs)

    def _before_loading(self, state_dict, prefix):
        weight = state_dict.get(prefix + "weight", state_dict.get(prefix + "running_mean"))
        if weight is not None:  # determines the input size
            self._become(self._width(tuple(weight.shape), self._made_with[1].get("groups", 1)))

    def extra_repr(self):
        args, kwargs = self._made_with
        width = kwargs.get("groups", 1)  # any valid size, because the true one is not known yet
        return self._layer(width, *args, **kwargs).extra_repr().replace(str(width), "0", 1)


def _lazy(layer, axis, width, example):
    name = f"Lazy{layer.__name__}"
    doc = (f"`{layer.__name__}` whose first argument, the width of the input, is taken from the first input.\n\n"
           f"    >>> import gradus\n    >>> layer = gradus.nn.{name}({example[0]})\n    >>> tuple(layer(gradus.ones{example[1]}).shape)\n"
           f"    {example[2]}\n    >>> type(layer).__name__\n    '{layer.__name__}'\n    ")
    return type(name, (LazyModuleMixin,), {"__doc__": doc, "__module__": __name__, "_layer": layer, "_axis": axis, "_width": staticmethod(width)})


LazyLinear = _lazy(Linear, -1, lambda shape, _: shape[1], ("3", (2, 5), (2, 3)))
for _n in (1, 2, 3):
    _size = (4,) * _n
    for _kind, _after, _width in (("Conv", 2, lambda shape, groups: shape[1] * groups), ("ConvTranspose", 6, lambda shape, _: shape[0])):
        globals()[f"Lazy{_kind}{_n}d"] = _lazy(getattr(conv, f"{_kind}{_n}d"), -1 - _n, _width, ("5, 3", (2, 3, *_size), (2, 5) + (_after,) * _n))
    for _kind in ("BatchNorm", "InstanceNorm"):
        _input = (2, 3, *_size)
        globals()[f"Lazy{_kind}{_n}d"] = _lazy(getattr(norm, f"{_kind}{_n}d"), 1, lambda shape, _: shape[0], ("", _input, _input))

__all__ = [_name for _name in list(globals()) if _name.startswith("Lazy")] + ["UninitializedParameter"]
