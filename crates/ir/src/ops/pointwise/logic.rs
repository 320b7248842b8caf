//! Logic on truth values, bit by bit on integers. No derivatives.

use super::*;

/// Hands the logic rows to a macro.
#[macro_export]
macro_rules! logic_rows {
    ($then:ident) => {
        $then! {
            /// Both; bit by bit on integers.
            and(a, b) -> y {
                int: a & b;
                bools: true;
            }
            /// Either or both; bit by bit on integers.
            or(a, b) -> y {
                int: a | b;
                bools: true;
            }
            /// Exactly one; bit by bit on integers.
            xor(a, b) -> y {
                int: a ^ b;
                bools: true;
            }
            /// The opposite; every bit of an integer.
            not(x) -> y {
                int: !x;
                bools: true;
            }
            /// Bits moved up by a number of places, zeros from below. Nothing is left by a number that is
            /// negative or not less than the width.
            shl(a, b) -> y {
                int: if (0..64).contains(&b) { a << b } else { 0 };
            }
            /// Bits moved down by a number of places, copies of the sign from above (zeros if unsigned). Only
            /// the sign is left by a number that is negative or not less than the width.
            shr(a, b) -> y {
                int: if (0..64).contains(&b) { a >> b } else { a >> 63 };
            }
        }
    };
}
logic_rows!(define_rows);
