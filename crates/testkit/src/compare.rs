//! Compares values within an allowed difference.
//! Takes an expected and a found literal; returns the first element that differs too much.
//! Bounds of ops are declared by the ops.

use gradus_ir::literal::Data;
use gradus_ir::{C, DType, Literal, Shape};
use std::fmt;

/// The allowed difference of a value from the expected one. Integers and booleans must always be equal. NaN
/// equals NaN, an infinity equals itself, and 0 equals -0.
#[derive(Clone, Copy, Debug)]
pub enum Allowed<'a> {
    /// No difference.
    Exact,
    /// This fraction of the largest finite magnitude in either value.
    Relative(f64),
    /// This many units in the last place of each expected element, in its dtype.
    Ulps(f64),
    /// A separate limit for each element.
    Each(&'a [f64]),
}

/// The first element at which two values differ by more than allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Index of the element; `None` if the types differ.
    pub index: Option<Vec<usize>>,
    /// The expected element or type.
    pub expected: String,
    /// The element or type found.
    pub found: String,
    /// The difference, and the allowed difference.
    pub distance: (f64, f64),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.index {
            None => write!(f, "type {}, expected {}", self.found, self.expected),
            Some(index) => {
                let (off, allowed) = self.distance;
                write!(f, "{} at {index:?}, expected {}", self.found, self.expected)?;
                write!(f, " (off by {off:.3e}, allowed {allowed:.3e})")
            }
        }
    }
}

impl std::error::Error for Difference {}

/// Returns an error if a value differs from the expected one by more than allowed.
pub fn compare(expected: &Literal, found: &Literal, allowed: Allowed<'_>) -> Result<(), Difference> {
    if expected.aval() != found.aval() {
        let (expected, found) = (expected.aval().to_string(), found.aval().to_string());
        return Err(Difference { index: None, expected, found, distance: (f64::NAN, 0.0) });
    }
    let scale = largest(expected).max(largest(found));
    let limit = |i: usize, magnitude: f64| match allowed {
        Allowed::Exact => 0.0,
        Allowed::Relative(part) => part * scale,
        Allowed::Ulps(n) => n * ulp(expected.dtype(), magnitude),
        Allowed::Each(limits) => limits.get(i).copied().unwrap_or(0.0),
    };
    let differs = |i: usize, expected: String, found: String, distance: (f64, f64), shape: &Shape| {
        Err(Difference { index: Some(index(i, shape)), expected, found, distance })
    };
    let shape = expected.shape();
    match (expected.data(), found.data()) {
        (Data::F(a), Data::F(b)) => {
            for (i, (&x, &y)) in a.iter().zip(b.iter()).enumerate() {
                let (off, limit) = (distance(x, y), limit(i, x.abs()));
                if exceeds(off, limit) {
                    return differs(i, format!("{x:?}"), format!("{y:?}"), (off, limit), shape);
                }
            }
        }
        (Data::C(a), Data::C(b)) => {
            for (i, (x, y)) in a.iter().zip(b.iter()).enumerate() {
                let (off, limit) = (complex_distance(*x, *y), limit(i, x.norm()));
                if exceeds(off, limit) {
                    return differs(i, x.to_string(), y.to_string(), (off, limit), shape);
                }
            }
        }
        _ => {
            for (i, (x, y)) in expected.i().iter().zip(found.i()).enumerate() {
                if x != y {
                    let off = (x.abs_diff(*y)) as f64;
                    return differs(i, x.to_string(), y.to_string(), (off, 0.0), shape);
                }
            }
        }
    }
    Ok(())
}

/// Returns true if a distance exceeds a limit. A NaN distance exceeds every limit, and no limit may be NaN.
fn exceeds(off: f64, limit: f64) -> bool {
    off.is_nan() || off > limit.max(0.0)
}

/// Returns the distance of two numbers: 0 between equal infinities or two NaNs, NaN if the numbers differ and
/// one is not finite.
fn distance(x: f64, y: f64) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        0.0
    } else if x.is_finite() && y.is_finite() {
        (x - y).abs()
    } else {
        f64::NAN
    }
}

/// Returns the Euclidean distance over the parts. A number with a NaN part counts as NaN, regardless of its
/// other part.
fn complex_distance(x: C, y: C) -> f64 {
    if x.is_nan() && y.is_nan() { 0.0 } else { distance(x.re, y.re).hypot(distance(x.im, y.im)) }
}

