"""What registering a hook gives."""

from ..nn.hooks import RemovableHandle  # noqa: F401
