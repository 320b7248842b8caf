"""Orthogonal polynomials with the names of `torch.special`, by their recurrences in the order.

Orders are tensors or numbers and are truncated to integers; below 0 the polynomial is 0. Derivatives by `x` follow from the
recurrence. Chebyshev polynomials of high order use their trigonometric form, which needs no recurrence.
"""

import math

from .. import _native
from .._native import Tensor, as_tensor, where, zeros_like
from .bessel import _pair

# Orders up to this go through the recurrence, others through the trigonometric form.
_RECURRENT = 256
# Recurrences take a few microseconds for each order.
_MAX_ORDER = 10_000
# PyTorch returns NaN above these orders.
_MAX_HERMITE = {4: 128, 8: 512}


def _by_recurrence(x, n, highest, first, following):
    """Computes the polynomial of order `n` by its recurrence. `first` is the polynomial of order 1; `following(k, p, q)` returns that of
    order `k + 1` from those of orders `k - 1` and `k`."""
    below, here = zeros_like(x) + 1, first
    if not isinstance(n, Tensor):  # one order for all, which needs no selection
        for k in range(1, highest):
            below, here = here, following(k, below, here)
        return zeros_like(x) if n < 0 else below if n == 0 else here
    result = where(n == 0, below, zeros_like(x))
    for k in range(1, highest + 1):
        result = where(n == k, here, result)
        below, here = here, following(k, below, here) if k < highest else here
    return result


def _orders(name, x, n):
    """Returns `x`, the order as an integer or a tensor of the same shape, and the highest order."""
    number = None if isinstance(n, Tensor) else n
    x, n = _pair(x, n)
    if number is not None:
        number = int(number) if math.isfinite(number) else -1
        return x, number, number
    x, n = _native.broadcast_tensors(x, n.detach().trunc())
    if n._is_traced:
        raise RuntimeError(f"{name}: the order must be known while a function is traced; pass it as a number")
    known = where(n.isfinite(), n, -1.0)
    return x, n, int(known.max().item()) if n.numel() else 0


def _limited(name, highest):
    if highest > _MAX_ORDER:
        raise ValueError(f"{name}: order {highest} is too large, at most {_MAX_ORDER}")
    return highest


def _chebyshev(name, x, n, first, trigonometric):
    """Chebyshev polynomials of the four kinds, which differ in order 1 and share the recurrence."""
    x, n, highest = _orders(name, x, n)
    low = _by_recurrence(x, n, min(highest, _RECURRENT), first(x), lambda _, p, q: (x + x) * q - p)
    if highest <= _RECURRENT:
        return low
    inside, n = x.clamp(-1, 1), as_tensor(n, dtype=x.dtype)
    high = trigonometric(inside, n)
    high = where(x.abs() > 1, x.detach() * math.nan, high)  # too large for the dtype, or close to that
    return where(n > _RECURRENT, high, low)


def _t(x, n):
    return (n * x.acos()).cos()


def _u(x, n):
    angle, end = x.acos(), x.abs() == 1
    ends = where((x > 0) | (n.remainder(2) == 0), n + 1, -(n + 1))
    return where(end, ends, ((n + 1) * angle).sin() / where(end, 1.0, angle.sin()))


def _v(x, n):
    half = x.acos() / 2
    under = half.cos()
    ends = where(n.remainder(2) == 0, 2 * n + 1, -(2 * n + 1))
    return where(x == -1, ends, ((2 * n + 1) * half).cos() / where(x == -1, 1.0, under))


def _w(x, n):
    half = x.acos() / 2
    under = half.sin()
    return where(x == 1, 2 * n + 1, ((2 * n + 1) * half).sin() / where(x == 1, 1.0, under))


def chebyshev_polynomial_t(input, n):
    """Chebyshev polynomial of the first kind, `T_n(cos t) = cos(nt)`.

    >>> import gradus
    >>> gradus.special.chebyshev_polynomial_t(gradus.tensor([2.0]), 2)
    tensor([7.])
    """
    return _chebyshev("chebyshev_polynomial_t", input, n, lambda x: x, _t)


def chebyshev_polynomial_u(input, n):
    """Chebyshev polynomial of the second kind, `U_n(cos t) = sin((n + 1) t) / sin(t)`.

    >>> import gradus
    >>> gradus.special.chebyshev_polynomial_u(gradus.tensor([2.0]), 2)
    tensor([15.])
    """
    return _chebyshev("chebyshev_polynomial_u", input, n, lambda x: x + x, _u)


