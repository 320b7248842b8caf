"""Dropout layers."""

from . import functional as F
from .module import Module
from .tables import with_shapes


class _DropoutNd(Module):
    _function = ""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


# name, function, the unit that is dropped
_TABLE = [
    ("Dropout", "dropout", "Sets elements to zero with probability `p` while training, and scales the rest by `1 / (1 - p)`."),
    ("Dropout1d", "dropout1d", "Like `Dropout`, for complete channels of `(N, C, L)`."),
    ("Dropout2d", "dropout2d", "Like `Dropout`, for complete channels of `(N, C, H, W)`."),
    ("Dropout3d", "dropout3d", "Like `Dropout`, for complete channels of `(N, C, D, H, W)`."),
    ("FeatureAlphaDropout", "feature_alpha_dropout", "`AlphaDropout` of complete channels."),
    ("AlphaDropout", "alpha_dropout", "Dropout that keeps mean and variance in networks of `SELU`."),
]

for _name, _function, _doc in _TABLE:
    _axes = next((int(c) for c in _name if c.isdigit()), 1)
    _doc = with_shapes(_doc, _name, "0.2", f"gradus.ones({', '.join(['2'] * (_axes + 2))})", (2,) * (_axes + 2))
    globals()[_name] = type(_name, (_DropoutNd,), {"__doc__": _doc, "__module__": __name__, "_function": _function})

__all__ = [row[0] for row in _TABLE]
