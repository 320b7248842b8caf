//! The element types of matrices.

use faer::traits::ComplexField;
use num_complex::Complex;

/// An element type of matrices.
pub trait Number: ComplexField + Copy {
    /// The number 0.
    const ZERO: Self;
    /// Returns the real part.
    fn real(self) -> f64;
    /// Returns the modulus.
    fn modulus(self) -> f64;
    /// Returns the complex conjugate.
    fn conjugate(self) -> Self;
    /// Multiplies by a real number.
    fn scaled(self, by: f64) -> Self;
    /// Multiplies two numbers.
    fn times(self, by: Self) -> Self;
    /// Returns the mean of two numbers.
    fn mean(a: Self, b: Self) -> Self;
    /// Returns the product of all numbers. Partial products may exceed the range of `f32`.
    fn product(all: &[Self]) -> Self;
}

macro_rules! real {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const ZERO: $t = 0.0;
            fn real(self) -> f64 {
                self.into()
            }
            fn modulus(self) -> f64 {
                self.abs().into()
            }
            fn conjugate(self) -> $t {
                self
            }
            fn scaled(self, by: f64) -> $t {
                self * by as $t
            }
            fn times(self, by: $t) -> $t {
                self * by
            }
            fn mean(a: $t, b: $t) -> $t {
                (a + b) * 0.5
            }
            fn product(all: &[$t]) -> $t {
                all.iter().map(|x| f64::from(*x)).product::<f64>() as $t
            }
        }
    )*};
}
real!(f32, f64);

impl Number for Complex<f64> {
    const ZERO: Self = Complex { re: 0.0, im: 0.0 };
    fn real(self) -> f64 {
        self.re
    }
    fn modulus(self) -> f64 {
        self.norm()
    }
    fn conjugate(self) -> Self {
        self.conj()
    }
    fn scaled(self, by: f64) -> Self {
        self * by
    }
    fn times(self, by: Self) -> Self {
        self * by
    }
    fn mean(a: Self, b: Self) -> Self {
        (a + b) * 0.5
    }
    fn product(all: &[Self]) -> Self {
        all.iter().product()
    }
}
