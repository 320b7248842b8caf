//! Element types, their classes and the promotion rule.
//!
//! Every dtype belongs to one of four classes, and each class has one exact carrier in which the reference
//! evaluator computes: `f64` for floats, `Complex<f64>` for complex, `i64` for integers and booleans.

use num_complex::Complex;
use std::fmt;

/// The complex carrier type.
pub type C = Complex<f64>;

/// The type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit IEEE float, the default.
    F32,
    /// 64-bit IEEE float.
    F64,
    /// bfloat16: 8 exponent bits, 7 fraction bits.
    BF16,
    /// IEEE half.
    F16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Boolean.
    Bool,
    /// Complex number of two `f32`.
    C64,
    /// Complex number of two `f64`.
    C128,
}

/// The class of numbers that a dtype holds, in order of promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Booleans.
    Bool,
    /// Integers.
    Int,
    /// Real floats.
    Float,
    /// Complex floats.
    Complex,
}

impl DType {
    /// All dtypes.
    pub const ALL: [DType; 12] = [
        DType::F32,
        DType::F64,
        DType::BF16,
        DType::F16,
        DType::I8,
        DType::U8,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::Bool,
        DType::C64,
        DType::C128,
    ];

    /// The dtypes without 64-bit floats, which every GPU supports.
    pub const WITHOUT_F64: [DType; 10] = [
        DType::F32,
        DType::BF16,
        DType::F16,
        DType::I8,
        DType::U8,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::Bool,
        DType::C64,
    ];

    /// Returns the short name, as in `f32[2,3]`.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::Bool => "bool",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// Returns the dtype with this short name.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Returns the bytes per element.
    pub fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 | DType::Bool => 1,
            DType::BF16 | DType::F16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// Returns the class of the elements.
    pub fn class(self) -> Class {
        match self {
            DType::F32 | DType::F64 | DType::BF16 | DType::F16 => Class::Float,
            DType::I8 | DType::U8 | DType::I32 | DType::U32 | DType::I64 => Class::Int,
            DType::Bool => Class::Bool,
            DType::C64 | DType::C128 => Class::Complex,
        }
    }

    /// Returns true if the dtype carries derivatives: floats and complex numbers do; integers and booleans do not.
    pub fn is_differentiable(self) -> bool {
        self.class() >= Class::Float
    }

    /// Returns true if elements are complex.
    pub fn is_complex(self) -> bool {
        self.class() == Class::Complex
    }

