"""Pools by index: partial inverses of max pools, and max pools over windows of random size."""

import math

from ..core import arange, cat, rand, zeros
from ..transforms import custom_vjp


def _each(n, axes):
    """Returns one number per axis."""
    return tuple(n) if isinstance(n, (tuple, list)) else (n,) * axes


@custom_vjp
def _placed(empty, indices, values):
    """Writes `values` at `indices` of `empty`. Overlapping windows give equal indices, which have equal values."""
    return empty.scatter(-1, indices, values)


# PyTorch's gradient reads the cotangent at each index, also if another value has overwritten the first.
_placed.defvjp(lambda inputs, outputs, cotangents: [
    cotangents[0] * 0, inputs[1] * 0, cotangents[0].gather(-1, inputs[1])])


def _max_unpool(input, indices, kernel_size, stride, padding, output_size, axes):
    kernel, pads = _each(kernel_size, axes), _each(padding, axes)
    steps = kernel if stride is None or stride == [] or stride == () else _each(stride, axes)
    sizes = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-axes:], steps, pads, kernel)]
    if output_size is not None:
        sizes = list(output_size)[-axes:]
    lead = tuple(input.shape[:-axes])
    empty = zeros((*lead, math.prod(sizes)), dtype=input.dtype)
    filled = _placed(empty, indices.reshape(*lead, -1), input.reshape(*lead, -1))
    return filled.reshape(*lead, *sizes)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Computes the partial inverse of `max_pool1d`."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Computes the partial inverse of `max_pool2d`."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Computes the partial inverse of `max_pool3d`."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)


def _starts(sample, extent, size, kernel):
    """Returns the starts of the windows along one axis, for each sample of `(N, C)`: `(N, C, size)`."""
    lead, last = tuple(sample.shape), extent - kernel
    end = zeros((*lead, 1), dtype=arange(0).dtype) + last
    if size == 1:
        return end
    alpha = last / (size - 1)
    sample = sample.unsqueeze(-1)
    steps = ((arange(size - 1, dtype=sample.dtype) + sample) * alpha).trunc() - (sample * alpha).trunc()
    return cat([steps.long(), end], -1)


def _fractional_max_pool(name, input, kernel_size, output_size, output_ratio, samples, axes):
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if input.dim() not in (axes + 1, axes + 2):
        raise RuntimeError(f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, but got: {list(input.shape)}")
    kernel, extents = _each(kernel_size, axes), tuple(input.shape[-axes:])
    if output_size is None:
        output_size = [int(n * ratio) for n, ratio in zip(extents, _each(output_ratio, axes))]
    sizes = _each(output_size, axes)
    if len(kernel) != axes or len(sizes) != axes:
        raise RuntimeError(f"{name}: kernel_size and output_size must either be a single int or a tuple of {axes} ints")
    for n, k, m in zip(extents, kernel, sizes):
        if k < 1 or m < 1 or m + k - 1 > n:
            raise RuntimeError(f"{name}(): kernel {k} and output size {m} do not fit an axis of extent {n}: "
                               "output + kernel - 1 must be at most the extent")
    lead = tuple(input.shape[:-axes])
    batch = lead if len(lead) == 2 else (1, *lead)
    if samples is None:
        samples = rand((*batch, axes), dtype=input.dtype)
    if tuple(samples.shape) != (*batch, axes):
        raise RuntimeError(f"{name}: expected _random_samples of shape {(*batch, axes)}, got {tuple(samples.shape)}")
    # PyTorch reads the samples of images from the last axis to the first, those of volumes in order.
    order = range(axes) if axes == 3 else range(axes)[::-1]
    index = 0
    for axis, (n, k, m, column) in enumerate(zip(extents, kernel, sizes, order)):
        places = _starts(samples[..., column], n, m, k).unsqueeze(-1) + arange(k)
        after = axes - axis - 1
        shape = (*batch, *[1] * axis, m, *[1] * after, *[1] * axis, k, *[1] * after)
        index = index * n + places.reshape(shape)
    count = math.prod(sizes)
    index = index.reshape(*batch, count, math.prod(kernel))
    flat = input.reshape(*batch, math.prod(extents))
    windows = flat.detach().gather(2, index.reshape(*batch, count * math.prod(kernel))).reshape(*index.shape)
    chosen = index.gather(3, windows.argmax(-1, keepdim=True)).reshape(*batch, count)
    return flat.gather(2, chosen).reshape(*lead, *sizes), chosen.reshape(*lead, *sizes)


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """`fractional_max_pool2d` with the positions of the maxima."""
    return _fractional_max_pool("fractional_max_pool2d", input, kernel_size, output_size, output_ratio, _random_samples, 2)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """`fractional_max_pool3d` with the positions of the maxima."""
    return _fractional_max_pool("fractional_max_pool3d", input, kernel_size, output_size, output_ratio, _random_samples, 3)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Maxima of windows over two axes whose strides are drawn at random, such that the result has the given size."""
    found = fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, _random_samples=_random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Maxima of windows over three axes whose strides are drawn at random, such that the result has the given size."""
    found = fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, _random_samples=_random_samples)
    return found if return_indices else found[0]


from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
