"""Exports `autocast` and `GradScaler` for older PyTorch programs, which import them from this module."""

from ..amp import GradScaler, autocast, custom_bwd, custom_fwd  # noqa: F401
