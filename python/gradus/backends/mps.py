"""GPUs of Apple, which are not used here."""


def is_available():
    """Whether there is one to use: no."""
    return False


def is_built():
    """Whether this package was built for them: no."""
    return False
