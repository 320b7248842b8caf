"""Exports samplers, because some PyTorch programs import them from this module."""

from ...data.sampler import *  # noqa: F403
