"""OpenMP, a library that PyTorch may use on CPUs. Gradus has its own kernels and does not use it."""


def is_available():
    """Returns False: it is not used."""
    return False
