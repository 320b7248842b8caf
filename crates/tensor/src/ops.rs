//! Operators, and a method for every op of the pointwise catalog.

use crate::arg::{Arg, unify};
use crate::eager::apply::{apply1, pointwise_directly};
use crate::tensor::Tensor;
use gradus_ir::ops::Pointwise;
use gradus_ir::ops::complex::{Complex, Conj, Im, Re};
use gradus_ir::ops::pointwise::table;
use gradus_ir::ops::select::{Select, StopGradient};
use gradus_ir::{C, Class, DType, Error};
use std::ops::{
    Add, AddAssign, BitAnd, BitOr, BitXor, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, Sub, SubAssign,
};
use std::panic::Location;

/// Promotes an operand to a dtype that the op supports: booleans to integers, integers to floats. Division is
/// always of floats.
#[track_caller]
fn promote_for(op: &'static Pointwise, t: Tensor) -> Tensor {
    let (dtype, divides) = (t.dtype(), std::ptr::eq(op, &table::div));
    if dtype.is_differentiable() || (op.takes(dtype) && !divides) {
        t
    } else if op.takes(DType::I64) && !divides {
        t.to_dtype(DType::I64)
    } else if op.takes(DType::F32) {
        t.to_dtype(DType::F32)
    } else {
        t
    }
}

#[track_caller]
pub(crate) fn unary(op: &'static Pointwise, x: &Tensor) -> Tensor {
    if let Some(t) = pointwise_directly(op, x, None, Location::caller()) {
        return t;
    }
    // A pointwise op keeps the dtype, but the modulus of a complex number is real, so it is computed from the
    // parts.
    let dtype = x.dtype();
    if dtype.is_complex() && std::ptr::eq(op, &table::abs) {
        return x.real().hypot(&x.imag());
    }
    if dtype.is_differentiable() { apply1(op, &[x]) } else { apply1(op, &[&promote_for(op, x.clone())]) }
}

#[track_caller]
pub(crate) fn binary(op: &'static Pointwise, a: &Tensor, b: Arg<'_>) -> Tensor {
    // The common case needs neither promotion nor broadcasting.
    if let Some(t) = pointwise_directly(op, a, Some(b), Location::caller()) {
        return t;
    }
    match unify(op.name, a, b) {
        Ok((a, b)) => apply1(op, &[&promote_for(op, a), &promote_for(op, b)]),
        Err(failed) => failed,
    }
}

#[track_caller]
fn ternary(op: &'static Pointwise, [a, b, c]: [&Tensor; 3]) -> Tensor {
    // Unifies pairwise; afterwards all three have the same dtype and extents.
    let all = || {
        let (a, b) = unify(op.name, a, b.into())?;
        let (a, c) = unify(op.name, &a, c.into())?;
        let (b, c) = unify(op.name, &b, (&c).into())?;
        Ok([a, b, c].map(|t| promote_for(op, t)))
    };
    match all() {
        Ok([a, b, c]) => apply1(op, &[&a, &b, &c]),
        Err::<_, Tensor>(failed) => failed,
    }
}

/// Applies a pointwise op of the catalog to tensors and numbers, which are promoted and broadcast as by its
/// method. At least one operand must be a tensor.
#[track_caller]
pub fn pointwise(op: &'static Pointwise, operands: &[Arg<'_>]) -> Tensor {
    match *operands {
        [Arg::Tensor(x)] if op.arity == 1 => unary(op, x),
        [Arg::Tensor(a), b] if op.arity == 2 => binary(op, a, b),
        [number, Arg::Tensor(b)] if op.arity == 2 => binary_number_first(op, number, b),
        [Arg::Tensor(a), Arg::Tensor(b), Arg::Tensor(c)] if op.arity == 3 => ternary(op, [a, b, c]),
        _ => {
            let why = format!("takes {} operands, of which one must be a tensor", op.arity);
            Tensor::failed(Error::value(format!("`{}`", op.name), why).at(Location::caller()))
        }
    }
}

#[track_caller]
fn logical(op: &'static Pointwise, a: &Tensor, b: Arg<'_>) -> Tensor {
    match unify(op.name, a, b) {
        Ok((a, b)) => apply1(op, &[&a.to_bool(), &b.to_bool()]),
        Err(failed) => failed,
    }
}

