"""PyTorch's interface to several processes. There is only one process here."""


def is_available():
    """Returns `False`: there is no communication between processes.

    >>> import gradus.distributed as dist
    >>> dist.is_available(), dist.is_initialized(), dist.get_rank(), dist.get_world_size()
    (False, False, 0, 1)
    """
    return False


def is_initialized():
    """Returns `False`."""
    return False


def get_rank(group=None):
    """Returns 0, the number of this process."""
    return 0


def get_world_size(group=None):
    """Returns 1, the number of processes."""
    return 1


def init_process_group(backend=None, init_method=None, timeout=None, world_size=1, rank=0, **options):
    """Raises an error: there are no other processes to join."""
    raise RuntimeError("gradus.distributed: training in several processes is not supported; run one process, whose threads share the work")


def destroy_process_group(group=None):
    """Has no effect."""


def barrier(group=None, async_op=False, device_ids=None):
    """Has no effect."""


def is_nccl_available():
    """Returns `False`."""
    return False


is_gloo_available = is_mpi_available = is_torchelastic_launched = is_nccl_available


class ReduceOp:
    """Reduction operations."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"


class group:
    """Groups of processes."""

    WORLD = None


class ProcessGroup:
    """A group of processes; cannot be created."""


def _absent(name):
    """Returns a function that raises: it needs other processes."""

    def raising(*args, **kwargs):
        raise RuntimeError(f"{name}: no process group is initialized, and none can be: processes do not train together here")

    raising.__name__ = raising.__qualname__ = name
    raising.__doc__ = "Raises: there is no process group."
    return raising


_COLLECTIVES = """
all_reduce all_gather all_gather_into_tensor all_gather_object broadcast broadcast_object_list reduce reduce_scatter
reduce_scatter_tensor scatter gather gather_object all_to_all all_to_all_single send recv isend irecv
""".split()
for _name in (*_COLLECTIVES, "new_group", "monitored_barrier", "get_backend"):
    globals()[_name] = _absent(_name)

from . import nn  # noqa: E402,F401
