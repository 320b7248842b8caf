"""All parameters as one vector, and back."""

from ...core import cat


def parameters_to_vector(parameters):
    """One vector of all elements, in order.

    >>> import gradus
    >>> gradus.nn.utils.parameters_to_vector(gradus.nn.Linear(2, 3).parameters()).shape
    gradus.Size([9])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Takes the values of all parameters from one vector.

    >>> import gradus
    >>> layer = gradus.nn.Linear(1, 1)
    >>> gradus.nn.utils.vector_to_parameters(gradus.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    parameters = list(parameters)
    wanted = sum(p.numel() for p in parameters)
    if vec.numel() != wanted:
        raise ValueError(f"the vector has {vec.numel()} elements, the parameters together {wanted}")
    start = 0
    for p in parameters:
        p.data = vec[start:start + p.numel()].reshape(p.shape).detach().clone()
        start += p.numel()