def chebyshev_polynomial_v(input, n):
    """Chebyshev polynomial of the third kind, `V_n(cos t) = cos((n + 1/2) t) / cos(t / 2)`.

    >>> import gradus
    >>> gradus.special.chebyshev_polynomial_v(gradus.tensor([2.0]), 2)
    tensor([11.])
    """
    return _chebyshev("chebyshev_polynomial_v", input, n, lambda x: x + x - 1, _v)


def chebyshev_polynomial_w(input, n):
    """Chebyshev polynomial of the fourth kind, `W_n(cos t) = sin((n + 1/2) t) / sin(t / 2)`.

    >>> import gradus
    >>> gradus.special.chebyshev_polynomial_w(gradus.tensor([2.0]), 2)
    tensor([19.])
    """
    return _chebyshev("chebyshev_polynomial_w", input, n, lambda x: x + x + 1, _w)


def _shifted(function, input, n):
    """Computes a polynomial of `2x - 1`, on the interval from 0 to 1."""
    x, n = _pair(input, n)
    return function(x + x - 1, n)


def shifted_chebyshev_polynomial_t(input, n):
    """`chebyshev_polynomial_t` of `2x - 1`.

    >>> import gradus
    >>> gradus.special.shifted_chebyshev_polynomial_t(gradus.tensor([2.0]), 1)
    tensor([3.])
    """
    return _shifted(chebyshev_polynomial_t, input, n)


def shifted_chebyshev_polynomial_u(input, n):
    """`chebyshev_polynomial_u` of `2x - 1`.

    >>> import gradus
    >>> gradus.special.shifted_chebyshev_polynomial_u(gradus.tensor([2.0]), 1)
    tensor([6.])
    """
    return _shifted(chebyshev_polynomial_u, input, n)


def shifted_chebyshev_polynomial_v(input, n):
    """`chebyshev_polynomial_v` of `2x - 1`.

    >>> import gradus
    >>> gradus.special.shifted_chebyshev_polynomial_v(gradus.tensor([2.0]), 1)
    tensor([5.])
    """
    return _shifted(chebyshev_polynomial_v, input, n)


def shifted_chebyshev_polynomial_w(input, n):
    """`chebyshev_polynomial_w` of `2x - 1`.

    >>> import gradus
    >>> gradus.special.shifted_chebyshev_polynomial_w(gradus.tensor([2.0]), 1)
    tensor([7.])
    """
    return _shifted(chebyshev_polynomial_w, input, n)


def _hermite(name, input, n, first, following):
    x, n, highest = _orders(name, input, n)
    most = _MAX_HERMITE.get(x.element_size(), 128)
    low = _by_recurrence(x, n, min(highest, most), first(x), lambda k, p, q: following(x, k, p, q))
    return where(as_tensor(n) > most, math.nan, low) if highest > most else low


def hermite_polynomial_h(input, n):
    """Physicists' Hermite polynomial. NaN for orders above 512 (float32: 128), which overflow.

    >>> import gradus
    >>> gradus.special.hermite_polynomial_h(gradus.tensor([2.0]), 2)
    tensor([14.])
    """
    return _hermite("hermite_polynomial_h", input, n, lambda x: x + x, lambda x, k, p, q: (x + x) * q - 2 * k * p)


def hermite_polynomial_he(input, n):
    """Probabilists' Hermite polynomial. NaN for orders above 512 (float32: 128), which overflow.

    >>> import gradus
    >>> gradus.special.hermite_polynomial_he(gradus.tensor([2.0]), 2)
    tensor([3.])
    """
    return _hermite("hermite_polynomial_he", input, n, lambda x: x, lambda x, k, p, q: x * q - k * p)


def laguerre_polynomial_l(input, n):
    """Laguerre polynomial, of orders up to 10000.

    >>> import gradus
    >>> gradus.special.laguerre_polynomial_l(gradus.tensor([2.0]), 2)
    tensor([-1.])
    """
    x, n, highest = _orders("laguerre_polynomial_l", input, n)
    highest = _limited("laguerre_polynomial_l", highest)
    return _by_recurrence(x, n, highest, 1 - x, lambda k, p, q: ((2 * k + 1 - x) * q - k * p) / (k + 1))


def legendre_polynomial_p(input, n):
    """Legendre polynomial, of orders up to 10000.

    >>> import gradus
    >>> gradus.special.legendre_polynomial_p(gradus.tensor([2.0]), 2)
    tensor([5.5000])
    """
    x, n, highest = _orders("legendre_polynomial_p", input, n)
    highest = _limited("legendre_polynomial_p", highest)
    return _by_recurrence(x, n, highest, x, lambda k, p, q: ((2 * k + 1) * x * q - k * p) / (k + 1))
