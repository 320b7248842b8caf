//! Integer operations for which PyTorch raises and the core returns numbers: division by 0, and negative
//! powers.

use crate::operators::Binary;
use gradus::{Arg, DType, Error, Number, Tensor};

/// Message for an integer division by 0.
const BY_ZERO: [&str; 2] = ["integers", "cannot be divided by 0 (ZeroDivisionError)"];

/// Applies an integer division. A divisor of 0 is an error: immediately if its elements are known, else when
/// the program runs.
pub(crate) fn integer_binary(a: &Tensor, b: Arg<'_>, f: Binary) -> Tensor {
    let integers = |d: DType| !d.is_differentiable();
    if a.error().is_some() || !integers(a.dtype()) {
        return f(a, b);
    }
    let zero = match &b {
        Arg::Number(n) => matches!(n, Number::Int(0) | Number::Bool(false)),
        Arg::Tensor(b) if b.error().is_some() || !integers(b.dtype()) => false,
        // The elements of a cell may change before the program runs.
        Arg::Tensor(b) if b.is_traced() || (gradus::is_tracing() && b.is_cell()) => {
            if b.dtype() == DType::Bool {
                return f(a, Arg::Tensor(b));
            }
            let fine = gradus::require(&b.ne(0).all(()), BY_ZERO[0], BY_ZERO[1]);
            let checked = fine.select(*b, 1).to_dtype(b.dtype());
            return f(a, Arg::Tensor(&checked));
        }
        Arg::Tensor(b) => b.eq(0).any(()).item::<bool>().unwrap_or(false),
    };
    if zero {
        return Tensor::failed(Error::shape(BY_ZERO[0], BY_ZERO[1]));
    }
    f(a, b)
}

/// Computes a power; negative powers of integers are an error.
pub(crate) fn power(a: &Tensor, b: Arg<'_>) -> Tensor {
    let negative = matches!(b, Arg::Number(Number::Int(..0)));
    if negative && a.error().is_none() && !a.dtype().is_differentiable() {
        let why = "to negative integer powers are not allowed; make them floats first";
        return Tensor::failed(Error::shape("integers", why));
    }
    a.pow(b)
}
