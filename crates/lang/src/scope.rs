//! Which indices meet where. An index that appears twice in a product is summed at the innermost place that holds all
//! its appearances; an index that appears once stays, and goes away at the left side.

use crate::ast::{Expr, Index, Kind, Name, Place, Ref};
use std::collections::BTreeSet;

/// A set of index names.
pub(crate) type Names = BTreeSet<Name>;

/// The name of the axis that a place leaves.
pub(crate) fn key(place: &Place) -> Option<Name> {
    match &place.index {
        Index::Named(name, _) => Some(name.clone()),
        Index::Time(name, _) => Some(format!("*{name}").into()),
        Index::Slice(..) => Some(place.index.to_string().into()),
        Index::At(_) | Index::Moment(_) => None,
    }
}

/// The names of a tensor's axes.
pub(crate) fn keys(r: &Ref) -> Vec<Name> {
    let mut out = Vec::new();
    for k in r.places.iter().filter_map(key) {
        if !out.contains(&k) {
            out.push(k);
        }
    }
    out
}

/// Every index name in an expression, those given as axes included.
pub(crate) fn occurrences(e: &Expr) -> Names {
    let mut out = Names::new();
    gather(e, &mut out);
    out
}

fn gather(e: &Expr, out: &mut Names) {
    match &e.kind {
        Kind::Ref(r) => out.extend(r.places.iter().filter_map(key)),
        Kind::Of(_, index) => {
            out.insert(index.clone());
        }
        Kind::Reduce(_, axes, body) => {
            out.extend(axes.iter().cloned());
            gather(body, out);
        }
        Kind::Call(call) => {
            for (k, value) in &call.named {
                if &**k == "axis" {
                    words(value, out);
                }
            }
            e.parts().into_iter().for_each(|p| gather(p, out));
        }
        _ => e.parts().into_iter().for_each(|p| gather(p, out)),
    }
}

/// Words in a setting.
fn words(e: &Expr, out: &mut Names) {
    match &e.kind {
        Kind::Text(t) => {
            out.insert(t.clone());
        }
        Kind::List(parts) => parts.iter().for_each(|p| words(p, out)),
        _ => {}
    }
}

/// What a part of an expression must keep: what is kept around it, and what its neighbours use.
pub(crate) fn beside<'a>(keep: &Names, parts: impl IntoIterator<Item = &'a Expr>, me: &Expr) -> Names {
    let mut out = keep.clone();
    for part in parts {
        if !std::ptr::eq(part, me) {
            gather(part, &mut out);
        }
    }
    out
}
