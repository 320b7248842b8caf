"""Pointwise ops of the catalog that Python does not provide under another name: methods of `Tensor`, also in place, and functions.

An op that is added to the catalog gets its methods and documentation here automatically.
"""

from . import _native
from ._native import Tensor

#: Ops that Python has under another name. `None`: an op that only derivatives use.
NAMES = {
    "floor_div": "floor_divide", "is_nan": "isnan", "is_inf": "isinf", "is_finite": "isfinite",
    "bessel_j0": "special.bessel_j0", "bessel_j1": "special.bessel_j1", "bessel_y0": "special.bessel_y0", "bessel_y1": "special.bessel_y1",
    "bessel_i0": "special.modified_bessel_i0", "bessel_i1": "special.modified_bessel_i1",
    "bessel_k0": "special.modified_bessel_k0", "bessel_k1": "special.modified_bessel_k1",
    "bessel_i0e": "special.i0e", "bessel_i1e": "special.i1e",
    "bessel_k0e": "special.scaled_modified_bessel_k0", "bessel_k1e": "special.scaled_modified_bessel_k1",
    "airy_ai": "special.airy_ai", "airy_ai_prime": None, "igamma_grad_a": None, "gamma_density": None,
}

#: The ops that `install` added: the range of samples of each operand, by name.
INSTALLED = {}


def _method(name, docs, arity):
    """Makes the method of an op. The other operands are positional arguments."""

    def method(self, *others):
        if len(others) != arity - 1:
            raise TypeError(f"{name}() takes {arity} operands, but {len(others) + 1} were given")
        return _native._pointwise(name, self, *others)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = docs
    return method


def _in_place(method, name):
    """Makes the method that writes its result to its tensor."""

    def change(self, *others):
        return self.copy_(method(self, *others))

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"In place: `{name[:-1]}`."
    return change


def install(known=()):
    """Gives `Tensor` the methods that it lacks; names in `known` are functions without a method. Returns the names."""
    for name, docs, domains in _native._pointwise_ops():
        if name in NAMES or name in known or hasattr(Tensor, name):
            continue
        method = _method(name, docs, len(domains))
        setattr(Tensor, name, method)
        setattr(Tensor, f"{name}_", _in_place(method, f"{name}_"))
        INSTALLED[name] = domains
    return list(INSTALLED)
