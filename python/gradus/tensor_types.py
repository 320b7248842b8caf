"""PyTorch's classes of tensors by dtype: `FloatTensor([1, 2])` makes a tensor, `x.type(LongTensor)` converts, `isinstance` checks the dtype."""

from . import _native
from ._native import Tensor, tensor


class _TensorType(type):
    """A class whose instances are all tensors of one dtype."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and not cls._absent and instance.dtype is cls.dtype

    def __call__(cls, *data, device=None):
        if cls._absent:
            raise RuntimeError(f'no device "cuda" for {cls.__module__}.{cls.__name__}: there is "cpu"')
        if len(data) == 1 and not isinstance(data[0], int):
            from ._results import Size

            if isinstance(data[0], Size):
                return _native.zeros(tuple(data[0]), dtype=cls.dtype, device=device)
            return tensor(data[0], dtype=cls.dtype, device=device)
        return _native.zeros(data or (0,), dtype=cls.dtype, device=device)


_NAMES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32", "Short": "int16",
    "Char": "int8", "Byte": "uint8", "Bool": "bool",
}


def made(module, absent=False):
    """Returns the classes for a module; absent ones cannot make tensors."""
    classes = {}
    for name, dtype in _NAMES.items():
        if hasattr(_native, dtype):
            doc = f"Tensors of `{dtype}`: PyTorch's older way to write `tensor(…, dtype={dtype})`."
            if not absent:
                doc += f"\n\n    >>> import gradus\n    >>> isinstance(gradus.{name}Tensor([1, 0]), gradus.{name}Tensor)\n    True\n    "
            body = {"__doc__": doc, "__module__": module, "dtype": getattr(_native, dtype), "_absent": absent}
            classes[f"{name}Tensor"] = _TensorType(f"{name}Tensor", (), body)
    return classes


globals().update(made("gradus"))
__all__ = [name for name in globals() if name.endswith("Tensor") and name != "Tensor"]


def set_default_tensor_type(t):
    """Sets the default float dtype, by a class of tensors or its name.

    >>> import gradus
    >>> gradus.set_default_tensor_type(gradus.FloatTensor)
    >>> gradus.get_default_dtype()
    gradus.float32
    """
    name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
    if ".cuda." in name:
        raise RuntimeError(f'no device "cuda" for {name}: there is "cpu"')
    found = globals().get(name.rpartition(".")[2])
    if not isinstance(found, _TensorType) or not found.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {name}")
    _native.set_default_dtype(found.dtype)


__all__ += ["set_default_tensor_type"]
