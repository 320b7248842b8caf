//! Pointwise functions, reductions, contractions, movement and indexing.

use super::case::Args;
use gradus::Tensor;

pub fn call(name: &str, _args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let one = match name {
        "exp" => x[0].exp(),
        _ => return None,
    };
    Some(vec![one])
}