/// Returns the largest finite magnitude, or 0 if there is none.
pub fn largest(x: &Literal) -> f64 {
    let finite = |a: f64, b: f64| if b.is_finite() { a.max(b) } else { a };
    match x.data() {
        Data::F(v) => v.iter().map(|x| x.abs()).fold(0.0, finite),
        Data::C(v) => v.iter().map(|x| x.norm()).fold(0.0, finite),
        Data::I(v) => v.iter().map(|x| x.unsigned_abs() as f64).fold(0.0, finite),
    }
}

/// Returns the distance between neighbouring numbers of a float dtype at a magnitude; 0 for other dtypes.
pub fn ulp(dtype: DType, magnitude: f64) -> f64 {
    if dtype.epsilon() == 0.0 {
        return 0.0;
    }
    let magnitude = if magnitude.is_finite() { magnitude } else { 0.0 };
    // The power of two below the magnitude, exactly: clear the fraction bits.
    let power = f64::from_bits(magnitude.to_bits() & !((1 << 52) - 1));
    dtype.epsilon() * power.max(dtype.min_positive())
}

fn index(mut i: usize, shape: &Shape) -> Vec<usize> {
    let mut index = vec![0; shape.rank()];
    for a in (0..shape.rank()).rev() {
        index[a] = i % shape[a].max(1);
        i /= shape[a].max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(v: &[f64]) -> Literal {
        Literal::floats(DType::F64, [v.len()], v.to_vec()).unwrap()
    }

    #[test]
    fn special_values_equal_themselves_alone() {
        let x = floats(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]);
        let y = floats(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0]);
        assert_eq!(compare(&x, &y, Allowed::Exact), Ok(()));
        for (a, b) in
            [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, f64::NEG_INFINITY), (1e300, f64::INFINITY)]
        {
            assert!(compare(&floats(&[a]), &floats(&[b]), Allowed::Relative(1e9)).is_err(), "{a} {b}");
        }
        let z = |re, im| Literal::new(gradus_ir::Aval::scalar(DType::C128), vec![C::new(re, im)]).unwrap();
        assert!(compare(&z(f64::NAN, 1.0), &z(2.0, f64::NAN), Allowed::Exact).is_ok());
        assert!(compare(&z(f64::INFINITY, 1.0), &z(f64::INFINITY, 2.0), Allowed::Relative(0.1)).is_err());
        assert!(compare(&z(1.0, 1.0), &z(1.0, 1.0 + 1e-9), Allowed::Relative(1e-8)).is_ok());
    }

    #[test]
    fn messages_name_the_index_and_both_values() {
        let x = Literal::floats(DType::F64, [2, 3], vec![1.0; 6]).unwrap();
        let y = Literal::floats(DType::F64, [2, 3], vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.5]).unwrap();
        let message = compare(&x, &y, Allowed::Relative(1e-3)).unwrap_err().to_string();
        assert_eq!(message, "1.5 at [1, 2], expected 1.0 (off by 5.000e-1, allowed 1.500e-3)");
        let message = compare(&x, &y.cast(DType::F32), Allowed::Exact).unwrap_err().to_string();
        assert_eq!(message, "type f32[2,3], expected f64[2,3]");
        let i = |v| Literal::ints(DType::I64, [1], vec![v]).unwrap();
        assert!(compare(&i(5), &i(6), Allowed::Relative(1.0)).is_err());
        assert!(compare(&i(i64::MIN), &i(i64::MAX), Allowed::Exact).is_err());
    }

    #[test]
    fn units_in_the_last_place() {
        assert_eq!(ulp(DType::F64, 1.0), f64::EPSILON);
        assert_eq!(ulp(DType::F64, 1.999), f64::EPSILON);
        assert_eq!(ulp(DType::F32, 2.0), 2.0 * f32::EPSILON as f64);
        assert_eq!(ulp(DType::F32, 0.0), f32::from_bits(1) as f64);
        assert_eq!(ulp(DType::I64, 5.0), 0.0);
        let (one, next) = (floats(&[1.0]), floats(&[1.0 + f64::EPSILON]));
        assert!(compare(&one, &next, Allowed::Ulps(1.0)).is_ok());
        assert!(compare(&one, &next, Allowed::Ulps(0.5)).is_err());
        assert!(compare(&one, &next, Allowed::Each(&[])).is_err());
    }
}
