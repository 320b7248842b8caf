"""PyTorch's older arguments of losses, `size_average` and `reduce`, in their positions."""

import functools
import inspect
import warnings

#: Arguments in PyTorch's order, for losses whose order differs without the older ones.
_ORDER = {
    "mse_loss": "input target size_average reduce reduction weight",
    "l1_loss": "input target size_average reduce reduction weight",
    "smooth_l1_loss": "input target size_average reduce reduction beta",
    "cross_entropy": "input target weight size_average ignore_index reduce reduction label_smoothing",
    "nll_loss": "input target weight size_average ignore_index reduce reduction",
    "binary_cross_entropy": "input target weight size_average reduce reduction",
    "binary_cross_entropy_with_logits": "input target weight size_average reduce reduction pos_weight",
    "kl_div": "input target size_average reduce reduction log_target",
    "poisson_nll_loss": "input target log_input full size_average eps reduce reduction",
    "hinge_embedding_loss": "input target margin size_average reduce reduction",
    "soft_margin_loss": "input target size_average reduce reduction",
    "margin_ranking_loss": "input1 input2 target margin size_average reduce reduction",
    "cosine_embedding_loss": "input1 input2 target margin size_average reduce reduction",
    "triplet_margin_loss": "anchor positive negative margin p eps swap size_average reduce reduction",
    "multi_margin_loss": "input target p margin weight size_average reduce reduction",
    "multilabel_margin_loss": "input target size_average reduce reduction",
    "multilabel_soft_margin_loss": "input target weight size_average reduce reduction",
}


def reduction_of(size_average, reduce, reduction):
    """Returns the `reduction` that the older arguments mean, or the `reduction` argument if they are absent.

    >>> from gradus.nn.legacy_loss import reduction_of
    >>> reduction_of(None, None, "sum"), reduction_of(False, None, "mean"), reduction_of(None, False, "mean")
    ('sum', 'sum', 'none')
    """
    if size_average is None and reduce is None:
        return reduction
    meant = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=4)
    return meant


def with_order(signature, name):
    """Returns the signature of a loss with the older arguments in PyTorch's positions."""
    parameters = dict(signature.parameters)
    order = [n for n in _ORDER.get(name, "").split() if n in parameters or n in ("size_average", "reduce")]
    older = {n: inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None) for n in ("size_average", "reduce")}
    if not order:
        return signature
    first = [p for n, p in parameters.items() if n not in order]
    return signature.replace(parameters=first + [older.get(n) or parameters[n] for n in order])


def accepting(function, name):
    """Wraps a loss to accept arguments in PyTorch's order, including the older ones."""
    order = _ORDER.get(name)
    if order is None:
        return function
    names = order.split()
    tensors = names.index("target") + 1 if "target" in names else 3

    @functools.wraps(function)
    def loss(*args, **kwargs):
        if len(args) > tensors:
            if len(args) > len(names):
                raise TypeError(f"{name}() takes {len(names)} arguments but {len(args)} were given")
            for key, value in zip(names[tensors:], args[tensors:]):
                if key in kwargs:
                    raise TypeError(f"{name}() got multiple values for argument '{key}'")
                kwargs[key] = value
            args = args[:tensors]
        if "size_average" in kwargs or "reduce" in kwargs:
            kwargs["reduction"] = reduction_of(kwargs.pop("size_average", None), kwargs.pop("reduce", None), kwargs.get("reduction", "mean"))
        if kwargs.get("weight", 0) is None:
            del kwargs["weight"]
        return function(*args, **kwargs)

    return loss


def install(names):
    """Wraps the losses among the names of a module."""
    for name in _ORDER:
        names[name] = accepting(names[name], name)
