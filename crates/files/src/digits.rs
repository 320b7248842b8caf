//! Numbers in text files: integers keep digits that a float would lose.

use gradus_ir::DType;
use gradus_tensor::Tensor;
use std::num::ParseFloatError;
use std::str::FromStr;

/// 2^53: `f64` holds every integer of smaller magnitude exactly. A number that is read as 2^53 may be 2^53 +
/// 1, rounded.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// A number, and its exact value if it is a 64-bit integer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits {
    pub(crate) float: f64,
    integer: Option<i64>,
}

impl Digits {
    /// Makes a number. `exact` returns its integer; it is called only if the float may be rounded.
    pub(crate) fn new(float: f64, exact: impl FnOnce() -> Option<i64>) -> Digits {
        let integer = match float.abs() < EXACT_INTEGERS {
            true => (float.fract() == 0.0).then_some(float as i64),
            false => exact(),
        };
        Digits { float, integer }
    }

    fn is_large_integer(&self) -> bool {
        self.integer.is_some() && self.float.abs() >= EXACT_INTEGERS
    }
}

impl FromStr for Digits {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Digits, ParseFloatError> {
        text.parse().map(|float| Digits::new(float, || text.parse().ok()))
    }
}

/// Converts the numbers to floats. Converts them to integers instead if `exact_integers` is set and some number would
/// lose digits as a float.
pub(crate) fn tensor(all: &[Digits], shape: Vec<usize>, exact_integers: bool) -> Tensor {
    let exact =
        if exact_integers && all.iter().any(Digits::is_large_integer) { all_integers(all) } else { None };
    match exact {
        Some(exact) => Tensor::from_slice(&exact, shape),
        None => Tensor::from_slice(&all.iter().map(|d| d.float).collect::<Vec<_>>(), shape),
    }
}

/// Converts the numbers to an integer dtype; returns an error if one does not fit.
pub(crate) fn integers(all: &[Digits], shape: Vec<usize>, dtype: DType) -> Result<Tensor, String> {
    let Some(exact) = all_integers(all) else {
        let odd = all.iter().find(|d| d.integer.is_none()).map_or(f64::NAN, |d| d.float);
        return Err(format!("has {odd}, which is not an integer of type {dtype}"));
    };
    let tensor = Tensor::from_slice(&exact, shape).to_dtype(dtype);
    let back = tensor.to_dtype(DType::I64).to_vec::<i64>().map_err(|e| e.to_string())?;
    match exact.iter().zip(&back).find(|(a, b)| a != b) {
        Some((n, _)) => Err(format!("has {n}, which type {dtype} cannot hold")),
        None => Ok(tensor),
    }
}

fn all_integers(all: &[Digits]) -> Option<Vec<i64>> {
    all.iter().map(|d| d.integer).collect()
}
