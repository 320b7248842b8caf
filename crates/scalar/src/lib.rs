//! Scalar functions without branches, each written once over the trait [`Float`].
//! The CPU's loops run them on numbers ([`Plain`]), its code generator on values of code, and GPU backends on text.
//! The reference evaluator does not use them: it must stay independent.

#![forbid(unsafe_code)]

/// Evaluates a polynomial by Horner's rule, the constant coefficient first: `horner!(N; x; c0, c1, c2)`.
macro_rules! horner {
    ($n:ident; $x:expr; $c:expr) => { $n::from($c) };
    ($n:ident; $x:expr; $c:expr, $($rest:expr),+) => { horner!($n; $x; $($rest),+).fma($x, $c) };
}

pub mod angle;
pub mod circular;
pub mod exponential;
mod float;
pub mod gamma;
pub mod hyperbolic;
pub mod logarithm;
mod plain;
pub mod power;

pub use float::{Float, Real};
pub use plain::{Plain, plain_fma};
