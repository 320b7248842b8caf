"""Pruning: each pruned parameter has a mask, by which it is multiplied before every call.

>>> import gradus
>>> from gradus.nn.utils import prune
>>> layer = gradus.nn.Linear(2, 2)
>>> _ = prune.l1_unstructured(layer, "weight", amount=0.5)
>>> int((layer.weight == 0).sum()), [name for name, _ in layer.named_parameters()]
(2, ['bias', 'weight_orig'])
"""

from ...core import cat, ones_like, rand


def _check_amount(amount):
    """Checks a fraction or a number of elements."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


def _count(amount, n):
    """Converts a fraction or number to a number of `n` elements."""
    if isinstance(amount, int) and amount > n:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={n}")
    return amount if isinstance(amount, int) else round(amount * n)


def _without(scores, mask, amount):
    """Removes the elements of least score from a mask of the same shape."""
    flat, n = mask.reshape(-1).clone(), _count(amount, mask.numel())
    if n:
        flat[scores.detach().reshape(-1).topk(n, largest=False).indices] = 0
    return flat.reshape(mask.shape)


def _prunable(method, mask):
    """Returns the index of the part that a method may still prune: elements, slices along its axis, or everything."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "structured":
        there = mask.movedim(method.dim, 0).flatten(1).sum(1) != 0
        return (slice(None),) * (method.dim % mask.dim()) + (there,)
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * mask.dim()
    raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class BasePruningMethod:
    """The base of pruning methods: the hook that computes a parameter from its original and its mask.

    A subclass sets `PRUNING_TYPE` to choose among elements (`"unstructured"`), slices along its `dim`
    (`"structured"`) or everything (`"global"`), and computes the mask in `compute_mask`.

    >>> import gradus
    >>> from gradus.nn.utils import prune
    >>> class EveryOther(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = gradus.nn.Linear(3, 4)
    >>> _ = EveryOther.apply(layer, "bias")
    >>> layer.bias_mask
    tensor([0., 1., 0., 1.])
    """

    _tensor_name = None

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t, default_mask):
        """Returns the new mask from `default_mask`, for the values or scores `t`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement compute_mask")

    def apply_mask(self, module):
        """Returns the parameter with zeros where it is pruned."""
        own = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(own.dtype) * own

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter of a module, in addition to what is pruned already."""
        method, (key, before) = cls(*args, **kwargs), _hook_of(module, name)
        own = getattr(module, name if before is None else name + "_orig")
        if importance_scores is not None and importance_scores.shape != own.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        mask = ones_like(own.detach()) if before is None else getattr(module, name + "_mask")
        method._tensor_name = name
        if before is not None:
            both = PruningContainer()
            both._tensor_name = name
            for one in before if isinstance(before, PruningContainer) else (before,):
                both.add_pruning_method(one)
            both.add_pruning_method(method)
            method = both
        mask = method.compute_mask((own if importance_scores is None else importance_scores).detach(), mask)
        if before is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", own)
            module.register_buffer(name + "_mask", mask.to(own.dtype))
        else:
            del module._forward_pre_hooks[key]
            setattr(module, name + "_mask", mask.to(own.dtype))
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """Returns a tensor with zeros where this method prunes."""
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores.detach(), ones_like(t.detach()) if default_mask is None else default_mask)

    def remove(self, module):
        """Makes pruning permanent: restores the parameter, with zeros where it was pruned."""
        name = self._tensor_name
        masked, parameter = self.apply_mask(module), module._parameters[name + "_orig"]
        parameter.data = masked.detach()
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"], module.__dict__[name]
        module.register_parameter(name, parameter)


def _hook_of(module, name):
    """Returns the pruning hook of a parameter, and its key; `None` twice if it is not pruned."""
    for key, (hook, *_) in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


class PruningContainer(BasePruningMethod):
    """Several methods in sequence; each prunes elements that the previous ones have kept."""

    def __init__(self, *args):
        self._pruning_methods = ()
        several = args[0] if len(args) == 1 and not isinstance(args[0], BasePruningMethod) else args
        for i, method in enumerate(several):
            self._tensor_name = method._tensor_name if i == 0 else self._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds a method for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named "
                             f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        """Returns the mask of the last method."""
        method, mask = self._pruning_methods[-1], default_mask.clone()
        at = _prunable(method, mask)
        mask[at] = method.compute_mask(t[at], mask[at]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        """Returns the mask unchanged."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """Combines both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"the mask has shape {tuple(self.mask.shape)}, the parameter {tuple(default_mask.shape)}")
        return default_mask * self.mask.to(default_mask.dtype)


class _Partial(BasePruningMethod):
    """Base of methods that prune a fraction or number of elements."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        self.amount = _check_amount(amount)


class RandomUnstructured(_Partial):
    """Prunes random elements."""

    def compute_mask(self, t, default_mask):
        """Removes random elements."""
        return _without(rand(tuple(t.shape)), default_mask, self.amount)


class L1Unstructured(_Partial):
    """Prunes the elements of least absolute value."""

    def compute_mask(self, t, default_mask):
        """Removes the least elements."""
        return _without(t.abs(), default_mask, self.amount)


class _Slices(_Partial):
    """Base of methods that prune a fraction or number of slices along an axis."""

    PRUNING_TYPE = "structured"

    def _kept(self, scores, mask):
        shape = [1] * mask.dim()
        shape[self.dim] = -1
        return mask * _without(scores, ones_like(scores), self.amount).reshape(shape).to(mask.dtype)


class RandomStructured(_Slices):
    """Prunes random slices along an axis."""

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        """Removes random slices."""
        return self._kept(rand(t.shape[self.dim]), default_mask)


class LnStructured(_Slices):
    """Prunes the slices along an axis that have the least norm of order `n`."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount)
        self.n, self.dim = n, dim

    def compute_mask(self, t, default_mask):
        """Removes the least slices."""
        return self._kept(t.movedim(self.dim, 0).flatten(1).norm(p=self.n, dim=1), default_mask)


def identity(module, name):
    """Adds a mask that prunes nothing."""
    Identity.apply(module, name)
    return module


def custom_from_mask(module, name, mask):
    """Prunes where the mask is 0, in addition to what is pruned already."""
    CustomFromMask.apply(module, name, mask)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the elements of least absolute value (or score): a fraction of those left, or a number."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_unstructured(module, name, amount):
    """Prunes random elements."""
    RandomUnstructured.apply(module, name, amount)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the slices along an axis that have the least norm of order `n`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes random slices along an axis."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes elements of several parameters, pairs of a module and a name, as if they were one.

    >>> import gradus
    >>> from gradus.nn.utils import prune
    >>> a, b = gradus.nn.Linear(2, 2), gradus.nn.Linear(2, 2)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=3)
    >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
    3
    """
    parameters, given = list(parameters), importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
                        f"{method.PRUNING_TYPE}")
    values = [getattr(*pair).detach() for pair in parameters]  # with existing masks applied
    scores = cat([given.get(pair, value).detach().reshape(-1) for pair, value in zip(parameters, values)])
    masks = cat([getattr(module, name + "_mask", ones_like(value)).reshape(-1) for (module, name), value in zip(parameters, values)])
    left = PruningContainer(method).compute_mask(scores, masks)
    for (module, name), part, value in zip(parameters, left.split([value.numel() for value in values]), values):
        custom_from_mask(module, name, part.reshape(value.shape))


def remove(module, name):
    """Makes pruning permanent: restores the parameter, with zeros where it was pruned."""
    key, hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module):
    """Returns true if a module or one of its submodules is pruned."""
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook, *_ in part._forward_pre_hooks.values())
