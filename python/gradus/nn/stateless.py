"""Calls a module with other parameters than its own, so that transforms and `jit` see them as arguments."""

from contextlib import contextmanager

from .._native import _note_module, is_tracing


@contextmanager
def _swapped(module, tensors):
    """A context in which tensors replace parameters and buffers; tied ones are replaced together."""
    own = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
    places = []
    if is_tracing():  # a compiled function depends on modules without the replacement
        for other in module.modules():
            _note_module(other)
    try:
        for path, tensor in tensors.items():
            old = own.get(path)
            if old is None:
                raise AttributeError(f"{type(module).__name__} has no parameter or buffer '{path}'")
            for other in module.modules():
                for entries in (other._parameters, other._buffers):
                    for key, value in entries.items():
                        if value is old:
                            places.append((entries, key, old))
                            entries[key] = tensor
        yield
    finally:
        for entries, key, old in reversed(places):
            entries[key] = old


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None):
    """`module(*args, **kwargs)` with tensors from a dictionary (or several) in place of its own.

    >>> import gradus
    >>> layer = gradus.nn.Linear(2, 1)
    >>> new = {"weight": gradus.ones(1, 2), "bias": gradus.zeros(1)}
    >>> gradus.nn.functional_call(layer, new, (gradus.tensor([[3.0, 4.0]]),)).tolist()
    [[7.0]]
    """
    dicts = parameter_and_buffer_dicts
    tensors = dict(dicts) if isinstance(dicts, dict) else {k: v for d in dicts for k, v in d.items()}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, tensors):
        return module(*args, **(kwargs or {}))
