//! Functions of the core that the language does not have, with their replacements. Used in error messages for unknown
//! functions and in the language reference. A test fails if a function of the core is neither here nor in the table.

/// Names of functions of the core, and what to write instead.
pub static ABSENT: &[(&[&str], &str)] = &[
    (
        &["permute", "movedim", "swapaxes", "t", "adjoint"],
        "order the indices on the left side: Y[j,i] = X[i,j]",
    ),
    (
        &["expand", "expand_as", "broadcast", "unsqueeze", "squeeze"],
        "tensors are matched by index names, and repeated along indices that they lack",
    ),
    (
        &[
            "dot",
            "dot_labels",
            "mm",
            "mv",
            "bmm",
            "einsum",
            "einsum_within",
            "tensordot",
            "linear",
            "bilinear",
            "addmm",
        ],
        "a product is an equation: Y[b,h] = X[b,d] W[h,d] + B[h]",
    ),
    (
        &["at", "narrow", "split", "split_with_sizes", "chunk", "unbind"],
        "positions and ranges are indices: X[i,0], X[i,0:2]",
    ),
    (&["with_at", "assign_", "patch_at", "write"], "write an equation for the part: Y[0] = 5"),
    (&["index_select", "take", "take_along_dim"], "gather(x, ids, axis=)"),
    (
        &["index_add", "index_copy", "scatter_with"],
        "scatter(x, ids, y, axis=), scatter_add or scatter_reduce",
    ),
    (
        &["masked_select", "nonzero"],
        "sizes must not depend on values: where(condition, x, 0) keeps the others as 0",
    ),
    (
        &["full", "full_like", "full_of", "ones", "zeros", "zeros_of", "from_slice", "constant"],
        "write the number, which is repeated along all indices, or const([…])",
    ),
    (&["eye_of", "linspace_of"], "write eye or linspace: numbers are of the program's type"),
    (&["iota", "meshgrid"], "index(i) is the position along an index"),
    (&["mean_keepdim", "var_keepdim", "std_keepdim"], "mean(x, axis=, keepdims=true) and the like"),
    (&["var_mean", "std_mean"], "var(x, axis=) and mean(x, axis=), an equation each"),
    (&["clamp_min", "clamp_max"], "clamp(x, min=), clamp(x, max=), or maximum(x, y), minimum(x, y)"),
    (&["allclose"], "all(is_close(x, y))"),
    (&["all_finite"], "all(is_finite(x))"),
    (&["logical_and", "logical_or", "logical_not", "logical_xor"], "a && b, a || b, !a, a != b"),
    (&["div_trunc"], "trunc(x / y)"),
    (&["re", "im"], "real(z), imag(z)"),
    (&["angle", "polar"], "atan2(imag(z), real(z)); complex(r cos(a), r sin(a))"),
    (&["fftn", "fft2", "ifftn", "ifft2"], "fft(x, axis=[i, j]), ifft(x, imag, axis=[i, j])"),
    (&["rfftn", "irfftn"], "rfft along one axis, then fft along the others"),
    (&["interpolate_by"], "interpolate(x, size=[…]) with the sizes that the factors give"),
    (&["rot90"], "flip(x, axis=) with the indices swapped on the left side"),
    (&["repeat"], "tile(x, repeats=, axis=)"),
    (&["reshape_as", "unflatten"], "reshape(x, shape=[…])"),
    (&["tensor_unfold"], "windows(x, size=, step=, axis=)"),
    (&["pad_zeros"], "pad(x, padding=[…])"),
    (&["rope_at", "rope_with"], "rope(x, pos)"),
    (&["softmax_seen"], "masked_softmax(x, mask)"),
    (
        &["bitcast", "dequantize", "quantized_dot", "quantized_grouped_dot"],
        "programs have numbers, not bytes: dequantise weights before passing them",
    ),
    (&["grouped_dot"], "gather(w, ids, axis=0) as G[n,o,i], then Y[n,o] = G[n,o,i] X[n,i]"),
    (
        &["cache_write", "cached_attention"],
        "attention(q, k, v) over all positions, or virtual time, H[*t+1] = …",
    ),
    (&["qr_reflected"], "qr(x, reflected=true)"),
    (&["cumulate"], "cumsum, cumprod, cummax, cummin or logcumsumexp"),
    (
        &["conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool"],
        "append the number of axes: conv2d, max_pool1d",
    ),
    (&["max_pool_with_indices"], "max_pool2d(x, part=\"indices\")"),
    (
        &["dropout", "rand", "randn", "randint", "multinomial", "sample_tokens", "sample_tokens_at"],
        "a program has the same values in every run: pass random numbers as an input, or compute them from a state by random_bits",
    ),
    (&["scan", "while", "while_loop"], "loops are virtual time, H[*t+1] = …, or a fixpoint"),
    (&["cond", "switch"], "c ? x : y, or case { c -> x, default -> y }"),
    (&["call"], "fn f(a[i]) -> y[i] { … } is called as f(X[i])"),
    (&["contiguous", "barrier"], "a program does not determine how values are stored"),
];

/// Returns the replacement for a function of the core that is not a builtin.
pub(crate) fn instead(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    ABSENT.iter().find(|(names, _)| names.contains(&lower.as_str())).map(|(_, why)| *why)
}
