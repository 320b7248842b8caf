"""Settings of a library for GPUs, which is not used here."""

enabled = False
benchmark = False
deterministic = True
allow_tf32 = False


def is_available():
    """Whether the library can be used: no."""
    return False


def version():
    """Its version: there is none."""
    return None
