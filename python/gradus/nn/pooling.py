"""Pooling, padding and resizing: tables by kind and number of axes."""

from . import functional as F
from .conv import _each
from .module import Module
from .tables import make_module_class, with_shapes

__all__ = ["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"]


def _add(name, function, arguments, doc, call, shape, result, **kwargs):
    """Makes a class with an example: constructor, shape of the input, shape of the result."""
    inputs = ", ".join([f"gradus.ones({shape})"] * kwargs.get("tensors", 1))
    doc = with_shapes(doc, name, call, inputs, result)
    globals()[name] = make_module_class(name, function, arguments, doc, module=__name__, **kwargs)
    __all__.append(name)


for _n in (1, 2, 3):
    _axes = "one axis" if _n == 1 else f"{('two', 'three')[_n - 2]} axes"
    _divisor = "" if _n == 1 else ", divisor_override=None"
    _shape, _half = ", ".join(["2, 3"] + ["8"] * _n), f"(2, 3, {', '.join(['4'] * _n)})"
    _add(f"MaxPool{_n}d", f"max_pool{_n}d",
         "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False",
         f"The maximum of each window over {_axes}.", "2", _shape, _half, show=["kernel_size", "stride", "padding", "dilation", "ceil_mode"])
    _add(f"AvgPool{_n}d", f"avg_pool{_n}d",
         f"kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True{_divisor}",
         f"The mean of each window over {_axes}.", "2", _shape, _half, show=["kernel_size", "stride", "padding"])
    _add(f"AdaptiveAvgPool{_n}d", f"adaptive_avg_pool{_n}d", "output_size",
         f"Means of `output_size` windows over {_axes}.", "4", _shape, _half)
    _add(f"AdaptiveMaxPool{_n}d", f"adaptive_max_pool{_n}d", "output_size, return_indices=False",
         f"Maxima of `output_size` windows over {_axes}.", "4", _shape, _half, show=["output_size"])


def _pool_repr(self):
    stride = self.kernel_size if self.stride is None else self.stride
    values = [("kernel_size", self.kernel_size), ("stride", stride)]
    values += [(key, getattr(self, key)) for key in ("padding", "dilation", "ceil_mode") if key in self.__dict__]
    if type(self).__name__.startswith("Avg"):
        if type(self).__name__ == "AvgPool1d":  # PyTorch shows this one with a tuple
            values = [(key, value if isinstance(value, tuple) else (value,)) for key, value in values]
        values = values[:3]
    return ", ".join(f"{key}={value}" for key, value in values)


for _n in (1, 2, 3):
    for _kind in ("Max", "Avg"):
        globals()[f"{_kind}Pool{_n}d"].extra_repr = _pool_repr


class _Pad(Module):
    """Base of paddings: widths of each side, last axis first."""

    _axes, _mode = 0, ""

    def __init__(self, padding, value=None):
        super().__init__()
        self.padding = (padding,) * (2 * self._axes) if isinstance(padding, int) else tuple(padding)
        if self._mode == "constant":
            self.value = 0.0 if value is None else value
        elif value is not None:
            raise TypeError(f"{type(self).__name__}() takes no value")

    def forward(self, input):
        if self._mode == "constant":
            return F.pad(input, self.padding, mode="constant", value=self.value)
        return F.pad(input, self.padding, mode=self._mode)

    def extra_repr(self):
        value = f", value={self.value}" if type(self).__name__.startswith("Constant") else ""
        return (f"padding={self.padding}" if value else f"{self.padding}") + value


for _kind, _mode in (("Constant", "constant"), ("Zero", "constant"), ("Reflection", "reflect"),
                     ("Replication", "replicate"), ("Circular", "circular")):
    for _n in (1, 2, 3):
        _name = f"{_kind}Pad{_n}d"
        globals()[_name] = type(_name, (_Pad,), {
            "__doc__": with_shapes(f"Pads the last {_n} axes ({_mode}).", _name, "1, 0.5" if _kind == "Constant" else "1",
                                   f"gradus.ones(2, 3, {', '.join(['4'] * _n)})", f"(2, 3, {', '.join(['6'] * _n)})"),
            "__module__": __name__, "_axes": _n, "_mode": _mode})
        __all__.append(_name)


