//! Numbers in text files: integers keep digits that a float would lose.

use gradus_ir::DType;
use gradus_tensor::Tensor;
use std::num::ParseFloatError;
use std::str::FromStr;

/// The bound up to which floats hold every integer: 2^53. A number that is read as this value may have been the
/// next integer.
const WHOLE_FLOATS: f64 = 9_007_199_254_740_992.0;

/// A number, and its exact value if it is a 64-bit integer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits {
    pub(crate) float: f64,
    whole: Option<i64>,
}

impl Digits {
    pub(crate) fn new(float: f64, vast: impl FnOnce() -> Option<i64>) -> Digits {
        let whole = match float.abs() < WHOLE_FLOATS {
            true => (float.fract() == 0.0).then_some(float as i64),
            false => vast(),
        };
        Digits { float, whole }
    }

    fn is_vast(&self) -> bool {
        self.whole.is_some() && self.float.abs() >= WHOLE_FLOATS
    }
}

impl FromStr for Digits {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Digits, ParseFloatError> {
        text.parse().map(|float| Digits::new(float, || text.parse().ok()))
    }
}

/// Converts the numbers to floats. Converts them to integers instead if `whole` is set and some number would
/// lose digits as a float.
pub(crate) fn tensor(all: &[Digits], shape: Vec<usize>, whole: bool) -> Tensor {
    let exact = if whole && all.iter().any(Digits::is_vast) { exactly(all) } else { None };
    match exact {
        Some(exact) => Tensor::from_slice(&exact, shape),
        None => Tensor::from_slice(&all.iter().map(|d| d.float).collect::<Vec<_>>(), shape),
    }
}

/// Converts the numbers to an integer dtype; returns an error if one does not fit.
pub(crate) fn whole(all: &[Digits], shape: Vec<usize>, dtype: DType) -> Result<Tensor, String> {
    let Some(exact) = exactly(all) else {
        let odd = all.iter().find(|d| d.whole.is_none()).map_or(f64::NAN, |d| d.float);
        return Err(format!("has {odd}, which is not an integer of type {dtype}"));
    };
    let tensor = Tensor::from_slice(&exact, shape).to_dtype(dtype);
    let back = tensor.to_dtype(DType::I64).to_vec::<i64>().map_err(|e| e.to_string())?;
    match exact.iter().zip(&back).find(|(a, b)| a != b) {
        Some((n, _)) => Err(format!("has {n}, which type {dtype} cannot hold")),
        None => Ok(tensor),
    }
}

fn exactly(all: &[Digits]) -> Option<Vec<i64>> {
    all.iter().map(|d| d.whole).collect()
}
