"""The older weight and spectral norms: hooks that compute the weight before each call."""

from ...core import no_grad, randn
from .. import functional as F
from ..conv import _ConvTransposeNd
from ..parameter import Parameter
from .parametrizations import _norm_except


class _Hook:
    """Computes `name` from other parameters before each call."""

    def __init__(self, module, name):
        self.name = name
        found = [hook for hook, _ in module._forward_pre_hooks.values() if type(hook) is type(self) and hook.name == name]
        if found:
            raise RuntimeError(f"Cannot register two {type(self).__name__[1:]} hooks on the same parameter {name}")

    def install(self, module):
        self(module, None)
        module.register_forward_pre_hook(self)
        return module

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module))


def _removed(module, name, kind, parts):
    for key, (hook, _) in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            with no_grad():
                weight = hook.compute(module).detach().clone()
            del module._forward_pre_hooks[key]
            for part in (name, *(name + part for part in parts)):
                delattr(module, part)
            module.register_parameter(name, Parameter(weight))
            return module
    raise ValueError(f"{kind.__name__[1:]} of '{name}' not found in {module}")


class _WeightNorm(_Hook):
    def compute(self, module):
        v = getattr(module, self.name + "_v")
        return v * (getattr(module, self.name + "_g") / _norm_except(v, self.dim))


def weight_norm(module, name="weight", dim=0):
    """Trains a weight's length (`weight_g`) and direction (`weight_v`) separately.

    >>> import gradus
    >>> layer = gradus.nn.utils.weight_norm(gradus.nn.Linear(2, 3))
    >>> tuple(layer.weight_g.shape), tuple(layer.weight_v.shape)
    ((3, 1), (3, 2))
    """
    hook = _WeightNorm(module, name)
    hook.dim = -1 if dim is None else dim
    weight = getattr(module, name).detach()
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(_norm_except(weight, hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.clone()))
    return hook.install(module)


def remove_weight_norm(module, name="weight"):
    """Makes the weight one parameter again.

    >>> import gradus
    >>> layer = gradus.nn.utils.remove_weight_norm(gradus.nn.utils.weight_norm(gradus.nn.Linear(2, 3)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    return _removed(module, name, _WeightNorm, ("_g", "_v"))


class _SpectralNorm(_Hook):
    def compute(self, module):
        weight, u, v = (getattr(module, self.name + part) for part in ("_orig", "_u", "_v"))
        matrix = weight.movedim(self.dim, 0).flatten(1)
        if module.training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.detach().t() @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.detach() @ v, dim=0, eps=self.eps))
        return weight / u.clone().dot(matrix @ v.clone())


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight (`weight_orig`) by its largest singular value, estimated by power iteration.

    >>> import gradus
    >>> layer = gradus.nn.utils.spectral_norm(gradus.nn.Linear(4, 3))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    hook = _SpectralNorm(module, name)
    hook.n_power_iterations, hook.eps = n_power_iterations, eps
    hook.dim = dim if dim is not None else 1 if isinstance(module, _ConvTransposeNd) else 0
    weight = module._parameters[name]
    height = weight.shape[hook.dim]
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    for part, n in (("_u", height), ("_v", weight.numel() // height)):
        module.register_buffer(name + part, F.normalize(randn(n, dtype=weight.dtype), dim=0, eps=eps))
    return hook.install(module)


def remove_spectral_norm(module, name="weight"):
    """Makes the weight, as it is now, a parameter again.

    >>> import gradus
    >>> layer = gradus.nn.utils.remove_spectral_norm(gradus.nn.utils.spectral_norm(gradus.nn.Linear(4, 3)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    return _removed(module, name, _SpectralNorm, ("_orig", "_u", "_v"))
