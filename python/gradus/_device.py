"""`device`: where tensors are. Any device can be named, as in PyTorch; tensors are on the CPU, and asking for another raises."""

#: The types that PyTorch knows.
_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
          "mps", "meta", "hpu", "mtia", "privateuseone")


class device:
    """A device by its type and, where there are several, its number. Naming one does not need it: only a tensor on it does.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    >>> device("cuda", 1) == device("cuda:1"), device("cpu").index
    (True, None)
    """

    __slots__ = ("type", "index")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if name not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {name}")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __eq__(self, other):
        return (self.type, self.index) == (other.type, other.index) if isinstance(other, device) else NotImplemented

    def __hash__(self):
        return hash((self.type, self.index))

    def __enter__(self):
        if self.type != "cpu":
            raise RuntimeError(f'no device "{self}": there is "cpu"')
        return self

    def __exit__(self, *exc):
        pass

    def __call__(self, function):
        return function

    def __reduce__(self):
        return device, (self.type, self.index)

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{number})"


CPU = device("cpu")
