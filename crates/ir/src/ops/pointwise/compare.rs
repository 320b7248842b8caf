//! Comparisons: truth values, without derivative. Any comparison with NaN is false except `ne`.

use super::*;

/// Hands the comparison rows to a macro.
#[macro_export]
macro_rules! compare_rows {
    ($then:ident) => {
        $then! {
            /// Whether equal.
            eq(a, b) -> y {
                predicate: true;
                float: (a == b) as i64 as f64;
                complex: C::from((a == b) as i64 as f64);
                int: (a == b) as i64;
                bools: true;
            }
            /// Whether different.
            ne(a, b) -> y {
                predicate: true;
                float: (a != b) as i64 as f64;
                complex: C::from((a != b) as i64 as f64);
                int: (a != b) as i64;
                bools: true;
            }
            /// Whether smaller.
            lt(a, b) -> y {
                predicate: true;
                float: (a < b) as i64 as f64;
                int: (a < b) as i64;
                bools: true;
            }
            /// Whether smaller or equal.
            le(a, b) -> y {
                predicate: true;
                float: (a <= b) as i64 as f64;
                int: (a <= b) as i64;
                bools: true;
            }
            /// Whether larger.
            gt(a, b) -> y {
                predicate: true;
                float: (a > b) as i64 as f64;
                int: (a > b) as i64;
                bools: true;
            }
            /// Whether larger or equal.
            ge(a, b) -> y {
                predicate: true;
                float: (a >= b) as i64 as f64;
                int: (a >= b) as i64;
                bools: true;
            }
        }
    };
}
compare_rows!(define_rows);
