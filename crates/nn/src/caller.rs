//! Sets the source location of errors that arise inside this crate, for example in a nested layer. The new
//! location is the line that calls this crate.

use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;
use std::panic::Location;

/// The source folder of this crate, as it appears in locations.
const SOURCES: &str = file!().split_at(file!().len() - "caller.rs".len()).0;

/// Sets the caller's location in an error that has no location or that arose inside this crate. Returns other
/// errors unchanged.
pub(crate) fn at_caller(e: Error, caller: &'static Location<'static>) -> Error {
    let own = e.location().is_none_or(|p| p.file().starts_with(SOURCES));
    if own { e.at(caller) } else { e }
}

/// Returns the tensor; the error of a failed tensor gets the location that [`at_caller`] chooses.
pub(crate) fn tensor_at_caller(result: Result<Tensor>, caller: &'static Location<'static>) -> Tensor {
    match result.and_then(|t| t.check().cloned()) {
        Ok(t) => t,
        Err(e) => Tensor::failed(at_caller(e, caller)),
    }
}
