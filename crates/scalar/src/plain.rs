//! Implements [`Float`] for numbers.

use crate::exponential::powers;
use crate::{Float, Real};
use std::ops::{Add, BitAnd, Div, Mul, Neg, Shl, Shr, Sub};

/// A number. `FUSED` is true if the target has an instruction for a product and a sum. Without one, `fma`
/// rounds twice, because calling a library function would be slow.
#[derive(Clone, Copy, Debug)]
pub struct Plain<const FUSED: bool>(pub f32);

/// The bits of a number.
#[derive(Clone, Copy, Debug)]
pub struct Word(i32);

impl<const FUSED: bool> From<f32> for Plain<FUSED> {
    #[inline(always)]
    fn from(x: f32) -> Self {
        Plain(x)
    }
}

impl From<u32> for Word {
    #[inline(always)]
    fn from(x: u32) -> Word {
        Word(x as i32)
    }
}

macro_rules! operators {
    ($($name:ident $f:ident $op:tt),*) => {$(
        impl<const FUSED: bool> $name for Plain<FUSED> {
            type Output = Self;
            #[inline(always)]
            fn $f(self, other: Self) -> Self {
                Plain(self.0 $op other.0)
            }
        }
    )*};
}
operators!(Add add +, Sub sub -, Mul mul *, Div div /);

macro_rules! words {
    ($($name:ident<$t:ty> $f:ident |$a:ident, $b:ident| $body:expr),*) => {$(
        impl $name<$t> for Word {
            type Output = Word;
            #[inline(always)]
            fn $f(self, other: $t) -> Word {
                let ($a, $b) = (self.0, other);
                Word($body)
            }
        }
    )*};
}
words!(Add<Word> add |a, b| a.wrapping_add(b.0), Sub<Word> sub |a, b| a.wrapping_sub(b.0),
    BitAnd<Word> bitand |a, b| a & b.0, Shl<u8> shl |a, n| a << n, Shr<u8> shr |a, n| a >> n);

impl<const FUSED: bool> Neg for Plain<FUSED> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Plain(-self.0)
    }
}

impl<const FUSED: bool> Float for Plain<FUSED> {
    type Bits = Word;
    type Mask = bool;

    #[inline(always)]
    fn fma(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        Plain(plain_fma::<FUSED>(self.0, b.into().0, c.into().0))
    }
    #[inline(always)]
    fn fused(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
        let (b, c) = (b.into().0, c.into().0);
        Plain(match FUSED {
            true => self.0.mul_add(b, c),
            // The product is exact in `f64`. The sum is rounded to `f64`, then to `f32`.
            false => (f64::from(self.0) * f64::from(b) + f64::from(c)) as f32,
        })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Plain(self.0.abs())
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        Plain(self.0.copysign(sign.0))
    }
    #[inline(always)]
    fn lt(self, other: impl Into<Self>) -> bool {
        self.0 < other.into().0
    }
    #[inline(always)]
    fn gt(self, other: impl Into<Self>) -> bool {
        self.0 > other.into().0
    }
    #[inline(always)]
    fn eq(self, other: impl Into<Self>) -> bool {
        self.0 == other.into().0
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.0.is_nan()
    }
    #[inline(always)]
    fn select(mask: bool, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        let (yes, no) = (yes.into(), no.into());
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn to_bits(self) -> Word {
        Word(self.0.to_bits() as i32)
    }
    #[inline(always)]
    fn from_bits(bits: Word) -> Self {
        Plain(f32::from_bits(bits.0 as u32))
    }
    #[inline(always)]
    fn from_int(bits: Word) -> Self {
        Plain(bits.0 as f32)
    }
    #[inline(always)]
    fn scaled(self, t: Self) -> Self {
        let (a, b) = powers(t);
        self * a * b
    }
}

impl<const FUSED: bool> Real for Plain<FUSED> {
    #[inline(always)]
    fn sqrt(self) -> Self {
        Plain(self.0.sqrt())
    }
    #[inline(always)]
    fn both(a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    fn either(a: bool, b: bool) -> bool {
        a | b
    }
}

/// Returns `a·b + c`, rounded once if `FUSED`, else twice.
#[inline(always)]
pub fn plain_fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
