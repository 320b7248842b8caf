//! Functions that create, join, slice and index tensors, and functions of an index itself.

use crate::builtin::param::{
    Is, Key, Occurs, Params, Takes, any, flag, ids, needed, number, optional, tensor, whole, word,
};
use crate::builtin::table::{ANY, NONE, X, builtin, positional};
use crate::builtin::{Builtin, Derivative, Settings, Shape};
use crate::syntax::ast::Name;
use crate::syntax::limit::bounded;
use gradus_ir::{DType, Error};
use gradus_tensor::{Ix, Reduce, Tensor};
use std::sync::Arc;

const MANY: Params = &[any("x").many(Occurs::Many)];
const AS_IS: Params = &[tensor("x").taking(Takes::AsIs).many(Occurs::Many)];
const PUT: Params = &[any("x"), ids("ids"), any("y")];
const N: &[Key] = &[needed("n", Is::Whole)];
const AXIS: Key = optional("axis", Is::Names);

pub(crate) static TABLE: &[Builtin] = &[
    builtin(Shape::Gather, "gather", &[any("x"), ids("ids")], &[], gather),
    builtin(Shape::Scatter, "scatter", PUT, &[], |a, _| a[0].scatter(1, &behind(a[1], a[0]), a[2])),
    builtin(Shape::Scatter, "scatter_add", PUT, &[], |a, _| a[0].scatter_add(1, &behind(a[1], a[0]), a[2])),
    builtin(
        Shape::Scatter,
        "scatter_reduce",
        PUT,
        &[word("reduce", &["sum", "prod", "mean", "amax", "amin"]), flag("include_self", true)],
        |a, s| {
            let reduce = match s.word("reduce") {
                "prod" => Reduce::Prod,
                "mean" => Reduce::Mean,
                "amax" => Reduce::Amax,
                "amin" => Reduce::Amin,
                _ => Reduce::Sum,
            };
            a[0].scatter_reduce(1, &behind(a[1], a[0]), a[2], reduce, s.flag("include_self"))
        },
    ),
    builtin(Shape::Grow, "stack", MANY, &[], |a, _| Tensor::stack(a, -1)),
    positional("concat", MANY, &[AXIS], |a, s| match a {
        // One argument: its last two axes become one.
        [one] if one.rank() >= 2 => one.flatten(-2, -1),
        _ => Tensor::cat(a, s.axis()),
    }),
    builtin(
        Shape::Grow,
        "one_hot",
        &[tensor("x").taking(Takes::AsIs)],
        &[needed("classes", Is::Whole)],
        |a, s| {
            let n = s.whole("classes");
            bounded(&[a[0].numel(), n], || a[0].to_dtype(DType::I64).one_hot(n).to_dtype(s.float))
        },
    )
    .with(Derivative::None),
    builtin(Shape::Part, "slice", ANY, &[needed("at", Is::Text)], slice),
    positional("windows", ANY, &[needed("size", Is::Whole), whole("step", 1), AXIS], |a, s| {
        a[0].unfold(s.axis(), s.whole("size"), s.whole("step"))
    }),
    positional("reshape", ANY, &[needed("shape", Is::Wholes)], |a, s| {
        a[0].reshape(s.wholes("shape").unwrap_or_default())
    }),
    positional("flatten", ANY, &[], |a, _| a[0].reshape([-1])),
    positional("causal_mask", NONE, N, |_, s| {
        let n = s.whole("n");
        bounded(&[n, n], || Tensor::ones([n, n]).to_dtype(s.float).tril(0))
    })
    .with(Derivative::Stop),
    positional("eye", NONE, N, |_, s| {
        let n = s.whole("n");
        bounded(&[n, n], || Tensor::eye(n).to_dtype(s.float))
    })
    .with(Derivative::Stop),
    positional("arange", NONE, N, |_, s| {
        let n = s.whole("n");
        bounded(&[n], || Tensor::iota(s.float, [n], 0))
    })
    .with(Derivative::Stop),
    positional(
        "linspace",
        NONE,
        &[number("start", 0.0), number("stop", 1.0), needed("n", Is::Whole)],
        |_, s| {
            let n = s.whole("n");
            let line = || Tensor::linspace(s.number("start"), s.number("stop"), n);
            bounded(&[n], || line().to_dtype(s.float))
        },
    )
    .with(Derivative::Stop),
    positional("graph", AS_IS, &[needed("text", Is::Text)], graph),
];

