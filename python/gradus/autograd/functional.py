"""Derivatives of functions at arguments, under PyTorch's names."""

from .. import transforms
from ..core import Tensor


def _listed(x):
    """Returns one tensor or several as a list."""
    return [x] if isinstance(x, Tensor) else list(x)


def vjp(func, inputs, v=None):
    """`func(inputs)`, and the vector-Jacobian product of a cotangent.

    >>> import gradus
    >>> gradus.autograd.functional.vjp(lambda x: x * x, gradus.tensor(3.0))
    (tensor(9.), tensor(6.))
    """
    several = not isinstance(inputs, Tensor)
    value, pull = transforms.vjp(func, *_listed(inputs))
    found = pull(value.new_tensor(1.0) if v is None else v)
    return value, found if several else found[0]


def jvp(func, inputs, v):
    """`func(inputs)`, and its tangent along `v`.

    >>> import gradus
    >>> gradus.autograd.functional.jvp(lambda x: x * x, gradus.tensor(3.0), gradus.tensor(2.0))
    (tensor(9.), tensor(12.))
    """
    return transforms.jvp(func, _listed(inputs), _listed(v))


def hvp(func, inputs, v):
    """`func(inputs)`, a scalar, and the product of its Hessian with `v`.

    >>> import gradus
    >>> gradus.autograd.functional.hvp(lambda x: x**3, gradus.tensor(2.0), gradus.tensor(1.0))
    (tensor(8.), tensor(12.))
    """
    several = not isinstance(inputs, Tensor)
    found = transforms.hvp(func, _listed(inputs), _listed(v))
    return func(*_listed(inputs)), found if several else found[0]


def vhp(func, inputs, v):
    """`func(inputs)`, a scalar, and the product of `v` with its Hessian, which is the same as that of the Hessian with `v`.

    >>> import gradus
    >>> gradus.autograd.functional.vhp(lambda x: x**3, gradus.tensor(2.0), gradus.tensor(1.0))
    (tensor(8.), tensor(12.))
    """
    return hvp(func, inputs, v)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Computes the derivatives of every element of `func(inputs)`; of a tuple of inputs, a tuple.

    >>> import gradus
    >>> gradus.autograd.functional.jacobian(lambda x: x * x, gradus.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    places = 0 if isinstance(inputs, Tensor) else tuple(range(len(inputs)))
    return transforms.jacobian(func, places)(*_listed(inputs))


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Computes the second derivatives of `func(inputs)`, a scalar; of a tuple of inputs, a tuple of tuples.

    >>> import gradus
    >>> gradus.autograd.functional.hessian(lambda x: (x**3).sum(), gradus.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    places = 0 if isinstance(inputs, Tensor) else tuple(range(len(inputs)))
    return transforms.hessian(func, places)(*_listed(inputs))
