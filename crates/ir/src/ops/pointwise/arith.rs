//! Arithmetic.
//!
//! Integers wrap on overflow; dividing an integer by zero gives quotient 0 and remainder the dividend.

use super::*;
use crate::{complex, special};

/// Passes the arithmetic ops to a macro.
#[macro_export]
macro_rules! arith_ops {
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
                complex: complex::div(a, b);
                int: a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a });
                partials: [1.0 / b, -y / b];
                domain: [(-2.0, 2.0), (0.5, 2.0)];
            }
            /// Quotient rounded down; the counterpart of `remainder`. A float divided by zero is the ordinary
            /// quotient. A step function: its derivative is 0.
            floor_div(a, b) -> y {
                float: floor_div_float(a, b);
                int: floor_div_int(a, b);
                constant: true;
                domain: [(2.4, 2.9), (1.0, 1.1)];
            }
            /// Remainder of division rounded towards zero: it has the sign of the dividend, as `%` in C and
            /// Rust. NaN for a float divisor 0 or an infinite dividend. At a jump, the derivative is that of the
            /// side to which the value belongs.
            fmod(a, b) -> y {
                float: a % b;
                int: a.checked_rem(b).unwrap_or(if b == 0 { a } else { 0 });
                partials: [1.0, ((y - a) / b).round()];
                domain: [(2.4, 2.9), (1.0, 1.1)];
            }
            /// Remainder of division rounded down: it has the sign of the divisor, as `%` in Python; a zero
            /// has that of the dividend. NaN for a float divisor 0 or an infinite dividend. At a jump, the
            /// derivative is that of the side to which the value belongs.
            remainder(a, b) -> y {
                float: remainder_float(a, b);
                int: remainder_int(a, b);
                partials: [1.0, ((y - a) / b).round()];
                domain: [(-2.9, -2.4), (1.0, 1.1)];
            }
            /// Negation.
            neg(x) -> y {
                float: -x;
                complex: -x;
                int: x.wrapping_neg();
                partials: [-1.0];
            }
            /// `1 / x`; infinite at 0.
            reciprocal(x) -> y {
                float: 1.0 / x;
                complex: complex::div(C::ONE, x);
                partials: [-y * y];
                domain: [(0.5, 2.0)];
            }
            /// The square.
            square(x) -> y {
                float: x * x;
                complex: x * x;
                int: x.wrapping_mul(x);
                partials: [2.0 * x];
            }
            /// Absolute value; its derivative at 0 is 0.
            abs(x) -> y {
                float: x.abs();
                int: x.wrapping_abs();
                partials: [x.sign()];
                domain: [(-2.0, -0.1)];
            }
            /// 1 for positive, -1 for negative, 0 for both zeros and for NaN. Its derivative is 0.
            sign(x) -> y {
                float: (x > 0.0) as i8 as f64 - (x < 0.0) as i8 as f64;
                int: x.signum();
                constant: true;
                domain: [(-2.0, -0.1)];
            }
            /// The modulus of the first operand with the sign of the second; the sign of a zero or NaN counts.
            /// The derivative by the first operand is 0 at 0; the derivative by the second is always 0.
            copysign(a, b) -> y {
                float: a.copysign(b);
                partials: [a.sign() * y.sign(), 0.0];
                domain: [(-2.0, -0.1), (0.1, 2.0)];
            }
            /// Larger of two. A tie returns the first and shares the derivative evenly. If an operand is NaN, so is
            /// the result, and the derivatives are 0.
            maximum(a, b) -> y {
                float: if a.is_nan() || b.is_nan() { f64::NAN } else if a < b { b } else { a };
                int: a.max(b);
                bools: true;
                partials: [a.wins(b), b.wins(a)];
            }
            /// Smaller of two. A tie returns the first and shares the derivative evenly. If an operand is NaN, so is
            /// the result, and the derivatives are 0.
            minimum(a, b) -> y {
                float: if a.is_nan() || b.is_nan() { f64::NAN } else if b < a { b } else { a };
                int: a.min(b);
                bools: true;
                partials: [b.wins(a), a.wins(b)];
            }
            /// `sqrt(a² + b²)` without overflow; infinite if either is. Its derivative at the origin is 0.
            hypot(a, b) -> y {
                float: a.hypot(b);
                partials: [a.over(y), b.over(y)];
                domain: [(0.3, 2.0), (-2.0, 2.0)];
                ulp: 2.0;
            }
            /// The angle of the point with ordinate `a` and abscissa `b`, from -pi to pi. Its derivative at
            /// the origin is 0.
            atan2(a, b) -> y {
                float: a.atan2(b);
                partials: [b.over_squared_modulus(a), -a.over_squared_modulus(b)];
                domain: [(0.3, 2.0), (-2.0, 2.0)];
                ulp: 3.0;
            }
            /// `a` to the power `b`. Any number to the power 0 is 1. Floats: NaN for a negative base and a fractional
            /// exponent. Integers: a negative exponent gives 1 over the power, rounded towards zero.
            ///
            /// The derivative by the base is exact: that of `x^0` is 0, also at 0 and NaN, and that of `x^2` is 0 at
            /// 0. The derivative by the exponent is `a^b log(a)`, which is NaN for a negative base, and 0 for base 0
            /// and an exponent of at least 0.
            pow(a, b) -> y {
                float: a.powf(b);
                complex: complex::pow(a, b);
                int: pow_int(a, b);
                partials: [a.pow_by_base(b), a.pow_by_exponent(b)];
                domain: [(0.3, 2.0), (-2.0, 2.0)];
                ulp: 4.0;
            }
            /// `log(exp(a) + exp(b))` without overflow. At two equal infinities the derivative is shared evenly, as
            /// at any other tie.
            logaddexp(a, b) -> y {
                float: special::logaddexp(a, b);
                partials: [a.share(b), b.share(a)];
                ulp: 3.0;
            }
        }
    };
}
arith_ops!(define_ops);