macro_rules! tensor_method {
    ($($doc:literal)* $name:ident ($x:ident)) => {
        $(#[doc = $doc])*
        #[track_caller]
        #[allow(clippy::should_implement_trait)]
        pub fn $name(&self) -> Tensor {
            unary(&table::$name, self)
        }
    };
    ($($doc:literal)* $name:ident ($x:ident, $y:ident)) => {
        $(#[doc = $doc])*
        #[track_caller]
        #[allow(clippy::should_implement_trait)]
        pub fn $name<'a>(&self, $y: impl Into<Arg<'a>>) -> Tensor {
            binary(&table::$name, self, $y.into())
        }
    };
    ($($doc:literal)* $name:ident ($x:ident, $y:ident, $z:ident)) => {
        $(#[doc = $doc])*
        #[track_caller]
        pub fn $name(&self, $y: &Tensor, $z: &Tensor) -> Tensor {
            ternary(&table::$name, [self, $y, $z])
        }
    };
}

macro_rules! tensor_methods {
    ($($(#[doc = $doc:literal])* $name:ident $args:tt -> $y:ident { $($body:tt)* })*) => {
        impl Tensor {
            $(tensor_method! { $($doc)* $name $args })*
        }
    };
}
gradus_ir::for_each_pointwise!(tensor_methods);

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<'a, A: Into<Arg<'a>>> $trait<A> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: A) -> Tensor { binary(&table::$op, self, other.into()) }
        }
        impl<'a, A: Into<Arg<'a>>> $trait<A> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: A) -> Tensor { binary(&table::$op, &self, other.into()) }
        }
        impl $trait<Tensor> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor { binary(&table::$op, &self, Arg::Tensor(&other)) }
        }
        impl $trait<Tensor> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor { binary(&table::$op, self, Arg::Tensor(&other)) }
        }
    )*};
}
operators! { Add add add; Sub sub sub; Mul mul mul; Div div div; Rem rem fmod; BitAnd bitand and; BitOr bitor or; BitXor bitxor xor; }

macro_rules! number_first {
    ($($number:ty: $($trait:ident $method:ident $op:ident),*;)*) => {$($(
        impl $trait<&Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor { binary_number_first(&table::$op, self.into(), other) }
        }
        impl $trait<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor { binary_number_first(&table::$op, self.into(), &other) }
        }
    )*)*};
}

/// Applies an op to a number and a tensor. Unifies them with the tensor first, then applies the op in the
/// written order.
#[track_caller]
fn binary_number_first(op: &'static Pointwise, number: Arg<'_>, t: &Tensor) -> Tensor {
    match unify(op.name, t, number) {
        Ok((t, number)) => apply1(op, &[&promote_for(op, number), &promote_for(op, t)]),
        Err(failed) => failed,
    }
}

number_first! {
    f64: Add add add, Sub sub sub, Mul mul mul, Div div div;
    i64: Add add add, Sub sub sub, Mul mul mul, Div div div;
    C: Add add add, Sub sub sub, Mul mul mul, Div div div;
}

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        unary(&table::neg, self)
    }
}

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        unary(&table::neg, &self)
    }
}

impl Not for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        unary(&table::not, self)
    }
}

impl Not for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        unary(&table::not, &self)
    }
}

macro_rules! in_place {
    ($($trait:ident $assign:ident $method:ident $op:ident $doc:literal;)*) => {
        $(
            /// Swaps the value of a cell; rebinds the variable to the result for any other tensor.
            impl<'a, A: Into<Arg<'a>>> $trait<A> for Tensor {
                #[track_caller]
                fn $assign(&mut self, other: A) {
                    *self = self.$method(other);
                }
            }
        )*
        impl Tensor {
            $(
                #[doc = $doc]
                #[track_caller]
                pub fn $method<'a>(&self, other: impl Into<Arg<'a>>) -> Tensor {
                    self.update_in_place(&table::$op, other.into())
                }
            )*
        }
    };
}
in_place! {
    AddAssign add_assign add_ add "Adds in place to a cell, which is returned; gives the sum for any other tensor.";
    SubAssign sub_assign sub_ sub "Subtracts in place from a cell, which is returned; gives the difference for any other tensor.";
    MulAssign mul_assign mul_ mul "Multiplies a cell in place, which is returned; gives the product for any other tensor.";
    DivAssign div_assign div_ div "Divides a cell in place, which is returned; gives the quotient for any other tensor.";
}

impl Tensor {
    #[track_caller]
    fn update_in_place(&self, op: &'static Pointwise, other: Arg<'_>) -> Tensor {
        if self.as_cell().is_none() {
            return binary(op, self, other);
        }
        // Reads the old value outside of autograd, because the new value must not have a history.
        let new = binary(op, &self.data_(), other).detach();
        match self.set_(&new) {
            Ok(()) => self.clone(),
            Err(e) => Tensor::failed(e),
        }
    }

