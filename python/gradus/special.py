"""Special functions, under the names of `torch.special`."""

import math

from .composed import bessel as _bessel
from .composed.polynomials import (  # noqa: F401
    chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w, hermite_polynomial_h,
    hermite_polynomial_he, laguerre_polynomial_l, legendre_polynomial_p, shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v, shifted_chebyshev_polynomial_w,
)
from .core import (  # noqa: F401
    as_tensor, digamma, erf, erfc, erfinv, exp2, expm1, i0, igamma, igammac, lgamma, log1p, log_softmax, logit, logsumexp, mvlgamma,
    polygamma, round, sigmoid, sinc, softmax, where, xlogy,
)

expit, psi, gammaln, multigammaln, gammainc, gammaincc = sigmoid, digamma, lgamma, mvlgamma, igamma, igammac


def entr(input):
    """`-x log x`; 0 at 0, minus infinity below.

    >>> import gradus
    >>> gradus.special.entr(gradus.tensor([0.5, -1.0]))
    tensor([0.3466,   -inf])
    """
    return where(input < 0, -math.inf, -xlogy(input, input))


def xlog1py(input, other):
    """`x log(1 + y)`; 0 where `x` is 0, unless `y` is NaN.

    >>> import gradus
    >>> gradus.special.xlog1py(gradus.tensor([0.0, 2.0]), gradus.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """
    input, other = as_tensor(input), as_tensor(other)
    none = (input == 0) & ~other.isnan()
    return where(none, 0.0, input * other.masked_fill(none, 0).log1p())


def ndtr(input):
    """Computes the standard normal distribution function.

    >>> import gradus
    >>> gradus.special.ndtr(gradus.tensor([0.0]))
    tensor([0.5000])
    """
    return erfc(-input / math.sqrt(2)) / 2


def ndtri(input):
    """Computes the inverse of `ndtr`.

    >>> import gradus
    >>> gradus.special.ndtri(gradus.tensor([0.5]))
    tensor([0.])
    """
    x = input if input.is_floating_point() else as_tensor(input / 1)
    plain = x.detach()
    tail = ((plain > 0) & (plain < 0.1)) | ((plain > 0.9) & (plain < 1))
    middle = (2 * x - 1).masked_fill(tail, 0).erfinv() * math.sqrt(2)
    if not x._is_traced and not bool(tail.any()):
        return middle
    # `2 x - 1` rounds off tails: there, solves `log_ndtr(y) = log(q)` for the smaller probability `q`.
    low = plain < 0.5
    log_q = where(tail, where(low, x, 1 - x), 0.05).double().log()
    t = (-2 * log_q.detach()).sqrt()
    y = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t  # error below 4.5e-4
    for _ in range(2):
        y = _newton(y, log_q.detach())
    for _ in range(2):  # these give the first and the second derivative
        y = _newton(y, log_q)
    return where(tail, where(low, y, -y).to(x.dtype), middle)


def _newton(y, log_q):
    """Computes a Newton step towards `log_ndtr(y) = log_q`, for negative `y`."""
    scaled = erfcx(-y / math.sqrt(2)) / 2  # ndtr(y) exp(y²/2)
    return y - (scaled.log() - y * y / 2 - log_q) * scaled * math.sqrt(2 * math.pi)


def erfcx(input):
    """`exp(x²) erfc(x)`, without overflow of its factors.

    >>> import gradus
    >>> gradus.special.erfcx(gradus.tensor(100.0))
    tensor(0.0056)
    """
    near = input.clamp(max=5.0)
    far = input.clamp(min=5.0)
    tail = far
    for k in range(60, 0, -1):  # the continued fraction, from its end
        tail = far + (k / 2) / tail
    return where(input <= 5.0, (near * near).exp() * erfc(near), 1 / (tail * math.sqrt(math.pi)))


def log_ndtr(input):
    """Computes the logarithm of `ndtr`, accurate for large negative `x`.

    >>> import gradus
    >>> gradus.special.log_ndtr(gradus.tensor(-10.0))
    tensor(-53.2313)
    """
    scaled = input / math.sqrt(2)
    left, right = scaled.clamp(max=-1.0), scaled.clamp(min=-1.0)
    return where(scaled < -1.0, (erfcx(-left) / 2).log() - left * left, (-erfc(right) / 2).log1p())


def i0e(input):
    """`exp(-|x|) i0(x)`.

    >>> import gradus
    >>> gradus.special.i0e(gradus.tensor([0.0]))
    tensor([1.])
    """
    return _bessel._of_one("bessel_i0e", input)


def i1(input):
    """Computes the modified Bessel function of order 1.

    >>> import gradus
    >>> gradus.special.i1(gradus.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """
    return _bessel._of_one("bessel_i1", input)


def i1e(input):
    """`exp(-|x|) i1(x)`.

    >>> import gradus
    >>> gradus.special.i1e(gradus.tensor([1.0]))
    tensor([0.2079])
    """
    return _bessel._of_one("bessel_i1e", input)


def bessel_j0(input):
    """Computes the Bessel function of the first kind of order 0.

    >>> import gradus
    >>> gradus.special.bessel_j0(gradus.tensor([0.0, 1.0]))
    tensor([1.0000, 0.7652])
    """
    return _bessel._of_one("bessel_j0", input)


def bessel_j1(input):
    """Computes the Bessel function of the first kind of order 1.

    >>> import gradus
    >>> gradus.special.bessel_j1(gradus.tensor([0.0, 1.0]))
    tensor([0.0000, 0.4401])
    """
    return _bessel._of_one("bessel_j1", input)


