"""`Module`: attributes that are parameters, buffers or modules are registered; all other methods use the registers."""

import warnings
from collections import OrderedDict

from .._device import OPENED, device as _device
from .._native import _call_near, _call_on, _module_changed, _note_module, is_tracing
from ..core import Tensor, as_tensor, no_grad, tensor
from .hooks import BackwardHooks, IncompatibleKeys, RemovableHandle
from .members import Members, Register, settings
from .parameter import Buffer, Parameter, is_lazy

_REGISTERS = ("_parameters", "_buffers", "_modules")
_PACKAGE = __name__.split(".")[0] + "."


class Module(Members):
    """The base of all layers and models.

    >>> import gradus
    >>> from gradus import nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = nn.Linear(3, 4)
    ...         self.scale = nn.Parameter(gradus.ones(()))
    ...     def forward(self, x):
    ...         return self.inner(x) * self.scale
    >>> net = Net()
    >>> [name for name, _ in net.named_parameters()]
    ['scale', 'inner.weight', 'inner.bias']
    >>> net
    Net(
      (inner): Linear(in_features=3, out_features=4, bias=True)
    )
    >>> tuple(net(gradus.ones(2, 3)).shape)
    (2, 4)
    """

    training: bool

    def __init__(self):
        put = super().__setattr__
        put("training", True)
        put("_parameters", Register())
        put("_buffers", Register())
        put("_non_persistent", set())
        put("_modules", Register())
        put("_forward_hooks", OrderedDict())
        put("_forward_pre_hooks", OrderedDict())
        put("_backward_hooks", OrderedDict())
        put("_backward_pre_hooks", OrderedDict())

    def forward(self, *args, **kwargs):
        """Computes the result of the module; every subclass defines this method.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3)
        >>> tuple(layer.forward(gradus.ones(4, 2)).shape)
        (4, 3)
        """
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if is_tracing():  # a compiled function depends on the settings of its modules
            _note_module(self)
        hooked = self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
        if OPENED:
            call = self._call_hooked if hooked else self.forward
            # A layer of the package makes tensors on the device of its input; a user's class on the default device.
            return _call_near(call, args, kwargs) if type(self).__module__.startswith(_PACKAGE) else _call_on(None, call, args, kwargs)
        return self._call_hooked(*args, **kwargs) if hooked else self.forward(*args, **kwargs)

    def _call_hooked(self, *args, **kwargs):
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if changed is not None:
                if with_kwargs:
                    args, kwargs = changed
                else:
                    args = changed if isinstance(changed, tuple) else (changed,)
        backward = BackwardHooks(self) if self._backward_hooks or self._backward_pre_hooks else None
        if backward:
            args = backward.watched_inputs(args)
        left, result = list(self._forward_hooks.values()), None
        try:
            result = self.forward(*args, **kwargs)
            while left:
                hook, with_kwargs, _ = left.pop(0)
                changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if changed is not None:
                    result = changed
        except Exception:
            for hook, with_kwargs, always in left:
                if always:
                    try:
                        changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                        result = result if changed is None else changed
                    except Exception as error:  # the first error is raised
                        warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as "
                                      f"another error was raised in forward: {error}", stacklevel=2)
            raise
        return backward.watched_outputs(result) if backward else result

    # --- registration -------------------------------------------------------------------------------------------

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.add_module(name, value)
        elif isinstance(value, Buffer) and name not in self.__dict__.get("_buffers", ()):
            self.register_buffer(name, value, value.persistent)
        elif name in self.__dict__.get("_modules", ()) or name in self.__dict__.get("_parameters", ()):
            register, kind = ("_modules", "Module") if name in self._modules else ("_parameters", "Parameter")
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as '{name}' (gradus.nn.{kind} or None expected)")
            self.__dict__[register][name] = None
        elif name in self.__dict__.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}' (gradus.Tensor or None expected)")
            self._buffers[name] = value
        else:
            if self.__dict__.get(name, self) is not value:
                _module_changed()
            super().__setattr__(name, value)

    def _settings(self):
        """Returns the settings that a compiled function depends on: it is recompiled if they change."""
        return settings(self)

    def __getattr__(self, name):
        for register in _REGISTERS:
            found = self.__dict__.get(register)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for register in _REGISTERS:
            if name in self.__dict__[register]:
                del self.__dict__[register][name]
                self._non_persistent.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _claim_name(self, name, register, what):
        """Checks a name and removes it from the other registers."""
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string, not {type(name).__name__}")
        if "." in name or name == "":
            raise KeyError(f'{what} name can\'t be empty or contain ".", got {name!r}')
        if name in self.__dict__:
            del self.__dict__[name]
        elif name not in self.__dict__[register] and hasattr(type(self), name):
            raise KeyError(f"attribute '{name}' already exists")
        for other in _REGISTERS:
            if other != register:
                self.__dict__[other].pop(name, None)

    def register_parameter(self, name, param):
        """Adds a parameter under a name; `None` keeps the name without a value.

        >>> import gradus
        >>> layer = gradus.nn.Identity()
        >>> layer.register_parameter('scale', gradus.nn.Parameter(gradus.ones(2)))
        >>> list(layer.state_dict())
        ['scale']
        """
        self._claim_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (gradus.nn.Parameter or None required)")
        if param is not None and not param.is_leaf:
            raise ValueError(f"cannot assign a non-leaf Tensor to parameter '{name}': parameters must be created, not computed")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is saved and moved with the module but not trained.

        >>> import gradus
        >>> layer = gradus.nn.Identity()
        >>> layer.register_buffer('mean', gradus.zeros(2))
        >>> list(layer.state_dict())
        ['mean']
        """
        self._claim_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (gradus.Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def add_module(self, name, module):
        """Adds a child under a name.

        >>> import gradus
        >>> layer = gradus.nn.Identity()
        >>> layer.add_module('inner', gradus.nn.Linear(2, 3))
        >>> [name for name, _ in layer.named_children()]
        ['inner']
        """
        self._claim_name(name, "_modules", "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls `hook(module, args, output)` after every forward; a result other than None replaces the output. With `always_call`
        it is also called, without output, if the forward raises.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 0 + 1)
        >>> layer(gradus.ones(1, 2)).sum().item()
        3.0
        """
        return RemovableHandle(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls `hook(module, args)` before every forward; a result other than None replaces the arguments.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3)
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
        >>> bool((layer(gradus.ones(2)) == layer.bias).all())
        True
        """
        return RemovableHandle(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_input, grad_output)` after a backward pass through the module; a result other than None replaces
        the gradients of the inputs.

        >>> import gradus
        >>> layer, seen = gradus.nn.Linear(2, 1), []
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(tuple(grad_input[0].shape)))
        >>> layer(gradus.ones(3, 2, requires_grad=True)).sum().backward()
        >>> seen
        [(3, 2)]
        """
        return RemovableHandle(self._backward_hooks, hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls `hook(module, grad_output)` before a backward pass through the module; a result other than None replaces the gradient.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 0,))
        >>> layer(gradus.ones(2)).sum().backward()
        >>> layer.bias.grad
        tensor([0., 0., 0.])
        """
        return RemovableHandle(self._backward_pre_hooks, hook, prepend)

    # --- state --------------------------------------------------------------------------------------------------

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by path. The tensors share memory with the module's.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> list(model.state_dict())
        ['0.weight', '0.bias']
        """
        destination = {} if destination is None else destination
        for name, value in self._own_state():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination, prefix + name + ".", keep_vars)
        return destination

    def _own_state(self):
        for name, value in self._parameters.items():
            if value is not None:
                yield name, value
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent:
                yield name, value

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies values in, by path. Changes nothing unless everything fits.

        Values may be tensors of other libraries or NumPy arrays. With `strict=False` missing and unexpected keys are
        returned instead of raised; shapes must always fit. With `assign` the tensors themselves replace the parameters.

        >>> import gradus
        >>> a, b = gradus.nn.Linear(2, 3), gradus.nn.Linear(2, 3)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        >>> gradus.equal(a.weight, b.weight)
        True
        """
        for path, module in self.named_modules():
            module._before_loading(state_dict, f"{path}." if path else "")
        own = self.state_dict(keep_vars=True)
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        errors, given = [], {}
        if strict and unexpected:
            errors.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ".")
        if strict and missing:
            errors.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ".")
        for key, target in own.items():
            if key in state_dict:
                value = state_dict[key]
                if not isinstance(value, Tensor):
                    # Copies the array unless it is assigned, because it may change later.
                    value = as_tensor(value) if assign else tensor(value)
                given[key] = value
                if tuple(value.shape) != tuple(target.shape):
                    errors.append(
                        f"size mismatch for {key}: copying a param with shape {list(value.shape)} from checkpoint, "
                        f"the shape in current model is {list(target.shape)}."
                    )
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        with no_grad():
            for key, value in given.items():
                if assign:
                    self._assign(key, value)
                else:
                    own[key].copy_(value)
        return IncompatibleKeys(missing, unexpected)

    def _before_loading(self, state_dict, prefix):
        """Prepares a module for loading: lazy modules get their shapes."""

    def _assign(self, key, value):
        path, _, name = key.rpartition(".")
        owner = self.get_submodule(path)
        if name in owner._parameters:
            if not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=owner._parameters[name].requires_grad)
            owner._parameters[name] = value
        else:
            owner._buffers[name] = value

    # --- changing all members -----------------------------------------------------------------------------------

    def apply(self, fn):
        """Calls `fn` on every module, children first.

        >>> import gradus
        >>> model = gradus.nn.Sequential(gradus.nn.Linear(2, 3), gradus.nn.ReLU())
        >>> model.apply(lambda module: print(type(module).__name__))[1]
        Linear
        ReLU
        Sequential
        ReLU()
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn):
        """Replaces the data of every parameter, gradient and buffer; shared tensors stay shared."""
        done = {}
        for module in self.modules():
            for param in module._parameters.values():
                if is_lazy(param):
                    param._convert(fn)
                elif param is not None and id(param) not in done:
                    grad = param.grad
                    param.data = fn(param.data)
                    if grad is not None:
                        param.grad = fn(grad)
                    done[id(param)] = param
                    _module_changed()
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    if id(buffer) not in done:
                        done[id(buffer)] = fn(buffer)
                    module._buffers[name] = done[id(buffer)]
        return self

    def to(self, *args, **kwargs):
        """Moves or converts all tensors; a dtype applies to floating point tensors only.

        >>> import gradus
        >>> gradus.nn.Linear(2, 3).to(gradus.float64).weight.dtype
        gradus.float64
        """

        device = kwargs.get("device")
        for arg in args:
            if isinstance(arg, Tensor):
                device = arg.device
            elif isinstance(arg, (str, int, _device)) and not isinstance(arg, bool):
                device = arg

        def convert(tensor):
            if tensor.is_floating_point() or tensor.is_complex():
                return tensor.to(*args, **kwargs)
            return tensor if device is None else tensor.to(device)

        return self._apply(convert)

    def _cast(self, method):
        return self._apply(lambda tensor: getattr(tensor, method)() if tensor.is_floating_point() else tensor)

    def float(self):
        """Converts all floating point tensors to `float32`.

        >>> import gradus
        >>> gradus.nn.Linear(2, 3).double().float().weight.dtype
        gradus.float32
        """
        return self._cast("float")

    def double(self):
        """Converts all floating point tensors to `float64`.

        >>> import gradus
        >>> gradus.nn.Linear(2, 3).double().weight.dtype
        gradus.float64
        """
        return self._cast("double")

    def half(self):
        """Converts all floating point tensors to `float16`.

        >>> import gradus
        >>> gradus.nn.Linear(2, 3).half().weight.dtype
        gradus.float16
        """
        return self._cast("half")

    def bfloat16(self):
        """Converts all floating point tensors to `bfloat16`.

        >>> import gradus
        >>> gradus.nn.Linear(2, 3).bfloat16().weight.dtype
        gradus.bfloat16
        """
        return self._cast("bfloat16")

    def cpu(self):
        """Moves all tensors to host memory.

        >>> import gradus
        >>> gradus.nn.Linear(2, 3).cpu().weight.device
        device(type='cpu')
        """
        return self.to("cpu")

    def wgpu(self, device=None):
        """Moves all tensors to a WebGPU device, by its number.

        >>> import gradus
        >>> if gradus.wgpu.is_available():
        ...     assert gradus.nn.Linear(2, 3).wgpu().weight.is_wgpu
        """
        return self._apply(lambda tensor: tensor.wgpu(device))

    def train(self, mode=True):
        """Sets training mode for this module and its submodules.

        >>> import gradus
        >>> gradus.nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """Sets evaluation mode for this module and its submodules.

        >>> import gradus
        >>> gradus.nn.Dropout().eval()(gradus.ones(2))
        tensor([1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets whether parameters require gradients.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3).requires_grad_(False)
        >>> layer.weight.requires_grad
        False
        """
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Clears the gradients of all parameters, or fills them with zeros.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3)
        >>> layer(gradus.ones(2)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        traced = is_tracing()  # a compiled program runs later, when there may be gradients
        for param in self.parameters():
            if traced or param.grad is not None:
                if set_to_none or traced:
                    param.grad = None
                else:
                    param.grad.detach().zero_()

    # --- representation -----------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """Returns the additional text of a subclass in its representation.

        >>> import gradus
        >>> layer = gradus.nn.Linear(2, 3)
        >>> layer.extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        extra_lines = extra.split("\n") if extra else []
        if not lines and len(extra_lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra_lines + lines) + "\n)"