/// Computes `remainder` for floats; this function defines the op.
pub fn remainder_float(a: f64, b: f64) -> f64 {
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

fn remainder_int(a: i64, b: i64) -> i64 {
    let r = a.checked_rem(b).unwrap_or(if b == 0 { a } else { 0 });
    if b != 0 && r != 0 && (r < 0) != (b < 0) { r + b } else { r }
}

/// Computes `floor_div` for floats; this function defines the op. The quotient matches `remainder_float` and
/// is exact, whereas the rounded quotient may be too large by one.
pub fn floor_div_float(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        return a / b;
    }
    let r = a % b;
    let down = if r != 0.0 && (r < 0.0) != (b < 0.0) { 1.0 } else { 0.0 };
    let q = (a - r) / b - down;
    if q == 0.0 { 0.0_f64.copysign(a / b) } else { q.round() }
}

fn floor_div_int(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

fn pow_int(a: i64, b: i64) -> i64 {
    if b < 0 {
        return match a {
            1 => 1,
            -1 if b % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut power, mut base, mut left) = (1_i64, a, b);
    while left > 0 {
        if left % 2 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        left /= 2;
    }
    power
}

/// Parts of the partials above. Where a factor would be NaN or infinite although the derivative is finite, both the
/// operand of that factor and its result are replaced. Replacing only the operand would make second derivatives
/// wrong; replacing only the result would leave a NaN in them.
impl<'g> Var<'g> {
    fn is_zero(self) -> Var<'g> {
        self.eq(self.full_like(0.0))
    }

    /// Returns `value` where the condition holds, else `self`.
    fn unless(self, condition: Var<'g>, value: f64) -> Var<'g> {
        condition.select(self.full_like(value), self)
    }

    /// Returns 1 where `self` is larger than `other`, one half where both are equal, else 0; 0 for NaN.
    fn wins(self, other: Var<'g>) -> Var<'g> {
        let half = self.gt(other).to(self.dtype()) + self.ge(other).to(self.dtype());
        half * 0.5
    }

    /// Divides by a modulus; 0 where the modulus is 0.
    fn over(self, modulus: Var<'g>) -> Var<'g> {
        let origin = modulus.is_zero();
        (self / modulus.unless(origin, 1.0)).unless(origin, 0.0)
    }

    /// Divides this coordinate by the squared modulus of the point. Divides twice, because the square may overflow.
    fn over_squared_modulus(self, other: Var<'g>) -> Var<'g> {
        let modulus = self.hypot(other);
        self.over(modulus).over(modulus)
    }

    /// Returns `b · a^(b-1)`, and 0 at `0^0` and `NaN^0`.
    fn pow_by_base(self, b: Var<'g>) -> Var<'g> {
        let corner = self.is_zero().or(self.ne(self)).and(b.is_zero());
        (b * self.unless(corner, 1.0).pow(b.unless(corner, 1.0) - 1.0)).unless(corner, 0.0)
    }

    /// Returns `a^b · log(a)`, and 0 where `a` is 0 and `b` is real and at least 0; there `a` is replaced by
    /// 1.
    fn pow_by_exponent(self, b: Var<'g>) -> Var<'g> {
        let at_least_0 = match self.dtype().is_complex() {
            true => b.re().ge(b.re().full_like(0.0)).and(b.im().is_zero()),
            false => b.ge(b.full_like(0.0)),
        };
        let a = self.unless(self.is_zero().and(at_least_0), 1.0);
        a.pow(b) * a.log()
    }

    /// Returns `exp(self) / (exp(self) + exp(other))`; one half at equal infinities.
    fn share(self, other: Var<'g>) -> Var<'g> {
        let even = self.eq(other).and(self.is_inf());
        (self - other).unless(even, 0.0).sigmoid()
    }
}
