"""Where PyTorch programs look for data loaders."""

from . import data
