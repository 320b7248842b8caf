//! Integers where PyTorch raises and the core gives numbers: divided by 0, and to negative powers.

use crate::operators::Binary;
use gradus::{Arg, DType, Error, Number, Tensor};

/// A division of integers, which 0 does not divide; where it is traced nobody knows, and the core's 0 comes out.
pub(crate) fn whole(a: &Tensor, b: Arg<'_>, f: Binary) -> Tensor {
    let integers = |d: DType| !d.is_differentiable();
    let zero = a.error().is_none()
        && integers(a.dtype())
        && match &b {
            Arg::Number(n) => matches!(n, Number::Int(0) | Number::Bool(false)),
            Arg::Tensor(b) => {
                let known = b.error().is_none() && !b.is_traced() && integers(b.dtype());
                known && b.eq(0).any(()).item::<bool>().unwrap_or(false)
            }
        };
    if zero {
        return Tensor::failed(Error::shape("integers", "cannot be divided by 0 (ZeroDivisionError)"));
    }
    f(a, b)
}

/// A power; of integers no negative one.
pub(crate) fn power(a: &Tensor, b: Arg<'_>) -> Tensor {
    let negative = matches!(b, Arg::Number(Number::Int(..0)));
    if negative && a.error().is_none() && !a.dtype().is_differentiable() {
        let why = "to negative integer powers are not allowed; make them floats first";
        return Tensor::failed(Error::shape("integers", why));
    }
    a.pow(b)
}
