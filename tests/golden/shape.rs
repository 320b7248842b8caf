//! Movement, splitting and repetition, contractions by name, scattering with a reduction.

use super::case::Args;
use gradus::func::{Indexing, Reduce, addmm, bilinear, linear, meshgrid, tensordot};
use gradus::{Ix, Tensor};
use serde_json::Value;

fn all(x: &[Tensor]) -> Vec<&Tensor> {
    x.iter().collect()
}

/// Slices each axis; null means the same as an omitted bound in Python.
fn slice(args: &Args, x: &Tensor) -> Option<Tensor> {
    let list = |name: &str| args.get(name).and_then(Value::as_array);
    let at = |v: &Value| v.as_i64().map(|i| i as isize);
    let parts = list("start")?.iter().zip(list("stop")?).zip(list("step")?);
    let places = parts.map(|((a, b), s)| Ix::Range(at(a), at(b), at(s).unwrap_or(1)));
    Some(x.at(places.collect::<Vec<Ix>>()))
}

fn reduce(name: &str) -> Option<Reduce> {
    let ways = [Reduce::Sum, Reduce::Prod, Reduce::Mean, Reduce::Amax, Reduce::Amin];
    ways.into_iter().find(|r| r.name() == name)
}

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let axis = |name: &str| args.int(name).map(|a| a as isize);
    let count = |name: &str| args.int(name).map(|n| n as usize);
    let piece = |pieces: Vec<Tensor>| pieces.get(count("piece")?).cloned();
    let one = match name {
        "reshape" => x[0].reshape(args.ints("shape")?),
        "permute" => x[0].permute(args.isizes("dims")?),
        "transpose" => x[0].transpose(axis("dim0")?, axis("dim1")?),
        "movedim" => x[0].movedim(args.isizes("source")?, args.isizes("destination")?),
        "flip" => x[0].flip(args.isizes("dims")?),
        "roll" => x[0].roll(&args.ints("shifts")?, &args.isizes("dims")?),
        "rot90" => {
            let dims = args.isizes("dims")?;
            x[0].rot90(axis("k")?, dims[0], dims[1])
        }
        "cat" => Tensor::cat(&all(x), axis("dim")?),
        "stack" => Tensor::stack(&all(x), axis("dim")?),
        "split" => piece(match args.usizes("size") {
            Some(sizes) => x[0].split_with_sizes(&sizes, axis("dim")?),
            None => x[0].split(count("size")?, axis("dim")?),
        })?,
        "chunk" => piece(x[0].chunk(count("chunks")?, axis("dim")?))?,
        "expand" => x[0].expand(args.ints("shape")?),
        "repeat" => x[0].repeat(&args.usizes("repeats")?),
        "tile" => x[0].tile(&args.usizes("reps")?),
        "repeat_interleave" => match args.usizes("repeats") {
            Some(each) => x[0].repeat_interleave(each, axis("dim")),
            None => x[0].repeat_interleave(count("repeats")?, axis("dim")),
        },
        "narrow" => x[0].narrow(axis("dim")?, count("start")?, count("length")?),
        "squeeze" => x[0].squeeze(axis("dim")),
        "unsqueeze" => x[0].unsqueeze(axis("dim")?),
        "flatten" => x[0].flatten(axis("start_dim")?, axis("end_dim")?),
        "tril" => x[0].tril(axis("diagonal")?),
        "triu" => x[0].triu(axis("diagonal")?),
        "diag" => x[0].diag(axis("diagonal")?),
        "diagonal" => x[0].diagonal(axis("offset")?, axis("dim1")?, axis("dim2")?),
        "diag_embed" => x[0].diag_embed(axis("offset")?, axis("dim1")?, axis("dim2")?),
        "trace" => x[0].trace(),
        "meshgrid" => {
            let indexing = if args.str("indexing")? == "xy" { Indexing::Xy } else { Indexing::Ij };
            return Some(meshgrid(&all(x), indexing));
        }
        "tensor_unfold" => x[0].unfold(axis("dim")?, count("size")?, count("step")?),
        "slice" => slice(args, &x[0])?,
        "cross" => x[0].cross(&x[1], axis("dim")?),
        "kron" => x[0].kron(&x[1]),
        "outer" => x[0].outer(&x[1]),
        "tensordot" => {
            let dims = args.get("dims")?.as_array()?;
            let axes = |v: &Value| -> Option<Vec<isize>> {
                v.as_array()?.iter().map(|i| i.as_i64().map(|i| i as isize)).collect()
            };
            tensordot(&x[0], &x[1], axes(&dims[0])?, axes(&dims[1])?)
        }
        "linear" => linear(&x[0], &x[1], x.get(2)),
        "bilinear" => bilinear(&x[0], &x[1], &x[2], x.get(3)),
        "addmm" => addmm(&x[0], &x[1], &x[2], args.float("beta")?, args.float("alpha")?),
        "bmm" => x[0].bmm(&x[1]),
        "dot" => x[0].dot(&x[1]),
        "scatter_reduce" => {
            let (how, own) = (reduce(args.str("reduce")?)?, args.flag("include_self"));
            x[0].scatter_reduce(axis("dim")?, &x[1], &x[2], how, own)
        }
        "take" => x[0].take(&x[1]),
        "take_along_dim" => x[0].take_along_dim(&x[1], axis("dim")),
        _ => return None,
    };
    Some(vec![one])
}
