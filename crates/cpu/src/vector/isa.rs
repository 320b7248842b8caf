//! Defines the tables of loops: instantiates the same source for every instruction set.

use super::block::{self, Splat};
use super::{Binary, Compare, Conversions, Each, Fma, Ints, Isa, Loops, Select};
use super::{double, half, wide};
use gradus_ir::ops::pointwise::arith::{floor_div_float, remainder_float};
use gradus_scalar::{Plain, circular, exponential, plain_fma};

/// The set of loops compiled for an instruction set.
pub struct Set {
    pub(super) f32: Loops<f32>,
    pub(super) f64: Loops<f64>,
    pub(super) masks: Each<u8>,
    pub(super) ints: Ints,
    pub(super) conversions: Conversions,
}

pub(super) fn set(isa: Isa) -> &'static Set {
    match isa.vectors() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => &avx512::SET,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => &avx2::SET,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => &neon::SET,
        _ => &portable::SET,
    }
}

/// Defines a loop with the attributes in brackets. The body is a separate function that is always inlined, because a call
/// inside a loop would prevent vectorization.
macro_rules! kernel {
    ([$($attr:tt)*] fn($($p:ident: $pt:ty),*) $(-> $r:ty)?, $run:expr $(, $f:item)?) => {{
        $(#[inline(always)] $f)?
        $($attr)*
        unsafe fn run($($p: $pt),*) $(-> $r)? {
            // SAFETY: the caller guarantees the instruction set and the elements that the function of `block`
            // accesses.
            unsafe { $run }
        }
        run
    }};
}

macro_rules! unary {
    ($attr:tt, $t:ty => $u:ty, $($name:ident($x:ident) = $body:expr $(, $far:expr => $slow:expr)?;)*) => {
        &[$((stringify!($name), unary!(@one $attr, $t => $u, ($x) = $body $(, $far => $slow)?))),*]
    };
    (@one $attr:tt, $t:ty => $u:ty, ($x:ident) = $body:expr) => {
        kernel!($attr fn(x: *const $t, y: *mut $u, n: usize),
            block::map(x, y, n, f, |_| false, f), fn f($x: $t) -> $u { $body })
    };
    (@one $attr:tt, $t:ty => $u:ty, ($x:ident) = $body:expr, $far:expr => $slow:expr) => {
        kernel!($attr fn(x: *const $t, y: *mut $u, n: usize),
            block::map(x, y, n, f, |$x: $t| $far, |$x: $t| $slow), fn f($x: $t) -> $u { $body })
    };
}

macro_rules! binary {
    ($attr:tt, $kind:ident, $t:ty => $u:ty, $($name:ident($a:ident, $b:ident) = $body:expr $(, $far:expr => $slow:expr)?;)*) => {
        &[$((stringify!($name), binary!(@one $attr, $kind, $t => $u, ($a, $b) = $body $(, $far => $slow)?))),*]
    };
    (@one $attr:tt, $kind:ident, $t:ty => $u:ty, ($a:ident, $b:ident) = $body:expr) => {
        binary!(@all $attr, $kind, $t => $u, ($a, $b) = $body, |_: $t, _: $t| false, f)
    };
    (@one $attr:tt, $kind:ident, $t:ty => $u:ty, ($a:ident, $b:ident) = $body:expr, $far:expr => $slow:expr) => {
        binary!(@all $attr, $kind, $t => $u, ($a, $b) = $body, |$a: $t, $b: $t| $far, |$a: $t, $b: $t| $slow)
    };
    (@all $attr:tt, $kind:ident, $t:ty => $u:ty, ($a:ident, $b:ident) = $body:expr, $far:expr, $slow:expr) => {
        $kind {
            vv: kernel!($attr fn(a: *const $t, b: *const $t, y: *mut $u, n: usize),
                block::map2((a, b), y, n, f, $far, $slow), fn f($a: $t, $b: $t) -> $u { $body }),
            vs: kernel!($attr fn(a: *const $t, b: $t, y: *mut $u, n: usize),
                block::map2((a, Splat(b)), y, n, f, $far, $slow), fn f($a: $t, $b: $t) -> $u { $body }),
            sv: kernel!($attr fn(a: $t, b: *const $t, y: *mut $u, n: usize),
                block::map2((Splat(a), b), y, n, f, $far, $slow), fn f($a: $t, $b: $t) -> $u { $body }),
        }
    };
}

macro_rules! convert {
    ($attr:tt, $t:ty => $u:ty, |$x:ident| $body:expr) => {
        unary!(@one $attr, $t => $u, ($x) = $body)
    };
}

/// Defines the comparison loops.
macro_rules! comparisons {
    ($attr:tt, $t:ty) => {
        binary! { $attr, Compare, $t => u8,
            eq(a, b) = u8::from(a == b);
            ne(a, b) = u8::from(a != b);
            lt(a, b) = u8::from(a < b);
            le(a, b) = u8::from(a <= b);
            gt(a, b) = u8::from(a > b);
            ge(a, b) = u8::from(a >= b);
        }
    };
}

/// Defines the selection loops.
macro_rules! selects {
    ($attr:tt, $t:ty) => {
        Select {
                vv: kernel!($attr fn(m: *const u8, a: *const $t, b: *const $t, y: *mut $t, n: usize),
                    block::map3(m, a, b, y, n, choose)),
                vs: kernel!($attr fn(m: *const u8, a: *const $t, b: $t, y: *mut $t, n: usize),
                    block::map3(m, a, Splat(b), y, n, choose)),
                sv: kernel!($attr fn(m: *const u8, a: $t, b: *const $t, y: *mut $t, n: usize),
                    block::map3(m, Splat(a), b, y, n, choose)),
                ss: kernel!($attr fn(m: *const u8, a: $t, b: $t, y: *mut $t, n: usize),
                    block::map3(m, Splat(a), Splat(b), y, n, choose)),
            }
    };
}

/// Defines the loops of one element type: those passed as arguments, and those that are the same for all types.
macro_rules! loops {
    ($attr:tt, $t:ty, $fma:path, $unary:expr, $binary:expr) => {
        Loops {
            each: Each {
                unary: $unary,
                binary: $binary,
                compare: comparisons!($attr, $t),
                select: selects!($attr, $t),
            },
            test: unary! { $attr, $t => u8,
                is_nan(x) = u8::from(x.is_nan());
                is_inf(x) = u8::from(x.abs() == <$t>::INFINITY);
                is_finite(x) = u8::from(x.abs() < <$t>::INFINITY);
            },
            fma: Fma {
                vvv: kernel!($attr fn(a: *const $t, b: *const $t, c: *const $t, y: *mut $t, n: usize),
                    block::map3(a, b, c, y, n, $fma)),
                vvs: kernel!($attr fn(a: *const $t, b: *const $t, c: $t, y: *mut $t, n: usize),
                    block::map3(a, b, Splat(c), y, n, $fma)),
                vsv: kernel!($attr fn(a: *const $t, b: $t, c: *const $t, y: *mut $t, n: usize),
                    block::map3(a, Splat(b), c, y, n, $fma)),
                vss: kernel!($attr fn(a: *const $t, b: $t, c: $t, y: *mut $t, n: usize),
                    block::map3(a, Splat(b), Splat(c), y, n, $fma)),
            },
            // Starts from -0, so that a sum of negative zeros is -0. The sum of no elements is 0.
            sum: kernel!($attr fn(x: *const $t, n: usize) -> $t,
                if n == 0 { 0.0 } else { block::fold(x, n, -0.0, sum) }),
            max: kernel!($attr fn(x: *const $t, n: usize) -> $t,
                block::fold(x, n, <$t>::NEG_INFINITY, larger)),
            min: kernel!($attr fn(x: *const $t, n: usize) -> $t,
                block::fold(x, n, <$t>::INFINITY, smaller)),
            dot: kernel!($attr fn(a: *const $t, b: *const $t, n: usize) -> $t,
                block::fold2(a, b, n, $fma, sum)),
        }
    };
}

#[inline(always)]
fn choose<T>(mask: u8, a: T, b: T) -> T {
    if mask != 0 { a } else { b }
}

#[inline(always)]
fn sum<T: std::ops::Add<Output = T>>(a: T, b: T) -> T {
    a + b
}

/// Returns the larger of two numbers: NaN if either is NaN, the first if they are equal.
#[inline(always)]
#[expect(clippy::eq_op, reason = "tests a generic float for NaN")]
fn larger<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if (a < b) | (b != b) { b } else { a }
}

