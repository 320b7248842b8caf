"""Images read at places between their pixels."""

from ..core import arange, stack, where


def affine_grid(theta, size, align_corners=False):
    """The grid of places that affine maps `(N, 2, 3)` send the pixels of an image `(N, C, H, W)` to, for `grid_sample`.

    >>> import gradus
    >>> theta = gradus.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> gradus.nn.functional.affine_grid(theta, (1, 1, 1, 2))[0, 0].tolist()
    [[-0.5, 0.0], [0.5, 0.0]]
    """
    if len(size) != 4:
        raise ValueError(f"affine_grid is for images (N, C, H, W), not for a size of {tuple(size)}")

    def along(n):
        places = arange(n, dtype=theta.dtype)
        if align_corners:
            return places * 0 if n == 1 else places * (2 / (n - 1)) - 1
        return (2 * places + 1) / n - 1

    n, _, height, width = size
    x, y = along(width).expand(height, width), along(height).unsqueeze(1).expand(height, width)
    points = stack([x, y, x * 0 + 1], -1)
    return (points.reshape(1, -1, 3) @ theta.transpose(1, 2)).reshape(n, height, width, 2)


def _reflected(x, low, high):
    """Places brought inside by mirrors at both ends."""
    if low == high:
        return x * 0
    span = high - low
    x = (x - low).abs()
    extra, flips = x % span, (x / span).floor()
    return where(flips % 2 == 0, extra + low, span - extra + low)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Images `(N, C, H, W)` at places `(N, h, w, 2)` from -1 to 1, the first number of a place going right, the second down.

    >>> import gradus
    >>> image = gradus.arange(4.0).reshape(1, 1, 2, 2)
    >>> gradus.nn.functional.grid_sample(image, gradus.zeros(1, 1, 1, 2)).item()
    1.5
    """
    if input.dim() != 4 or grid.dim() != 4 or grid.shape[-1] != 2 or input.shape[0] != grid.shape[0]:
        raise ValueError(f"grid_sample is for images (N, C, H, W) and grids (N, h, w, 2), not {tuple(input.shape)} and {tuple(grid.shape)}")
    if mode not in ("bilinear", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"mode {mode!r} is 'bilinear' or 'nearest', padding_mode {padding_mode!r} 'zeros', 'border' or 'reflection'")
    n, channels, height, width = input.shape
    flat = input.reshape(n, channels, height * width)

    def place(g, size):
        x = (g + 1) * ((size - 1) / 2) if align_corners else ((g + 1) * size - 1) / 2
        if padding_mode == "reflection":
            x = _reflected(x, 0, size - 1) if align_corners else _reflected(x, -0.5, size - 0.5)
        return x if padding_mode == "zeros" else x.clamp(0, size - 1)

    def at(row, column):
        """Pixels, 0 outside."""
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        index = row.clamp(0, height - 1).long() * width + column.clamp(0, width - 1).long()
        index = index.reshape(n, 1, -1).expand(n, channels, index[0].numel())
        found = flat.gather(2, index).reshape(n, channels, *row.shape[1:])
        return found * inside.unsqueeze(1).to(found.dtype)

    x, y = place(grid[..., 0], width), place(grid[..., 1], height)
    if mode == "nearest":
        return at(y.detach().round(), x.detach().round())
    left, top = x.detach().floor(), y.detach().floor()
    right, down = x - left, y - top
    result = 0
    for row, column, weight in ((top, left, (1 - down) * (1 - right)), (top, left + 1, (1 - down) * right),
                                (top + 1, left, down * (1 - right)), (top + 1, left + 1, down * right)):
        result = result + at(row, column) * weight.unsqueeze(1)
    return result
