//! Files of tensors: NumPy's arrays, tables, images, and files that are whole or absent.

pub(crate) mod atomic;
pub mod csv;
pub mod idx;
pub mod npy;
pub mod npz;
pub mod png;

use gradus_ir::Result;
use std::path::Path;

/// All bytes of a file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| atomic::failed(path, e))
}
