"""Settings of products and attention on GPUs. They are stored and have no effect here."""

import contextlib
from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False)

#: Which kernels attention may use in PyTorch.
_kernels = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def is_built():
    """Returns False: this package is not built for CUDA."""
    return False


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context that selects attention kernels in PyTorch; has no effect here.

    >>> import gradus
    >>> x = gradus.ones(1, 1, 2, 4)
    >>> with gradus.backends.cuda.sdp_kernel(enable_math=False):
    ...     tuple(gradus.nn.functional.scaled_dot_product_attention(x, x, x).shape)
    (1, 1, 2, 4)
    """
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _kernels.update(before)


def _switch(name):
    """Makes the functions that set and report whether attention may use a kernel."""

    def enable(enabled):
        _kernels[name] = bool(enabled)

    def enabled():
        return _kernels[name]

    enable.__name__, enable.__doc__ = f"enable_{name}_sdp", f"Sets whether attention may use the kernel `{name}`."
    enabled.__name__, enabled.__doc__ = f"{name}_sdp_enabled", f"Returns true if attention may use the kernel `{name}`."
    return enable, enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")
