//! A value of a graph under construction, with the operators in which derivative rules are written.
//! Operators apply ops to the builder that the value belongs to and return new values.
//! Shape and dtype rules are those of the ops.

use super::{Builder, Id};
use crate::{Aval, DType, Shape};
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value in a [`Builder`]. Operands must have equal extents and dtypes; one side may be a number.
#[derive(Clone, Copy)]
pub struct Var<'g> {
    builder: &'g Builder,
    id: Id,
}

impl<'g> Var<'g> {
    pub(crate) fn new(builder: &'g Builder, id: Id) -> Var<'g> {
        Var { builder, id }
    }

    /// Returns the graph to which the value belongs.
    pub fn builder(self) -> &'g Builder {
        self.builder
    }

    /// Returns the id of the value in the graph.
    pub fn id(self) -> Id {
        self.id
    }

    /// Returns the type.
    pub fn aval(self) -> Aval {
        self.builder.aval(self.id)
    }

    /// Returns the dtype of the elements.
    pub fn dtype(self) -> DType {
        self.aval().dtype
    }

    /// Returns the extents.
    pub fn shape(self) -> Shape {
        self.aval().shape
    }

    /// Returns the number of axes.
    pub fn rank(self) -> usize {
        self.aval().rank()
    }

    /// Returns a constant of the same type whose elements all have the value `value`.
    pub fn full_like(self, value: f64) -> Var<'g> {
        self.builder.full(&self.aval(), value)
    }

    /// Returns the value of all elements, if this is a constant with equal elements.
    pub fn splat(self) -> Option<f64> {
        self.builder.splat(self.id)
    }

    /// Multiplies; a constant factor 1 or -1 needs no product. Derivative rules use this, because their partials often
    /// have these values.
    pub fn scale(self, factor: Var<'g>) -> Var<'g> {
        match (self.splat(), factor.splat()) {
            (_, Some(1.0)) => self,
            (_, Some(-1.0)) => -self,
            (Some(1.0), _) => factor,
            _ => self * factor,
        }
    }
}

impl fmt::Debug for Var<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}.{}: {}", self.id.node, self.id.out, self.aval())
    }
}

/// A value, or a number that is converted to a constant of a given type.
pub trait IntoVar<'g> {
    /// Converts to a value of the type of `like`.
    fn into_var(self, like: Var<'g>) -> Var<'g>;
}

impl<'g> IntoVar<'g> for Var<'g> {
    fn into_var(self, _like: Var<'g>) -> Var<'g> {
        self
    }
}

impl<'g> IntoVar<'g> for f64 {
    fn into_var(self, like: Var<'g>) -> Var<'g> {
        like.full_like(self)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl<'g, T: IntoVar<'g>> $trait<T> for Var<'g> {
            type Output = Var<'g>;
            fn $method(self, other: T) -> Var<'g> {
                Var::$method(self, other.into_var(self))
            }
        }
        impl<'g> $trait<Var<'g>> for f64 {
            type Output = Var<'g>;
            fn $method(self, other: Var<'g>) -> Var<'g> {
                Var::$method(self.into_var(other), other)
            }
        }
    )*};
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl<'g> Neg for Var<'g> {
    type Output = Var<'g>;
    fn neg(self) -> Var<'g> {
        Var::neg(self)
    }
}
