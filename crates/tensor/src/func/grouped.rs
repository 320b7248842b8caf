//! Products of each row with one of several matrices, as networks of experts need them.
//!
//! Takes rows and, for each, the number of its matrix; rows of one matrix need not be next to each other. The
//! body computes the product with every matrix and selects one. Devices that claim the regions compute only
//! the selected products.

use super::quantized::{dequantize, shape_of};
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::format::Format;
use gradus_ir::{Class, DType, Error, Result, Shape, message};

/// Returns an error unless the operands are rows `[n, inputs]`, matrices `[groups, outputs, inputs]` and `n`
/// integers.
fn check(x: &Tensor, w: &Shape, groups: &Tensor) -> Result<()> {
    let own = x.check()?.shape();
    groups.check()?;
    let fits = matches!((&own[..], &w[..]), ([_, width], [_, _, inputs]) if width == inputs);
    if !fits {
        return Err(Error::shape(format!("rows {own} and matrices {w}"), "must be [N,I] and [G,O,I]"));
    }
    if groups.dtype() != DType::I64 || groups.shape() != Shape::from([own[0]]) {
        let what = message!("groups ", groups.dtype(), " ", &groups.shape());
        return Err(Error::shape(
            what,
            message!("must be ", DType::I64, format!(" [{}], one for each row", own[0])),
        ));
    }
    match x.dtype().class() {
        Class::Float => Ok(()),
        _ => Err(Error::dtype(x.dtype(), "rows are floats")),
    }
}

/// Computes the products of all rows with all matrices, and selects the product of each row with its own
/// matrix.
fn select_products(x: &Tensor, w: &Tensor, groups: &Tensor) -> Tensor {
    let all = x.unsqueeze(0).matmul(&w.transpose(1, 2));
    let number = Tensor::iota(DType::I64, [w.dim(0), 1, 1], 0);
    number.eq(&groups.reshape([1, -1, 1])).select(&all, 0.0).sum(0)
}

/// The product `x[n] · w[groups[n]]ᵀ` of every row of `x [N,I]` with one of the matrices `w [G,O,I]`. Rows
/// whose group is not one of the matrices give 0.
#[track_caller]
pub fn grouped_dot(x: &Tensor, w: &Tensor, groups: &Tensor) -> Tensor {
    let ins = [x, w, groups];
    let fits = w.check().map(Tensor::shape).and_then(|shape| check(x, &shape, groups));
    let fits = fits.and_then(|()| super::loss::common(&[x, w]));
    match fits {
        Ok(dtype) => region1("grouped_dot", vec![], &ins, |x| {
            select_products(&x[0].to_dtype(dtype), &x[1].to_dtype(dtype), &x[2])
        }),
        Err(e) => Tensor::refuse("grouped_dot", &ins, e),
    }
}

/// [`grouped_dot`] with quantised matrices: `bytes` are `[G,O,bytes of a row]`. The result has the dtype of
/// `x`; bytes carry no gradient.
#[track_caller]
pub fn quantized_grouped_dot(x: &Tensor, bytes: &Tensor, format: Format, groups: &Tensor) -> Tensor {
    let ins = [x, bytes, groups];
    if let Err(e) = shape_of(bytes, format).and_then(|shape| check(x, &shape, groups)) {
        return Tensor::refuse("quantized_grouped_dot", &ins, e);
    }
    region1("quantized_grouped_dot", vec![arg("format", format.name().to_string())], &ins, |x| {
        select_products(&x[0], &dequantize(&x[1], format).to_dtype(x[0].dtype()), &x[2])
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    for (rows, groups, most) in [(4, 3, 3), (1, 2, 2), (3, 1, 1), (5, 2, 4), (0, 2, 2)] {
        let ins = [s.draw.normal([rows, 3]), s.draw.normal([groups, 2, 3]), s.draw.ints((0, most), [rows])];
        s.case("grouped_dot", ins, |x| grouped_dot(&x[0], &x[1], &x[2]));
    }
    let bytes = s.draw.ints_of(DType::U8, (0, 60), [2, 3, Format::Q8_0.block_bytes()]);
    let ins = [s.draw.normal([3, 32]), bytes, s.draw.ints((0, 2), [3])];
    s.case("quantized_grouped_dot", ins, |x| quantized_grouped_dot(&x[0], &x[1], Format::Q8_0, &x[2]));
}
