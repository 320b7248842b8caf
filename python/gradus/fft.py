"""Fourier transforms, under PyTorch's names."""

from . import _native
from ._examples import documented as _documented
from ._native import arange, cat, fft, fftshift, float32, ifft, ifftshift, irfft, rfft, zeros  # noqa: F401


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """Computes the frequencies of the elements of `fft` for samples `d` apart.

    >>> import gradus
    >>> gradus.fft.fftfreq(5).tolist() == gradus.tensor([0.0, 0.2, 0.4, -0.4, -0.2]).tolist()
    True
    """
    kind = {"dtype": float32 if dtype is None else dtype, "device": device}
    return cat([arange(0, (n + 1) // 2, **kind), arange(-(n // 2), 0, **kind)]) * (1.0 / (n * d))


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """Computes the frequencies of the elements of `rfft` for samples `d` apart."""
    return arange(0, n // 2 + 1, dtype=float32 if dtype is None else dtype, device=device) * (1.0 / (n * d))


def _axes(input, s, dim, least=None):
    """Returns the axes and an extent for each; -1 keeps it. `least` names a function that needs at least one axis."""
    s = (s,) if isinstance(s, int) else s if s is None else tuple(s)
    if dim is None and s is not None and len(s) > input.dim():
        raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.dim()} dimensions.")
    if dim is None:
        dim = range(0 if s is None else input.dim() - len(s), input.dim())
    dim = (dim,) if isinstance(dim, int) else tuple(dim)
    s = (-1,) * len(dim) if s is None else s
    if len(s) != len(dim):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if least and not dim:
        raise RuntimeError(f"{least} must transform at least one axis")
    if len({axis + input.dim() if axis < 0 else axis for axis in dim}) != len(dim):
        raise RuntimeError("FFT dims must be unique")
    return dim, s


def _sized(input, s, dim):
    """Crops, or pads with zeros."""
    for n, axis in zip(s, dim):
        own = input.shape[axis]
        if n == 0 or n < -1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        if -1 < n < own:
            input = input.narrow(axis, 0, n)
        elif n > own:
            shape = list(input.shape)
            shape[axis] = n - own
            input = cat([input, zeros(shape, dtype=input.dtype)], axis)
    return input


def fftn(input, s=None, dim=None, norm=None):
    """Computes the Fourier transform along axes, which are first cropped or padded to `s`."""
    dim, s = _axes(input, s, dim)
    return _native.fftn(_sized(input, s, dim), dim, norm) if dim else input + 0j


def ifftn(input, s=None, dim=None, norm=None):
    """Computes the inverse of `fftn`."""
    dim, s = _axes(input, s, dim)
    return _native.ifftn(_sized(input, s, dim), dim, norm) if dim else input + 0j


def rfftn(input, s=None, dim=None, norm=None):
    """Computes the Fourier transform of real numbers along axes: half of the last axis."""
    dim, s = _axes(input, s, dim, "rfftn")
    return _native.rfftn(_sized(input, s, dim), dim, norm)


def irfftn(input, s=None, dim=None, norm=None):
    """Computes the inverse of `rfftn`."""
    dim, s = _axes(input, s, dim, "irfftn")
    if dim[:-1]:
        input = _native.ifftn(_sized(input, s[:-1], dim[:-1]), dim[:-1], norm)
    return irfft(input, None if s[-1] == -1 else s[-1], dim[-1], norm)


def fft2(input, s=None, dim=(-2, -1), norm=None):
    """Computes the Fourier transform over two axes."""
    return fftn(input, s, dim, norm)


def ifft2(input, s=None, dim=(-2, -1), norm=None):
    """Computes the inverse of `fft2`."""
    return ifftn(input, s, dim, norm)


def rfft2(input, s=None, dim=(-2, -1), norm=None):
    """Computes the Fourier transform of real numbers over two axes."""
    return rfftn(input, s, dim, norm)


def irfft2(input, s=None, dim=(-2, -1), norm=None):
    """Computes the inverse of `rfft2`."""
    return irfftn(input, s, dim, norm)


#: The scaling of the inverse transform for each scaling.
_OTHER = {None: "forward", "backward": "forward", "forward": "backward"}


def hfft(input, n=None, dim=-1, norm=None):
    """Computes the real spectrum of a conjugate-symmetric signal, of which half is given."""
    return irfft(input.conj(), n, dim, _OTHER.get(norm, norm))


def ihfft(input, n=None, dim=-1, norm=None):
    """Computes the inverse of `hfft`: half of the signal with this real spectrum."""
    return rfft(input, n, dim, _OTHER.get(norm, norm)).conj()


def hfftn(input, s=None, dim=None, norm=None):
    """Computes the real spectrum of a signal that is conjugate-symmetric along axes, given half of the last axis.

    >>> import gradus
    >>> gradus.fft.hfftn(gradus.ones(2, 2)).shape
    gradus.Size([2, 2])
    """
    dim, s = _axes(input, s, dim, "hfftn")
    if dim[:-1]:
        input = _native.fftn(_sized(input, s[:-1], dim[:-1]), dim[:-1], norm)
    return hfft(input, None if s[-1] == -1 else s[-1], dim[-1], norm)


def ihfftn(input, s=None, dim=None, norm=None):
    """Computes the inverse of `hfftn`: half of the last axis of the signal.

    >>> import gradus
    >>> gradus.fft.ihfftn(gradus.ones(2, 2)).shape
    gradus.Size([2, 2])
    """
    dim, s = _axes(input, s, dim, "ihfftn")
    input = ihfft(_sized(input, s, dim), None, dim[-1], norm)
    return _native.ifftn(input, dim[:-1], norm) if dim[:-1] else input


def hfft2(input, s=None, dim=(-2, -1), norm=None):
    """`hfftn` over two axes.

    >>> import gradus
    >>> gradus.fft.hfft2(gradus.ones(2, 2)).shape
    gradus.Size([2, 2])
    """
    return hfftn(input, s, dim, norm)


def ihfft2(input, s=None, dim=(-2, -1), norm=None):
    """`ihfftn` over two axes.

    >>> import gradus
    >>> gradus.fft.ihfft2(gradus.ones(2, 2)).shape
    gradus.Size([2, 2])
    """
    return ihfftn(input, s, dim, norm)


_documented(globals())

from ._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
