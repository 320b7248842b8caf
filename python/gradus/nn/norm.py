"""Normalization layers: over the batch, over features, over groups of channels."""

from ..core import empty, int64, no_grad, tensor, zeros, ones
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .tables import with_shapes


def _reset(norm):
    """Sets scales to one and shifts to zero."""
    if norm.weight is not None:
        init.ones_(norm.weight)
    if norm.bias is not None:
        init.zeros_(norm.bias)


class _NormBase(Module):
    """Base of batch and instance norm, with running statistics."""

    _ranks = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
                 *, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones((num_features,), **kind)) if affine else None)
        self.register_parameter("bias", Parameter(zeros((num_features,), **kind)) if affine and bias else None)
        track = track_running_stats
        self.register_buffer("running_mean", zeros((num_features,), **kind) if track else None)
        self.register_buffer("running_var", ones((num_features,), **kind) if track else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track else None)

    @no_grad()
    def reset_running_stats(self):
        """Resets the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Resets running statistics and parameters."""
        self.reset_running_stats()
        _reset(self)

    def _check(self, input):
        if input.dim() not in self._ranks:
            wanted = " or ".join(f"{n}D" for n in self._ranks)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check(input)
        mean, var = self.running_mean, self.running_var
        if self.training and self.track_running_stats:
            with no_grad():
                self.num_batches_tracked.add_(1)
                if self.momentum is None:
                    self._average(input.detach())
                    mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, self.training or mean is None, self.momentum or 0.0, self.eps)

    def _average(self, input):
        """Updates the running statistics to the averages over all batches so far. The weight of this batch is a tensor, so that
        compiled functions compute it anew in each run."""
        axes = [0, *range(2, input.dim())]
        share = self.num_batches_tracked.to(input.dtype).reciprocal()
        for kept, new in ((self.running_mean, input.mean(axes)), (self.running_var, input.var(axes))):
            kept.add_((new.to(kept.dtype) - kept) * share.to(kept.dtype))


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes. There is one process, so this is batch norm for any number of axes.

    >>> import gradus
    >>> model = gradus.nn.SyncBatchNorm.convert_sync_batchnorm(gradus.nn.Sequential(gradus.nn.BatchNorm2d(3)))
    >>> model
    Sequential(
      (0): SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    )
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Replaces every batch norm in a module by a `SyncBatchNorm` with the same parameters and statistics."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            for register in ("_parameters", "_buffers"):
                for name, value in module.__dict__[register].items():
                    made.__dict__[register][name] = value
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check(input)
        alone = input.dim() == self._ranks[0]
        x = input.unsqueeze(0) if alone else input
        use_own = self.training or not self.track_running_stats
        y = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, use_own,
                            0.0 if self.momentum is None else self.momentum, self.eps)
        return y.squeeze(0) if alone else y


def _classes(base, name, what, ranks):
    for axes in (1, 2, 3):
        doc = (f"{what} of inputs with {' or '.join(str(r) for r in ranks[axes - 1])} axes, channels in the "
               f"{'second' if base is _BatchNorm else 'last but ' + str(axes)}.")
        shape = (4, 3) + (5,) * axes
        yield type(f"{name}{axes}d", (base,), {
            "__doc__": with_shapes(doc, f"{name}{axes}d", "3", f"gradus.randn{shape}", shape),
            "__module__": __name__,
            "_ranks": ranks[axes - 1],
        })


BatchNorm1d, BatchNorm2d, BatchNorm3d = _classes(_BatchNorm, "BatchNorm", "Batch normalisation", [(2, 3), (4,), (5,)])
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = _classes(
    _InstanceNorm, "InstanceNorm", "Instance normalisation", [(2, 3), (3, 4), (4, 5)])


class LayerNorm(Module):
    """Normalizes the last axes to mean zero and variance one.

    >>> import gradus
    >>> y = gradus.nn.LayerNorm(4)(gradus.arange(8.0).reshape(2, 4))
    >>> abs(y.mean().item()) < 1e-6
    True
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(self.normalized_shape, **kind)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(empty(self.normalized_shape, **kind)) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets scales to one and shifts to zero."""
        _reset(self)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Normalizes the last axes to mean square one; `eps=None` is the machine epsilon of the input.

    >>> import gradus
    >>> y = gradus.nn.RMSNorm(2)(gradus.tensor([3.0, 4.0]))
    >>> round((y * y).mean().item(), 4)
    1.0
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(ones(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)

    def reset_parameters(self):
        """Sets scales to one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalizes to mean zero and variance one each of `num_groups` groups of channels.

    >>> import gradus
    >>> y = gradus.nn.GroupNorm(2, 4)(gradus.randn(3, 4, 5))
    >>> abs(y[0, :2].mean().item()) < 1e-5
    True
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        kind = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones((num_channels,), **kind)) if affine else None)
        self.register_parameter("bias", Parameter(zeros((num_channels,), **kind)) if affine and bias else None)

    def reset_parameters(self):
        """Sets scales to one and shifts to zero."""
        _reset(self)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Divides every channel by a power of the mean square of adjacent channels.

    >>> import gradus
    >>> tuple(gradus.nn.LocalResponseNorm(3)(gradus.ones(2, 5, 4)).shape)
    (2, 5, 4)
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