class Upsample(Module):
    """Resizes the axes after batch and channels.

    >>> import gradus
    >>> tuple(gradus.nn.Upsample(scale_factor=2, mode="bilinear")(gradus.ones(1, 3, 4, 5)).shape)
    (1, 3, 8, 10)
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        many = isinstance(scale_factor, tuple)
        self.scale_factor = tuple(map(float, scale_factor)) if many else float(scale_factor) if scale_factor else None
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self):
        how = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` with nearest neighbours.

    >>> import gradus
    >>> tuple(gradus.nn.UpsamplingNearest2d(scale_factor=2)(gradus.ones(1, 3, 4, 5)).shape)
    (1, 3, 8, 10)
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with bilinear interpolation and aligned corners.

    >>> import gradus
    >>> tuple(gradus.nn.UpsamplingBilinear2d(scale_factor=2)(gradus.ones(1, 3, 4, 5)).shape)
    (1, 3, 8, 10)
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


_add("PixelShuffle", "pixel_shuffle", "upscale_factor", "Channels to pixels: `(C·r², H, W)` to `(C, H·r, W·r)`.", "2", "8, 3, 3",
     "(2, 6, 6)")
_add("PixelUnshuffle", "pixel_unshuffle", "downscale_factor", "Pixels to channels, the inverse of `PixelShuffle`.", "2", "2, 6, 6",
     "(8, 3, 3)")
_add("Unfold", "unfold", "kernel_size, dilation=1, padding=0, stride=1", "All windows of an image as columns.", "2",
     "1, 3, 4, 5", "(1, 12, 12)")
_add("Fold", "fold", "output_size, kernel_size, dilation=1, padding=0, stride=1", "Sums columns into the windows of an image.",
     "(4, 5), 2", "1, 12, 12", "(1, 3, 4, 5)")
_add("CosineSimilarity", "cosine_similarity", "dim=1, eps=1e-8", "The cosine between vectors along `dim`.", "", "4, 5", "(4,)", tensors=2, show=[])
_add("PairwiseDistance", "pairwise_distance", "p=2.0, eps=1e-6, keepdim=False", "The distance between vectors.", "", "4, 5", "(4,)", tensors=2, show=[])
_add("ChannelShuffle", "channel_shuffle", "groups", "Interleaves the channels of groups.", "2", "1, 6, 3", "(1, 6, 3)")
_add("LPPool1d", "lp_pool1d", "norm_type, kernel_size, stride=None, ceil_mode=False", "The norm of each window over one axis.", "2, 2",
     "2, 3, 8", "(2, 3, 4)")
_add("LPPool2d", "lp_pool2d", "norm_type, kernel_size, stride=None, ceil_mode=False", "The norm of each window over two axes.", "2, 2",
     "2, 3, 8, 8", "(2, 3, 4, 4)")
_add("LPPool3d", "lp_pool3d", "norm_type, kernel_size, stride=None, ceil_mode=False", "The norm of each window over three axes.", "2, 2",
     "2, 3, 4, 4, 4", "(2, 3, 2, 2, 2)")


class _MaxUnpool(Module):
    _axes = 0

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.padding = _each(kernel_size, self._axes), _each(padding, self._axes)
        self.stride = self.kernel_size if stride is None else _each(stride, self._axes)

    def forward(self, input, indices, output_size=None):
        unpool = getattr(F, f"max_unpool{self._axes}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


for _n in (1, 2, 3):
    _name = f"MaxUnpool{_n}d"
    globals()[_name] = type(_name, (_MaxUnpool,), {
        "__doc__": f"The partial inverse of `MaxPool{_n}d`: values at the positions of the maxima.\n\n    >>> import gradus\n"
                   f"    >>> pooled = gradus.nn.MaxPool{_n}d(2, return_indices=True)(gradus.ones(1, {', '.join(['4'] * _n)}))\n"
                   f"    >>> tuple(gradus.nn.MaxUnpool{_n}d(2)(*pooled).shape)\n    (1, {', '.join(['4'] * _n)})\n    ", "__module__": __name__, "_axes": _n})
    __all__.append(_name)


class _FractionalMaxPool(Module):
    _axes = 0

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        name = type(self).__name__
        self.kernel_size, self.return_indices = _each(kernel_size, self._axes), return_indices
        if min(self.kernel_size) <= 0:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _each(output_size, self._axes)
        self.output_ratio = None if output_ratio is None else _each(output_ratio, self._axes)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        pool = getattr(F, f"fractional_max_pool{self._axes}d")
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


for _n in (2, 3):
    _name = f"FractionalMaxPool{_n}d"
    globals()[_name] = type(_name, (_FractionalMaxPool,), {
        "__doc__": with_shapes(f"Maxima of windows over {_n} axes with random strides, for a given size of the result.", _name, "2, output_size=3",
                               f"gradus.ones(1, 2, {', '.join(['7'] * _n)})", f"(1, 2, {', '.join(['3'] * _n)})"),
        "__module__": __name__, "_axes": _n})
    __all__.append(_name)
