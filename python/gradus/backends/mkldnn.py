"""A library that PyTorch may use on CPUs; kernels here are the package's own."""


def is_available():
    """Returns False: it is not used."""
    return False
