//! Circular and hyperbolic functions, and their inverses.
//!
//! Circular functions of an infinite angle are NaN. The inverses are NaN outside their real domain. On complex numbers
//! the inverses take the principal branch, with the cuts of C99. Where an inverse function has a vertical tangent (`asin` at 1), its
//! derivative is infinite.

use super::*;
use crate::complex;

/// Passes the circular and hyperbolic ops to a macro.
#[macro_export]
macro_rules! trig_ops {
    ($then:ident) => {
        $then! {
            /// Sine.
            sin(x) -> y {
                float: x.sin();
                complex: complex::sin(x);
                partials: [x.cos()];
                ulp: 2.0;
            }
            /// Cosine.
            cos(x) -> y {
                float: x.cos();
                complex: complex::cos(x);
                partials: [-x.sin()];
                ulp: 2.0;
            }
            /// Tangent.
            tan(x) -> y {
                float: x.tan();
                complex: complex::tan(x);
                partials: [y * y + 1.0];
                domain: [(-1.2, 1.2)];
                ulp: 4.0;
            }
            /// Inverse sine, from -pi/2 to pi/2.
            asin(x) -> y {
                float: x.asin();
                complex: complex::asin(x);
                partials: [((1.0 - x) * (1.0 + x)).rsqrt()];
                domain: [(-0.8, 0.8)];
                ulp: 4.0;
            }
            /// Inverse cosine, from 0 to pi.
            acos(x) -> y {
                float: x.acos();
                complex: complex::acos(x);
                partials: [-((1.0 - x) * (1.0 + x)).rsqrt()];
                domain: [(-0.8, 0.8)];
                ulp: 4.0;
            }
            /// Inverse tangent, from -pi/2 to pi/2.
            atan(x) -> y {
                float: x.atan();
                complex: complex::atan(x);
                partials: [1.0 / (x * x + 1.0)];
                domain: [(-0.8, 0.8)];
                ulp: 3.0;
            }
            /// Hyperbolic sine.
            sinh(x) -> y {
                float: x.sinh();
                complex: complex::sinh(x);
                partials: [x.cosh()];
                ulp: 3.0;
            }
            /// Hyperbolic cosine.
            cosh(x) -> y {
                float: x.cosh();
                complex: complex::cosh(x);
                partials: [x.sinh()];
                ulp: 3.0;
            }
            /// Hyperbolic tangent.
            tanh(x) -> y {
                float: x.tanh();
                complex: complex::tanh(x);
                partials: [1.0 - y * y];
                domain: [(-1.2, 1.2)];
                ulp: 3.0;
            }
            /// Inverse hyperbolic sine.
            asinh(x) -> y {
                float: libm::asinh(x);
                complex: complex::asinh(x);
                partials: [(x * x + 1.0).rsqrt()];
                domain: [(-0.8, 0.8)];
                ulp: 4.0;
            }
            /// Inverse hyperbolic cosine, not negative; NaN below 1.
            acosh(x) -> y {
                float: if x < 1.0 { f64::NAN } else { libm::acosh(x) };
                complex: complex::acosh(x);
                partials: [x.acosh_slope()];
                domain: [(1.3, 3.0)];
                ulp: 4.0;
            }
            /// Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.
            atanh(x) -> y {
                float: libm::atanh(x);
                complex: complex::atanh(x);
                partials: [1.0 / ((1.0 - x) * (1.0 + x))];
                domain: [(-0.8, 0.8)];
                ulp: 4.0;
            }
        }
    };
}
trig_ops!(define_ops);

impl<'g> Var<'g> {
    /// Returns `1 / sqrt(x² - 1)` without overflow: for real numbers also below -1, where `acosh` itself is
    /// NaN.
    fn acosh_slope(self) -> Var<'g> {
        let x = if self.dtype().is_complex() { self } else { self.abs() };
        (x - 1.0).rsqrt() * (x + 1.0).rsqrt()
    }
}