    /// Returns the dtype of the parts of a complex dtype, and any other dtype unchanged.
    pub fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            d => d,
        }
    }

    /// Returns the complex dtype whose parts are this dtype; `c64` for every dtype other than `f64` and `c128`.
    pub fn complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }

    /// Returns the dtype to which both operands of a mixed expression are converted. The higher class wins;
    /// within a class, the wider dtype. `bf16` with `f16` gives `f32`. `u8` with `i8`, and `u32` with any
    /// signed type, give the next signed type that holds both. A complex dtype with `f64` gives `c128`.
    pub fn promote(self, other: DType) -> DType {
        use DType::*;
        if self == other {
            return self;
        }
        let (low, high) = if self.class() <= other.class() { (self, other) } else { (other, self) };
        match (low.class(), high.class()) {
            (a, b) if a < b => match (low, high) {
                (F64, C64) => C128,
                _ => high,
            },
            (Class::Float, _) => match (low, high) {
                (F64, _) | (_, F64) => F64,
                _ => F32,
            },
            (Class::Complex, _) => C128,
            _ => match (low, high) {
                (I64, _) | (_, I64) => I64,
                (U32, U8) | (U8, U32) => U32,
                (U32, _) | (_, U32) => I64,
                _ => I32,
            },
        }
    }

    /// Returns the distance from 1 to the next representable number (0 for integers).
    pub fn epsilon(self) -> f64 {
        match self.real() {
            DType::F64 => f64::EPSILON,
            DType::F32 => f32::EPSILON as f64,
            DType::F16 => half::f16::EPSILON.to_f64(),
            DType::BF16 => half::bf16::EPSILON.to_f64(),
            _ => 0.0,
        }
    }

    /// Returns the smallest positive normal number (0 for integers).
    pub fn min_positive(self) -> f64 {
        match self.real() {
            DType::F64 => f64::MIN_POSITIVE,
            DType::F32 => f32::MIN_POSITIVE as f64,
            DType::F16 => half::f16::MIN_POSITIVE.to_f64(),
            DType::BF16 => half::bf16::MIN_POSITIVE.to_f64(),
            _ => 0.0,
        }
    }

    /// Returns the identity of `max`: minus infinity for floats, the minimum for integers.
    pub fn lowest(self) -> f64 {
        match self {
            DType::I8 => i8::MIN as f64,
            DType::I32 => i32::MIN as f64,
            DType::I64 => i64::MIN as f64,
            DType::U8 | DType::U32 | DType::Bool => 0.0,
            _ => f64::NEG_INFINITY,
        }
    }

    /// Rounds to the nearest number of this float dtype (ties to even).
    pub fn round(self, x: f64) -> f64 {
        match self.real() {
            DType::F32 => x as f32 as f64,
            DType::F16 => self.round_narrow(x, half::f16::MAX.to_f64()),
            DType::BF16 => self.round_narrow(x, half::bf16::MAX.to_f64()),
            _ => x,
        }
    }

    /// Rounds a float to a multiple of its unit in the last place in this dtype. Converting through `f32`, as
    /// processors and the `half` crate do, would round twice, which is wrong for numbers close to the midpoint of
    /// two neighbours.
    fn round_narrow(self, x: f64, max: f64) -> f64 {
        if !x.is_finite() {
            return x;
        }
        let power = f64::from_bits(x.to_bits() & f64::INFINITY.to_bits());
        let last_place = power.max(self.min_positive()) * self.epsilon();
        let rounded = (x / last_place).round_ties_even() * last_place;
        if rounded.abs() > max { f64::INFINITY.copysign(x) } else { rounded }
    }

    /// Wraps an integer into this integer dtype (modulo its range); booleans keep the low bit.
    pub fn wrap(self, x: i64) -> i64 {
        match self {
            DType::I8 => x as i8 as i64,
            DType::U8 => x as u8 as i64,
            DType::I32 => x as i32 as i64,
            DType::U32 => x as u32 as i64,
            DType::Bool => x & 1,
            _ => x,
        }
    }

    /// Converts a float to this integer dtype: towards zero, saturating, NaN to 0; booleans test for non-zero.
    pub fn from_float(self, x: f64) -> i64 {
        match self {
            DType::I8 => x as i8 as i64,
            DType::U8 => x as u8 as i64,
            DType::I32 => x as i32 as i64,
            DType::U32 => x as u32 as i64,
            DType::Bool => (x != 0.0) as i64,
            _ => x as i64,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_symmetric_and_takes_the_higher_class() {
        use DType::*;
        for a in DType::ALL {
            assert_eq!(DType::parse(a.name()), Some(a));
            for b in DType::ALL {
                let p = a.promote(b);
                assert_eq!(p, b.promote(a), "{a} {b}");
                assert_eq!(p.class(), a.class().max(b.class()), "{a} {b}");
                assert_eq!(p.promote(a), p, "{a} {b}: promotion is idempotent");
            }
        }
        let table = [(U8, I8, I32), (U32, I32, I64), (U8, U32, U32), (I64, BF16, BF16), (BF16, F16, F32)];
        for (a, b, p) in table.into_iter().chain([(F64, C64, C128), (F32, C64, C64), (Bool, I8, I8)]) {
            assert_eq!(a.promote(b), p, "{a} {b}");
        }
    }

    #[test]
    fn wrapping_and_saturating() {
        assert_eq!(DType::U8.wrap(-1), 255);
        assert_eq!(DType::I8.wrap(200), -56);
        assert_eq!(DType::U8.from_float(300.7), 255);
        assert_eq!(DType::I32.from_float(f64::NAN), 0);
        assert_eq!(DType::I32.from_float(-2.9), -2);
        assert_eq!(DType::Bool.from_float(f64::NAN), 1);
        assert_eq!(DType::BF16.round(1.0 + 1.0 / 256.0), 1.0);
    }
}
