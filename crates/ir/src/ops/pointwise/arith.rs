//! Arithmetic.
//!
//! Integers wrap on overflow; dividing an integer by zero gives quotient 0 and remainder the dividend.

use super::*;

/// Hands the arithmetic rows to a macro.
#[macro_export]
macro_rules! arith_rows {
    ($then:ident) => {
        $then! {
            /// Sum.
            add(a, b) -> y {
                float: a + b;
                complex: a + b;
                int: a.wrapping_add(b);
                partials: [1.0, 1.0];
            }
            /// Difference.
            sub(a, b) -> y {
                float: a - b;
                complex: a - b;
                int: a.wrapping_sub(b);
                partials: [1.0, -1.0];
            }
            /// Product.
            mul(a, b) -> y {
                float: a * b;
                complex: a * b;
                int: a.wrapping_mul(b);
                partials: [b, a];
            }
            /// Quotient; integers round towards zero.
            div(a, b) -> y {
                float: a / b;
                complex: a / b;
                int: a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a });
                partials: [1.0 / b, -y / b];
                domain: [(-2.0, 2.0), (0.5, 2.0)];
            }
            /// Negation.
            neg(x) -> y {
                float: -x;
                complex: -x;
                int: x.wrapping_neg();
                partials: [-1.0];
            }
            /// Larger of two; a tie shares the derivative evenly; NaN wins.
            maximum(a, b) -> y {
                float: if a.is_nan() || b.is_nan() { f64::NAN } else if a > b { a } else { b };
                int: a.max(b);
                bools: true;
                partials: [a.wins(b), b.wins(a)];
            }
            /// Smaller of two; a tie shares the derivative evenly; NaN wins.
            minimum(a, b) -> y {
                float: if a.is_nan() || b.is_nan() { f64::NAN } else if a < b { a } else { b };
                int: a.min(b);
                bools: true;
                partials: [b.wins(a), a.wins(b)];
            }
        }
    };
}
arith_rows!(define_rows);

impl<'g> Var<'g> {
    /// 1 where larger than `other`, one half where equal, else 0.
    fn wins(self, other: Var<'g>) -> Var<'g> {
        let half = self.gt(other).to(self.dtype()) + self.ge(other).to(self.dtype());
        half * 0.5
    }
}
