"""Where PyTorch has `Proxy`."""

from . import Proxy  # noqa: F401
