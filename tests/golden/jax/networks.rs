//! Not yet.

use super::tools::*;

pub(crate) const TABLE: &[(&str, Function)] = &[];
