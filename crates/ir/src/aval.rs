//! The type of a value: shape and dtype.

use crate::{DType, Error, Result, Shape};
use std::fmt;

/// The type of a value, known before the value is computed: dtype and extents.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Aval {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Shape,
}

impl Aval {
    /// Makes the type of a tensor of these extents.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> Aval {
        Aval { dtype, shape: shape.into() }
    }

    /// Returns the type of a scalar.
    pub fn scalar(dtype: DType) -> Aval {
        Aval::new(dtype, Shape::scalar())
    }

    /// Returns the type with the same extents and another dtype.
    pub fn with_dtype(&self, dtype: DType) -> Aval {
        Aval::new(dtype, self.shape.clone())
    }

    /// Returns the type with the same dtype and other extents.
    pub fn with_shape(&self, shape: impl Into<Shape>) -> Aval {
        Aval::new(self.dtype, shape)
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Returns an error if the element count overflows the address space.
    pub fn checked(self) -> Result<Aval> {
        match self.shape.checked_numel() {
            Some(_) => Ok(self),
            None => Err(Error::shape(&self, "has more elements than memory can address")),
        }
    }
}

impl fmt::Display for Aval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

impl fmt::Debug for Aval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
