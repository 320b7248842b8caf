//! Operands of mixed expressions: tensors, and numbers that take their dtype from the other operand.
//! [`unify`] takes two operands and returns two tensors of one dtype and one shape; `gradus_ir::DType`
//! decides promotion.

use crate::data::Data;
use crate::eager::apply::apply1;
use crate::tensor::Tensor;
use gradus_ir::ops::movement::Broadcast;
use gradus_ir::ops::pointwise::Cast;
use gradus_ir::{Aval, C, Class, DType, Error, Literal, Shape};

/// A tensor or a number. A number takes the dtype of the other operand unless its class is higher. An integer
/// tensor with a float gives `f32`; a float tensor with an integer keeps its dtype.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// A tensor operand.
    Tensor(&'a Tensor),
    /// A scalar operand.
    Number(Number),
}

/// A number, by class.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(C),
}

impl Number {
    /// Returns the dtype that the number takes in an operation with a tensor of dtype `other`.
    pub fn dtype_with(self, other: DType) -> DType {
        match self {
            Number::Complex(_) => other.complex(),
            Number::Float(_) if other.class() < Class::Float => DType::F32,
            Number::Int(_) if other == DType::Bool => DType::I64,
            _ => other,
        }
    }

    /// Returns the number as a tensor of the shape of `other`, with the dtype of
    /// [`dtype_with`](Number::dtype_with).
    #[track_caller]
    pub fn tensor_like(self, other: &Tensor) -> Tensor {
        self.filled(&Aval::new(self.dtype_with(other.dtype()), other.shape()))
    }

    /// Returns a tensor of this type with the number at every index.
    #[track_caller]
    pub(crate) fn filled(self, aval: &Aval) -> Tensor {
        let one = match (self, aval.dtype) {
            (Number::Float(x), DType::F32) => Data::new(Shape::scalar(), &[x as f32]),
            (Number::Float(x), DType::F64) => Data::new(Shape::scalar(), &[x]),
            (_, dtype) => Data::from_literal(&self.literal(dtype)),
        };
        Tensor::from_result(one.map(|d| Tensor::data(d.repeated(aval.shape.clone()))))
    }

    /// Returns the value as a float, if the number is real.
    pub(crate) fn real(self) -> Option<f64> {
        match self {
            Number::Float(x) => Some(x),
            Number::Int(i) => Some(i as f64),
            Number::Bool(_) | Number::Complex(_) => None,
        }
    }

    /// Returns the dtype of the number without another operand.
    pub fn dtype(self) -> DType {
        match self {
            Number::Bool(_) => DType::Bool,
            Number::Int(_) => DType::I64,
            Number::Float(_) => DType::F32,
            Number::Complex(_) => DType::C64,
        }
    }

    /// Returns the number as a literal of a dtype.
    pub fn literal(self, dtype: DType) -> Literal {
        match self {
            Number::Bool(b) => Literal::int_scalar(dtype, b as i64),
            Number::Int(i) if dtype == DType::Bool => Literal::int_scalar(dtype, i64::from(i != 0)),
            Number::Int(i) => Literal::int_scalar(dtype, i),
            Number::Float(x) => Literal::scalar(dtype, x),
            Number::Complex(z) if dtype.is_complex() => {
                let pair = Literal::new(Aval::scalar(dtype), vec![z]);
                pair.map_or_else(|_| Literal::scalar(dtype, z.re), Literal::rounded)
            }
            Number::Complex(z) => Literal::scalar(dtype, z.re),
        }
    }
}

impl<'a> From<&'a Tensor> for Arg<'a> {
    fn from(t: &'a Tensor) -> Arg<'a> {
        Arg::Tensor(t)
    }
}

macro_rules! numbers {
    ($($t:ty => $variant:ident as $as:ty),*) => {$(
        impl From<$t> for Arg<'_> {
            fn from(x: $t) -> Self { Arg::Number(Number::$variant(<$as>::from(x))) }
        }
        impl From<$t> for Number {
            fn from(x: $t) -> Number { Number::$variant(<$as>::from(x)) }
        }
    )*};
}
numbers!(f64 => Float as f64, f32 => Float as f64, i64 => Int as i64, i32 => Int as i64, bool => Bool as bool, C => Complex as C);

impl From<usize> for Arg<'_> {
    fn from(x: usize) -> Self {
        Arg::Number(Number::Int(x as i64))
    }
}

/// Promotes both operands to one dtype and broadcasts them to one shape.
#[track_caller]
pub(crate) fn unify(name: &str, a: &Tensor, b: Arg<'_>) -> Result<(Tensor, Tensor), Tensor> {
    let b = match b {
        Arg::Tensor(t) => t.clone(),
        Arg::Number(n) => n.tensor_like(a),
    };
    for t in [a, &b] {
        if t.error().is_some() {
            return Err(t.clone());
        }
    }
    let dtype = a.dtype().promote(b.dtype());
    let (sa, sb) = (a.shape(), b.shape());
    let Some(shape) = sa.broadcast(&sb) else {
        let why = "do not broadcast: aligned at the last axis, each pair must be equal or have a 1";
        return Err(Tensor::refuse(name, &[a, &b], Error::shape(format!("extents {sa} and {sb}"), why)));
    };
    Ok((a.to_dtype(dtype).expand_to(&shape), b.to_dtype(dtype).expand_to(&shape)))
}

impl Tensor {
    /// Converts the tensor to a dtype. Returns the tensor itself if it has that dtype.
    #[track_caller]
    pub fn to_dtype(&self, dtype: DType) -> Tensor {
        if self.dtype() == dtype { self.clone() } else { apply1(Cast { to: dtype }, &[self]) }
    }

    /// Broadcasts to other extents by NumPy's rule, without a copy.
    #[track_caller]
    pub(crate) fn expand_to(&self, shape: &Shape) -> Tensor {
        if self.shape() == *shape {
            return self.clone();
        }
        let view = self.try_view(|d| {
            let own = &d.aval.shape;
            let lead = shape.rank().checked_sub(own.rank())?;
            let mut strides = vec![0; lead];
            for (a, step) in d.strides().into_iter().enumerate() {
                match own[a] {
                    n if n == shape[lead + a] => strides.push(step),
                    1 => strides.push(0),
                    _ => return None,
                }
            }
            Aval::new(d.aval.dtype, shape.clone()).checked().ok()?;
            // An empty tensor has no first element, so its offset is 0.
            Some(d.with_layout(shape, strides, if shape.contains(&0) { 0 } else { d.offset }))
        });
        if let Some(view) = view { view } else { apply1(Broadcast { shape: shape.clone() }, &[self]) }
    }
}
