//! Translates error messages of the core into the names that Python users know.
//! Takes a message; returns it with Rust methods and dtypes replaced. `error.rs` chooses the exception class.

use pyo3::prelude::*;

/// Phrases of the core, and their replacements in Python.
const WORDS: &[(&str, &str)] = &[
    ("; use `select`", "; use `where`"),
    (
        "return it, or use `select` instead of branching on it",
        "return it, or use `where` or `cond` instead of branching on it",
    ),
    ("with_at: ", "index_put: "),
    ("do it inside `no_grad` or on `data_()`", "do it inside `no_grad()` or on `.data`"),
    (
        "needs a seed of that type: `backward_with(&seed)`",
        "needs a gradient of that type: `backward(gradient)`",
    ),
    ("a seed of type", "a gradient of type"),
    ("and at most one REST", "and at most one `...`"),
    ("take `real()` or `abs()` of it", "take `.real` or `.abs()` of it"),
    ("no leaf made with `requires_grad_` was used", "no tensor with `requires_grad=True` was used"),
    ("only a leaf (`requires_grad_`) keeps", "only a leaf with `requires_grad=True` keeps"),
    ("acts on a cell (`cell`, `requires_grad_`)", "acts on a leaf with `requires_grad=True`"),
    (
        "`requires_grad` can be set on a cell only (`cell`, `requires_grad_`)",
        "`requires_grad` can be set on a leaf only",
    ),
    ("a tensor of `wrt` does", "one of `inputs` does"),
    ("reaches `wrt[", "reaches `inputs["),
    ("or set `allow_unused` to get", "or set `allow_unused=True` to get"),
    ("for padding `Same`", "for `padding=\"same\"`"),
    ("need `enable_gqa`)", "need `enable_gqa=True`)"),
    ("`min` is the conjunction of booleans", "`all` is the conjunction of booleans"),
    ("a cell or outer value", "a tensor from outside"),
    ("writes a cell", "changes a tensor from outside"),
    ("a cell of type", "a tensor from outside of type"),
    ("a cell", "a tensor from outside"),
    (": select: ", ": where: "),
];

/// Dtypes as the core prints them, and their names in Python.
const DTYPES: &[(&str, &str)] = &[
    ("bf16", "bfloat16"),
    ("f16", "float16"),
    ("f32", "float32"),
    ("f64", "float64"),
    ("c64", "complex64"),
    ("c128", "complex128"),
    ("i8", "int8"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("u8", "uint8"),
];

/// Translates a message.
#[pyfunction]
pub(crate) fn _in_python_words(text: &str) -> String {
    in_python(text)
}

/// Translates a message.
pub(crate) fn in_python(text: &str) -> String {
    let mut text = match text.strip_prefix("select: ") {
        Some(rest) => format!("where: {rest}"),
        None => text.to_string(),
    };
    for (own, theirs) in WORDS {
        if text.contains(own) {
            text = text.replace(own, theirs);
        }
    }
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(word) {
        let (before, from) = rest.split_at(start);
        let (found, after) = from.split_at(from.find(|c| !word(c)).unwrap_or(from.len()));
        out.push_str(before);
        out.push_str(DTYPES.iter().find(|(own, _)| *own == found).map_or(found, |(_, theirs)| theirs));
        rest = after;
    }
    out + rest
}
