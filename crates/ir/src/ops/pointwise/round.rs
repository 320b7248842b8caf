//! Rounding: step functions, whose derivative is 0. Integers are unchanged.

use super::*;

/// Passes the rounding ops to a macro.
#[macro_export]
macro_rules! round_ops {
    ($then:ident) => {
        $then! {
            /// The largest integer not larger than `x`.
            floor(x) -> y {
                float: x.floor();
                int: x;
                constant: true;
                domain: [(-0.9, -0.1)];
            }
            /// The smallest integer not smaller than `x`.
            ceil(x) -> y {
                float: x.ceil();
                int: x;
                constant: true;
                domain: [(0.1, 0.9)];
            }
            /// The nearest integer; halves round to even.
            round(x) -> y {
                float: x.round_ties_even();
                int: x;
                constant: true;
                domain: [(0.6, 1.4)];
            }
            /// The integer part: rounds towards zero.
            trunc(x) -> y {
                float: x.trunc();
                int: x;
                constant: true;
                domain: [(-1.9, -1.1)];
            }
        }
    };
}
round_ops!(define_ops);
