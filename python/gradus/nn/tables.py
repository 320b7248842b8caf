"""Makes module classes that store arguments for a function of `functional`, each from one row of a table."""

import inspect

from . import functional as F
from .in_place import written
from .legacy_loss import reduction_of, with_order
from .module import Module


def with_values(doc, name, call, inputs, expected):
    """Makes a docstring with an example: the module applied to some numbers, rounded."""
    return (f"{doc}\n\n    >>> import gradus\n    >>> y = gradus.nn.{name}({call})({inputs})\n"
            f"    >>> [round(v, 4) for v in y.reshape(-1).tolist()]\n    {expected}\n    ")


def with_shapes(doc, name, call, inputs, expected):
    """Makes a docstring with an example: the shape of the module's result."""
    return f"{doc}\n\n    >>> import gradus\n    >>> tuple(gradus.nn.{name}({call})({inputs}).shape)\n    {expected}\n    "


def make_module_class(name, function, arguments="", doc="", tensors=1, show=None, first=None, buffers=(), module=None, base=Module):
    """Makes a module class whose `forward` calls `functional.<function>` with the arguments of `__init__`.

    `arguments` is the signature of `__init__`, as text; `tensors` is the number of tensors of `forward`; `show` lists
    the arguments that `repr` names (default: all), `first` those without a name, `buffers` those that are
    saved tensors; `base` is the base class.
    """
    signature = with_order(inspect.signature(eval(f"lambda self, {arguments}: 0")), function)
    names = [name for name in list(signature.parameters)[1:] if name not in ("size_average", "reduce")]
    show = names if show is None else show

    def __init__(self, *args, **kwargs):
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.__init__() {error}") from None
        bound.apply_defaults()
        if "reduce" in bound.arguments:
            older = bound.arguments.pop("size_average"), bound.arguments.pop("reduce")
            bound.arguments["reduction"] = reduction_of(*older, bound.arguments["reduction"])
        Module.__init__(self)
        for key in names:
            if key in buffers:
                self.register_buffer(key, bound.arguments[key])
            else:
                setattr(self, key, bound.arguments[key])

    def forward(self, *inputs):
        if len(inputs) != tensors:
            raise TypeError(f"{name}.forward() takes {tensors} tensor(s) but {len(inputs)} were given")
        call = {key: getattr(self, key) for key in names if key != "inplace"}
        result = getattr(F, function)(*inputs, **call)
        return written(inputs[0], result) if self.__dict__.get("inplace") else result

    def extra_repr(self):
        if show == ["inplace"]:
            return "inplace=True" if self.inplace else ""
        shown = [f"{getattr(self, key)!r}" if key == first else f"{key}={getattr(self, key)!r}"
                 for key in show if key != "inplace"]
        return ", ".join(shown + (["inplace=True"] if getattr(self, "inplace", False) else []))

    __init__.__signature__ = signature
    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc, "__module__": module}
    return type(name, (base,), body)
