//! The builtins by family, one table entry each.

pub(super) mod along;
pub(super) mod arrays;
pub(super) mod fourier;
pub(super) mod images;
pub(super) mod kinds;
pub(super) mod linalg;
pub(super) mod losses;
pub(super) mod numbers;
pub(super) mod reductions;
