//! Datasets, and the loader that makes batches of them.

mod loader;
mod text;

pub use loader::{Loader, Position};
pub use text::Characters;

use gradus_ir::{DType, Error, Result};
use gradus_tensor::Tensor;

/// Examples, indexed by number.
pub trait Dataset: Send + Sync {
    /// Returns the number of examples.
    fn len(&self) -> usize;

    /// Makes a batch of these examples: one tensor per field, with examples along the first axis.
    fn batch(&self, ids: &[usize]) -> Result<Vec<Tensor>>;

    /// Returns true if there are no examples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn indices(ids: impl Iterator<Item = usize>) -> Tensor {
    Tensor::from(ids.map(|i| i as i64).collect::<Vec<i64>>())
}

/// Tensors with examples along the first axis.
#[derive(Clone, Debug)]
pub struct Tensors(Vec<Tensor>);

impl Tensors {
    /// Makes a dataset of fields, which must have the same number of examples.
    pub fn new(fields: Vec<Tensor>) -> Result<Tensors> {
        let first = fields.first().ok_or_else(|| Error::value("a dataset", "must have a field"))?.dim(0);
        for t in &fields {
            if t.check()?.rank() == 0 || t.dim(0) != first {
                let why = format!("must have {first} examples along its first axis, like the first field");
                return Err(Error::shape(format!("a field of shape {}", t.shape()), why));
            }
        }
        Ok(Tensors(fields))
    }

    /// Splits the examples by a predicate: those for which it is true, and the others.
    pub fn split(&self, chosen: impl Fn(usize) -> bool) -> (Tensors, Tensors) {
        let part = |yes: bool| {
            let ids = indices((0..self.len()).filter(|&i| chosen(i) == yes));
            Tensors(self.0.iter().map(|t| t.index_select(0, &ids)).collect())
        };
        (part(true), part(false))
    }

    /// Returns the fields.
    pub fn fields(&self) -> &[Tensor] {
        &self.0
    }
}

impl Dataset for Tensors {
    fn len(&self) -> usize {
        self.0.first().map_or(0, |t| t.dim(0))
    }

    fn batch(&self, ids: &[usize]) -> Result<Vec<Tensor>> {
        let ids = indices(ids.iter().copied());
        self.0.iter().map(|t| t.index_select(0, &ids).check().cloned()).collect()
    }
}

/// All windows of a text: a window of tokens, and the same window shifted by one.
#[derive(Clone, Debug)]
pub struct Windows {
    tokens: Tensor,
    length: usize,
}

impl Windows {
    /// Makes windows of this length.
    pub fn new(tokens: &[i64], length: usize) -> Windows {
        Windows { tokens: Tensor::from(tokens), length }
    }
}

impl Dataset for Windows {
    fn len(&self) -> usize {
        self.tokens.dim(0).saturating_sub(self.length)
    }

    fn batch(&self, ids: &[usize]) -> Result<Vec<Tensor>> {
        let starts = indices(ids.iter().copied()).unsqueeze(1);
        let at = starts + Tensor::iota(DType::I64, [1, self.length], 1);
        let window = |at: &Tensor| {
            let flat = self.tokens.index_select(0, &at.reshape([-1]));
            flat.reshape([ids.len(), self.length]).check().cloned()
        };
        Ok(vec![window(&at)?, window(&(&at + 1))?])
    }
}
