//! Builtins that need more than a line, and those that see axes by position.

use super::table::positional;
use super::{Builtin, Derivative, Settings, Shape};
use crate::ast::Name;
use crate::limit::bounded;
use gradus_ir::{DType, Error};
use gradus_tensor::func::conv::{ConvOptions, ConvTransposeOptions, Padding};
use gradus_tensor::func::pool::{AvgPoolOptions, MaxPoolOptions};
use gradus_tensor::func::{conv, pool};
use gradus_tensor::{AttentionOptions, Ix, Tensor};
use std::sync::Arc;

/// `1 / (1 + exp(-x / T))`; without a temperature, or at one that is 0 for all purposes, the hard step.
pub(super) fn sigmoid_at(x: &Tensor, t: Option<&Tensor>, outside: Option<f64>) -> Tensor {
    let hard = || x.gt(0.0).to_dtype(x.dtype());
    match (t, outside) {
        (None, None) => hard(),
        (None, Some(t)) if t.abs() <= 1e-9 => hard(),
        (None, Some(t)) => (x / t).sigmoid(),
        (Some(t), _) => {
            let cold = t.abs().le(1e-9);
            let safe = cold.select(&t.ones_like(), t);
            cold.select(&hard(), &(x / &safe).sigmoid())
        }
    }
}

/// Softmax over what the mask keeps; 0 elsewhere, and everywhere in a row without anything kept.
pub(super) fn masked_softmax(x: &Tensor, mask: &Tensor, s: &Settings) -> Tensor {
    let keep = mask.to_dtype(DType::Bool).expand_as(x);
    let fill = s.optional("fill").unwrap_or(f64::NEG_INFINITY);
    let shown = keep.select(x, &x.full_like(fill));
    let most = shown.max_keepdim([s.axis()]).stop_gradient();
    let most = most.is_finite().select(&most, &most.zeros_like());
    let e = keep.select(&(&shown - &most).exp(), &x.zeros_like());
    let total = e.sum_keepdim([s.axis()]);
    &e / &total.eq(0.0).select(&total.ones_like(), &total)
}

/// Rotary positions along the features' axis: given ones, or those of the axis before it.
pub(super) fn rope(a: &[&Tensor], s: &Settings) -> Tensor {
    let x = a[0].movedim(s.axis(), -1);
    let base = s.number("base", 10000.0);
    let turned = match a.get(1) {
        // Brought to the axes of x, the positions repeat along the features.
        Some(pos) => x.rope_at(&pos.movedim(s.axis(), -1).narrow(-1, 0, 1).squeeze([-1]), base),
        None => x.rope(base, 0),
    };
    turned.movedim(-1, s.axis())
}

/// `case(c1, v1, c2, v2, …, default)`: the last pair whose condition holds.
pub(super) fn case(a: &[&Tensor], _: &Settings) -> Tensor {
    let (pairs, otherwise) = if a.len() % 2 == 1 { (&a[..a.len() - 1], a.last()) } else { (a, None) };
    let zero = || pairs.get(1).map_or_else(|| Tensor::full([], 0.0), |v| v.zeros_like());
    let start = otherwise.map_or_else(zero, |d| (*d).clone());
    pairs.chunks(2).fold(start, |below, pair| pair[0].to_dtype(DType::Bool).select(pair[1], &below))
}

/// The part of a tensor at places and ranges written as text: `slice(A[i, j], at="0, 1:3")`.
pub(super) fn slice(a: &[&Tensor], s: &Settings) -> Tensor {
    match places(s.word("at")) {
        Some(places) => a[0].at(places),
        None => Tensor::failed(Error::value("at", "must hold places and ranges: \"0, 1:3, :\"")),
    }
}

