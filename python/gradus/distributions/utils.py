"""Helpers for distributions: broadcast parameters, convert probabilities and logits, cache properties."""

import math

from .. import _native
from .._native import Tensor, as_tensor
from ..limits import finfo

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Broadcasts numbers and tensors to one shape.

    >>> from gradus.distributions.utils import broadcast_all
    >>> [tuple(x.shape) for x in broadcast_all(1.0, __import__("gradus").zeros(2))]
    [(2,), (2,)]
    """
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = tensors[0].dtype if tensors else _native.get_default_dtype()
    made = [v if isinstance(v, Tensor) else as_tensor(v, dtype=dtype) for v in values]
    return tuple(_native.broadcast_tensors(*made))


def logits_to_probs(logits, is_binary=False):
    """Probabilities of logits.

    >>> import gradus
    >>> gradus.distributions.utils.logits_to_probs(gradus.zeros(2)).tolist()
    [0.5, 0.5]
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs):
    """Clamps probabilities away from 0 and 1 by the epsilon of their dtype.

    >>> import gradus
    >>> float(gradus.distributions.utils.clamp_probs(gradus.zeros(1))) > 0
    True
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Logits of probabilities.

    >>> import gradus
    >>> gradus.distributions.utils.probs_to_logits(gradus.tensor([0.5]), is_binary=True).tolist()
    [0.0]
    """
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property:
    """A property that is computed once, at its first use.

    >>> from gradus.distributions.utils import lazy_property
    >>> class A:
    ...     @lazy_property
    ...     def b(self):
    ...         print("computed")
    ...         return 1
    >>> a = A()
    >>> a.b + a.b
    computed
    2
    """

    def __init__(self, wrapped):
        self.wrapped, self.__doc__ = wrapped, wrapped.__doc__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat, diag=0):
    """Converts the lower triangles of matrices to vectors.

    >>> import gradus
    >>> gradus.distributions.utils.tril_matrix_to_vec(gradus.tensor([[1.0, 9.0], [2.0, 3.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    n = mat.shape[-1]
    places = _native.arange(n)
    return mat[..., (places.unsqueeze(1) + diag) >= places]


def vec_to_tril_matrix(vec, diag=0):
    """Converts vectors to the lower triangles of matrices.

    >>> import gradus
    >>> gradus.distributions.utils.vec_to_tril_matrix(gradus.tensor([1.0, 2.0, 3.0])).tolist()
    [[1.0, 0.0], [2.0, 3.0]]
    """
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + math.isqrt((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1))) // 2
    places = _native.arange(n)
    rows, columns = ((places.unsqueeze(1) + diag) >= places).nonzero(as_tuple=True)
    flat = vec.new_zeros((*vec.shape[:-1], n * n))
    return flat.index_copy(vec.dim() - 1, rows * n + columns, vec).reshape(*vec.shape[:-1], n, n)
