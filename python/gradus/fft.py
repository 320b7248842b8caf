"""Fourier transforms, under PyTorch's names."""

from ._native import (  # noqa: F401
    fft, fftfreq, fftn, fftshift, ifft, ifftn, ifftshift, irfft, rfft, rfftfreq, rfftn,
)


def fft2(input, dim=(-2, -1), norm=None):
    """Over two axes."""
    return fftn(input, dim=dim, norm=norm)


def ifft2(input, dim=(-2, -1), norm=None):
    """Over two axes, backwards."""
    return ifftn(input, dim=dim, norm=norm)


def rfft2(input, dim=(-2, -1), norm=None):
    """Of real numbers, over two axes."""
    return rfftn(input, dim=dim, norm=norm)
