//! tmp
use super::*;
/// tmp
#[macro_export]
macro_rules! tmp_rows {
    ($then:ident) => {
        $then! {
            /// t
            fmod(a, b) -> y { float: a % b; int: a.checked_rem(b).unwrap_or(0); }
            /// t
            remainder(a, b) -> y { float: a - b * (a / b).floor(); int: a.rem_euclid(b); }
            /// t
            and(a, b) -> y { int: a & b; bools: true; }
            /// t
            or(a, b) -> y { int: a | b; bools: true; }
            /// t
            xor(a, b) -> y { int: a ^ b; bools: true; }
            /// t
            not(a) -> y { int: !a; bools: true; }
            /// t
            shr(a, b) -> y { int: a >> b; }
            /// t
            erfinv(x) -> y { float: crate::special::erfinv(x); }
            /// t
            is_finite(x) -> y { predicate: true; float: x.is_finite() as i64 as f64; }
        }
    };
}
tmp_rows!(define_rows);
