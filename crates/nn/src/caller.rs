//! Whose line an error names: one that arises inside of this crate, in a layer of a layer for example, is placed where the
//! crate was called.

use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;
use std::panic::Location;

/// The sources of this crate, as places name them.
const SOURCES: &str = file!().split_at(file!().len() - "caller.rs".len()).0;

/// The error, at the caller's place unless it arose in the caller's own code.
pub(crate) fn at_caller(e: Error, caller: &'static Location<'static>) -> Error {
    let own = e.place().is_none_or(|p| p.file().starts_with(SOURCES));
    if own { e.at(caller) } else { e }
}

/// The tensor; if it is one that failed, with its place as [`at_caller`] says.
pub(crate) fn tensor_at_caller(result: Result<Tensor>, caller: &'static Location<'static>) -> Tensor {
    match result.and_then(|t| t.check().cloned()) {
        Ok(t) => t,
        Err(e) => Tensor::failed(at_caller(e, caller)),
    }
}
