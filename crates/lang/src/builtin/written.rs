//! Numbers without a fixed dtype: literals and index values. They take the dtype of the operands they are combined
//! with, exactly.

use crate::syntax::ast::{Array, WHOLE_FLOATS};
use gradus_ir::{DType, Literal};
use gradus_tensor::Tensor;

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Whole(i64),
    Float(f64),
}

impl From<f64> for Number {
    fn from(x: f64) -> Number {
        if x.fract() == 0.0 && x.abs() <= WHOLE_FLOATS { Number::Whole(x as i64) } else { Number::Float(x) }
    }
}

impl Number {
    pub(crate) fn float(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// Combines two numbers: as integers if both are and the result fits, else as floats.
    pub(crate) fn of(
        self,
        other: Number,
        whole: impl Fn(i64, i64) -> Option<i64>,
        float: impl Fn(f64, f64) -> f64,
    ) -> Number {
        let both = if let (Number::Whole(a), Number::Whole(b)) = (self, other) { whole(a, b) } else { None };
        both.map_or_else(|| float(self.float(), other.float()).into(), Number::Whole)
    }
}

/// Numbers without a fixed dtype.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    One(Number),
    List(Array),
    /// Computed integers: index values, and booleans used as numbers.
    Whole(Tensor),
}

impl Written {
    /// Returns true if all are 64-bit integers.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Written::One(x) => matches!(x, Number::Whole(_)),
            Written::List(a) => {
                a.whole.is_some() || a.numbers.iter().all(|x| matches!((*x).into(), Number::Whole(_)))
            }
            Written::Whole(_) => true,
        }
    }

    /// Returns a number beyond the range of 64-bit integers, if there is one.
    pub(crate) fn beyond(&self) -> Option<f64> {
        let is = |x: &f64| x.abs() >= 2f64.powi(63) && *x != i64::MIN as f64;
        match self {
            Written::One(Number::Float(x)) => Some(*x).filter(is),
            Written::List(Array { whole: None, numbers, .. }) => numbers.iter().copied().find(is),
            _ => None,
        }
    }

    /// Returns the exact values: as `f64`, or as `i64` if `f64` cannot represent them.
    pub(crate) fn exact(&self) -> Tensor {
        match self {
            Written::One(Number::Whole(n)) if n.unsigned_abs() as f64 >= WHOLE_FLOATS => Tensor::full([], *n),
            Written::One(x) => Tensor::from_literal(&Literal::scalar(DType::F64, x.float())),
            Written::List(Array { shape, whole: Some(whole), .. }) => {
                Tensor::from_slice(whole, shape.clone())
            }
            Written::List(a) => Tensor::from_slice(&a.numbers, a.shape.clone()),
            Written::Whole(t) => t.clone(),
        }
    }
}
