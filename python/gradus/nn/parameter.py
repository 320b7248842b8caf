"""Parameters: tensors that a module owns and an optimizer changes."""

from ..core import Tensor, get_default_dtype, zeros


class Parameter(Tensor):
    """A tensor that registers itself when it is set as an attribute of a `Module`.

    >>> import gradus
    >>> p = gradus.nn.Parameter(gradus.zeros(2, 3))
    >>> p.requires_grad, p.is_leaf, tuple(p.shape)
    (True, True, (2, 3))
    """

    _results_keep_class = False

    def __new__(cls, data=None, requires_grad=True):
        # Numbers and lists raise an error, because they have no `detach`.
        return Tensor.__new__(cls, None if data is None else data.detach(), requires_grad)

    def __init__(self, data=None, requires_grad=True):
        # `__new__` does everything; `Tensor.__init__` must not run on these arguments.
        pass

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.detach(), self.requires_grad)


class UninitializedParameter(Parameter):
    """A parameter without a shape, unusable until the first call of its layer.

    >>> import gradus
    >>> gradus.nn.LazyLinear(3).weight
    <UninitializedParameter>
    """

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        made = Tensor.__new__(cls)
        like = zeros(0, device=device, dtype=dtype or get_default_dtype())
        made._future_type, made._future_device = (like.dtype, requires_grad), like.device
        return made._withhold("Attempted to use an uninitialized parameter: call its layer with an input first; "
                              "the shape of the input determines that of the parameter")

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass

    dtype = property(lambda self: self._future_type[0], doc="The dtype of the future parameter.")
    device = property(lambda self: self._future_device, doc="The device of the future parameter.")

    def numel(self):
        """Raises an error: the number of elements is not known yet."""
        raise ValueError("Attempted to use an uninitialized parameter: call its layer with an input first")

    @property
    def shape(self):
        """Raises an error: the shape is not known yet."""
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
                           "`load_state_dict` when trying to load an uninitialized parameter into an initialized one.")

    @property
    def requires_grad(self):
        """Returns true if the future parameter requires gradients."""
        return self._future_type[1]

    @requires_grad.setter
    def requires_grad(self, on):
        self._future_type = self._future_type[0], on

    def requires_grad_(self, requires_grad=True):
        """Sets whether the future parameter requires gradients.

        >>> import gradus
        >>> gradus.nn.parameter.UninitializedParameter().requires_grad_(False).requires_grad
        False
        """
        self.requires_grad = requires_grad
        return self

    def materialize(self, shape, device=None, dtype=None):
        """Makes it a parameter of this shape, with unspecified elements.

        >>> import gradus
        >>> weight = gradus.nn.parameter.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, tuple(weight.shape)
        ('Parameter', (2, 3))
        """
        self._materialize_as(Parameter(zeros(shape, device=device or self.device, dtype=dtype or self.dtype)))

    def _materialize_as(self, made):
        """Makes it a parameter with the value of another."""
        (dtype, requires_grad), device = self.__dict__.pop("_future_type"), self.__dict__.pop("_future_device")
        self.__class__ = Parameter
        self._become(made.detach().clone().to(device, dtype))
        self.requires_grad_(requires_grad)

    def _convert(self, fn):
        """Sets the future dtype and device to those of the result of a conversion function."""
        like = fn(zeros(0, dtype=self.dtype, device=self.device))
        self._future_type, self._future_device = (like.dtype, self.requires_grad), like.device

    def __repr__(self):
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), type(self)(self.requires_grad, self.device, self.dtype))

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.device, self.dtype)


def is_lazy(param):
    """Returns true if a parameter has no shape yet.

    >>> import gradus
    >>> gradus.nn.parameter.is_lazy(gradus.nn.LazyLinear(3).bias)
    True
    """
    return isinstance(param, UninitializedParameter)


class Buffer(Tensor):
    """A tensor that is saved and moved with the `Module` of which it is an attribute, but not trained.

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
