//! Powers, cube roots and `hypot` of `f32` in `f32` arithmetic, without branches, for targets without `f64`.

use crate::Real;
use crate::exponential::{ROUND, split};
use std::f32::consts::LN_2;

/// An unevaluated sum of two numbers; the second is smaller than a unit in the last place of the first.
#[derive(Clone, Copy)]
struct Pair<N>(N, N);

/// Returns `a + b` exactly, for `|a| ≥ |b|`.
#[inline(always)]
fn ordered_sum<N: Real>(a: N, b: N) -> Pair<N> {
    let sum = a + b;
    Pair(sum, (a - sum) + b)
}

/// Returns the product of two numbers exactly.
#[inline(always)]
fn product<N: Real>(a: N, b: N) -> Pair<N> {
    let p = a * b;
    Pair(p, a.fused(b, -p))
}

// 2 / ln 2 in two parts.
const FACTOR: (f32, f32) = (2.885_39, (2.0 * std::f64::consts::LOG2_E - 2.885_39_f32 as f64) as f32);

/// Returns the logarithm to base 2 of a positive number, to about 32 bits.
#[inline(always)]
fn log2<N: Real>(x: N) -> Pair<N> {
    let (n, f) = split(x);
    // log(1 + f) = 2·(s + s³/3 + ...) with s = f / (2 + f), computed as a pair.
    let two = N::from(2.0);
    let d = two + f;
    let d_low = f - (d - two);
    let s = f / d;
    let s_low = (s.fused(-d, f) - s * d_low) / d;
    let square = product(s, s);
    let z = square.0;
    let q = product(z, horner!(N; z; 0.333_333_34, 0.200_000_61, 0.142_754_02, 0.116_654_82));
    let cubic = product(s, q.0);
    // The low parts of `s` and its square, times the derivative of the series.
    let q_low = square.1.fma(0.333_333_34, q.1);
    let rest = cubic.1 + s * q_low + s_low.fma(z, s_low);
    let main = product(s, FACTOR.0.into());
    let second = product(cubic.0, FACTOR.0.into());
    let low = second.0 + (main.1 + (s * FACTOR.1.into() + (second.1 + rest * FACTOR.0.into())));
    let sum = ordered_sum(n, main.0);
    // If the exponent is zero, the mantissa's logarithm is the main part.
    let first = N::select(n.eq(0.0), main.0, sum.0);
    let rest = N::select(n.eq(0.0), low, sum.1 + low);
    ordered_sum(first, rest)
}

/// Returns `a` to the power `b`.
#[inline(always)]
pub fn pow<N: Real>(a: N, b: N) -> N {
    let x = a.abs();
    let one = N::from(1.0);
    let log = log2(N::select(N::both(x.gt(0.0), x.lt(f32::INFINITY)), x, one));
    // An exponent beyond this overflows or underflows, unless the logarithm is 0.
    let y = N::select(b.gt(1e30), 1e30, N::select(b.lt(-1e30), -1e30, b));
    let y = N::select(y.abs().lt(1e-30), 0.0, y);
    let rough = y * log.0;
    let inside = rough.abs().lt(200.0);
    let main = product(N::select(inside, y, 0.0), log.0);
    let low = main.1 + N::select(inside, y, 0.0) * log.1;
    let t = main.0 + ROUND.into();
    let r = (main.0 - (t - ROUND.into())) + low;
    let q = horner!(N; r; LN_2, 0.240_226_5, 0.055_503_566, 0.009_618_082, 0.001_339_109_4, 0.000_154_533_61);
    let power = r.fma(q, 1.0).scaled(t);
    let power = N::select(inside, power, N::select(rough.gt(0.0), f32::INFINITY, 0.0));
    // Sets the powers of zero and infinity. The power 0 follows below.
    let zero = N::select(b.lt(0.0), f32::INFINITY, 0.0);
    let power = N::select(x.eq(0.0), zero, power);
    let power = N::select(x.eq(f32::INFINITY), N::select(b.lt(0.0), 0.0, f32::INFINITY), power);
    // Determines if `b` is an odd integer. From 2^24 on all numbers are even. Below 2^23 rounding leaves integers
    // unchanged, and leaves their halves unchanged if they are even.
    let c = b.abs();
    let small = c.lt(8_388_608.0);
    let c0 = N::select(small, c, 0.0);
    let is_integer = |v: N| ((v + 8_388_608.0.into()) - 8_388_608.0.into()).eq(v);
    let half = c0 * 0.5.into();
    let exact = N::select(small, N::select(is_integer(c0), 1.0, 0.0), 1.0);
    // From 2^23 to 2^24 every number is an integer, and odd if its last bit is set.
    let between = N::both(c.lt(16_777_216.0), N::from_bits((c.to_bits() & 1.into()) << 29).gt(0.0));
    let odd = N::select(small, N::select(is_integer(half), 0.0, exact), N::select(between, 1.0, 0.0));
    let negative = N::from(1.0).copysign(a).lt(0.0);
    let power = N::select(N::both(negative, odd.gt(0.5)), -power, power);
    let undefined = N::both(N::both(a.lt(0.0), a.gt(f32::NEG_INFINITY)), exact.lt(0.5));
    let power = N::select(undefined, f32::NAN, power);
    let power = N::select(N::either(a.is_nan(), b.is_nan()), f32::NAN, power);
    // 1 to any power, -1 to an infinite power, and any number to the power 0 are 1.
    let unit = N::either(a.eq(1.0), N::both(a.eq(-1.0), c.eq(f32::INFINITY)));
    N::select(N::either(unit, b.eq(0.0)), 1.0, power)
}

/// Returns the cube root.
#[inline(always)]
pub fn cbrt<N: Real>(x: N) -> N {
    let a = x.abs();
    let tiny = a.lt(f32::MIN_POSITIVE);
    let scaled = N::select(tiny, a * 16_777_216.0.into(), a);
    // A third of the bits approximates a third of the logarithm. Dividing the integer as a float is exact enough.
    let third = N::from_int(scaled.to_bits()) * (1.0 / 3.0).into();
    let guess = (third + 709_958_130.0.into()).fence();
    let rounded = guess * (1.0 / 4096.0).into() + ROUND.into();
    let t = N::from_bits((rounded.to_bits() - ROUND.to_bits().into()) << 12);
    let step = |t: N| {
        let r = scaled / (t * t);
        t + t * ((r - t) / (t + t + r))
    };
    let y = step(step(t));
    let y = N::select(tiny, y * (1.0 / 256.0).into(), y);
    let plain = N::either(a.eq(0.0), N::either(a.eq(f32::INFINITY), x.is_nan()));
    N::select(plain, x, y.copysign(x))
}

/// Returns `sqrt(a² + b²)` without overflow; infinite if either is.
#[inline(always)]
pub fn hypot<N: Real>(a: N, b: N) -> N {
    let (x, y) = (a.abs(), b.abs());
    let (high, low) = (N::select(x.lt(y), y, x), N::select(x.lt(y), x, y));
    let up = high.lt(1e-15);
    let down = high.gt(1e15);
    let power = |n: i32| f32::from_bits(((127 + n) as u32) << 23);
    let (to, back) = (
        N::select(up, power(80), N::select(down, power(-80), 1.0)),
        N::select(up, power(-80), N::select(down, power(80), 1.0)),
    );
    let (h, l) = (high * to, low * to);
    let r = (h * h + l * l).sqrt() * back;
    let r = N::select(N::either(a.is_nan(), b.is_nan()), f32::NAN, r);
    N::select(N::either(x.eq(f32::INFINITY), y.eq(f32::INFINITY)), f32::INFINITY, r)
}
