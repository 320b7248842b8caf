"""Functions that are only composed of others, under PyTorch's names, by topic."""

from .._examples import documented as _documented
from ..keywords import with_numpy_words as _with_numpy_words
from . import bessel, create, index, movement, pointwise, product, reduce, spectrum, whole

#: Those that PyTorch offers as functions only.
FUNCTIONS_ONLY = {
    *(name for name, value in vars(create).items() if getattr(value, "__module__", None) == create.__name__),
    "block_diag", "broadcast_shapes", "cartesian_prod", "chain_matmul", "channel_shuffle", "multi_dot", "trapezoid", "trapz", "cumulative_trapezoid",
    "vander", "hstack", "vstack", "row_stack", "dstack", "column_stack", "atleast_1d", "atleast_2d", "atleast_3d", "pdist", "isin", "view_as_real", "view_as_complex", "promote_types", "result_type", "can_cast", "gradient", "fake_quantize_per_tensor_affine",
}

__all__ = []
for _module in (pointwise, reduce, movement, index, product, create, bessel, spectrum, whole):
    for _name, _value in list(vars(_module).items()):
        if not _name.startswith("_") and getattr(_value, "__module__", None) == _module.__name__:
            globals()[_name] = _with_numpy_words(_value)
            __all__.append(_name)

_documented({name: globals()[name] for name in __all__})
