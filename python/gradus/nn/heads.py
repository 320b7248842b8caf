"""Multi-head attention as a function of all its parameters."""

import math

from ..core import bool as bool_, cat, zeros, zeros_like


def _additive(mask, dtype):
    """Converts a mask to numbers to add: minus infinity where a boolean mask is true."""
    if mask is None or mask.dtype != bool_:
        return mask
    return zeros(tuple(mask.shape), dtype=dtype).masked_fill(mask, -math.inf)


def _mask(n, heads, queries, keys, attn_mask, key_padding_mask, dtype):
    """Combines masks to one of `(N or 1, heads or 1, queries or 1, keys)` to add to the scores, or none."""
    total = None
    attn_mask, key_padding_mask = _additive(attn_mask, dtype), _additive(key_padding_mask, dtype)
    if attn_mask is not None:
        if attn_mask.dim() == 2:
            wanted, total = (queries, keys), attn_mask.unsqueeze(0).unsqueeze(0)
        else:
            wanted, total = (n * heads, queries, keys), attn_mask
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(f"The shape of the attn_mask is {tuple(attn_mask.shape)}, but should be {wanted}.")
        if attn_mask.dim() == 3:
            total = attn_mask.reshape(n, heads, queries, keys)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (n, keys):
            raise RuntimeError(f"The shape of the key_padding_mask is {tuple(key_padding_mask.shape)}, but should be {(n, keys)}.")
        padding = key_padding_mask.reshape(n, 1, 1, keys)
        total = padding if total is None else total + padding
    return total


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
                                 is_causal=False):
    """Attention of queries `(L, N, E)` with all of `nn.MultiheadAttention`'s parameters; without `N` for one sample.

    >>> import gradus
    >>> x, wide, square = gradus.ones(3, 1, 2), gradus.ones(6, 2), gradus.eye(2)
    >>> y, weights = gradus.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, wide, None, None, None, False, 0.0, square, None)
    >>> y[0], tuple(weights.shape)
    (tensor([[2., 2.]]), (1, 3, 3))
    """
    from . import functional as F

    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    alone = query.dim() == 2
    if alone:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    embed_dim = query.shape[-1]
    if embed_dim != embed_dim_to_check:
        raise RuntimeError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3, 0)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3, 0)
    q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    head_dim = embed_dim // num_heads
    n, queries = q.shape[0], q.shape[1]
    if (static_k is not None or static_v is not None) and bias_k is not None:
        raise AssertionError("bias cannot be added to static key or value.")

    def heads(x, static, name):
        """`(n, heads, keys, features)` of the projection, or of the static tensor that the caller passes instead."""
        if static is None:
            return x.reshape(n, x.shape[1], num_heads, head_dim).transpose(1, 2)
        if static.dim() != 3 or static.shape[0] != n * num_heads or static.shape[2] != head_dim:
            raise AssertionError(f"expecting {name} of shape ({n * num_heads}, keys, {head_dim}), but got {tuple(static.shape)}")
        return static.reshape(n, num_heads, static.shape[1], head_dim)

    keys = k.shape[1] if static_k is None else static_k.shape[1]
    mask = _mask(n, num_heads, queries, keys, attn_mask, key_padding_mask, q.dtype)
    added = 0
    if bias_k is not None:
        k, v = (cat([x, bias.expand(n, 1, embed_dim)], 1) for x, bias in ((k, bias_k), (v, bias_v)))
        added += 1
    q, k, v = heads(q, None, ""), heads(k, static_k, "static_k"), heads(v, static_v, "static_v")
    if add_zero_attn:
        k, v = (cat([x, zeros_like(x[:, :, :1])], 2) for x in (k, v))
        added += 1
    if mask is not None and added:
        mask = F.pad(mask, (0, added))
    dropout, shown = dropout_p if training else 0.0, None
    if need_weights:
        scores = (q / math.sqrt(head_dim)) @ k.transpose(-2, -1)
        shown = F.softmax(scores if mask is None else scores + mask, dim=-1)
        shown = F.dropout(shown, dropout) if dropout else shown
        y = shown @ v
        shown = shown.mean(1) if average_attn_weights else shown
    else:
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
    y = F.linear(y.transpose(1, 2).reshape(n, queries, embed_dim), out_proj_weight, out_proj_bias).transpose(0, 1)
    if alone:
        return y.squeeze(1), None if shown is None else shown.squeeze(0)
    return y, shown
