"""Limits of dtypes: `finfo` and `iinfo`."""

from . import _native

# dtype: bits, eps, largest, smallest normal, resolution
_FLOATS = {
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
}
_PARTS = {"complex128": "float64", "complex64": "float32"}
_INTEGERS = {"int64": 64, "int32": 32, "int16": 16, "int8": 8, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


def _name_of(dtype, names):
    return next((name for name in names if getattr(_native, name, None) == dtype), None)


class finfo:
    """Limits of a floating point dtype.

    >>> import gradus
    >>> gradus.finfo(gradus.float64).eps == 2.0**-52
    True
    """

    def __init__(self, dtype=None):
        dtype = _native.float32 if dtype is None else dtype
        name = _name_of(dtype, [*_FLOATS, *_PARTS])
        if name is None:
            raise TypeError(f"finfo() requires a floating point dtype, not {dtype}; use iinfo()")
        self.dtype = _PARTS.get(name, name)
        self.bits, self.eps, self.max, self.tiny, self.resolution = _FLOATS[self.dtype]
        self.min, self.smallest_normal = -self.max, self.tiny

    def __repr__(self):
        return (f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, "
                f"smallest_normal={self.smallest_normal}, tiny={self.tiny}, dtype={self.dtype})")


class iinfo:
    """Limits of an integer dtype.

    >>> import gradus
    >>> gradus.iinfo(gradus.int8).max
    127
    """

    def __init__(self, dtype):
        name = _name_of(dtype, _INTEGERS)
        if name is None:
            raise TypeError(f"iinfo() requires an integer dtype, not {dtype}; use finfo()")
        self.dtype, self.bits = name, _INTEGERS[name]
        signed = not name.startswith("u")
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -self.max - 1 if signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


class _NamedOnly:
    """A dtype of PyTorch that can be named and compared; no tensor has it."""

    is_complex = False

    def __init__(self, name, itemsize, is_floating_point=False, is_signed=True):
        self.name, self.itemsize, self.is_floating_point, self.is_signed = name, itemsize, is_floating_point, is_signed

    def __repr__(self):
        return f"gradus.{self.name}"

    def __reduce__(self):
        return self.name  # one object each


#: Dtypes that programs name in tables; making a tensor of one raises a `TypeError`.
NAMED_ONLY = {d.name: d for d in [
    _NamedOnly("int16", 2), _NamedOnly("uint16", 2, is_signed=False), _NamedOnly("uint64", 8, is_signed=False),
    *(_NamedOnly(f"float8_{kind}", 1, is_floating_point=True) for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")),
    *(_NamedOnly(name, size) for name, size in (("qint8", 1), ("qint32", 4), ("quint4x2", 1))),
    _NamedOnly("quint8", 1, is_signed=False), _NamedOnly("complex32", 4), _NamedOnly("float4_e2m1fn_x2", 1, is_floating_point=True),
]}
