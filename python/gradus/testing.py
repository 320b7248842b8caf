"""Comparisons for tests, under PyTorch's names."""

from . import _native
from .core import Tensor, as_tensor, unravel_index

#: PyTorch's relative and absolute tolerances, by dtype.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """Raises an `AssertionError` with details if tensors, or nested containers of them, differ by more than the tolerances.

    >>> import gradus
    >>> gradus.testing.assert_close(gradus.tensor([1.0, 2.0]), gradus.tensor([1.0, 2.0 + 1e-7]))
    >>> gradus.testing.assert_close(gradus.tensor([1.0, 2.0]), gradus.tensor([1.0, 3.0]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 1.0 at index (1,) (up to 1e-05 allowed)
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be given or both be left out")
    how = (rtol, atol, equal_nan, check_dtype)
    text = _difference(actual, expected, how, "")
    if text:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


def _difference(actual, expected, how, where):
    """Describes how two nested containers differ; empty if they do not."""
    if isinstance(expected, dict) or isinstance(actual, dict):
        if not (isinstance(actual, dict) and isinstance(expected, dict)) or set(actual) != set(expected):
            return f"The keys of the mappings do not match{where}"
        pairs = [(actual[k], expected[k], k) for k in expected]
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch{where}: {len(actual)} != {len(expected)}"
        pairs = [(a, e, i) for i, (a, e) in enumerate(zip(actual, expected))]
    else:
        return _tensors_differ(actual, expected, how, where)
    found = (_difference(a, e, how, f"{where}\n\nThe failure occurred for item [{key!r}]") for a, e, key in pairs)
    return next(filter(None, found), "")


def _tensors_differ(actual, expected, how, where):
    rtol, atol, equal_nan, check_dtype = how
    numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    a, e = (x.detach() if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected))
    if tuple(a.shape) != tuple(e.shape):
        return f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}.{where}"
    if check_dtype and not numbers and a.dtype != e.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {e.dtype}.{where}"
    if rtol is None:
        pairs = [_TOLERANCES.get(str(x.dtype).split(".")[-1], (0.0, 0.0)) for x in (a, e)]
        rtol, atol = (max(values) for values in zip(*pairs))
    wide = "complex128" if a.is_complex() or e.is_complex() else "float64"
    a, e = (x.to(getattr(_native, wide)) for x in (a, e))
    close = a.isclose(e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(close.all()):
        return ""
    wrong = int((~close).sum())
    gap = (a - e).abs()
    gap = gap.masked_fill(close, 0.0)
    at = int(gap.reshape(-1).argmax())
    place = tuple(int(i) for i in unravel_index(as_tensor(at), tuple(a.shape)))
    allowed = f"(up to {atol} allowed)"
    return (f"Tensor-likes are not {'equal' if rtol == atol == 0 else 'close'}!\n\n"
            f"Mismatched elements: {wrong} / {a.numel()} ({100 * wrong / a.numel():.1f}%)\n"
            f"Greatest absolute difference: {gap.reshape(-1)[at].item()} at index {place} {allowed}{where}")