    /// The quotient rounded towards zero: exact for integers, where division by zero gives 0.
    #[track_caller]
    pub fn div_trunc<'a>(&self, other: impl Into<Arg<'a>>) -> Tensor {
        match unify("div_trunc", self, other.into()) {
            // The op itself truncates integer division; `/` converts to floats first.
            Ok((a, b)) if a.dtype().class() == Class::Int => apply1(&table::div, &[&a, &b]),
            Ok((a, b)) => (a / b).trunc(),
            Err(failed) => failed,
        }
    }

    /// Returns true for elements where both are non-zero.
    #[track_caller]
    pub fn logical_and<'a>(&self, other: impl Into<Arg<'a>>) -> Tensor {
        logical(&table::and, self, other.into())
    }

    /// Returns true for elements where one or both are non-zero.
    #[track_caller]
    pub fn logical_or<'a>(&self, other: impl Into<Arg<'a>>) -> Tensor {
        logical(&table::or, self, other.into())
    }

    /// Returns true for elements where exactly one is non-zero.
    #[track_caller]
    pub fn logical_xor<'a>(&self, other: impl Into<Arg<'a>>) -> Tensor {
        logical(&table::xor, self, other.into())
    }

    /// Returns true for elements that are zero.
    #[track_caller]
    pub fn logical_not(&self) -> Tensor {
        self.to_bool().not()
    }

    /// Converts to booleans: true for elements that are non-zero.
    #[track_caller]
    fn to_bool(&self) -> Tensor {
        if self.error().is_some() { self.clone() } else { self.to_dtype(DType::Bool) }
    }

    /// Selects `yes` where this boolean tensor is true, else `no`; all three broadcast.
    #[track_caller]
    pub fn select<'a>(&self, yes: impl Into<Arg<'a>>, no: impl Into<Arg<'a>>) -> Tensor {
        let (yes, no) = match (yes.into(), no.into()) {
            (Arg::Tensor(y), no) => (y.clone(), no),
            (Arg::Number(n), no @ Arg::Tensor(t)) => {
                let both = unify("select", t, Arg::Number(n));
                match both {
                    Ok((_, y)) => (y, no),
                    Err(failed) => return failed,
                }
            }
            (Arg::Number(n), no) => (Tensor::from_literal(&n.literal(n.dtype())), no),
        };
        let (yes, no) = match unify("select", &yes, no) {
            Ok(pair) => pair,
            Err(failed) => return failed,
        };
        let condition = self.to_bool();
        // Broadcasts the condition and the branches to each other without changing the dtype of the branches.
        let Some(shape) = condition.shape().broadcast(&yes.shape()) else {
            let what = format!("extents {} and {}", condition.shape(), yes.shape());
            return Tensor::refuse(
                "select",
                &[self, &yes, &no],
                gradus_ir::Error::shape(what, "do not broadcast"),
            );
        };
        apply1(Select {}, &[&condition.expand_to(&shape), &yes.expand_to(&shape), &no.expand_to(&shape)])
    }

    /// Returns the same value as a constant: no derivative flows through it.
    #[track_caller]
    pub fn stop_gradient(&self) -> Tensor {
        apply1(StopGradient {}, &[self])
    }

    /// The real part. Returns a real tensor unchanged.
    #[track_caller]
    pub fn real(&self) -> Tensor {
        if self.dtype().is_complex() { apply1(Re {}, &[self]) } else { self.clone() }
    }

    /// Imaginary part; zeros for a real tensor.
    #[track_caller]
    pub fn imag(&self) -> Tensor {
        if self.dtype().is_complex() { apply1(Im {}, &[self]) } else { self.zeros_like() }
    }

    /// The complex conjugate. Returns a real tensor unchanged.
    #[track_caller]
    pub fn conj(&self) -> Tensor {
        if self.dtype().is_complex() { apply1(Conj {}, &[self]) } else { self.clone() }
    }

    /// Makes a complex tensor from its real part (this tensor) and its imaginary part.
    #[track_caller]
    pub fn complex<'a>(&self, imag: impl Into<Arg<'a>>) -> Tensor {
        match unify("complex", self, imag.into()) {
            Ok((re, im)) => apply1(Complex {}, &[&re, &im]),
            Err(failed) => failed,
        }
    }
}
