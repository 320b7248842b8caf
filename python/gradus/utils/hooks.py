"""The handle that registering a hook returns."""

from ..nn.hooks import RemovableHandle  # noqa: F401
