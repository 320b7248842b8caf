"""Functions composed of other functions, under PyTorch's names, by topic."""

from .._examples import documented as _documented
from ..keywords import with_numpy_words as _with_numpy_words
from . import bessel, factor, copies, create, divisors, histogram, index, movement, normalized, order, pointwise, product, reduce, spectrum

#: Functions that are not methods in PyTorch.
FUNCTIONS_ONLY = {
    *(name for module in (create, normalized) for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__),
    *(name for name, value in vars(copies).items() if name not in ("narrow_copy", "conj_physical", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes")
      and getattr(value, "__module__", None) == copies.__name__),
    "block_diag", "constant_pad_nd", "histogramdd", "broadcast_shapes", "cartesian_prod", "chain_matmul", "lu_unpack", "pca_lowrank", "svd_lowrank", "channel_shuffle", "multi_dot", "trapezoid", "trapz", "cumulative_trapezoid",
    "vander", "hstack", "vstack", "row_stack", "dstack", "column_stack", "atleast_1d", "atleast_2d", "atleast_3d", "pdist", "isin", "segment_reduce", "view_as_real", "view_as_complex", "promote_types", "result_type", "can_cast", "gradient", "fake_quantize_per_tensor_affine",
}

#: Functions that replace a native method with fewer arguments.
REPLACING = {"bernoulli", "cholesky", "norm", "pinverse"}

__all__ = []
for _module in (pointwise, reduce, order, histogram, copies, movement, index, product, factor, create, bessel, spectrum, divisors, normalized):
    for _name, _value in list(vars(_module).items()):
        if not _name.startswith("_") and getattr(_value, "__module__", None) == _module.__name__:
            globals()[_name] = _with_numpy_words(_value)
            __all__.append(_name)

_documented({name: globals()[name] for name in __all__})
