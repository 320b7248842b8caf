"""Writes the type stubs of the package, for editors and type checkers: names of some modules are only made at import.

    python python/stubs.py          # writes the files
    python python/stubs.py --check  # checks whether the files are up to date

Names, arguments and defaults come from the modules as they are imported; types come from the tables below, by name.
"""

import enum
import inspect
import re
import sys
from pathlib import Path

import gradus
from gradus import Tensor, _native, core
from gradus.nn import activation, conv, dropout, loss, norm, pooling

ROOT = Path(gradus.__file__).parent

#: Types of arguments by their names, wherever they occur.
ARGUMENTS = {
    "input": "Tensor", "target": "Tensor", "index": "Tensor", "mask": "Tensor", "mat1": "Tensor", "mat2": "Tensor", "condition": "Tensor",
    "source": "Tensor", "src": "Tensor | _Number", "other": "Tensor | _Number", "tensors": "Sequence[Tensor]", "bias": "Tensor | None",
    "dim": "_Dims", "axis": "_Dims", "dims": "_Dims", "dim0": "int", "dim1": "int", "dim2": "int", "keepdim": "bool", "keepdims": "bool",
    "dtype": "dtype | None", "requires_grad": "bool", "generator": "Generator | None", "eps": "float", "p": "float", "training": "bool",
    "inplace": "bool", "reduction": "str", "mode": "str", "descending": "bool", "stable": "bool", "largest": "bool", "sorted": "bool",
    "upper": "bool", "groups": "int", "momentum": "float | None", "alpha": "Tensor | _Number", "value": "Tensor | _Number", "n": "int",
    "size": "int | Sequence[int]", "shape": "int | Sequence[int]", "sizes": "int | Sequence[int]", "repeats": "int | Sequence[int] | Tensor",
    "kernel_size": "_Sizes", "stride": "_Sizes | None", "padding": "_Sizes | str", "dilation": "_Sizes", "output_size": "Any", "ceil_mode": "bool",
    # other arguments of operations
    "self": "Tensor", "device": "device | str | None", "weight": "Tensor | None", "beta": "_Number", "correction": "_Number | None", "offset": "int",
    "min": "Tensor | _Number | None", "max": "Tensor | _Number | None", "unbiased": "bool", "rounding_mode": "str | None",
    "indices_or_sections": "int | Sequence[int] | Tensor", "norm": "str | None", "k": "int", "end": "Tensor | _Number", "start": "Tensor | _Number",
    "step": "_Number", "steps": "int", "tensor1": "Tensor", "tensor2": "Tensor", "diagonal": "int", "x": "Tensor", "y": "Tensor | None", "x1": "Tensor", "x2": "Tensor",
    "input1": "Tensor", "input2": "Tensor", "indices": "Any", "vec": "Tensor", "vec1": "Tensor", "vec2": "Tensor", "mat": "Tensor", "batch1": "Tensor", "batch2": "Tensor",
    "values": "Tensor | _Number", "threshold": "float", "rtol": "float", "atol": "float", "right": "bool", "return_inverse": "bool", "return_counts": "bool",
    "margin": "float", "equal_nan": "bool", "destination": "_Dims", "window_length": "int", "periodic": "bool", "return_indices": "bool", "output_padding": "_Sizes | None",
    "fill_value": "_Number", "exponent": "Tensor | _Number", "divisor_override": "int | None", "count_include_pad": "bool", "copy": "bool", "with_replacement": "bool",
    "weights": "Tensor | None", "start_dim": "int", "end_dim": "int", "split_sizes": "Sequence[int]", "split_size": "int | Sequence[int]", "shifts": "int | Sequence[int]",
    "seed": "int", "running_var": "Tensor | None", "running_mean": "Tensor | None", "row": "int", "col": "int", "retain_graph": "bool | None", "replacement": "bool",
    "reduce": "str", "r": "int", "q": "Tensor | float", "posinf": "float | None", "neginf": "float | None", "path": "str", "num_samples": "int",
    "normalized_shape": "int | Sequence[int]", "non_blocking": "bool", "negative_slope": "float", "nan": "float", "minlength": "int", "mean": "Tensor | float",
    "std": "Tensor | float", "low": "int", "high": "int", "lambd": "float", "include_self": "bool", "ignore_index": "int", "full": "bool", "decimals": "int",
    "create_graph": "bool", "chunks": "int", "boundaries": "Tensor", "bins": "int", "dx": "float", "indexing": "str", "label_smoothing": "float", "log_target": "bool",
    "anchor": "Tensor", "positive": "Tensor", "negative": "Tensor", "swap": "bool", "align_corners": "bool | None", "scale_factor": "float | Sequence[float] | None",
    "upscale_factor": "int", "downscale_factor": "int", "num_classes": "int", "padding_idx": "int | None", "query": "Tensor", "key": "Tensor", "attn_mask": "Tensor | None",
    "dropout_p": "float", "is_causal": "bool", "scale": "float | None", "enable_gqa": "bool", "pos_weight": "Tensor | None", "delta": "float", "var": "Tensor",
    "log_input": "bool", "num_groups": "int", "use_input_stats": "bool", "approximate": "str", "gradient": "Tensor | None", "offsets": "Tensor | None",
    "lower": "bool", "unitriangular": "bool", "left": "bool", "rcond": "float | None", "hermitian": "bool", "driver": "str | None", "UPLO": "str", "full_matrices": "bool",
    "pivot": "bool", "precision": "Any", "type1": "dtype", "type2": "dtype", "hook": "Any", "lengths": "Tensor", "dimension": "int",
    "batch_first": "bool", "sorted_sequence": "Tensor", "tau": "float", "hard": "bool", "wrap": "bool", "force": "bool", "memory_format": "Any", "accumulate": "bool",
    "as_tuple": "bool", "base": "float", "n_fft": "int", "real": "Tensor", "imag": "Tensor", "abs": "Tensor", "angle": "Tensor", "N": "int | None", "increasing": "bool",
    "elements": "Tensor", "test_elements": "Tensor", "assume_unique": "bool", "invert": "bool", "axes": "Any", "epsilon": "float", "max_norm": "float | None",
    "num_features": "int", "affine": "bool", "track_running_stats": "bool", "in_channels": "int", "out_channels": "int",
}
#: Types of arguments whose name has another meaning in these functions.
SPECIAL = {("Tensor.select_scatter", "index"): "int", ("select_scatter", "index"): "int", ("Tensor.to", "other"): "Any", ("Tensor.unflatten", "sizes"): "Sequence[int]", ("Softmax.__init__", "dim"): "int | None",
           ("orgqr", "tau"): "Tensor", ("Tensor.orgqr", "tau"): "Tensor", ("ormqr", "tau"): "Tensor", ("Tensor.ormqr", "tau"): "Tensor"}

