//! Reading and writing at indices, masks, sorting.

use super::super::case::Args;
use gradus::{Ix, Tensor};

fn index(args: &Args, x: &[Tensor]) -> Option<Tensor> {
    let mut ids = x[1..].iter();
    let place = |s: &serde_json::Value| match s.as_str()? {
        "t" => Some(Ix::from(ids.next()?)),
        _ => Some(Ix::from(..)),
    };
    let places: Option<Vec<Ix>> = args.get("spec")?.as_array()?.iter().map(place).collect();
    Some(x[0].at(places?))
}

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let axis = args.int("dim").unwrap_or(0) as isize;
    let descending = args.flag("descending");
    let one = match (name, x) {
        ("gather", [x, ids]) => x.gather(axis, ids),
        ("index_select", [x, ids]) => x.index_select(axis, ids),
        ("index", _) => index(args, x)?,
        ("masked_fill", [x, mask]) => x.masked_fill(mask, args.float("value")?),
        ("masked_select", [x, mask]) => x.masked_select(mask),
        ("scatter", [x, ids, source]) => x.scatter(axis, ids, source),
        ("scatter", [x, ids]) => x.scatter(axis, ids, &x.full_like(args.float("value")?)),
        ("scatter_add", [x, ids, source]) => x.scatter_add(axis, ids, source),
        ("index_add", [x, ids, source]) => x.index_add(axis, ids, &(source * args.float("alpha")?)),
        ("index_copy", [x, ids, source]) => x.index_copy(axis, ids, source),
        ("argsort", [x]) => x.argsort(axis, descending),
        ("nonzero", [x]) => x.nonzero(),
        ("sort", [x]) => {
            let (values, positions) = x.sort(axis, descending);
            return Some(vec![values, positions]);
        }
        ("topk", [x]) => {
            let (values, positions) = x.topk(args.int("k")? as usize, axis, args.flag("largest"));
            return Some(vec![values, positions]);
        }
        _ => return None,
    };
    Some(vec![one])
}
