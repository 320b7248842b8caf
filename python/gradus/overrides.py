"""PyTorch's overrides by `__torch_function__`, which are not used here.

>>> import gradus
>>> gradus.overrides.has_torch_function((gradus.ones(2),)), gradus.overrides.is_tensor_like(gradus.ones(2))
(False, True)
"""

from ._native import Tensor


def has_torch_function(relevant_args):
    """Returns `False`."""
    return False


has_torch_function_unary = has_torch_function


def has_torch_function_variadic(*relevant_args):
    """Returns `False`."""
    return False


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls the function itself."""
    return public_api(*args, **kwargs)


def is_tensor_like(inp):
    """Returns true if an object is a tensor."""
    return isinstance(inp, Tensor)
