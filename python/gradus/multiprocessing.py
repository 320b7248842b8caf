"""Python's `multiprocessing`. Tensors are copied to other processes.

>>> import gradus
>>> gradus.multiprocessing.cpu_count() >= 1
True
"""

from multiprocessing import *  # noqa: F403


def set_sharing_strategy(new_strategy):
    """Has no effect: memory is not shared between processes."""


def get_sharing_strategy():
    """Returns the name of PyTorch's default."""
    return "file_descriptor"
