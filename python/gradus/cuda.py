"""What PyTorch programs ask about GPUs before they choose a device. This package computes on the CPU."""


def is_available():
    """Whether there is a GPU to use: no."""
    return False


def device_count():
    """How many GPUs there are to use: none."""
    return 0


def manual_seed(seed):
    """Nothing to seed."""


manual_seed_all = manual_seed


def synchronize(device=None):
    """Nothing to wait for."""


def empty_cache():
    """Nothing to free."""
