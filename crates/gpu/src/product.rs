//! Products of matrices.

use crate::build::Launch;
use crate::dialect::Dialect;
use crate::limits::Limits;
use crate::program::Program;
use gradus_compile::{Contraction, Text};

/// The kernels of a product, in order, or why there are none.
pub(crate) fn launches(
    _program: &Program,
    _c: &Contraction,
    _limits: &Limits,
    _dialect: Dialect,
    _text: Text,
) -> Result<Vec<Launch>, String> {
    Err("there is no kernel for products".into())
}
