//! Reductions, cumulative ops, contractions.

use super::super::case::Args;
use gradus::Tensor;

/// Applies `f` along the axis `dim`, or along all elements as one axis. With `keepdim`, keeps the axis with
/// extent 1.
fn along(x: &Tensor, args: &Args, f: impl Fn(&Tensor, isize) -> Tensor) -> Tensor {
    match args.int("dim") {
        None => f(&x.reshape([-1]), 0),
        Some(dim) if args.flag("keepdim") => f(x, dim as isize).unsqueeze(dim as isize),
        Some(dim) => f(x, dim as isize),
    }
}

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Tensor> {
    let (dims, keep) = (args.isizes("dims"), args.flag("keepdim"));
    let axis = args.int("dim").unwrap_or(0) as isize;
    let first = x.first()?;
    Some(match (name, keep) {
        ("sum", false) => first.sum(dims),
        ("sum", true) => first.sum_keepdim(dims),
        ("prod", false) => first.prod(dims),
        ("prod", true) => first.prod_keepdim(dims),
        ("amax", false) => first.max(dims),
        ("amax", true) => first.max_keepdim(dims),
        ("amin", false) => first.min(dims),
        ("amin", true) => first.min_keepdim(dims),
        ("any", false) => first.any(dims),
        ("any", true) => first.any_keepdim(dims),
        ("all", false) => first.all(dims),
        ("all", true) => first.all_keepdim(dims),
        ("argmax", _) => along(first, args, |x, axis| x.argmax(axis)),
        ("argmin", _) => along(first, args, |x, axis| x.argmin(axis)),
        ("cumsum", _) => first.cumsum(axis),
        ("cumprod", _) => first.cumprod(axis),
        ("cummax", _) => first.cummax(axis),
        ("cummin", _) => first.cummin(axis),
        ("logcumsumexp", _) => first.logcumsumexp(axis),
        ("matmul", _) => first.matmul(x.get(1)?),
        ("einsum", _) => Tensor::einsum(args.str("equation")?, &x.iter().collect::<Vec<_>>()),
        _ => return None,
    })
}
