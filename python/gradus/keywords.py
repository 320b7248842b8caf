"""Adds keywords to functions: `input=` for the first argument, `out=` for the result, and NumPy's names of axes."""

import functools
import sys
import types

from . import _native
from ._device import OPENED, near
from ._native import Tensor
from .subclass import SUBCLASSES, class_of, of_class

_NO_TENSORS = (bool, int, float, complex, str, type(None))


def _written(out, result):
    """Writes results to the tensors passed as `out=`, which are resized."""
    if isinstance(out, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"out= has {len(out)} tensors, which does not match the number of results")
        return tuple(_written(o, r) for o, r in zip(out, result))
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if out.requires_grad or (isinstance(result, Tensor) and result.requires_grad):
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.")
    if tuple(out.shape) != tuple(result.shape):
        return out._become(result.to(out.device, out.dtype))
    return out.copy_(result)


def _no_tensor(function, error, args):
    """Returns the error for an argument that should have been a tensor."""
    if args and isinstance(args[0], _NO_TENSORS) and getattr(error, "obj", args[0]) is args[0]:
        return TypeError(f"{function.__name__}(): argument 'input' must be Tensor, not {type(args[0]).__name__}")
    return error


#: NumPy's names of arguments, which PyTorch accepts too.
_NUMPY = {"axis": "dim", "keepdims": "keepdim"}


def with_numpy_words(function):
    """Wraps a function to accept `axis=` for `dim=` and `keepdims=` for `keepdim=`."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
    words = {word: name for word, name in _NUMPY.items() if name in names and word not in names}
    if not words:
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **{words.get(name, name): value for name, value in kwargs.items()} if kwargs else kwargs)

    return call


#: Sparse versions of functions, by name. The module `sparse` adds them.
SPARSE = {}


#: Functions that also compute a tensor from two numbers.
TWO_NUMBERS = set("add sub subtract mul multiply div divide true_divide floor_divide".split())

#: Functions whose first argument may be a number.
NUMBERS = TWO_NUMBERS | set("remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift xlogy".split())

#: PyTorch's names of arguments that have another name here, by function.
_RENAMED = {
    "mm": {"mat2": "other"}, "bmm": {"mat2": "other"}, "mv": {"vec": "other"}, "outer": {"vec2": "other"}, "dot": {"tensor": "other"},
    "heaviside": {"values": "other"}, "max": {"other": "dim"}, "min": {"other": "dim"},
}


def _of_number(number, other):
    """Returns a number as a tensor of the dtype that an operation on it and `other` has."""
    if not isinstance(other, Tensor) or isinstance(number, bool):
        return _native.as_tensor(number, device=other.device if isinstance(other, Tensor) else None)
    return _native.tensor(number, dtype=(_native.zeros([1] * other.dim(), dtype=other.dtype) + number).dtype, device=other.device)


def _otherwise(function, args, kwargs, error):
    """Calls a function again after an error: with a first argument that is a number as a tensor, or its version for sparse tensors.

    Raises the error if neither is possible.
    """
    if args and isinstance(args[0], (bool, int, float, complex)) and function.__name__ in NUMBERS:
        other = args[1] if len(args) > 1 else kwargs.get("other")
        if isinstance(other, Tensor) or function.__name__ in TWO_NUMBERS and isinstance(other, (bool, int, float, complex)):
            return function(_of_number(args[0], other), *args[1:], **kwargs)
    own = SPARSE.get(function.__name__)
    if own is None or not any(isinstance(arg, Tensor) and arg.is_sparse for arg in args):
        raise error
    return own(*args, **kwargs)


#: Arguments of functions that make tensors: there is one layout, and no pinned memory.
_PLACEMENT = ("layout", "pin_memory", "memory_format")


def _placed(function, kwargs):
    """Removes and checks the keywords that determine how new tensors are stored."""
    for name in _PLACEMENT:
        value = kwargs.pop(name, None)
        if name == "layout" and value is not None and repr(value) != "gradus.strided":
            raise NotImplementedError(f"{function.__name__}(): there is no {value!r} layout, only gradus.strided; sparse tensors are made by sparse_coo_tensor")


def _made(function, args, kwargs):
    """Calls a composed function that makes tensors on the CPU, and moves the result to `device=`, else to the device of its operand, else
    to the default device. The function may compute in dtypes that the device lacks."""
    to = kwargs.pop("device", None)
    if to is None and not OPENED:
        return function(*args, **kwargs)
    operand = args[0] if args and isinstance(args[0], Tensor) else None
    to = to if to is not None else _native._default_device() if operand is None else operand.device
    return _native._call_on("cpu", function, args, kwargs).to(to)


def with_keywords(function, first="input", spread=None, creates=False):
    """Wraps a function to accept these keywords. Calls without keywords are passed on directly.

    `spread` is the name of an argument that the function takes as several positional arguments. A function that `creates` tensors
    also accepts keywords for their device and storage.
    """

    composed = isinstance(function, types.FunctionType)  # native functions handle device and requires_grad themselves
    makes = creates and composed
    renamed = _RENAMED.get(function.__name__, {})
    bare = getattr(function, "__wrapped__", function)  # the function without wrappers that only read keywords

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not kwargs and not SUBCLASSES and not OPENED:
            try:
                return bare(*args)
            except AttributeError as error:
                raise _no_tensor(function, error, args) from None
            except (RuntimeError, TypeError) as error:
                return _otherwise(function, args, kwargs, error)
        leaf = False
        if creates and kwargs:
            _placed(function, kwargs)
            leaf = composed and kwargs.pop("requires_grad", False)
        out = kwargs.pop("out", None)
        if renamed:
            kwargs = {renamed.get(name, name): value for name, value in kwargs.items()}
        if first in kwargs:
            args = (kwargs.pop(first), *args)
        if spread in kwargs:
            args = (*args, kwargs.pop(spread))
        try:
            if makes:
                result = _made(function, args, kwargs)
            elif OPENED and composed:
                result = near(function, args, kwargs)
            else:
                result = function(*args, **kwargs)
        except AttributeError as error:
            raise _no_tensor(function, error, args) from None
        except (RuntimeError, TypeError) as error:
            result = _otherwise(function, args, kwargs, error)
        if SUBCLASSES and (kept := class_of(args)):
            result = of_class(kept, result)
        if leaf:
            result.requires_grad_()
        return result if out is None else _written(out, result)

    return call


def findable(names, package):
    """Sets the module of functions made here to the one that exports them, for pickling."""
    seen = set()
    for name, value in names.items():
        if isinstance(value, types.FunctionType) and not name.startswith("_") and value not in seen:
            seen.add(value)
            if getattr(sys.modules.get(value.__module__), value.__qualname__, None) is not value:
                value.__module__, value.__name__, value.__qualname__ = package, name, name
