"""`inplace=True` of activations and dropout: the result is written to the argument, as in PyTorch.

Programs that read the argument again rely on this: after `residual = nn.ReLU(inplace=True)(x)`, `x` is the result.
"""

import functools

#: The position of `inplace` among the arguments of each function.
_POSITION = {
    "relu": 1, "relu6": 1, "selu": 1, "silu": 1, "mish": 1, "hardsigmoid": 1, "hardswish": 1, "leaky_relu": 2, "elu": 2, "celu": 2, "hardtanh": 3,
    "threshold": 3, "dropout": 3, "dropout1d": 3, "dropout2d": 3, "dropout3d": 3, "alpha_dropout": 3, "feature_alpha_dropout": 3, "rrelu": 4,
}


def written(input, result):
    """Writes the result to the argument and returns it; returns the result if nothing was computed."""
    return result if result is input else input.copy_(result)


def accepting(function, position):
    """Wraps a function to write its result to its argument if `inplace` is set."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if "inplace" not in kwargs and len(args) <= position:
            return function(*args, **kwargs)
        if len(args) > position:
            args, kwargs["inplace"] = args[:position] + args[position + 1:], args[position]
        inplace = kwargs.pop("inplace")
        result = function(*args, **kwargs)
        return written(args[0] if args else kwargs["input"], result) if inplace else result

    return call


def install(names):
    """Wraps the functions among the names of a module."""
    for name, position in _POSITION.items():
        names[name] = accepting(names[name], position)
