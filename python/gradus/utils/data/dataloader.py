"""Exports the loader, because some PyTorch programs import it from this module."""

from ...data.loader import DataLoader, default_collate  # noqa: F401