/// Returns the smaller of two numbers: NaN if either is NaN, the first if they are equal.
#[inline(always)]
#[expect(clippy::eq_op, reason = "tests a generic float for NaN")]
fn smaller<T: PartialOrd + Copy>(a: T, b: T) -> T {
    if (b < a) | (b != b) { b } else { a }
}

macro_rules! instance {
    ($isa:ident, $fused:expr, $attr:tt) => {
        mod $isa {
            use super::*;

            const FUSED: bool = $fused;

            pub(super) static SET: Set = Set {
                f32: loops! { $attr, f32, plain_fma::<FUSED>,
                    unary! { $attr, f32 => f32,
                        neg(x) = -x;
                        reciprocal(x) = 1.0 / x;
                        square(x) = x * x;
                        abs(x) = x.abs();
                        sign(x) = if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 };
                        floor(x) = x.floor();
                        ceil(x) = x.ceil();
                        round(x) = x.round_ties_even();
                        trunc(x) = x.trunc();
                        sqrt(x) = x.sqrt();
                        rsqrt(x) = 1.0 / x.sqrt();
                        exp(x) = exponential::exp(Plain::<FUSED>(x)).0;
                        exp2(x) = exponential::exp2(Plain::<FUSED>(x)).0;
                        expm1(x) = wide::expm1::<FUSED>(x);
                        log(x) = exponential::log(Plain::<FUSED>(x)).0;
                        log2(x) = wide::log2::<FUSED>(x);
                        log10(x) = wide::log10::<FUSED>(x);
                        log1p(x) = wide::log1p::<FUSED>(x);
                        sigmoid(x) = exponential::sigmoid(Plain::<FUSED>(x)).0;
                        tanh(x) = exponential::tanh(Plain::<FUSED>(x)).0;
                        erf(x) = exponential::erf(Plain::<FUSED>(x)).0;
                        erfc(x) = exponential::erfc(Plain::<FUSED>(x)).0;
                        erfinv(x) = wide::erfinv::<FUSED>(x);
                        sin(x) = circular::sin(Plain::<FUSED>(x)).0, x.abs() > circular::FAR => circular::far_sin(x);
                        cos(x) = circular::cos(Plain::<FUSED>(x)).0, x.abs() > circular::FAR => circular::far_cos(x);
                        tan(x) = circular::tan(Plain::<FUSED>(x)).0, x.abs() > circular::FAR => circular::far_tan(x);
                        asin(x) = wide::asin::<FUSED>(x);
                        acos(x) = wide::acos::<FUSED>(x);
                        atan(x) = wide::atan::<FUSED>(x);
                        sinh(x) = wide::sinh::<FUSED>(x);
                        cosh(x) = wide::cosh::<FUSED>(x);
                        asinh(x) = wide::asinh::<FUSED>(x);
                        acosh(x) = wide::acosh::<FUSED>(x);
                        atanh(x) = wide::atanh::<FUSED>(x);
                    },
                    binary! { $attr, Binary, f32 => f32,
                        add(a, b) = a + b;
                        sub(a, b) = a - b;
                        mul(a, b) = a * b;
                        div(a, b) = a / b;
                        maximum(a, b) = larger(a, b);
                        minimum(a, b) = smaller(a, b);
                        copysign(a, b) = a.copysign(b);
                        hypot(a, b) = wide::hypot(a, b);
                        atan2(a, b) = wide::atan2::<FUSED>(a, b);
                        pow(a, b) = wide::pow::<FUSED>(a, b);
                        fmod(a, b) = double::fmod::<FUSED>(a.into(), b.into()) as f32,
                            double::needs_slow::<FUSED>(a.into(), b.into()) => (f64::from(a) % f64::from(b)) as f32;
                        remainder(a, b) = double::remainder::<FUSED>(a.into(), b.into()) as f32,
                            double::needs_slow::<FUSED>(a.into(), b.into()) => remainder_float(a.into(), b.into()) as f32;
                        floor_div(a, b) = double::floor_div::<FUSED>(a.into(), b.into()) as f32,
                            double::needs_slow::<FUSED>(a.into(), b.into()) => floor_div_float(a.into(), b.into()) as f32;
                    }
                },
                f64: loops! { $attr, f64, wide::fma::<FUSED>,
                    unary! { $attr, f64 => f64,
                        neg(x) = -x;
                        reciprocal(x) = 1.0 / x;
                        square(x) = x * x;
                        abs(x) = x.abs();
                        sign(x) = if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { 0.0 };
                        floor(x) = x.floor();
                        ceil(x) = x.ceil();
                        round(x) = x.round_ties_even();
                        trunc(x) = x.trunc();
                        sqrt(x) = x.sqrt();
                        rsqrt(x) = 1.0 / x.sqrt();
                        exp(x) = double::exp::<FUSED>(x);
                        log(x) = double::log::<FUSED>(x);
                        sigmoid(x) = double::sigmoid::<FUSED>(x);
                        tanh(x) = double::tanh::<FUSED>(x);
                        sin(x) = double::sin::<FUSED>(x), !FUSED || x.abs() > double::FAR => x.sin();
                        cos(x) = double::cos::<FUSED>(x), !FUSED || x.abs() > double::FAR => x.cos();
                    },
                    binary! { $attr, Binary, f64 => f64,
                        add(a, b) = a + b;
                        sub(a, b) = a - b;
                        mul(a, b) = a * b;
                        div(a, b) = a / b;
                        maximum(a, b) = larger(a, b);
                        minimum(a, b) = smaller(a, b);
                        copysign(a, b) = a.copysign(b);
                        fmod(a, b) = double::fmod::<FUSED>(a, b),
                            double::needs_slow::<FUSED>(a, b) => a % b;
                        remainder(a, b) = double::remainder::<FUSED>(a, b),
                            double::needs_slow::<FUSED>(a, b) => remainder_float(a, b);
                        floor_div(a, b) = double::floor_div::<FUSED>(a, b),
                            double::needs_slow::<FUSED>(a, b) => floor_div_float(a, b);
                    }
                },
                masks: Each {
                    unary: unary! { $attr, u8 => u8,
                        not(x) = u8::from(x == 0);
                    },
                    binary: binary! { $attr, Binary, u8 => u8,
                        and(a, b) = u8::from(a != 0) & u8::from(b != 0);
                        or(a, b) = u8::from(a | b != 0);
                        xor(a, b) = u8::from(a != 0) ^ u8::from(b != 0);
                    },
                    // Masks have no comparisons of bytes: every byte except 0 is true, so equal booleans may have
                    // different bytes.
                    compare: &[],
                    select: selects!($attr, u8),
                },
                ints: Ints {
                    each: Each {
                        unary: unary! { $attr, i64 => i64,
                            neg(x) = x.wrapping_neg();
                            abs(x) = x.wrapping_abs();
                            sign(x) = x.signum();
                            square(x) = x.wrapping_mul(x);
                            not(x) = !x;
                        },
                        binary: binary! { $attr, Binary, i64 => i64,
                            add(a, b) = a.wrapping_add(b);
                            sub(a, b) = a.wrapping_sub(b);
                            mul(a, b) = a.wrapping_mul(b);
                            maximum(a, b) = a.max(b);
                            minimum(a, b) = a.min(b);
                            and(a, b) = a & b;
                            or(a, b) = a | b;
                            xor(a, b) = a ^ b;
                            shl(a, b) = if (0..64).contains(&b) { a.wrapping_shl(b as u32) } else { 0 };
                            shr(a, b) = a >> if (0..64).contains(&b) { b } else { 63 };
                        },
                        compare: comparisons!($attr, i64),
                        select: selects!($attr, i64),
                    },
                    sum: kernel!($attr fn(x: *const i64, n: usize) -> i64, block::fold(x, n, 0, i64::wrapping_add)),
                    max: kernel!($attr fn(x: *const i64, n: usize) -> i64, block::fold(x, n, i64::MIN, i64::max)),
                    min: kernel!($attr fn(x: *const i64, n: usize) -> i64, block::fold(x, n, i64::MAX, i64::min)),
                },
                conversions: Conversions {
            f32_f64: convert!($attr, f32 => f64, |x| f64::from(x)),
            f64_f32: convert!($attr, f64 => f32, |x| x as f32),
            f32_bf16: convert!($attr, f32 => u16, |x| half::to_bf16(x)),
            bf16_f32: convert!($attr, u16 => f32, |x| half::from_bf16(x)),
            f32_f16: convert!($attr, f32 => u16, |x| half::to_f16(x)),
            f16_f32: convert!($attr, u16 => f32, |x| half::from_f16(x)),
            round_bf16: convert!($attr, f32 => f32, |x| half::from_bf16(half::to_bf16(x))),
            round_f16: convert!($attr, f32 => f32, |x| half::from_f16(half::to_f16(x))),
            f32_mask: convert!($attr, f32 => u8, |x| u8::from(x != 0.0)),
            mask_f32: convert!($attr, u8 => f32, |x| if x != 0 { 1.0 } else { 0.0 }),
            f64_mask: convert!($attr, f64 => u8, |x| u8::from(x != 0.0)),
            mask_f64: convert!($attr, u8 => f64, |x| if x != 0 { 1.0 } else { 0.0 }),
            i64_mask: convert!($attr, i64 => u8, |x| u8::from(x != 0)),
            mask_i64: convert!($attr, u8 => i64, |x| i64::from(x != 0)),
            i64_f32: convert!($attr, i64 => f32, |x| x as f32),
            f32_i64: convert!($attr, f32 => i64, |x| wide::to_i64(f64::from(x))),
            i64_f64: convert!($attr, i64 => f64, |x| x as f64),
            f64_i64: convert!($attr, f64 => i64, |x| wide::to_i64(x)),
            i8_i64: convert!($attr, i8 => i64, |x| i64::from(x)),
            i64_i8: convert!($attr, i64 => i8, |x| x as i8),
            u8_i64: convert!($attr, u8 => i64, |x| i64::from(x)),
            i64_u8: convert!($attr, i64 => u8, |x| x as u8),
            i32_i64: convert!($attr, i32 => i64, |x| i64::from(x)),
            i64_i32: convert!($attr, i64 => i32, |x| x as i32),
            u32_i64: convert!($attr, u32 => i64, |x| i64::from(x)),
            i64_u32: convert!($attr, i64 => u32, |x| x as u32),
            wrap_i8: convert!($attr, i64 => i64, |x| i64::from(x as i8)),
            wrap_u8: convert!($attr, i64 => i64, |x| i64::from(x as u8)),
            wrap_i32: convert!($attr, i64 => i64, |x| i64::from(x as i32)),
            wrap_u32: convert!($attr, i64 => i64, |x| i64::from(x as u32)),
                },
            };
        }
    };
}

// If the target has no fused instruction, `mul_add` would be a library call.
instance!(portable, cfg!(target_feature = "fma"), []);
// The instructions are part of the target, so no function needs to enable them. Unlike the portable set, this set uses the
// fused instruction.
#[cfg(target_arch = "aarch64")]
instance!(neon, true, []);
#[cfg(target_arch = "x86_64")]
instance!(avx2, true, [#[target_feature(enable = "avx2,fma,f16c")]]);
#[cfg(target_arch = "x86_64")]
instance!(avx512, true, [#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]]);
