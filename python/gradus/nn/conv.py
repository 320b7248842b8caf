"""Convolutions and their transposes, over one, two or three axes: one class each, with a subclass per number of axes."""

import math

from ..core import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .tables import with_shapes


def _each(value, axes):
    """Returns one number per axis."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes


class _ConvNd(Module):
    """Base of all convolutions: sizes, weights and their initial values."""

    _axes = 0
    _transposed = False

    def _set_up(self, in_channels, out_channels, sizes, output_padding, groups, bias, padding_mode, device, dtype):
        kernel_size, stride, padding, dilation = sizes
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise ValueError(f"in_channels {in_channels} and out_channels {out_channels} must be divisible by groups {groups}")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"padding_mode must be one of zeros, reflect, replicate, circular, but got {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of same, valid")
        n = self._axes
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = _each(kernel_size, n), _each(stride, n), _each(dilation, n)
        self.padding = padding if isinstance(padding, str) else _each(padding, n)
        self.output_padding, self.padding_mode = _each(output_padding, n), padding_mode
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        channels = (in_channels, out_channels // groups) if self._transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*channels, *self.kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty((out_channels,), device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new initial values, as PyTorch does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self):
        zeros, ones = (0,) * self._axes, (1,) * self._axes
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != zeros:
            parts.append(f"padding={self.padding}")
        if self.dilation != ones:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != zeros:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        sizes = (kernel_size, stride, padding, dilation)
        self._set_up(in_channels, out_channels, sizes, 0, groups, bias, padding_mode, device, dtype)

    def _pads(self):
        """Padding before and after every axis, last axis first."""
        if self.padding == "valid":
            return [0] * (2 * self._axes)
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [n for total in reversed(totals) for n in (total // 2, total - total // 2)]
        return [n for p in reversed(self.padding) for n in (p, p)]

    def forward(self, input):
        convolve = getattr(F, f"conv{self._axes}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._pads(), mode=self.padding_mode), 0
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = (kernel_size, stride, padding, dilation)
        self._set_up(in_channels, out_channels, sizes, output_padding, groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input, output_size):
        """Computes the output padding for a requested output size."""
        if output_size is None:
            return self.output_padding
        wanted = list(output_size)[-self._axes:]
        rows = zip(input.shape[-self._axes:], self.stride, self.padding, self.dilation, self.kernel_size)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in rows]
        extra = [w - l for w, l in zip(wanted, least)]
        if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, self.stride, self.dilation)):
            most = [l + s - 1 for l, s in zip(least, self.stride)]
            raise ValueError(f"requested an output size of {wanted}, but valid sizes range from {least} to {most}")
        return tuple(extra)

    def forward(self, input, output_size=None):
        convolve = getattr(F, f"conv_transpose{self._axes}d")
        extra = self._output_padding(input, output_size)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


def _classes(base, name, what):
    for axes in (1, 2, 3):
        doc = f"{what} over {axes} ax{'i' if axes == 1 else 'e'}s: `(N, C, …)` or `(C, …)` to the same with other sizes."
        inputs, size = f"gradus.ones(2, 3, {', '.join(['6'] * axes)})", 8 if base is _ConvTransposeNd else 4
        yield type(f"{name}{axes}d", (base,), {
            "__doc__": with_shapes(doc, f"{name}{axes}d", "3, 5, kernel_size=3", inputs, (2, 5) + (size,) * axes),
            "__module__": __name__,
            "_axes": axes,
        })


Conv1d, Conv2d, Conv3d = _classes(_Conv, "Conv", "Convolution")
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = _classes(_ConvTransposeNd, "ConvTranspose", "Transposed convolution")
