"""Activation modules, one table row each. With `inplace` the result is written to the argument."""

from ..core import empty
from . import functional as F
from .module import Module
from .parameter import Parameter
from .tables import make_module_class, with_values

# name, function, arguments, description, its values at -2 and 0.5, and the arguments for these if it needs any
_TABLE = [
    ("ReLU", "relu", "inplace=False", "`max(x, 0)`.", "[0.0, 0.5]"),
    ("ReLU6", "relu6", "inplace=False", "`min(max(x, 0), 6)`.", "[0.0, 0.5]"),
    ("LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False", "`x` where positive, else `negative_slope * x`.", "[-0.02, 0.5]"),
    ("ELU", "elu", "alpha=1.0, inplace=False", "`x` where positive, else `alpha * (exp(x) - 1)`.", "[-0.8647, 0.5]"),
    ("SELU", "selu", "inplace=False", "`ELU` with the scales that keep mean zero and variance one.", "[-1.5202, 0.5254]"),
    ("CELU", "celu", "alpha=1.0, inplace=False", "`max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`.", "[-0.8647, 0.5]"),
    ("GELU", "gelu", "approximate='none'", "`x` times the standard normal distribution function at `x`; `approximate='tanh'` for the approximation by tanh.", "[-0.0455, 0.3457]"),
    ("SiLU", "silu", "inplace=False", "`x * sigmoid(x)`.", "[-0.2384, 0.3112]"),
    ("Mish", "mish", "inplace=False", "`x * tanh(softplus(x))`.", "[-0.2525, 0.3752]"),
    ("Softplus", "softplus", "beta=1.0, threshold=20.0", "`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`.", "[0.1269, 0.9741]"),
    ("Softsign", "softsign", "", "`x / (1 + |x|)`.", "[-0.6667, 0.3333]"),
    ("Sigmoid", "sigmoid", "", "`1 / (1 + exp(-x))`.", "[0.1192, 0.6225]"),
    ("LogSigmoid", "logsigmoid", "", "`log(sigmoid(x))`.", "[-2.1269, -0.4741]"),
    ("Tanh", "tanh", "", "Hyperbolic tangent.", "[-0.964, 0.4621]"),
    ("Tanhshrink", "tanhshrink", "", "`x - tanh(x)`.", "[-1.036, 0.0379]"),
    ("Softshrink", "softshrink", "lambd=0.5", "`x` moved towards zero by `lambd`; zero where `|x| <= lambd`.", "[-1.5, 0.0]"),
    ("Hardshrink", "hardshrink", "lambd=0.5", "`x` where `|x| > lambd`, else zero.", "[-2.0, 0.0]"),
    ("Hardtanh", "hardtanh", "min_val=-1.0, max_val=1.0, inplace=False", "`x` clamped to `min_val` and `max_val`.", "[-1.0, 0.5]"),
    ("Hardsigmoid", "hardsigmoid", "inplace=False", "`clamp(x / 6 + 1 / 2, 0, 1)`.", "[0.1667, 0.5833]"),
    ("Hardswish", "hardswish", "inplace=False", "`x * hardsigmoid(x)`.", "[-0.3333, 0.2917]"),
    ("Threshold", "threshold", "threshold, value, inplace=False", "`x` where `x > threshold`, else `value`.", "[9.0, 0.5]", "0.1, 9.0"),
    ("GLU", "glu", "dim=-1", "The first half times the sigmoid of the second.", "[-1.2449]", "dim=0"),
    ("Softmax", "softmax", "dim=None", "`exp(x)` divided by its sum along `dim`.", "[0.0759, 0.9241]", "dim=0"),
    ("LogSoftmax", "log_softmax", "dim=None", "`log(softmax(x))`.", "[-2.5789, -0.0789]", "dim=0"),
    ("Softmin", "softmin", "dim=None", "`softmax(-x)`.", "[0.9241, 0.0759]", "dim=0"),
]
# PyTorch shows the arguments of these without names.
_BARE = {"Softshrink", "Hardshrink"}

for _name, _function, _arguments, _doc, _values, *_call in _TABLE:
    _first = "lambd" if _name in _BARE else None
    _doc = with_values(_doc, _name, "".join(_call), "gradus.tensor([-2.0, 0.5])", _values)
    globals()[_name] = make_module_class(_name, _function, _arguments, _doc, first=_first, module=__name__)


class Softmax2d(Module):
    """`softmax` over the channels of images.

    >>> import gradus
    >>> gradus.nn.Softmax2d()(gradus.zeros(4, 1, 1)).reshape(-1).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, dim=-3)


class RReLU(Module):
    """`x` where positive, else a random multiple of it; the mean multiple in evaluation.

    >>> import gradus
    >>> gradus.nn.RReLU(0.25, 0.75).eval()(gradus.tensor([-2.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """`x` where positive, else a learned multiple of it: one for all channels, or one for each.

    >>> import gradus
    >>> gradus.nn.PReLU(init=0.5)(gradus.tensor([-2.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(empty((num_parameters,), device=device, dtype=dtype).fill_(init))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


__all__ = [row[0] for row in _TABLE] + ["Softmax2d", "PReLU", "RReLU"]
