"""The default generator of random numbers, under the names of `torch.random`."""

import contextlib
import os

from ._native import Generator, get_rng_state, initial_seed, manual_seed, set_rng_state  # noqa: F401


def seed():
    """Seeds the default generator with an unpredictable number, and returns that number.

    >>> import gradus
    >>> gradus.random.seed() == gradus.initial_seed()
    True
    """
    new = int.from_bytes(os.urandom(6), "little")
    manual_seed(new)
    return new


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True):
    """A context that restores the state of the default generator at its end.

    >>> import gradus
    >>> with gradus.random.fork_rng():
    ...     inside = gradus.rand(1)
    >>> bool(inside == gradus.rand(1))
    True
    """
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)
