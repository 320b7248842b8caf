"""Attention with several heads."""

import math

from ..core import bool as bool_, cat, empty, zeros, zeros_like
from . import functional as F
from . import init
from .linear import Linear
from .module import Module
from .parameter import Parameter


def _additive(mask, dtype):
    """A mask as numbers to add: where a truth value forbids, minus infinity."""
    if mask is None or mask.dtype != bool_:
        return mask
    return zeros(tuple(mask.shape), dtype=dtype).masked_fill(mask, -math.inf)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads, with PyTorch's parameters: one matrix for queries, keys and values together.

    Where keys and values are narrower or wider than queries (`kdim`, `vdim`), a matrix for each.

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
            raise ValueError(f"embed_dim {embed_dim} must be divisible by num_heads {num_heads}")
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

    def _project(self, query, key, value):
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3, 0)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3, 0)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]

    def _heads(self, x):
        n, length, _ = x.shape
        return x.reshape(n, length, self.num_heads, self.head_dim).transpose(1, 2)

    def _mask(self, n, queries, keys, attn_mask, key_padding_mask, dtype):
        """One mask of `(N or 1, heads or 1, queries or 1, keys)` to add to the scores, or none."""
        total = None
        attn_mask, key_padding_mask = _additive(attn_mask, dtype), _additive(key_padding_mask, dtype)
        if attn_mask is not None:
            if attn_mask.dim() == 2:
                wanted, total = (queries, keys), attn_mask.unsqueeze(0).unsqueeze(0)
            else:
                wanted, total = (n * self.num_heads, queries, keys), attn_mask
            if tuple(attn_mask.shape) != wanted:
                raise RuntimeError(f"The shape of the attn_mask is {tuple(attn_mask.shape)}, but should be {wanted}.")
            if attn_mask.dim() == 3:
                total = attn_mask.reshape(n, self.num_heads, queries, keys)
        if key_padding_mask is not None:
            if tuple(key_padding_mask.shape) != (n, keys):
                raise RuntimeError(f"The shape of the key_padding_mask is {tuple(key_padding_mask.shape)}, but should be {(n, keys)}.")
            padding = key_padding_mask.reshape(n, 1, 1, keys)
            total = padding if total is None else total + padding
        return total

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        alone = query.dim() == 2
        if alone:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = self._project(query, key, value)
        n, queries, keys = q.shape[0], q.shape[1], k.shape[1]
        mask = self._mask(n, queries, keys, attn_mask, key_padding_mask, q.dtype)
        added = 0
        if self.bias_k is not None:
            k = cat([k, self.bias_k.expand(n, 1, self.embed_dim)], 1)
            v = cat([v, self.bias_v.expand(n, 1, self.embed_dim)], 1)
            added += 1
        q, k, v = self._heads(q), self._heads(k), self._heads(v)
        if self.add_zero_attn:
            k, v = (cat([x, zeros_like(x[:, :, :1])], 2) for x in (k, v))
            added += 1
        if mask is not None and added:
            mask = F.pad(mask, (0, added))
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)
            weights = F.softmax(scores if mask is None else scores + mask, dim=-1)
            weights = F.dropout(weights, dropout) if dropout else weights
            y = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        y = self.out_proj(y.transpose(1, 2).reshape(n, queries, self.embed_dim))
        if alone:
            return y.squeeze(0), None if weights is None else weights.squeeze(0)
        return (y if self.batch_first else y.transpose(0, 1)), weights