/// The names of the axes that are left: a range's own name or text, the tensor's where all of an axis stays.
pub(super) fn slice_axes(text: &str, axes: &[Name]) -> Vec<Name> {
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

/// Truncated higher-order singular value decomposition, put together again, minus a threshold, as 0 and 1.
pub(super) fn tucker_dense(a: &[&Tensor], s: &Settings) -> Tensor {
    let mut out = a[0].clone();
    for axis in 0..out.rank() {
        let n = out.dim(axis as isize);
        let default = (n as f64).sqrt().ceil() as usize;
        let rank =
            s.wholes("rank").and_then(|r| r.get(axis).or(r.first()).copied()).unwrap_or(default).min(n);
        let moved = out.movedim(axis as isize, 0);
        let flat = moved.reshape([n as i64, -1]);
        let (u, _, _) = flat.svd();
        let u = u.narrow(1, 0, rank.min(u.dim(1)));
        out = u.matmul(&u.t().matmul(&flat)).reshape_as(&moved).movedim(0, axis as isize);
    }
    out.gt(s.number("threshold", 0.5)).to_dtype(a[0].dtype())
}

/// A graph written as text, its quotes turned, applied to tensors: what raised programs are made of where the language
/// has no words of its own.
pub(super) fn graph(a: &[&Tensor], s: &Settings) -> Tensor {
    let apply = || {
        let graph = Arc::new(gradus_ir::graph::parse(&s.word("text").replace('`', "\""))?);
        let types = graph.input_avals();
        let given: Vec<Tensor> = a.iter().zip(&types).map(|(t, aval)| t.to_dtype(aval.dtype)).collect();
        let outs = gradus_tensor::call("graph", &graph, &given.iter().collect::<Vec<_>>())?;
        outs.into_iter().next().ok_or_else(|| Error::value("the graph", "must have an output"))
    };
    apply().unwrap_or_else(Tensor::failed)
}

fn conv_options(s: &Settings) -> ConvOptions {
    let padding = if s.word("padding") == "same" { Padding::Same } else { s.each("padding", 0).into() };
    ConvOptions {
        stride: s.each("stride", 1),
        padding,
        dilation: s.each("dilation", 1),
        groups: s.whole("groups", 1),
    }
}

fn transpose_options(s: &Settings) -> ConvTransposeOptions {
    ConvTransposeOptions {
        stride: s.each("stride", 1),
        padding: s.each("padding", 0),
        output_padding: s.each("output_padding", 0),
        dilation: s.each("dilation", 1),
        groups: s.whole("groups", 1),
    }
}

fn max_pool_options(s: &Settings) -> MaxPoolOptions {
    MaxPoolOptions {
        stride: s.wholes("stride").map(Into::into),
        padding: s.each("padding", 0),
        dilation: s.each("dilation", 1),
        ..MaxPoolOptions::default()
    }
}

fn avg_pool_options(s: &Settings) -> AvgPoolOptions {
    AvgPoolOptions {
        stride: s.wholes("stride").map(Into::into),
        padding: s.each("padding", 0),
        ..AvgPoolOptions::default()
    }
}

const X: &[&str] = &["x"];
const NO: &[&str] = &[];
const CONV: &[&str] = &["stride", "padding", "dilation", "groups"];
const POOL: &[&str] = &["kernel", "stride", "padding", "dilation"];

fn part(name: &str, parts: [(&str, Tensor); 3]) -> Tensor {
    let [first, ..] = &parts;
    parts.iter().find(|p| p.0 == name).map_or_else(|| first.1.clone(), |p| p.1.clone())
}

pub(super) static ARRAYS: &[Builtin] = &[
    Builtin {
        name: "even",
        params: X,
        settings: &["axis"],
        shape: Shape::OfIndex,
        derivative: Derivative::Stop,
        apply: |a, _| a[0].fmod(2.0).eq(0.0).to_dtype(a[0].dtype()),
    },
    Builtin {
        name: "odd",
        params: X,
        settings: &["axis"],
        shape: Shape::OfIndex,
        derivative: Derivative::Stop,
        apply: |a, _| a[0].fmod(2.0).eq(1.0).to_dtype(a[0].dtype()),
    },
    Builtin {
        name: "index",
        params: X,
        settings: &["axis"],
        shape: Shape::OfIndex,
        derivative: Derivative::Stop,
        apply: |a, _| a[0].clone(),
    },
    Builtin {
        name: "size",
        params: X,
        settings: &["axis"],
        shape: Shape::OfIndex,
        derivative: Derivative::Stop,
        apply: |a, _| Tensor::full([], a[0].dim(0) as f64).to_dtype(a[0].dtype()),
    },
    positional("attention", &["q", "k", "v", "?mask"], &["scale", "causal"], |a, s| {
        let mask = a.get(3).map(|m| m.to_dtype(DType::Bool));
        let options = AttentionOptions {
            mask,
            causal: s.flag("causal", false),
            scale: s.optional("scale"),
            ..AttentionOptions::default()
        };
        gradus_tensor::scaled_dot_product_attention(a[0], a[1], a[2], &options)
    }),
    positional("causal_mask", NO, &["n"], |_, s| {
        let n = s.whole("n", 0);
        bounded(&[n, n], || Tensor::ones([n, n]).to_dtype(s.float).tril(0))
    })
    .with(Derivative::Stop),
    positional("eye", NO, &["n"], |_, s| {
        let n = s.whole("n", 0);
        bounded(&[n, n], || Tensor::eye(n).to_dtype(s.float))
    })
    .with(Derivative::Stop),
    positional("arange", NO, &["n"], |_, s| {
        let n = s.whole("n", 0);
        bounded(&[n], || Tensor::iota(s.float, [n], 0))
    })
    .with(Derivative::Stop),
    positional("linspace", NO, &["start", "stop", "n"], |_, s| {
        let n = s.whole("n", 2);
        let line = || Tensor::linspace(s.number("start", 0.0), s.number("stop", 1.0), n);
        bounded(&[n], || line().to_dtype(s.float))
    })
    .with(Derivative::Stop),
    Builtin {
        name: "slice",
        params: X,
        settings: &["at"],
        shape: Shape::Part,
        derivative: Derivative::Core,
        apply: slice,
    },
    positional("matmul", &["x", "y"], NO, |a, _| a[0].matmul(a[1])),
    positional("transpose", X, NO, |a, _| a[0].transpose(-2, -1)),
    positional("reshape", X, &["shape"], |a, s| a[0].reshape(s.wholes("shape").unwrap_or_default())),
    positional("flatten", X, NO, |a, _| a[0].reshape([-1])),
    positional("one_hot", X, &["classes"], |a, s| {
        let n = s.whole("classes", 1);
        bounded(&[a[0].numel(), n], || a[0].to_dtype(DType::I64).one_hot(n).to_dtype(s.float))
    })
    .with(Derivative::None),
    positional("embedding", &["ids", "table"], NO, |a, _| {
        gradus_tensor::embedding(&a[0].to_dtype(DType::I64), a[1], None)
    }),
    positional("conv1d", &["x", "w", "?bias"], CONV, |a, s| {
        conv::conv1d(a[0], a[1], a.get(2).copied(), &conv_options(s))
    }),
    positional("conv2d", &["x", "w", "?bias"], CONV, |a, s| {
        conv::conv2d(a[0], a[1], a.get(2).copied(), &conv_options(s))
    }),
    positional("conv3d", &["x", "w", "?bias"], CONV, |a, s| {
        conv::conv3d(a[0], a[1], a.get(2).copied(), &conv_options(s))
    }),
    positional(
        "conv_transpose2d",
        &["x", "w", "?bias"],
        &["stride", "padding", "output_padding", "dilation", "groups"],
        |a, s| conv::conv_transpose2d(a[0], a[1], a.get(2).copied(), &transpose_options(s)),
    ),
    positional("max_pool1d", X, POOL, |a, s| {
        pool::max_pool(a[0], &s.each("kernel", 2).0, &max_pool_options(s))
    }),
    positional("max_pool2d", X, POOL, |a, s| {
        gradus_tensor::func::pools::max_pool2d(a[0], s.each("kernel", 2), &max_pool_options(s))
    }),
    positional("avg_pool1d", X, POOL, |a, s| {
        pool::avg_pool(a[0], &s.each("kernel", 2).0, &avg_pool_options(s))
    }),
    positional("avg_pool2d", X, POOL, |a, s| {
        gradus_tensor::func::pools::avg_pool2d(a[0], s.each("kernel", 2), &avg_pool_options(s))
    }),
    positional("inv", X, NO, |a, _| a[0].inv()),
    positional("pinv", X, NO, |a, _| a[0].pinv()),
    positional("det", X, NO, |a, _| a[0].det()),
    positional("logdet", X, NO, |a, _| a[0].slogdet().1),
    positional("trace", X, NO, |a, _| a[0].trace()),
    positional("solve", &["x", "y"], NO, |a, _| a[0].solve(a[1])),
    positional("lstsq", &["x", "y"], NO, |a, _| a[0].lstsq(a[1])),
    positional("cholesky", X, NO, |a, _| a[0].cholesky()),
    positional("qr", X, &["part"], |a, s| {
        let (q, r) = a[0].qr();
        if s.word("part") == "r" { r } else { q }
    }),
    positional("svd", X, &["part"], |a, s| {
        let (u, values, v) = a[0].svd();
        part(s.word("part"), [("s", values), ("u", u), ("vh", v)])
    }),
    positional("eigh", X, &["part"], |a, s| {
        let (values, vectors) = a[0].eigh();
        if s.word("part") == "vectors" { vectors } else { values }
    }),
    positional("matrix_exp", X, NO, |a, _| a[0].matrix_exp()),
    positional("diag", X, NO, |a, _| a[0].diag(0)),
    positional("tril", X, &["diagonal"], |a, s| a[0].tril(s.integer("diagonal", 0) as isize)),
    positional("triu", X, &["diagonal"], |a, s| a[0].triu(s.integer("diagonal", 0) as isize)),
    positional("kron", &["x", "y"], NO, |a, _| a[0].kron(a[1])),
    positional("tucker_dense", X, &["rank", "threshold"], tucker_dense).with(Derivative::None),
    positional("graph", &["*x"], &["text"], graph),
    super::table::positional("concat", &["*x"], &["axis"], |a, s| match a {
        // One argument: its last two axes become one.
        [one] if one.rank() >= 2 => one.flatten(-2, -1),
        _ => Tensor::cat(a, s.axis()),
    }),
];
