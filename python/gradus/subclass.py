"""Subclasses of `Tensor`: their methods return the same class, as in PyTorch.

Native methods return tensors. A class derived from `Tensor` therefore gets wrappers of them when it is defined;
plain tensors have no overhead. Parameters are an exception: results computed from them are tensors.
"""

import functools

from ._native import Tensor

#: The subclasses. While there are none, functions need not check their arguments.
SUBCLASSES = []

_OPERATORS = [f"__{side}{name}__" for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split() for side in ("", "r", "i")]
_OPERATORS += "__neg__ __pos__ __abs__ __invert__ __getitem__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__".split()
_PROPERTIES = "T mT H mH data real imag".split()
_PLAIN = {"backward", "as_subclass", "register_hook", "register_post_accumulate_grad_hook", "numpy", "tolist", "item", "size", "stride"}


def of_class(cls, result):
    """Converts the tensors of a result to a class."""
    if type(result) is Tensor:
        made = Tensor.__new__(cls)
        return made._become(result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(of_class(cls, part) for part in result))
    if type(result) in (tuple, list):
        return type(result)(of_class(cls, part) for part in result)
    return result


def class_of(args):
    """Returns the first subclass among arguments, or None."""
    for arg in args:
        if type(arg) in SUBCLASSES:
            return type(arg)
        if isinstance(arg, (tuple, list)) and (found := class_of(arg)):
            return found
    return None


def _keeping(method):
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        return of_class(type(self), method(self, *args, **kwargs))

    return call


def as_subclass(self, cls):
    """Returns the same value as a tensor of a class derived from `Tensor`.

    >>> import gradus
    >>> class Image(gradus.Tensor):
    ...     pass
    >>> type(gradus.ones(2).as_subclass(Image) * 2).__name__
    'Image'
    """
    if not issubclass(cls, Tensor):
        raise TypeError(f"{cls.__name__} is not derived from Tensor")
    return of_class(cls, +self) if cls is not Tensor else Tensor()._become(self)


def _make_subclass(cls, data, require_grad=False):
    """Returns a leaf of a class with the value of a tensor."""
    made = of_class(cls, data.detach())
    return made.requires_grad_() if require_grad else made


def _init_subclass(cls, **kwargs):
    if not getattr(cls, "_results_keep_class", True):
        return
    SUBCLASSES.append(cls)
    if any(base in SUBCLASSES for base in cls.__mro__[1:]):  # inherits the wrappers of its base
        return
    names = [name for name in dir(Tensor) if not name.startswith("_") and name not in _PLAIN]
    for name in [*names, *_OPERATORS]:
        method = getattr(Tensor, name, None)
        if callable(method) and not isinstance(method, type) and name not in cls.__dict__:
            setattr(cls, name, _keeping(method))
    for name in _PROPERTIES:
        if name not in cls.__dict__:
            own = getattr(Tensor, name)
            setattr(cls, name, property(_keeping(own.__get__), own.__set__ if name == "data" else None, doc=own.__doc__))


def install():
    """Installs `Tensor.__init_subclass__`."""
    Tensor.as_subclass = as_subclass
    Tensor._make_subclass = staticmethod(_make_subclass)
    Tensor.__init_subclass__ = classmethod(_init_subclass)
