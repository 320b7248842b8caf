//! Element types as stored in memory, and the wider types in which they are computed.

use gradus_ir::reference::Combined;
use gradus_ir::{C, DType};
use half::{bf16, f16};
use num_complex::Complex;

/// The stored type of a dtype.
pub(super) trait Element: Copy + Send + Sync {
    /// The type in which the reference computes (the carrier).
    type Carrier: Combined + Send + Sync;
    /// The dtype.
    const DTYPE: DType;
    /// Converts to the carrier.
    fn to_carrier(self) -> Self::Carrier;
    /// Converts from the carrier: rounds or wraps once.
    fn from_carrier(x: Self::Carrier) -> Self;
}

/// An element type with an order.
pub(super) trait Ordered: Element {
    /// Maps an element to an integer. The integers have the order of the elements, with NaN the largest. Equal elements
    /// (0 and -0, NaN and NaN) have equal integers. For elements of at most four bytes the integer is below 2³².
    fn rank(self) -> u64;
    /// Returns true if it is NaN.
    fn is_nan(self) -> bool {
        false
    }
}

/// A boolean, stored as a byte.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Boolean(u8);

macro_rules! element {
    ($($t:ty, $carrier:ty, $dtype:ident, |$x:ident| $up:expr, $down:expr;)*) => {$(
        impl Element for $t {
            type Carrier = $carrier;
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn to_carrier(self) -> $carrier {
                let $x = self;
                $up
            }
            #[inline(always)]
            fn from_carrier($x: $carrier) -> $t {
                $down
            }
        }
    )*};
}

element! {
    f32, f64, F32, |x| f64::from(x), x as f32;
    f64, f64, F64, |x| x, x;
    // Rounds in `f64` first, because the conversion to `f32` would otherwise round before the rounding to `bf16`.
    bf16, f64, BF16, |x| x.to_f64(), bf16::from_f32(DType::BF16.round(x) as f32);
    f16, f64, F16, |x| x.to_f64(), f16::from_f32(DType::F16.round(x) as f32);
    i8, i64, I8, |x| i64::from(x), x as i8;
    u8, i64, U8, |x| i64::from(x), x as u8;
    i32, i64, I32, |x| i64::from(x), x as i32;
    u32, i64, U32, |x| i64::from(x), x as u32;
    i64, i64, I64, |x| x, x;
    Boolean, i64, Bool, |x| i64::from(x.0 != 0), Boolean((x & 1) as u8);
    Complex<f32>, C, C64, |x| C::new(x.re.into(), x.im.into()), Complex::new(x.re as f32, x.im as f32);
    C, C, C128, |x| x, x;
}

macro_rules! ordered_floats {
    ($($t:ty, $bits:ty, $zero:expr;)*) => {$(
        impl Ordered for $t {
            #[inline(always)]
            fn rank(self) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                if self != self {
                    return <$bits>::MAX.into();
                }
                let bits = if self == $zero { 0 } else { self.to_bits() };
                // The bits of negative numbers decrease as the numbers increase, so they are inverted.
                (if bits & SIGN == 0 { bits | SIGN } else { !bits }).into()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
    )*};
}

ordered_floats! {
    f32, u32, 0.0;
    f64, u64, 0.0;
    bf16, u16, bf16::ZERO;
    f16, u16, f16::ZERO;
}

macro_rules! ordered_ints {
    ($($t:ty, |$x:ident| $rank:expr;)*) => {$(
        impl Ordered for $t {
            #[inline(always)]
            fn rank(self) -> u64 {
                let $x = self;
                $rank
            }
        }
    )*};
}

ordered_ints! {
    i8, |x| (i64::from(x) + 128) as u64;
    u8, |x| x.into();
    i32, |x| (i64::from(x) - i64::from(i32::MIN)) as u64;
    u32, |x| x.into();
    i64, |x| x as u64 ^ 1 << 63;
    Boolean, |x| (x.0 != 0).into();
}

/// Evaluates an expression with `$t` the element type of a dtype, or `$complex` with `$z` a complex one.
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr, $z:ident => $complex:expr) => {
        match $dtype {
            DType::F32 => with_element!(@ f32, $t, $body),
            DType::F64 => with_element!(@ f64, $t, $body),
            DType::BF16 => with_element!(@ half::bf16, $t, $body),
            DType::F16 => with_element!(@ half::f16, $t, $body),
            DType::I8 => with_element!(@ i8, $t, $body),
            DType::U8 => with_element!(@ u8, $t, $body),
            DType::I32 => with_element!(@ i32, $t, $body),
            DType::U32 => with_element!(@ u32, $t, $body),
            DType::I64 => with_element!(@ i64, $t, $body),
            DType::Bool => with_element!(@ crate::routine::element::Boolean, $t, $body),
            DType::C64 => with_element!(@ num_complex::Complex<f32>, $z, $complex),
            DType::C128 => with_element!(@ num_complex::Complex<f64>, $z, $complex),
        }
    };
    (@ $own:ty, $t:ident, $body:expr) => {{
        #[allow(dead_code, reason = "not every expression uses the alias")]
        type $t = $own;
        $body
    }};
}
pub(super) use with_element;
