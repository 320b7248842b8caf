"""Parameters: tensors that a module owns and an optimiser changes."""

from ..core import Tensor


class Parameter(Tensor):
    """A tensor that registers itself when it is set as an attribute of a `Module`.

    >>> import gradus
    >>> p = gradus.nn.Parameter(gradus.zeros(2, 3))
    >>> p.requires_grad, p.is_leaf, tuple(p.shape)
    (True, True, (2, 3))
    """

    _results_keep_class = False

    def __new__(cls, data=None, requires_grad=True):
        return Tensor.__new__(cls, data, requires_grad)

    def __init__(self, data=None, requires_grad=True):
        # All is done in `__new__`; `Tensor.__init__` must not run on these arguments.
        pass

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.detach(), self.requires_grad)


class Buffer(Tensor):
    """A tensor that is saved and moved with the `Module` it is set as an attribute of, but not trained.

    >>> import gradus
    >>> layer = gradus.nn.Identity()
    >>> layer.count = gradus.nn.Buffer(gradus.zeros(2))
    >>> list(layer.state_dict())
    ['count']
    """

    _results_keep_class = False

    def __new__(cls, data=None, *, persistent=True):
        made = Tensor.__new__(cls, data)
        made.persistent = persistent
        return made

    def __init__(self, data=None, *, persistent=True):
        pass
