"""Normalisation that also returns the statistics it used, as PyTorch's functions with `native_` in their names do."""

from .. import _native


def _statistics(x, dim, eps):
    """Mean and one over the standard deviation, with `dim` kept at extent 1."""
    mean = x.mean(dim, keepdim=True)
    return mean, ((x - mean).square().mean(dim, keepdim=True) + eps).rsqrt()


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm`, the mean, and one over the standard deviation.

    >>> import gradus
    >>> y, mean, rstd = gradus.native_layer_norm(gradus.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)
    >>> y, mean, rstd
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    y = _native.layer_norm(input, shape, weight, bias, eps)
    mean, rstd = _statistics(input.detach(), tuple(range(-len(shape), 0)), eps)  # PyTorch passes no gradient through these
    return y, mean, rstd


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm`, the mean, and one over the standard deviation, both `(N, group)`.

    >>> import gradus
    >>> y, mean, rstd = gradus.native_group_norm(gradus.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)
    >>> y, mean, rstd
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    y = _native.group_norm(input, group, weight, bias, eps)
    mean, rstd = _statistics(input.reshape(N, group, C // group * HxW), -1, eps)
    return y, mean.squeeze(-1), rstd.squeeze(-1)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm`, and in training the mean of the batch and one over its standard deviation; else two empty tensors.

    >>> import gradus
    >>> y, mean, invstd = gradus.native_batch_norm(gradus.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)
    >>> y.tolist(), mean, invstd
    ([[-1.0], [1.0]], tensor([2.]), tensor([1.]))
    """
    y = _native.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return y, input.new_empty((0,)), input.new_empty((0,))
    axes = (0, *range(2, input.dim()))
    mean, invstd = _statistics(input.detach(), axes, eps)
    return y, mean.reshape(-1), invstd.reshape(-1)


def native_dropout(input, p, train):
    """`dropout`, and a boolean mask of the elements that are kept.

    >>> import gradus
    >>> gradus.native_dropout(gradus.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if train is False or p == 0:
        return input.clone(), _native.ones(tuple(input.shape), dtype=_native.bool)
    kept = _native.rand(tuple(input.shape)) >= p
    return input * kept.to(input.dtype) * (0.0 if p == 1 else 1 / (1 - p)), kept


def native_channel_shuffle(input, groups):
    """`channel_shuffle`.

    >>> import gradus
    >>> gradus.native_channel_shuffle(gradus.arange(4).reshape(1, 4, 1), 2).reshape(-1)
    tensor([0, 2, 1, 3])
    """
    from .movement import channel_shuffle

    return channel_shuffle(input, groups)
