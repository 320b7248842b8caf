//! Comparisons and tests, with boolean results: their derivative is 0. Any comparison with NaN is false except `ne`.

use super::*;

/// Passes the comparison ops to a macro.
#[macro_export]
macro_rules! compare_ops {
    ($then:ident) => {
        $then! {
            /// True where `a` and `b` are equal.
            eq(a, b) -> y {
                predicate: true;
                float: (a == b) as i64 as f64;
                complex: C::from((a == b) as i64 as f64);
                int: (a == b) as i64;
                bools: true;
            }
            /// True where `a` and `b` differ.
            ne(a, b) -> y {
                predicate: true;
                float: (a != b) as i64 as f64;
                complex: C::from((a != b) as i64 as f64);
                int: (a != b) as i64;
                bools: true;
            }
            /// True where `a` is smaller than `b`.
            lt(a, b) -> y {
                predicate: true;
                float: (a < b) as i64 as f64;
                int: (a < b) as i64;
                bools: true;
            }
            /// True where `a` is smaller than `b` or equal.
            le(a, b) -> y {
                predicate: true;
                float: (a <= b) as i64 as f64;
                int: (a <= b) as i64;
                bools: true;
            }
            /// True where `a` is larger than `b`.
            gt(a, b) -> y {
                predicate: true;
                float: (a > b) as i64 as f64;
                int: (a > b) as i64;
                bools: true;
            }
            /// True where `a` is larger than `b` or equal.
            ge(a, b) -> y {
                predicate: true;
                float: (a >= b) as i64 as f64;
                int: (a >= b) as i64;
                bools: true;
            }
            /// True where `x` is not a number (complex: in either part).
            is_nan(x) -> y {
                predicate: true;
                float: x.is_nan() as i64 as f64;
                complex: C::from(x.is_nan() as i64 as f64);
                int: 0;
                bools: true;
            }
            /// True where `x` is infinite, of either sign (complex: in either part).
            is_inf(x) -> y {
                predicate: true;
                float: x.is_infinite() as i64 as f64;
                complex: C::from((x.re.is_infinite() || x.im.is_infinite()) as i64 as f64);
                int: 0;
                bools: true;
            }
            /// True where `x` is neither infinite nor NaN (complex: in both parts).
            is_finite(x) -> y {
                predicate: true;
                float: x.is_finite() as i64 as f64;
                complex: C::from(x.is_finite() as i64 as f64);
                int: 1;
                bools: true;
            }
        }
    };
}
compare_ops!(define_ops);
