"""Helpers of modules: handles of hooks, backward hooks of a module, results of loading a state."""

import itertools
from collections import namedtuple

from .._native import _module_changed
from ..core import Tensor, cat, zeros


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The missing and unexpected keys of `load_state_dict`."""

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


class RemovableHandle:
    """Removes a hook with `remove()`, or at the end of a `with` block."""

    _ids = itertools.count()

    def __init__(self, hooks, hook, prepend=False):
        self.id = next(RemovableHandle._ids)
        self._hooks = hooks
        hooks[self.id] = hook
        _module_changed()
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self):
        """Removes the hook; a second call does nothing."""
        self._hooks.pop(self.id, None)
        _module_changed()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _map_tensors(value, change):
    """Maps a function over the tensors of tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_tensors(v, change) for key, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map_tensors(v, change) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_map_tensors(v, change) for v in value)
    return value


class BackwardHooks:
    """Collects the gradients of one call of a module: first those of its outputs, then those of its inputs."""

    def __init__(self, module):
        self.module = module
        self.grad_input, self.grad_output, self.waiting = [], [], 0

    def watched_inputs(self, args):
        """Replaces the inputs that require gradients by parts of one joined tensor, so that one hook receives all their gradients, and only
        those of this call."""
        given = []
        _map_tensors(args, lambda x: given.append(x) or x)
        self.grad_input = [None] * len(given)
        self.watched = [i for i, x in enumerate(given) if x.requires_grad]
        self.waiting = len(self.watched)
        if not self.watched:
            return args
        self.shapes = [given[i].shape for i in self.watched]
        whole = given[self.watched[0]].clone() if self.waiting == 1 else cat([given[i].reshape(-1) for i in self.watched])
        whole.register_hook(self.receive_input_gradients)
        for i, part in zip(self.watched, self.parts(whole)):
            given[i] = part.to(given[i].dtype)
        given = iter(given)
        return _map_tensors(args, lambda _: next(given))

    def parts(self, whole):
        """Splits one tensor into the shapes of the inputs."""
        if self.waiting == 1:
            return [whole]
        return [part.reshape(shape) for part, shape in zip(whole.split([shape.numel() for shape in self.shapes]), self.shapes)]

    def watched_outputs(self, result):
        """Replaces the results by copies whose hooks receive their gradients."""

        def watch(y):
            self.grad_output.append(None)
            if not y.requires_grad:
                return y
            y, place = y.clone(), len(self.grad_output) - 1
            y.register_hook(lambda g: self.receive_output_gradient(place, g))
            return y.clone()  # a clone, so that the tensor's own hooks run first

        return _map_tensors(result, watch)

    def receive_output_gradient(self, place, gradient):
        """Receives the gradient of an output."""
        self.grad_output[place] = gradient
        for hook in list(self.module._backward_pre_hooks.values()):
            changed = hook(self.module, tuple(self.grad_output))
            if changed is not None:
                self.grad_output = list(changed) if isinstance(changed, tuple) else [changed]
        if self.waiting == 0:  # no input has a gradient
            self.call()
        return self.grad_output[place]

    def receive_input_gradients(self, gradient):
        """Receives the gradients of the inputs."""
        for i, part in zip(self.watched, self.parts(gradient)):
            self.grad_input[i] = part
        self.call()
        found = [self.grad_input[i] for i in self.watched]
        found = [zeros(shape, dtype=gradient.dtype) if g is None else g for g, shape in zip(found, self.shapes)]
        return found[0] if self.waiting == 1 else cat([g.reshape(-1) for g in found])

    def call(self):
        for hook in list(self.module._backward_hooks.values()):
            changed = hook(self.module, tuple(self.grad_input), tuple(self.grad_output))
            if changed is not None:
                self.grad_input = list(changed) if isinstance(changed, tuple) else [changed]
