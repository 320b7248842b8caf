//! Layers: each a struct of parameters with PyTorch's names, layouts and first values.

mod linear;
mod sequential;

pub use linear::{Embedding, Linear};
pub use sequential::Sequential;
