//! Element types that are plain bytes, so that one untyped buffer can be read as any of them.

use half::{bf16, f16};
use num_complex::Complex;

/// A plain element type: every bit pattern is a value and every value is fully initialised bytes.
///
/// `bool` is not one: only two of its 256 bit patterns are values.
///
/// # Safety
///
/// The type must accept any bit pattern, and must have no padding and no interior mutability. It must occupy at
/// least one byte and need an alignment of at most 64.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! pod {
    ($($t:ty),*) => { $(
        // SAFETY: a primitive number, a transparent wrapper of one, or a `repr(C)` pair of two equal numbers.
        unsafe impl Pod for $t {}
    )* };
}

pod!(u8, i8, u16, u32, i32, u64, i64, f32, f64, f16, bf16, Complex<f32>, Complex<f64>);
