"""Fourier transforms: values, gradients and second derivatives, of every kind and norm."""

import jax.numpy as np
from jax import grad, hessian, vmap
from jax.numpy import fft

from record import case, orders, r, z

NORMS = ("backward", "ortho", "forward")


@case(z(5), z(2, 4))
def transform(x, y):
    return [(orders(lambda x: fft.fft(x, norm=n), x), orders(lambda y: fft.fft(y, axis=0, norm=n), y)) for n in NORMS]


@case(z(5), z(2, 4))
def transform_back(x, y):
    return [(orders(lambda x: fft.ifft(x, norm=n), x), orders(lambda y: fft.ifft(y, axis=0, norm=n), y)) for n in NORMS]


@case(z(5))
def transform_cut_and_padded(x):
    return [(orders(lambda x: fft.fft(x, n), x), orders(lambda x: fft.ifft(x, n), x)) for n in (3, 8)]


@case(r(6), r(5))
def transform_of_real(x, y):
    return [(orders(lambda x: fft.rfft(x, norm=n), x), orders(lambda y: fft.rfft(y, norm=n), y)) for n in NORMS]


@case(r(3, 4))
def transform_of_real_cut_and_padded(x):
    return [orders(lambda x: fft.rfft(x, n, 0), x) for n in (2, 5)]


@case(z(4))
def transform_to_real(x):
    # The transform does not read the imaginary parts of the first element and, for an even size, of the last.
    return [(orders(lambda x: fft.irfft(x, 6, norm=n), x), orders(lambda x: fft.irfft(x, 7, norm=n), x)) for n in NORMS]


@case(z(3, 4))
def transform_to_real_cut_and_padded(x):
    return [orders(lambda x: fft.irfft(x, n), x) for n in (4, 9)], orders(lambda x: fft.irfft(x, 4, 0), x)


@case(z(2, 3, 2))
def transform_of_many_axes(x):
    back = [orders(lambda x: fft.ifftn(x, norm=n), x) for n in NORMS]
    return [orders(lambda x: fft.fftn(x, norm=n), x) for n in NORMS], back, orders(fft.fft2, x), orders(fft.ifft2, x)


@case(r(3, 2, 4), z(2, 3))
def transform_of_many_real_axes(x, y):
    forward = [orders(lambda x: fft.rfftn(x, axes=(0, 2), norm=n), x) for n in NORMS]
    return forward, [orders(lambda y: fft.irfftn(y, (2, 5), norm=n), y) for n in NORMS]


@case(z(5), z(2, 4))
def shifted(x, y):
    return fft.fftshift(fft.fft(x)), fft.ifftshift(x), fft.fftshift(y, 1), fft.fftfreq(8, 0.5), fft.rfftfreq(8)


def circular_convolution(x, k):
    """Computes a circular convolution by multiplying spectra."""
    return fft.irfft(fft.rfft(x) * fft.rfft(k), x.shape[-1])


@case(r(6), r(6))
def convolution_by_spectra(x, k):
    energy = lambda x, k: np.sum(np.tanh(circular_convolution(x, k)) ** 2)
    return circular_convolution(x, k), grad(energy, (0, 1))(x, k), hessian(energy)(x, k)


@case(r(3, 5), r(5))
def spectra_of_examples(x, k):
    energy = lambda x, k: np.sum(np.abs(fft.rfft(x * k)) ** 3)
    many = vmap(grad(energy, (0, 1)), (0, None))(x, k)
    return many, grad(lambda k: np.sum(vmap(energy, (0, None))(x, k)))(k), vmap(hessian(energy), (None, 0))(k, x)
