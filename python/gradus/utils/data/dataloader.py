"""Where some PyTorch programs look for the loader."""

from ...data.loader import DataLoader, default_collate  # noqa: F401