def bessel_y0(input):
    """Computes the Bessel function of the second kind of order 0; minus infinity at 0, NaN below.

    >>> import gradus
    >>> gradus.special.bessel_y0(gradus.tensor([1.0]))
    tensor([0.0883])
    """
    return _bessel._of_one("bessel_y0", input)


def bessel_y1(input):
    """Computes the Bessel function of the second kind of order 1; minus infinity at 0, NaN below.

    >>> import gradus
    >>> gradus.special.bessel_y1(gradus.tensor([1.0]))
    tensor([-0.7812])
    """
    return _bessel._of_one("bessel_y1", input)


def modified_bessel_i0(input):
    """Computes the modified Bessel function of the first kind of order 0.

    >>> import gradus
    >>> gradus.special.modified_bessel_i0(gradus.tensor([1.0]))
    tensor([1.2661])
    """
    return _bessel._of_one("bessel_i0", input)


def modified_bessel_i1(input):
    """Computes the modified Bessel function of the first kind of order 1.

    >>> import gradus
    >>> gradus.special.modified_bessel_i1(gradus.tensor([1.0]))
    tensor([0.5652])
    """
    return _bessel._of_one("bessel_i1", input)


def modified_bessel_k0(input):
    """Computes the modified Bessel function of the second kind of order 0; infinite at 0, NaN below.

    >>> import gradus
    >>> gradus.special.modified_bessel_k0(gradus.tensor([1.0]))
    tensor([0.4210])
    """
    return _bessel._of_one("bessel_k0", input)


def modified_bessel_k1(input):
    """Computes the modified Bessel function of the second kind of order 1; infinite at 0, NaN below.

    >>> import gradus
    >>> gradus.special.modified_bessel_k1(gradus.tensor([1.0]))
    tensor([0.6019])
    """
    return _bessel._of_one("bessel_k1", input)


def scaled_modified_bessel_k0(input):
    """`exp(x) modified_bessel_k0(x)`.

    >>> import gradus
    >>> gradus.special.scaled_modified_bessel_k0(gradus.tensor([1.0]))
    tensor([1.1445])
    """
    return _bessel._of_one("bessel_k0e", input)


def scaled_modified_bessel_k1(input):
    """`exp(x) modified_bessel_k1(x)`.

    >>> import gradus
    >>> gradus.special.scaled_modified_bessel_k1(gradus.tensor([1.0]))
    tensor([1.6362])
    """
    return _bessel._of_one("bessel_k1e", input)


def airy_ai(input):
    """Computes the Airy function Ai, the decaying solution of `y'' = x y`.

    >>> import gradus
    >>> gradus.special.airy_ai(gradus.tensor([0.0, 1.0]))
    tensor([0.3550, 0.1353])
    """
    return _bessel._of_one("airy_ai", input)


def spherical_bessel_j0(input):
    """`sin(x) / x`; 1 at 0 and 0 at infinity.

    >>> import gradus
    >>> gradus.special.spherical_bessel_j0(gradus.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    x = _bessel._floats(input)
    small = x.abs() < 0.5
    square, far = (x * x).masked_fill(~small, 0.0), x.masked_fill(small | x.isinf(), 1.0)
    near = 1.0
    for k in (8, 7, 6, 5, 4, 3, 2, 1):  # the power series, whose derivatives are exact at 0 too
        near = 1 - square / (2 * k * (2 * k + 1)) * near
    return where(small, near, where(x.isinf(), 0.0, far.sin() / far))


# B(2k) / (2k)! for the Bernoulli numbers B.
_EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000,
    43867 / 5109094217170944000, -174611 / 802857662698291200000,
)


def zeta(input, other):
    """Computes the Hurwitz zeta function: the sum of `(other + k) ** -input` over `k = 0, 1, …`.

    Infinite where `input` is 1 and at the poles `other = 0, -1, …`; NaN for `input` below 1.

    >>> import gradus
    >>> gradus.special.zeta(gradus.tensor([2.0]), 1)
    tensor([1.6449])
    """
    s, q = _bessel._pair(input, other)
    wide = (s + q).dtype
    s, q = s.double(), q.double()
    # The first terms directly, and the rest by the Euler-Maclaurin formula. Replaced arguments keep derivatives free of NaN.
    right = (s > 1) & (q > 0)
    s1, q1 = where(right, s, 2.0), where(right, q, 1.0)
    total, steps = 0.0, 12
    for k in range(steps):
        total = total + (q1 + k) ** -s1
    far = q1 + steps
    power = far ** -s1
    total = total + power * (far / (s1 - 1) + 0.5)
    factor = s1 / far
    for k, b in enumerate(_EULER_MACLAURIN):
        # High orders make the factors overflow although the power is 0.
        total = total + where(power == 0, 0.0, power * b * factor)
        factor = factor * ((s1 + (2 * k + 1)) / far) * ((s1 + (2 * k + 2)) / far)
    # For negative `other` and integer orders, uses derivatives of digamma.
    whole = (s == s.trunc()) & (s > 1) & (q <= 0) & (s < 1000)
    n, below = where(whole, s, 2.0).detach(), where(whole, q, -0.5)
    left = _bessel._native._pointwise("polygamma", n - 1, below) * (-n.lgamma()).exp() * where(n.remainder(2) == 0, 1.0, -1.0)
    poles = (q <= 0) & (q == q.trunc())
    result = where(right, total, where(whole, left, math.nan))
    result = where(poles & (s > 1) | (s == 1), math.inf, result)
    return where(s.isnan() | q.isnan() | (s < 1), math.nan, result).to(wide)
