"""Settings of a library for GPUs, which is not used here."""

enabled = False
benchmark = False
deterministic = True
allow_tf32 = False


def is_available():
    """Returns False: the library is not used."""
    return False


def version():
    """Returns None: the library is not used."""
    return None
