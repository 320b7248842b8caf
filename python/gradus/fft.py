"""Fourier transforms, under PyTorch's names."""

from ._examples import documented as _documented
from ._native import (  # noqa: F401
    arange, cat, fft, fftn, fftshift, float32, ifft, ifftn, ifftshift, irfft, rfft, rfftn,
)


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies of the elements that `fft` gives, in samples `d` apart.

    >>> import gradus
    >>> gradus.fft.fftfreq(5).tolist() == gradus.tensor([0.0, 0.2, 0.4, -0.4, -0.2]).tolist()
    True
    """
    kind = {"dtype": float32 if dtype is None else dtype, "device": device}
    return cat([arange(0, (n + 1) // 2, **kind), arange(-(n // 2), 0, **kind)]) * (1.0 / (n * d))


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies of the elements that `rfft` gives, in samples `d` apart."""
    return arange(0, n // 2 + 1, dtype=float32 if dtype is None else dtype, device=device) * (1.0 / (n * d))


def fft2(input, dim=(-2, -1), norm=None):
    """Over two axes."""
    return fftn(input, dim=dim, norm=norm)


def ifft2(input, dim=(-2, -1), norm=None):
    """Over two axes, backwards."""
    return ifftn(input, dim=dim, norm=norm)


def rfft2(input, dim=(-2, -1), norm=None):
    """Of real numbers, over two axes."""
    return rfftn(input, dim=dim, norm=norm)

_documented(globals())
