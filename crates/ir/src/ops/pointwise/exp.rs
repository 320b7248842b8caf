//! Exponentials, logarithms and roots.
//!
//! Logarithms and roots have infinite derivatives at 0, as in calculus. A caller who needs another value masks it
//! with a `select`.

use super::*;
use crate::complex;
use std::f64::consts::{LN_2, LN_10};

/// Passes the exponential ops to a macro.
#[macro_export]
macro_rules! exp_ops {
    ($then:ident) => {
        $then! {
            /// Natural exponential.
            exp(x) -> y {
                float: x.exp();
                complex: complex::exp(x);
                partials: [y];
                ulp: 2.0;
            }
            /// `exp(x) - 1`, exact near 0.
            expm1(x) -> y {
                float: x.exp_m1();
                complex: complex::exp_m1(x);
                partials: [y + 1.0];
                ulp: 2.0;
            }
            /// 2 to the power `x`.
            exp2(x) -> y {
                float: x.exp2();
                complex: complex::exp(x * LN_2);
                partials: [y * LN_2];
                ulp: 2.0;
            }
            /// Natural logarithm; minus infinity at 0, NaN below (complex: the principal branch).
            log(x) -> y {
                float: x.ln();
                complex: complex::ln(x);
                partials: [1.0 / x];
                domain: [(0.3, 3.0)];
                ulp: 2.0;
            }
            /// `log(1 + x)`, exact near 0; minus infinity at -1, NaN below (complex: the principal branch).
            log1p(x) -> y {
                float: x.ln_1p();
                complex: complex::ln_1p(x);
                partials: [1.0 / (x + 1.0)];
                domain: [(-0.6, 2.0)];
                ulp: 2.0;
            }
            /// Logarithm to base 2; minus infinity at 0, NaN below (complex: the principal branch).
            log2(x) -> y {
                float: x.log2();
                complex: complex::ln(x) / LN_2;
                partials: [1.0 / (x * LN_2)];
                domain: [(0.3, 3.0)];
                ulp: 2.0;
            }
            /// Logarithm to base 10; minus infinity at 0, NaN below (complex: the principal branch).
            log10(x) -> y {
                float: x.log10();
                complex: complex::ln(x) / LN_10;
                partials: [1.0 / (x * LN_10)];
                domain: [(0.3, 3.0)];
                ulp: 2.0;
            }
            /// `1 / (1 + exp(-x))`, without overflow.
            sigmoid(x) -> y {
                float: sigmoid_float(x);
                complex: complex::sigmoid(x);
                partials: [y * (1.0 - y)];
                ulp: 3.0;
            }
            /// Square root; NaN below 0 (complex: the principal branch). Its derivative at 0 is infinite.
            sqrt(x) -> y {
                float: x.sqrt();
                complex: complex::sqrt(x);
                partials: [0.5 / y];
                domain: [(0.3, 3.0)];
            }
            /// `1 / sqrt(x)`; infinite at 0, NaN below (complex: the principal branch).
            rsqrt(x) -> y {
                float: 1.0 / x.sqrt();
                complex: complex::div(C::ONE, complex::sqrt(x));
                partials: [-0.5 * y * y * y];
                domain: [(0.3, 3.0)];
                ulp: 2.0;
            }
            /// Cube root, of negative numbers too. Its derivative at 0 is infinite.
            cbrt(x) -> y {
                float: x.cbrt();
                partials: [1.0 / (3.0 * y * y)];
                domain: [(-3.0, -0.3)];
                ulp: 2.0;
            }
        }
    };
}
exp_ops!(define_ops);

fn sigmoid_float(x: f64) -> f64 {
    if x < 0.0 {
        let e = x.exp();
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + (-x).exp())
    }
}
