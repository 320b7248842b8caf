"""Several processes, as PyTorch programs ask for them: there is one, and no other can join."""


def is_available():
    """`False`: processes do not talk to each other.

    >>> import gradus.distributed as dist
    >>> dist.is_available(), dist.is_initialized(), dist.get_rank(), dist.get_world_size()
    (False, False, 0, 1)
    """
    return False


def is_initialized():
    """`False`."""
    return False


def get_rank(group=None):
    """The number of this process: 0."""
    return 0


def get_world_size(group=None):
    """How many processes there are: 1."""
    return 1


def init_process_group(backend=None, init_method=None, timeout=None, world_size=1, rank=0, **options):
    """An error: there is nobody to join."""
    raise RuntimeError("gradus.distributed: processes do not train together here; run the program as one, whose threads share the work")


def destroy_process_group(group=None):
    """Nothing to end."""


def barrier(group=None, async_op=False, device_ids=None):
    """Nobody to wait for."""
