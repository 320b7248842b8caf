"""Settings of products on GPUs, which are not used here."""

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False)


def is_built():
    """Whether this package was built for such GPUs: no."""
    return False
