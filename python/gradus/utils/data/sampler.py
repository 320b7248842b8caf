"""Where some PyTorch programs look for samplers."""

from ...data.sampler import *  # noqa: F403
