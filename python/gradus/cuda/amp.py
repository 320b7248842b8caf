"""Where older PyTorch programs look for `autocast` and `GradScaler`."""

from ..amp import GradScaler, autocast  # noqa: F401
