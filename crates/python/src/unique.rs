//! `unique`: the distinct elements of a tensor, or the distinct slices along an axis, in ascending order.

use crate::error::{raise, runtime_error};
use crate::shape::axis_of;
use crate::tensor::PyTensor;
use gradus::{DType, Tensor};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::cmp::Ordering;

/// The distinct elements or slices, the index of the one that each input equals, and the number of
/// occurrences.
struct Distinct {
    values: Tensor,
    inverse: Tensor,
    counts: Tensor,
}

/// Returns the distinct elements of a vector, in ascending order. NaN differs from every element.
fn elements(flat: &Tensor) -> Distinct {
    let (values, order) = flat.sort(0, false);
    let n = values.numel();
    let first = match n {
        0 => Tensor::from(Vec::<bool>::new()).to(flat.device()),
        _ => {
            let same = values.narrow(0, 1, n - 1).ne(&values.narrow(0, 0, n - 1));
            Tensor::cat(&[&Tensor::from([true]).to(flat.device()), &same], 0)
        }
    };
    let different = values.masked_select(&first);
    let rank = first.to_dtype(DType::I64).cumsum(0).sub(1);
    let zeros = Tensor::zeros_of(&gradus::Aval::new(DType::I64, [different.numel()])).to(flat.device());
    Distinct {
        counts: zeros.index_add(0, &rank, &rank.ones_like()),
        inverse: rank.zeros_like().scatter(0, &order, &rank),
        values: different,
    }
}

/// Rows of numbers, sorted lexicographically.
enum Rows {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
}

impl Rows {
    fn of(x: &Tensor) -> PyResult<Rows> {
        match x.dtype() {
            d if d.is_complex() => Err(runtime_error("unique: complex numbers have no order")),
            d if d.is_differentiable() => Ok(Rows::Floats(raise(x.to_dtype(DType::F64).to_vec())?)),
            _ => Ok(Rows::Integers(raise(x.to_dtype(DType::I64).to_vec())?)),
        }
    }

    /// Compares rows `i` and `j` of `width` elements. NaN is last, which makes this a total order.
    fn order(&self, i: usize, j: usize, width: usize) -> Ordering {
        let pairs = (i * width..(i + 1) * width).zip(j * width..(j + 1) * width);
        let float = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
        let one = |(a, b): (usize, usize)| match self {
            Rows::Floats(all) => float(all[a], all[b]),
            Rows::Integers(all) => all[a].cmp(&all[b]),
        };
        pairs.map(one).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Returns true if two rows are equal; a row with a NaN equals none.
    fn equal(&self, i: usize, j: usize, width: usize) -> bool {
        let (i, j) = (i * width..(i + 1) * width, j * width..(j + 1) * width);
        match self {
            Rows::Floats(all) => all[i] == all[j],
            Rows::Integers(all) => all[i] == all[j],
        }
    }
}

/// Returns the distinct slices along an axis, in lexicographic order of their elements.
fn slices(x: &Tensor, a: usize) -> PyResult<Distinct> {
    let (shape, axis) = (x.shape(), a as isize);
    let (n, width) = (shape[a], shape[..a].iter().chain(&shape[a + 1..]).product::<usize>());
    if n > 0 && width == 0 || shape.iter().filter(|&&d| d == 0).count() > 1 {
        return Err(runtime_error(
            "there are 0 sized dimensions that are not selected, so unique cannot be applied",
        ));
    }
    let moved = x.movedim(axis, 0);
    let rows = Rows::of(&moved.reshape([-1i64]).to(gradus::Device::CPU))?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| rows.order(i, j, width));
    let (mut firsts, mut counts, mut inverse) = (Vec::new(), Vec::<i64>::new(), vec![0i64; n]);
    for (k, &i) in order.iter().enumerate() {
        if k == 0 || !rows.equal(order[k - 1], i, width) {
            firsts.push(i as i64);
            counts.push(0);
        }
        inverse[i] = counts.len() as i64 - 1;
        if let Some(last) = counts.last_mut() {
            *last += 1;
        }
    }
    Ok(Distinct {
        values: moved.index_select(0, &Tensor::from(firsts)).movedim(0, axis),
        inverse: Tensor::from(inverse).to(x.device()),
        counts: Tensor::from(counts).to(x.device()),
    })
}

#[pymethods]
impl PyTensor {
    /// The distinct elements in ascending order, or with `dim` the distinct slices along that axis. On
    /// request also the index of each input in the result, and the number of occurrences.
    #[doc = example!(unique)]
    #[pyo3(signature = (sorted=true, return_inverse=false, return_counts=false, dim=None))]
    fn unique<'py>(
        &self,
        py: Python<'py>,
        sorted: bool,
        return_inverse: bool,
        return_counts: bool,
        dim: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = sorted; // results are always sorted
        let x = self.value(py)?.detach();
        let found = match dim {
            Some(dim) => slices(&x, axis_of(&x, dim)?)?,
            None => {
                let flat = elements(&x.reshape([-1i64]));
                Distinct { inverse: flat.inverse.reshape(x.shape()), ..flat }
            }
        };
        let mut outs = vec![PyTensor::out(found.values)?];
        if return_inverse {
            outs.push(PyTensor::out(found.inverse)?);
        }
        if return_counts {
            outs.push(PyTensor::out(found.counts)?);
        }
        if outs.len() == 1 {
            return outs.remove(0).into_bound_py_any(py);
        }
        pyo3::types::PyTuple::new(py, outs)?.into_bound_py_any(py)
    }
}
