"""Where some PyTorch programs look for data sets."""

from ...data.dataset import *  # noqa: F403
