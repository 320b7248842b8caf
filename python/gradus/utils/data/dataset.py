"""Exports data sets, because some PyTorch programs import them from this module."""

from ...data.dataset import *  # noqa: F403
