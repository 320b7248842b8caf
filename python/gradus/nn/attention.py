"""Multi-head attention, and PyTorch's selection of attention backends, which has no effect here."""

import contextlib
import enum

from ..core import empty
from . import functional as F
from . import init
from .linear import Linear
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, with PyTorch's parameters: one matrix for queries, keys and values together.

    If keys and values have other sizes than queries (`kdim`, `vdim`), each has its own matrix.

    >>> import gradus
    >>> attention = gradus.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = gradus.randn(3, 5, 8)
    >>> y, weights = attention(x, x, x)
    >>> tuple(y.shape), tuple(weights.shape)
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        kind = {"device": device, "dtype": dtype}

        def matrix(*shape):
            return Parameter(empty(shape, **kind))

        together = self.kdim == embed_dim and self.vdim == embed_dim
        self.register_parameter("in_proj_weight", matrix(3 * embed_dim, embed_dim) if together else None)
        self.register_parameter("q_proj_weight", None if together else matrix(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if together else matrix(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if together else matrix(embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", matrix(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, **kind)
        self.register_parameter("bias_k", matrix(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", matrix(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                init.xavier_normal_(getattr(self, name))

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        y, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights,
            attn_mask, self.in_proj_weight is None, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return (y.transpose(0, 1) if swap else y), weights


class SDPBackend(enum.IntEnum):
    """PyTorch's attention backends.

    >>> from gradus.nn.attention import SDPBackend
    >>> SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context that selects attention backends in PyTorch; has no effect here.

    >>> import gradus
    >>> from gradus.nn.attention import SDPBackend, sdpa_kernel
    >>> x = gradus.ones(1, 1, 2, 4)
    >>> with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
    ...     tuple(gradus.functional.scaled_dot_product_attention(x, x, x).shape)
    (1, 1, 2, 4)
    """
    yield