const fn of_index(name: &'static str, apply: fn(&[&Tensor], &Settings) -> Tensor) -> Builtin {
    builtin(Shape::OfIndex, name, X, &[AXIS], apply).with(Derivative::Stop)
}

pub(crate) static OF_INDEX: &[Builtin] = &[
    of_index("even", |a, _| a[0].fmod(2.0).eq(0.0).to_dtype(a[0].dtype())),
    of_index("odd", |a, _| a[0].fmod(2.0).eq(1.0).to_dtype(a[0].dtype())),
    of_index("index", |a, _| a[0].clone()),
    of_index("size", |a, _| Tensor::full([], a[0].dim(0) as f64).to_dtype(a[0].dtype())),
];

/// Repeats positions `[s, k]` along the last axis of `x`, to `[s, k, r]`.
fn behind(ids: &Tensor, x: &Tensor) -> Tensor {
    ids.unsqueeze(-1).expand([ids.dim(0), ids.dim(1), x.dim(2)])
}

/// Reads `[s, v, r]` at the positions `[s, k]`.
fn gather(a: &[&Tensor], _: &Settings) -> Tensor {
    match a[0].dim(0) {
        1 => a[0].index_select(1, &a[1].reshape([-1])),
        _ => a[0].gather(1, &behind(a[1], a[0])),
    }
}

/// Slices a tensor by indices and ranges written as text: `slice(A[i, j], at="0, 1:3")`.
fn slice(a: &[&Tensor], s: &Settings) -> Tensor {
    match places(&slice_at(s.word("at"), a[0].rank())) {
        Some(places) => a[0].at(places),
        None => Tensor::failed(Error::value("at", "must contain positions and ranges: \"0, 1:3, :\"")),
    }
}

/// Adapts the text to a tensor of this rank. `*` means all of the time axis; inside a time step there is no such axis,
/// and the entry is dropped.
pub(crate) fn slice_at(text: &str, rank: usize) -> String {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let laid_out = parts.len() == rank;
    let here = parts.into_iter().filter(|t| laid_out || *t != "*").map(|t| if t == "*" { ":" } else { t });
    here.collect::<Vec<_>>().join(", ")
}

/// Returns the names of the remaining axes: a range's own name or text, or the tensor's name for an axis that
/// is kept in full.
pub(crate) fn slice_axes(text: &str, axes: &[Name]) -> Vec<Name> {
    let left = |(i, t): (usize, &str)| match t.trim() {
        ":" => axes.get(i).cloned(),
        t if !t.contains(':') => None,
        t => Some(t.split_once('=').map_or(t, |(name, _)| name).into()),
    };
    text.split(',').enumerate().filter_map(left).collect()
}

fn places(text: &str) -> Option<Vec<Ix>> {
    let bound = |t: &str| match t.trim() {
        "" => Some(None),
        t => t.parse::<isize>().ok().map(Some),
    };
    let place = |t: &str| {
        let t = t.split_once('=').map_or(t, |(_, range)| range);
        let parts: Vec<&str> = t.split(':').collect();
        match parts[..] {
            [one] => one.trim().parse().ok().map(Ix::At),
            [from, to] => Some(Ix::Range(bound(from)?, bound(to)?, 1)),
            [from, to, by] => Some(Ix::Range(bound(from)?, bound(to)?, bound(by)?.unwrap_or(1))),
            _ => None,
        }
    };
    text.split(',').map(place).collect()
}

/// Applies a graph that is given as text, with its quotes replaced. Raised programs use it for ops that the language
/// cannot express otherwise.
fn graph(a: &[&Tensor], s: &Settings) -> Tensor {
    let apply = || {
        crate::rules::register();
        let graph = Arc::new(gradus_ir::graph::parse(&s.word("text").replace('`', "\""))?);
        let types = graph.input_avals();
        let given: Vec<Tensor> = a.iter().zip(&types).map(|(t, aval)| t.to_dtype(aval.dtype)).collect();
        let outs = gradus_tensor::call("graph", &graph, &given.iter().collect::<Vec<_>>())?;
        outs.into_iter().next().ok_or_else(|| Error::value("the graph", "must have an output"))
    };
    apply().unwrap_or_else(Tensor::failed)
}
