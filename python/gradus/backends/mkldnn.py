"""A library that PyTorch may use on CPUs; kernels here are the package's own."""


def is_available():
    """Whether it is used: no."""
    return False
