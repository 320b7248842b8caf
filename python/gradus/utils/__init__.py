"""Where PyTorch programs look for data loaders and checkpoints."""

from . import checkpoint, data
