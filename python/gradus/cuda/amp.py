"""Where older PyTorch programs look for `autocast` and `GradScaler`."""

from ..amp import GradScaler, autocast, custom_bwd, custom_fwd  # noqa: F401
