//! Error and gamma functions, on real numbers.

use super::*;
use crate::special;
use std::f64::consts::FRAC_2_SQRT_PI;

/// Hands the rows of special functions to a macro.
#[macro_export]
macro_rules! special_rows {
    ($then:ident) => {
        $then! {
            /// Error function.
            erf(x) -> y {
                float: libm::erf(x);
                partials: [(-(x * x)).exp() * FRAC_2_SQRT_PI];
                ulp: 4.0;
            }
            /// `1 - erf(x)`, exact where it is small.
            erfc(x) -> y {
                float: libm::erfc(x);
                partials: [(-(x * x)).exp() * -FRAC_2_SQRT_PI];
                ulp: 4.0;
            }
            /// Inverse of the error function; infinite at -1 and 1, as its derivative is, NaN beyond.
            erfinv(x) -> y {
                float: special::erfinv(x);
                partials: [(y * y).exp() / FRAC_2_SQRT_PI];
                domain: [(-0.9, 0.9)];
                ulp: 4.0;
            }
            /// Logarithm of the modulus of the gamma function; infinite at its poles 0, -1, -2, ...
            lgamma(x) -> y {
                float: special::lgamma(x);
                partials: [x.digamma()];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// Derivative of `lgamma`; minus infinity at 0, infinity at -0, NaN at -1, -2, ...
            digamma(x) -> y {
                float: special::digamma(x);
                partials: [x.full_like(1.0).polygamma(x)];
                domain: [(0.3, 3.0)];
                ulp: 4.0;
            }
            /// The `n`-th derivative of `digamma` at `x`. The order is rounded to an integer, so that it has
            /// no derivative (it is 0); NaN for orders below 0. At the poles 0, -1, -2, ... infinite for odd
            /// orders, and as `digamma` is for even ones.
            polygamma(n, x) -> y {
                float: polygamma_float(n, x);
                partials: [0.0, (n + 1.0).polygamma(x)];
                domain: [(0.6, 1.4), (0.4, 3.0)];
                ulp: 4.0;
            }
        }
    };
}
special_rows!(define_rows);

fn polygamma_float(n: f64, x: f64) -> f64 {
    let order = n.round_ties_even();
    if (0.0..=f64::from(u32::MAX)).contains(&order) { special::polygamma(order as u32, x) } else { f64::NAN }
}
