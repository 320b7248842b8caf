"""GPUs of Apple, which are not used here."""


def is_available():
    """Returns False: they are not used."""
    return False


def is_built():
    """Returns False: this package is not built for them."""
    return False
