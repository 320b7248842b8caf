"""PyTorch's wrappers for several devices and processes; there is one of each here."""

import sys as _sys
import types as _types

from .module import Module


class DataParallel(Module):
    """A wrapper that calls the model: there is one device, whose threads share the work. Parameters are below `module`, as in PyTorch.

    >>> import gradus
    >>> model = gradus.nn.DataParallel(gradus.nn.Linear(2, 3))
    >>> list(model.state_dict()), tuple(model(gradus.ones(4, 2)).shape)
    (['module.weight', 'module.bias'], (4, 3))
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.device_ids, self.dim = module, list(device_ids or []), dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """Raises an error: there are no other processes (`gradus.distributed`). It exists so that programs can be imported.

    >>> from gradus.nn.parallel import DistributedDataParallel as DDP
    """

    def __init__(self, module, device_ids=None, **options):
        raise RuntimeError("DistributedDataParallel: no process group is initialized, and none can be: processes do not train together here")


# PyTorch has a module for each of them.
for _name, _values in {"distributed": {"DistributedDataParallel": DistributedDataParallel}, "data_parallel": {"DataParallel": DataParallel}}.items():
    _module = _types.ModuleType(f"{__name__}.{_name}", "A model on several devices, of which there is one.")
    _module.__dict__.update(_values)
    _sys.modules[_module.__name__] = globals()[_name] = _module
