"""Exports `Proxy`, as PyTorch's module of this name does."""

from . import Proxy  # noqa: F401
