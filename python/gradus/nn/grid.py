"""Sampling of images and volumes between their elements: `affine_grid`, `grid_sample` and their integer-coded forms."""

import itertools

from ..core import arange, stack, where
from .resize import _weights

_MODES = ("bilinear", "nearest", "bicubic")
_PADDING = ("zeros", "border", "reflection")


def affine_grid(theta, size, align_corners=None):
    """Applies affine maps to the positions of an image or volume, for `grid_sample`.

    `theta` is `(N, 2, 3)` for a size `(N, C, H, W)`, `(N, 3, 4)` for `(N, C, D, H, W)`.

    >>> import gradus
    >>> theta = gradus.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> gradus.nn.functional.affine_grid(theta, (1, 1, 1, 2))[0, 0].tolist()
    [[-0.5, 0.0], [0.5, 0.0]]
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    axes = len(size) - 2
    if axes not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms. Got size {tuple(size)}")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ValueError(f"Expected a batch of {axes}D affine matrices of shape Nx{axes}x{axes + 1} for size {tuple(size)}. "
                         f"Got {tuple(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")

    def along(n):
        places = arange(n, dtype=theta.dtype)
        if align_corners:
            return places * 0 if n == 1 else places * (2 / (n - 1)) - 1
        return (2 * places + 1) / n - 1

    n, extents = size[0], tuple(size[2:])
    # The first number of a position belongs to the last axis.
    numbers = [along(m).reshape(-1, *[1] * (axes - 1 - i)).expand(extents) for i, m in enumerate(extents)][::-1]
    points = stack([*numbers, numbers[0] * 0 + 1], -1)
    return (points.reshape(1, -1, axes + 1) @ theta.transpose(1, 2)).reshape(n, *extents, axes)


def _reflected(x, low, high):
    """Reflects positions at both ends until they are inside."""
    if low == high:
        return x * 0
    span = high - low
    x = (x - low).abs()
    extra, flips = x % span, (x / span).floor()
    return where(flips % 2 == 0, extra + low, span - extra + low)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Samples elements of images `(N, C, H, W)` at positions `(N, h, w, 2)`, or of volumes `(N, C, D, H, W)` at `(N, d, h, w, 3)`.

    Positions are from -1 to 1; the first number of a position belongs to the last axis. `mode` is `"bilinear"` (linear along
    each axis), `"nearest"` or `"bicubic"`; `padding_mode` is `"zeros"`, `"border"` or `"reflection"`.

    >>> import gradus
    >>> image = gradus.arange(4.0).reshape(1, 1, 2, 2)
    >>> gradus.nn.functional.grid_sample(image, gradus.zeros(1, 1, 1, 2)).item()
    1.5
    """
    if mode not in _MODES:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in _PADDING:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    axes = input.dim() - 2
    if axes not in (2, 3) or grid.dim() != input.dim() or grid.shape[-1] != axes or input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected images (N, C, H, W) and a grid (N, h, w, 2), or volumes (N, C, D, H, W) and a grid "
                           f"(N, d, h, w, 3), but got sizes {list(input.shape)} and {list(grid.shape)}")
    n, channels, *extents = input.shape
    if 0 in extents:
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)}")
    flat = input.reshape(n, channels, -1)

    def padded(x, size):
        """Moves positions inside as the padding mode requires."""
        if padding_mode == "reflection":
            x = _reflected(x, 0, size - 1) if align_corners else _reflected(x, -0.5, size - 0.5)
        return x if padding_mode == "zeros" else x.clamp(0, size - 1)

    def at(places):
        """Reads elements at integer positions, given per axis as floats; 0 outside."""
        inside, index = None, 0
        for x, size in zip(places, extents):
            within = (x >= 0) & (x <= size - 1)
            inside = within if inside is None else inside & within
            index = index * size + where(within, x, x * 0).long()
        index = index.reshape(n, 1, -1).expand(n, channels, index[0].numel())
        found = flat.gather(2, index).reshape(n, channels, *inside.shape[1:])
        return found * inside.unsqueeze(1).to(found.dtype)

    def unnormalized(g, size):
        return (g + 1) * ((size - 1) / 2) if align_corners else ((g + 1) * size - 1) / 2

    places = [unnormalized(grid[..., axes - 1 - i], size) for i, size in enumerate(extents)]
    if mode == "nearest":
        return at([padded(x.detach(), size).round() for x, size in zip(places, extents)])
    if mode == "bilinear":
        places = [padded(x, size) for x, size in zip(places, extents)]
    low = [x.detach().floor() for x in places]
    share = [x - below for x, below in zip(places, low)]
    result = 0
    for taps in itertools.product((0, 1) if mode == "bilinear" else (-1, 0, 1, 2), repeat=axes):
        weight, corner = 1, []
        for tap, below, part, size in zip(taps, low, share, extents):
            if mode == "bilinear":
                weight = weight * (part if tap else 1 - part)
                corner.append(below + tap)
            else:  # each neighbour is padded separately
                weight = weight * _weights((part - tap).abs())
                corner.append(padded(below + tap, size).round())
        result = result + at(corner) * weight.unsqueeze(1)
    return result


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sample` with its modes as numbers: 0, 1, 2 for bilinear, nearest, bicubic and for zeros, border, reflection.

    >>> import gradus
    >>> image = gradus.arange(4.0).reshape(1, 1, 2, 2)
    >>> gradus.grid_sampler(image, gradus.zeros(1, 1, 1, 2), 0, 0, False).item()
    1.5
    """
    return grid_sample(input, grid, _MODES[interpolation_mode], _PADDING[padding_mode], align_corners)


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of images.

    >>> import gradus
    >>> image = gradus.arange(4.0).reshape(1, 1, 2, 2)
    >>> gradus.grid_sampler_2d(image, gradus.zeros(1, 1, 1, 2), 0, 0, False).item()
    1.5
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of volumes.

    >>> import gradus
    >>> volume = gradus.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> gradus.grid_sampler_3d(volume, gradus.zeros(1, 1, 1, 1, 3), 0, 0, False).item()
    3.5
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid_generator(theta, size, align_corners):
    """`affine_grid` under its native name.

    >>> import gradus
    >>> theta = gradus.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> tuple(gradus.affine_grid_generator(theta, (1, 1, 2, 3), False).shape)
    (1, 2, 3, 2)
    """
    return affine_grid(theta, size, align_corners)


from .._device import located_in as _located_in  # noqa: E402

_located_in(__name__)
