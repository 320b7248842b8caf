"""Parts of parameters switched off: a mask beside each parameter, with which it is multiplied before every call.

>>> import gradus
>>> from gradus.nn.utils import prune
>>> layer = gradus.nn.Linear(2, 2)
>>> _ = prune.l1_unstructured(layer, "weight", amount=0.5)
>>> int((layer.weight == 0).sum()), [name for name, _ in layer.named_parameters()]
(2, ['bias', 'weight_orig'])
"""

from ...core import cat, ones_like, rand


class _Mask:
    """The hook that computes `name` from `name_orig` and `name_mask`."""

    def __init__(self, name):
        self.name = name

    def __call__(self, module, inputs):
        setattr(module, self.name, getattr(module, self.name + "_mask") * getattr(module, self.name + "_orig"))


def _count(amount, n):
    """How many of `n`: a share, or a number of them."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    if isinstance(amount, int) and amount > n:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={n}")
    return amount if isinstance(amount, int) else round(amount * n)


def _without(scores, mask, amount):
    """A mask without those of the least scores among what it still has; both of any shape."""
    flat, left = mask.reshape(-1).clone(), mask.reshape(-1).nonzero().reshape(-1)
    n = _count(amount, left.numel())
    if n:
        flat[left[scores.detach().reshape(-1)[left].topk(n, largest=False).indices]] = 0
    return flat.reshape(mask.shape)


def _without_channels(scores, mask, amount, dim):
    """A mask without whole slices along an axis: those of the least scores among slices of which something is left."""
    there = mask.movedim(dim, 0).flatten(1).sum(1) != 0
    kept = _without(scores, there.to(mask.dtype), amount)
    shape = [1] * mask.dim()
    shape[dim] = -1
    return mask * kept.reshape(shape)


def _masked(module, name, mask):
    """Puts a mask beside a parameter, or in the place of the one that is there."""
    if not is_masked(module, name):
        own = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(name + "_orig", own)
        module.register_buffer(name + "_mask", mask.to(own.dtype))
        module.register_forward_pre_hook(_Mask(name))
    else:
        setattr(module, name + "_mask", mask)
    _Mask(name)(module, None)
    return module


def is_masked(module, name):
    """Whether this parameter of the module has a mask."""
    return any(isinstance(hook, _Mask) and hook.name == name for hook, *_ in module._forward_pre_hooks.values())


def _state(module, name):
    """A parameter and what is left of it."""
    own = getattr(module, name + "_orig" if is_masked(module, name) else name)
    mask = getattr(module, name + "_mask", None)
    return own.detach(), ones_like(own.detach()) if mask is None else mask


def _scores(own, mask, given):
    return (own * mask).abs() if given is None else given


def identity(module, name):
    """A mask that leaves everything."""
    return _masked(module, name, _state(module, name)[1])


def custom_from_mask(module, name, mask):
    """Switches off where the mask is 0, besides what is off already."""
    own, before = _state(module, name)
    return _masked(module, name, before * mask.to(own.dtype))


def l1_unstructured(module, name, amount, importance_scores=None):
    """Switches off the elements of least absolute value (or score): a share of those left, or a number of them."""
    own, mask = _state(module, name)
    return _masked(module, name, _without(_scores(own, mask, importance_scores), mask, amount))


def random_unstructured(module, name, amount):
    """Switches off random elements."""
    own, mask = _state(module, name)
    return _masked(module, name, _without(rand(tuple(own.shape)), mask, amount))


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Switches off the slices along an axis that have the least norm of order `n`."""
    own, mask = _state(module, name)
    slices = _scores(own, mask, importance_scores).movedim(dim, 0).flatten(1)
    return _masked(module, name, _without_channels(slices.norm(p=n, dim=1), mask, amount, dim))


def random_structured(module, name, amount, dim):
    """Switches off random slices along an axis."""
    own, mask = _state(module, name)
    return _masked(module, name, _without_channels(rand(own.shape[dim]), mask, amount, dim))


class L1Unstructured:
    """For `global_unstructured`: by absolute values."""

    scores = staticmethod(lambda own, mask: (own * mask).abs())


class RandomUnstructured:
    """For `global_unstructured`: by chance."""

    scores = staticmethod(lambda own, mask: rand(tuple(own.shape)))


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Switches off elements of several parameters, pairs of a module and a name, as if these were one.

    >>> import gradus
    >>> from gradus.nn.utils import prune
    >>> a, b = gradus.nn.Linear(2, 2), gradus.nn.Linear(2, 2)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=3)
    >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
    3
    """
    parameters, given = list(parameters), importance_scores or {}
    states = [_state(*pair) for pair in parameters]
    scores = [given.get(pair, pruning_method.scores(*state)) for pair, state in zip(parameters, states)]
    joined = cat([mask.reshape(-1) for _, mask in states])
    left = _without(cat([s.detach().reshape(-1) for s in scores]), joined, kwargs["amount"])
    for (module, name), part, (own, _) in zip(parameters, left.split([mask.numel() for _, mask in states]), states):
        _masked(module, name, part.reshape(own.shape))


def remove(module, name):
    """Makes it last: the parameter is there again, with zeros where it was switched off."""
    for key, (hook, *_) in list(module._forward_pre_hooks.items()):
        if isinstance(hook, _Mask) and hook.name == name:
            own, mask = _state(module, name)
            parameter = module._parameters[name + "_orig"]
            parameter.data = own * mask
            del module._forward_pre_hooks[key], module._parameters[name + "_orig"], module._buffers[name + "_mask"], module.__dict__[name]
            module.register_parameter(name, parameter)
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    """Whether it, or a module inside of it, has masks."""
    return any(isinstance(hook, _Mask) for part in module.modules() for hook, *_ in part._forward_pre_hooks.values())