#: Results that are not one tensor.
RESULTS = {
    "Tensor": {
        "int": "dim numel nelement element_size size_bytes", "bool": "is_floating_point is_complex is_contiguous allclose equal is_tensor is_nonzero",
        "Any": "item tolist numpy size stride unique max min median __dlpack__ register_hook unique_consecutive history",
        "tuple[Tensor, Tensor]": "sort topk cummax cummin aminmax kthvalue mode slogdet",
        "tuple[Tensor, ...]": "split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes var_mean std_mean unravel_index",
        "None": "retain_grad backward",
    },
    "function": {
        "int": "numel initial_seed get_num_threads", "bool": "is_tensor is_grad_enabled is_tracing allclose equal is_floating_point is_complex is_nonzero can_cast",
        "Any": "max min median unique load_safetensors where max_pool1d max_pool2d max_pool3d unique_consecutive",
        "tuple[Tensor, Tensor]": "sort topk cummax cummin aminmax kthvalue mode qr eigh eig slogdet",
        "tuple[Tensor, Tensor, Tensor]": "svd lu", "tuple[Tensor, Tensor, Tensor, Tensor]": "lstsq",
        "dtype": "get_default_dtype promote_types result_type", "Size": "broadcast_shapes", "Generator": "manual_seed", "str": "get_float32_matmul_precision",
        "tuple[Tensor, ...]": "split chunk unbind gradient meshgrid broadcast_tensors tensor_split hsplit vsplit dsplit split_with_sizes var_mean std_mean unravel_index",
        "None": "set_rng_state set_float32_matmul_precision save_safetensors set_default_dtype set_printoptions set_num_threads",
    },
}
PROPERTIES = {
    "shape": "Size", "ndim": "int", "dtype": "dtype", "device": "device", "grad": "Any", "requires_grad": "bool", "is_leaf": "bool",
    "is_cuda": "bool", "is_cpu": "bool", "nbytes": "int", "grad_fn": "Any",
}
#: Methods of Python's protocols that are not found by their names.
OPERATORS = {
    "Tensor": "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and or xor rand "
              "ror rxor lt le gt ge lshift rshift",
}
# The package has names such as `float` and `int` of its own, so Python's are written in full.
HEADER = '''# Written by python/stubs.py from the modules as they are imported. Do not edit.
import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from gradus._device import device as _Device
from gradus._results import Size
'''
ALIASES = '''
_Number = builtins.int | builtins.float | builtins.complex | builtins.bool
_Dims = builtins.int | Sequence[builtins.int] | None
_Sizes = builtins.int | Sequence[builtins.int]
'''


