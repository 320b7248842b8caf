//! Exponentials and logarithms.

use super::*;

/// Hands the exponential rows to a macro.
#[macro_export]
macro_rules! exp_rows {
    ($then:ident) => {
        $then! {
            /// Natural exponential.
            exp(x) -> y {
                float: x.exp();
                complex: x.exp();
                partials: [y];
                ulp: 2.0;
            }
            /// Natural logarithm; minus infinity at 0, NaN below (complex: the principal branch).
            log(x) -> y {
                float: x.ln();
                complex: x.ln();
                partials: [1.0 / x];
                domain: [(0.3, 3.0)];
                ulp: 2.0;
            }
        }
    };
}
exp_rows!(define_rows);
