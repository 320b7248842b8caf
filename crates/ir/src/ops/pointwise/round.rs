//! Rounding: step functions, without derivative. Integers are rounded already.

use super::*;

/// Hands the rounding rows to a macro.
#[macro_export]
macro_rules! round_rows {
    ($then:ident) => {
        $then! {
            /// The largest integer that is not larger.
            floor(x) -> y {
                float: x.floor();
                int: x;
                constant: true;
                domain: [(-0.9, -0.1)];
            }
            /// The smallest integer that is not smaller.
            ceil(x) -> y {
                float: x.ceil();
                int: x;
                constant: true;
                domain: [(0.1, 0.9)];
            }
            /// The nearest integer; of two, the even one.
            round(x) -> y {
                float: x.round_ties_even();
                int: x;
                constant: true;
                domain: [(0.6, 1.4)];
            }
            /// The integer part, towards zero.
            trunc(x) -> y {
                float: x.trunc();
                int: x;
                constant: true;
                domain: [(-1.9, -1.1)];
            }
        }
    };
}
round_rows!(define_rows);
