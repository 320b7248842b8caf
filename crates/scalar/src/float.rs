//! Declares the traits that scalar functions are written over.

use std::ops::{Add, BitAnd, Div, Mul, Neg, Shl, Shr, Sub};

/// A value of `f32`: a number, or an expression in generated code.
pub trait Float:
    Copy
    + From<f32>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The bits as a 32-bit integer. Arithmetic wraps; right shifts keep the sign.
    type Bits: Copy
        + From<u32>
        + Add<Output = Self::Bits>
        + Sub<Output = Self::Bits>
        + BitAnd<Output = Self::Bits>
        + Shl<u8, Output = Self::Bits>
        + Shr<u8, Output = Self::Bits>;
    /// The result of a comparison.
    type Mask: Copy;

    /// Returns `self·b + c`, rounded once where the target has an instruction for it, else twice.
    fn fma(self, b: impl Into<Self>, c: impl Into<Self>) -> Self;
    /// Returns `self·b + c` on every target without rounding the product.
    fn fused(self, b: impl Into<Self>, c: impl Into<Self>) -> Self;
    /// Returns the absolute value.
    fn abs(self) -> Self;
    /// Returns the absolute value with the sign bit of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// Returns the mask of `self < other`; false for NaN.
    fn lt(self, other: impl Into<Self>) -> Self::Mask;
    /// Returns the mask of `self > other`; false for NaN.
    fn gt(self, other: impl Into<Self>) -> Self::Mask;
    /// Returns the mask of `self == other`; false for NaN.
    fn eq(self, other: impl Into<Self>) -> Self::Mask;
    /// Returns the mask of NaN.
    fn is_nan(self) -> Self::Mask;
    /// Returns `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: impl Into<Self>, no: impl Into<Self>) -> Self;
    /// Returns the bits.
    fn to_bits(self) -> Self::Bits;
    /// Returns the number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// Converts a signed integer to the nearest number.
    fn from_int(bits: Self::Bits) -> Self;
    /// Returns `self·2^n`, rounded once, for numbers near 1. `t` is `n` plus [`ROUND`](crate::exponential::ROUND).
    fn scaled(self, t: Self) -> Self;
}

/// Further operations, available for numbers and GPU text but not in the CPU's code generator.
pub trait Real: Float {
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the same number and prevents compilers from combining it with the operations before it. Needed on
    /// targets whose compilers reassociate or contract arithmetic.
    fn fence(self) -> Self {
        self
    }
    /// Returns the conjunction of two masks.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Returns the disjunction of two masks.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
}
