"""Signal processing, under the names of `torch.signal`: the windows."""

from . import windows  # noqa: F401
