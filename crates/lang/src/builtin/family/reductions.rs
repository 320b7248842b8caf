//! Reductions over axes.

use crate::builtin::param::{Key, flag, number};
use crate::builtin::table::{ANY, NO, X, XY, reduce, reduce_one};
use crate::builtin::{Builtin, Derivative};
use gradus_ir::DType;

const KEEP: Key = flag("keepdims", false);

pub(crate) static TABLE: &[Builtin] = &[
    reduce("sum", ANY, NO, |a, s| a[0].sum(s.axes())),
    reduce("mean", X, NO, |a, s| a[0].mean(s.axes())),
    reduce("max", ANY, NO, |a, s| a[0].max(s.axes())),
    reduce("min", ANY, NO, |a, s| a[0].min(s.axes())),
    reduce("prod", ANY, NO, |a, s| a[0].prod(s.axes())),
    reduce("var", X, &[number("correction", 1.0)], |a, s| a[0].var(s.axes(), s.number("correction"))),
    reduce("std", X, &[number("correction", 1.0)], |a, s| a[0].std(s.axes(), s.number("correction"))),
    reduce("norm", X, &[number("p", 2.0)], |a, s| a[0].norm(s.number("p"), s.axes(), false)).real(),
    reduce("logsumexp", X, NO, |a, s| a[0].logsumexp(s.axes(), false)),
    reduce("any", ANY, NO, |a, s| a[0].to_dtype(DType::Bool).any(s.axes())).with(Derivative::None),
    reduce("all", ANY, NO, |a, s| a[0].to_dtype(DType::Bool).all(s.axes())).with(Derivative::None),
    reduce_one("argmax", ANY, &[KEEP], |a, s| a[0].argmax(s.axis())).with(Derivative::None),
    reduce_one("argmin", ANY, &[KEEP], |a, s| a[0].argmin(s.axis())).with(Derivative::None),
    reduce_one("cosine_similarity", XY, &[number("eps", 1e-8), KEEP], |a, s| {
        gradus_tensor::cosine_similarity(a[0], a[1], s.axis(), s.number("eps"))
    }),
    reduce_one("pairwise_distance", XY, &[number("p", 2.0), number("eps", 1e-6), KEEP], |a, s| {
        let [x, y] = [a[0], a[1]].map(|t| t.movedim(s.axis(), -1));
        gradus_tensor::pairwise_distance(&x, &y, s.number("p"), s.number("eps"), false)
    }),
];
