"""Parts of a model whose inner values are computed again for their gradients, under PyTorch's names."""

from ..transforms import checkpoint  # noqa: F401


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A sequence of modules in so many parts, each a checkpoint but the last.

    >>> import gradus
    >>> from gradus.utils.checkpoint import checkpoint_sequential
    >>> layers = gradus.nn.Sequential(*[gradus.nn.Tanh() for _ in range(4)])
    >>> checkpoint_sequential(layers, 2, gradus.zeros(3))
    tensor([0., 0., 0.])
    """
    layers = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if segments < 1 or segments > max(len(layers), 1):
        raise ValueError(f"{len(layers)} modules cannot be cut into {segments} parts")

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
    """The random states of the GPUs that tensors are on: none.

    >>> from gradus.utils.checkpoint import get_device_states
    >>> get_device_states()
    ([], [])
    """
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Sets the random states of GPUs, of which there are none.

    >>> from gradus.utils.checkpoint import set_device_states
    >>> set_device_states([], [])
    """
