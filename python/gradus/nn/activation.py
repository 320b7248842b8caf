"""Activations: a line each. `inplace` is accepted for PyTorch's sake; the result is a new tensor always."""

from ..core import empty
from . import functional as F
from .module import Module
from .parameter import Parameter
from .tables import remembering

# name, function, arguments, what it is
_TABLE = [
    ("ReLU", "relu", "inplace=False", "`max(x, 0)`."),
    ("ReLU6", "relu6", "inplace=False", "`min(max(x, 0), 6)`."),
    ("LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False", "`x` where positive, else `negative_slope * x`."),
    ("ELU", "elu", "alpha=1.0, inplace=False", "`x` where positive, else `alpha * (exp(x) - 1)`."),
    ("SELU", "selu", "inplace=False", "`ELU` with the scales that keep mean zero and variance one."),
    ("CELU", "celu", "alpha=1.0, inplace=False", "`max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`."),
    ("GELU", "gelu", "approximate='none'", "`x` times the normal distribution's share below `x`; `approximate='tanh'` for the formula with tanh."),
    ("SiLU", "silu", "inplace=False", "`x * sigmoid(x)`."),
    ("Mish", "mish", "inplace=False", "`x * tanh(softplus(x))`."),
    ("Softplus", "softplus", "beta=1.0, threshold=20.0", "`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`."),
    ("Softsign", "softsign", "", "`x / (1 + |x|)`."),
    ("Sigmoid", "sigmoid", "", "`1 / (1 + exp(-x))`."),
    ("LogSigmoid", "logsigmoid", "", "`log(sigmoid(x))`."),
    ("Tanh", "tanh", "", "Hyperbolic tangent."),
    ("Tanhshrink", "tanhshrink", "", "`x - tanh(x)`."),
    ("Softshrink", "softshrink", "lambd=0.5", "`x` moved towards zero by `lambd`, zero if it would pass it."),
    ("Hardshrink", "hardshrink", "lambd=0.5", "`x` where `|x| > lambd`, else zero."),
    ("Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False", "`x` between `min_val` and `max_val`."),
    ("Hardsigmoid", "hardsigmoid", "inplace=False", "`clamp(x / 6 + 1 / 2, 0, 1)`."),
    ("Hardswish", "hardswish", "inplace=False", "`x * hardsigmoid(x)`."),
    ("Threshold", "threshold", "threshold, value, inplace=False", "`x` where `x > threshold`, else `value`."),
    ("GLU", "glu", "dim=-1", "The first half times the sigmoid of the second."),
    ("Softmax", "softmax", "dim=None", "`exp(x)` over its sum along `dim`."),
    ("LogSoftmax", "log_softmax", "dim=None", "`log(softmax(x))`."),
    ("Softmin", "softmin", "dim=None", "`softmax(-x)`."),
]
# PyTorch shows the arguments of these without names.
_BARE = {"Softshrink", "Hardshrink"}

for _name, _function, _arguments, _doc in _TABLE:
    _first = "lambd" if _name in _BARE else None
    globals()[_name] = remembering(_name, _function, _arguments, _doc, first=_first, module=__name__)


class Softmax2d(Module):
    """`softmax` over the channels of images."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, dim=-3)


class RReLU(Module):
    """`x` where positive, else a random multiple of it; the mean multiple in evaluation."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """`x` where positive, else a learned multiple of it: one for all channels, or one for each."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(empty((num_parameters,), device=device, dtype=dtype).fill_(init))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


__all__ = [row[0] for row in _TABLE] + ["Softmax2d", "PReLU", "RReLU"]
