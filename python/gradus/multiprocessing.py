"""Processes: Python's own. Tensors go to another process as copies.

>>> import gradus
>>> gradus.multiprocessing.cpu_count() >= 1
True
"""

from multiprocessing import *  # noqa: F403


def set_sharing_strategy(new_strategy):
    """Nothing is shared between processes, so there is nothing to choose."""


def get_sharing_strategy():
    """The name of PyTorch's default."""
    return "file_descriptor"