def in_full(kind):
    """Writes a type with Python's own names as `builtins.…`, and the class of dtypes with a name that differs from `Tensor.dtype`."""
    kind = re.sub(r"\b(int|float|bool|str|complex|tuple)\b", r"builtins.\1", kind)
    kind = re.sub(r"\bdevice\b", "_Device", kind)
    return re.sub(r"\bdtype\b", "_DType", kind)


def default(value):
    """Writes a default value as text, or `...` if its text is not valid Python."""
    simple = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if simple and not isinstance(value, enum.Enum) else "..."


def parameters(function, where, skip_first):
    """Writes the arguments of a function as text, or `*args, **kwargs` if its signature is unknown."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "*args: Any, **kwargs: Any"
    parts, starred = [], False
    items = list(signature.parameters.values())
    for p in items[1:] if skip_first else items:
        kind = SPECIAL.get((where, p.name)) or ARGUMENTS.get(p.name, "Any")
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: Any")
            starred = True
        elif p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: Any")
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            given = p.default is not p.empty
            if given and p.default is None and "None" not in kind and kind != "Any" and kind != "_Dims":
                kind += " | None"
            numbers = {"int": ("int", "float", "_Number", "_Sizes", "_Dims"), "float": ("float", "_Number")}
            kinds = numbers.get(type(p.default).__name__, (type(p.default).__name__,))
            if given and p.default not in (None, ...) and not any(re.search(rf"\b{k}\b", kind) for k in kinds):
                kind = "Any"  # the same name for something else
            parts.append(f"{p.name}: {in_full(kind)}" + (f" = {default(p.default)}" if given else ""))
    return ", ".join(parts)


def result(name, where):
    found = (kind for kind, names in RESULTS[where].items() if name in names.split())
    return in_full(next(found, "Tensor"))


def tensor_class():
    lines = ["class Tensor:", f"    def __init__(self, {parameters(Tensor, 'Tensor', False)}) -> None: ..."]
    for name in sorted(dir(Tensor)):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(Tensor, name)
        if not callable(getattr(Tensor, name)):
            kind = in_full(PROPERTIES.get(name, "Tensor"))
            lines += ["    @property", f"    def {name}(self) -> {kind}: ..."]
            if name in ("grad", "requires_grad", "data"):
                lines += [f"    @{name}.setter", f"    def {name}(self, value: {kind}) -> None: ..."]
            continue
        where = f"Tensor.{name}"
        arguments = parameters(getattr(value, "__func__", value), where, True)
        lines.append(f"    def {name}(self{', ' + arguments if arguments else ''}) -> {result(name, 'Tensor')}: ...")
    for name in OPERATORS["Tensor"].split():
        lines.append(f"    def __{name}__(self, other: Any) -> Tensor: ...")
    lines += [
        "    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]", "    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]",
        "    def __hash__(self) -> builtins.int: ...", "    def __neg__(self) -> Tensor: ...", "    def __pos__(self) -> Tensor: ...", "    def __abs__(self) -> Tensor: ...",
        "    def __invert__(self) -> Tensor: ...", "    def __getitem__(self, index: Any) -> Tensor: ...", "    def __setitem__(self, index: Any, value: Any) -> None: ...",
        "    def __len__(self) -> builtins.int: ...", "    def __iter__(self) -> Iterator[Tensor]: ...", "    def __contains__(self, value: Any) -> builtins.bool: ...",
        "    def __bool__(self) -> builtins.bool: ...", "    def __int__(self) -> builtins.int: ...", "    def __float__(self) -> builtins.float: ...",
        "    def __complex__(self) -> builtins.complex: ...", "    def __index__(self) -> builtins.int: ...", "    def __format__(self, spec: builtins.str) -> builtins.str: ...", "    def __array__(self, dtype: Any = None, copy: Any = None) -> Any: ...",
    ]
    return "\n".join(lines)


def plain_class(cls):
    """Writes a class of the native module, whose methods take and return any type."""
    lines = [f"class {cls.__name__}:", "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
    for name in sorted(dir(cls)):
        if name.startswith("_") and name not in ("__call__", "__getattr__"):
            continue
        if name == "__getattr__":
            continue
        if isinstance(inspect.getattr_static(cls, name), staticmethod):
            lines += ["    @staticmethod", f"    def {name}(*args: Any, **kwargs: Any) -> Any: ..."]
        elif isinstance(getattr(cls, name), type):
            lines.append(f"    {name}: Any")
        elif callable(getattr(cls, name)):
            gives = cls.__name__ if cls.__name__ == "Generator" and name == "manual_seed" else "Any"
            arguments = parameters(getattr(cls, name), f"{cls.__name__}.{name}", True)
            lines.append(f"    def {name}(self{', ' + arguments if arguments else ''}) -> {gives}: ...")
        else:
            lines += ["    @property", f"    def {name}(self) -> Any: ..."]
    return "\n".join(lines)


def functions(names, module):
    for name in sorted(names):
        value = getattr(module, name)
        arguments = re.sub(r"^self: ", "input: ", parameters(value, name, False))
        if hasattr(value, "__wrapped__") and "**" not in arguments:  # see keywords.py
            star = "" if re.search(r"(^|, )\*", arguments) else "*, "
            arguments += f"{', ' if arguments else ''}{star}out: Tensor | None = None"
        yield f"def {name}({arguments}) -> {result(name, 'function')}: ..."


def native():
    names = [n for n in dir(_native) if not n.startswith("__")]
    classes = [n for n in names if isinstance(getattr(_native, n), type)]
    dtypes = sorted(n for n in names if type(getattr(_native, n)).__name__ == "dtype")
    calls = [n for n in names if callable(getattr(_native, n)) and n not in classes]
    parts = [HEADER, ALIASES, plain_class(_native.dtype), "_DType = dtype", tensor_class()]
    parts += [plain_class(getattr(_native, n)) for n in sorted(classes) if n not in ("Tensor", "dtype")]
    parts += ["\n".join(functions(calls, _native)), "\n".join(f"{n}: _DType" for n in dtypes)]
    return "\n\n".join(parts) + "\n"


def namespace():
    """Writes the stub of `core`: all names that the package exports at its top level."""
    own = [n for n, v in vars(core).items() if not n.startswith("_") and callable(v) and not isinstance(v, type) and v is not getattr(_native, n, None)]
    own.remove("trace")  # the package exports that of `transforms`, which also takes tensors
    given = ", ".join(f"{n} as {n}" for n in sorted(dir(_native)) if not n.startswith("_") and vars(core).get(n) is getattr(_native, n))
    rest = f"from gradus._native import {given}, dtype as _DType\n"
    classes = ("from gradus.grad_mode import enable_grad as enable_grad, inference_mode as inference_mode, no_grad as no_grad, "
               "set_grad_enabled as set_grad_enabled\nfrom gradus.limits import finfo as finfo, iinfo as iinfo\n")
    constants = "\n".join(f"{name}: builtins.float" for name in ("inf", "nan", "pi", "e")) + "\nnewaxis: None"
    return "\n\n".join([HEADER + rest + classes, ALIASES, "\n".join(functions(own, core)), constants]) + "\n"


def layers(module):
    """Writes the stub of a module whose classes are rows of a table."""
    head = HEADER + "\nfrom gradus._native import Generator, Tensor, dtype as _DType\nfrom gradus.nn.module import Module\nfrom gradus.nn.parameter import Parameter\n"
    parts = [head, ALIASES]
    for name in getattr(module, "__all__", None) or [n for n, v in vars(module).items() if isinstance(v, type) and not n.startswith("_")]:
        cls = getattr(module, name)
        if not (isinstance(cls, type) and issubclass(cls, gradus.nn.Module)) or cls in (gradus.nn.Module, gradus.nn.Parameter):
            continue
        arguments = parameters(cls.__init__, f"{name}.__init__", True)
        gives = "Any" if "MaxPool" in name else "Tensor"
        parts.append(f"class {name}(Module):\n    def __init__(self{', ' + arguments if arguments else ''}) -> None: ...\n"
                     f"    def forward(self, *inputs: Any) -> {gives}: ...\n    def __call__(self, *inputs: Any) -> {gives}: ...\n"
                     f"    def __getattr__(self, name: builtins.str) -> Any: ...")
    if module is conv:
        parts.append("def _each(value: Any, axes: builtins.int) -> builtins.tuple[builtins.int, ...]: ...")
    return "\n\n".join(parts) + "\n"


def files():
    """Returns all stubs, by path."""
    made = {ROOT / "_native.pyi": native(), ROOT / "core.pyi": namespace()}
    for module in (activation, conv, dropout, loss, norm, pooling):
        made[Path(module.__file__).with_suffix(".pyi")] = layers(module)
    made[ROOT / "py.typed"] = ""
    return made


def main():
    stale = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not as python/stubs.py would write it")
        return 1 if stale else 0
    for path in stale:
        path.write_text(files()[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
