"""Activation checkpointing: inner values are recomputed for gradients, under PyTorch's names."""

from ..transforms import checkpoint  # noqa: F401


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs a sequence of modules in `segments` parts, all but the last as checkpoints.

    >>> import gradus
    >>> from gradus.utils.checkpoint import checkpoint_sequential
    >>> layers = gradus.nn.Sequential(*[gradus.nn.Tanh() for _ in range(4)])
    >>> checkpoint_sequential(layers, 2, gradus.zeros(3))
    tensor([0., 0., 0.])
    """
    layers = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if segments < 1 or segments > max(len(layers), 1):
        raise ValueError(f"{len(layers)} modules cannot be divided into {segments} parts")

    def run(part):
        def forward(x):
            for layer in part:
                x = layer(x)
            return x

        return forward

    size = len(layers) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(run(layers[start:start + size]), input)
    return run(layers[last:])(input)


def get_device_states(*args):
    """Returns no random states: there are no CUDA devices.

    >>> from gradus.utils.checkpoint import get_device_states
    >>> get_device_states()
    ([], [])
    """
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Has no effect: there are no CUDA devices.

    >>> from gradus.utils.checkpoint import set_device_states
    >>> set_device_states([], [])
    """
