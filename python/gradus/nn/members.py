"""Members of a module: modules, parameters and buffers, by their paths."""


from .._native import Tensor, _module_changed


class Register(dict):
    """Members by name; registers changes for compiled functions."""

    def __setitem__(self, name, value):
        _module_changed()
        super().__setitem__(name, value)

    def __delitem__(self, name):
        _module_changed()
        super().__delitem__(name)

    def pop(self, *args):
        """Removes a member."""
        _module_changed()
        return super().pop(*args)

    def clear(self):
        """Removes all members."""
        _module_changed()
        super().clear()


class _Same:
    """Compares by identity."""

    def __init__(self, value):
        self.value = value
        known = isinstance(value, Tensor) and "_future_type" not in value.__dict__  # a lazy parameter has no shape yet
        self.type = (value.dtype, tuple(value.shape)) if known else type(value)

    def __eq__(self, other):
        return isinstance(other, _Same) and self.value is other.value and self.type == other.type


def _plain(value):
    """Returns numbers and strings, also in short lists, by value; any other object by identity."""
    if isinstance(value, Register):
        return [_plain(v) for v in value.items()]
    if isinstance(value, Members) and hasattr(value, "_register"):  # a list of modules is not called
        return [_Same(value), settings(value)]
    if isinstance(value, (tuple, list)) and len(value) <= 64:
        return [_plain(v) for v in value]
    if isinstance(value, (dict, set)) and len(value) <= 64:
        return [_plain(v) for v in (value.items() if isinstance(value, dict) else sorted(value, key=repr))]
    return (type(value), value) if value is None or isinstance(value, (bool, int, float, str)) else _Same(value)


def settings(module):
    """Returns the attributes of a module, its members and hooks, for comparison with their later state. Buffers and other tensors
    are guarded one by one (`_reads.py`), because a function may change them."""
    return [(name, _plain(value)) for name, value in module.__dict__.items()
            if name != "_buffers" and not isinstance(value, Tensor)]


class Members:
    """Iterators over a module and its submodules."""

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module and all submodules, each once, with their paths.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> [name for name, _ in model.named_modules()]
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all submodules, each once.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> len(list(model.modules()))
        3
        """
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """Returns the direct submodules, each once, with their names.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> [name for name, _ in model.named_children()]
        ['0', '1']
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """Returns the direct submodules.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> len(list(model.children()))
        2
        """
        for _, module in self.named_children():
            yield module

    def _named_members(self, register, prefix, recurse, remove_duplicate):
        seen = set()
        walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in walk:
            for name, value in module.__dict__[register].items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Returns all parameters, each once, with their paths.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> [name for name, _ in model.named_parameters()]
        ['0.weight', '0.bias']
        """
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Returns all parameters, each once.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> [tuple(p.shape) for p in model.parameters()]
        [(3, 2), (3,)]
        """
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Returns all buffers, each once, with their paths.

        >>> import gradus
        >>> [name for name, _ in gradus.nn.BatchNorm1d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Returns all buffers, each once.

        >>> import gradus
        >>> len(list(gradus.nn.BatchNorm1d(2).buffers()))
        3
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """Returns the module at a path such as `"encoder.layers.0"`.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> model.get_submodule('0')
        Linear(in_features=2, out_features=3, bias=True)
        """
        module = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name)
            if module is None:
                raise AttributeError(f"{type(self).__name__} has no submodule '{target}' (stopped at '{name}')")
        return module

    def _get_member(self, target, register, what):
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path).__dict__[register].get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no {what} '{target}'")
        return found

    def get_parameter(self, target):
        """Returns the parameter at a path.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> tuple(model.get_parameter('0.weight').shape)
        (3, 2)
        """
        return self._get_member(target, "_parameters", "parameter")

    def get_buffer(self, target):
        """Returns the buffer at a path.

        >>> import gradus
        >>> gradus.nn.BatchNorm1d(2).get_buffer('running_mean')
        tensor([0., 0.])
        """
        return self._get_member(target, "_buffers", "buffer")
