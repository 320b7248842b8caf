//! Logic on booleans, and bit by bit on integers. The derivatives are 0.

use super::*;

/// Passes the logic ops to a macro.
#[macro_export]
macro_rules! logic_ops {
    ($then:ident) => {
        $then! {
            /// Logical and; bit by bit on integers.
            and(a, b) -> y {
                int: a & b;
                bools: true;
            }
            /// Logical or; bit by bit on integers.
            or(a, b) -> y {
                int: a | b;
                bools: true;
            }
            /// Exclusive or; bit by bit on integers.
            xor(a, b) -> y {
                int: a ^ b;
                bools: true;
            }
            /// Logical negation; flips every bit of an integer.
            not(x) -> y {
                int: !x;
                bools: true;
            }
            /// Shifts the bits of `a` left by `b`, filling with zeros. The result is 0 if `b` is negative or not less
            /// than the width.
            shl(a, b) -> y {
                int: if (0..64).contains(&b) { a << b } else { 0 };
            }
            /// Shifts the bits of `a` right by `b`, filling with the sign (zeros if unsigned). If `b` is negative or
            /// not less than the width, only copies of the sign are left.
            shr(a, b) -> y {
                int: if (0..64).contains(&b) { a >> b } else { a >> 63 };
            }
        }
    };
}
logic_ops!(define_ops);
