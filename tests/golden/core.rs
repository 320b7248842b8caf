//! The tensor's own methods: pointwise functions, reductions, contractions and indexing.

#[path = "core/indexing.rs"]
mod indexing;
#[path = "core/pointwise.rs"]
mod pointwise;
#[path = "core/reductions.rs"]
mod reductions;

use super::case::Args;
use gradus::Tensor;

pub(crate) fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    pointwise::call(name, x)
        .or_else(|| reductions::call(name, args, x))
        .map(|one| vec![one])
        .or_else(|| indexing::call(name, args, x))
}
