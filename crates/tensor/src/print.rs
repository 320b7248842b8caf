//! Prints tensors with aligned columns and nested brackets, as NumPy does.
//!
//! `{}` is the array alone, `{:?}` is `Tensor(array, dtype=…)`; `{:.3}` limits the digits after the point to
//! three. Of more than a thousand elements, three at each edge of every axis are shown, and only those are
//! read.

mod layout;
mod number;

use crate::data::Data;
use crate::device::Device;
use crate::tensor::{Inner, Tensor};
use layout::Layout;
use std::fmt;

/// Largest number of elements that are all shown.
const MAX_SHOWN: usize = 1000;

/// Elements shown at each edge of a shortened axis.
const EDGE: usize = 3;

/// Returns the indices shown of each axis.
fn shown(shape: &[usize], all: bool) -> Vec<Vec<usize>> {
    let axis = |&n: &usize| match all || n <= 2 * EDGE {
        true => (0..n).collect(),
        false => (0..EDGE).chain(n - EDGE..n).collect(),
    };
    shape.iter().map(axis).collect()
}

/// Returns the storage offsets of the elements shown, in row-major order.
fn offsets(data: &Data, shown: &[Vec<usize>]) -> Vec<i64> {
    let step = |at: Vec<i64>, (axis, stride): (&Vec<usize>, i64)| -> Vec<i64> {
        at.iter().flat_map(|from| axis.iter().map(move |&i| from + i as i64 * stride)).collect()
    };
    shown.iter().zip(data.strides()).fold(vec![data.offset as i64], step)
}

/// Formats the array; all lines but the first are indented by `indent` columns.
fn array(data: &Data, separator: &str, indent: usize, digits: Option<usize>) -> String {
    let data = match data.to(Device::CPU) {
        Ok(data) => data,
        Err(e) => return e.to_string(),
    };
    let shape = &data.aval.shape;
    if shape.contains(&0) {
        return if shape.rank() == 1 { "[]".to_string() } else { format!("[], shape={shape}") };
    }
    let shown = shown(shape, shape.numel() <= MAX_SHOWN);
    let words = match data.to_carrier(Some(&offsets(&data, &shown))) {
        Ok(elements) => number::words(&elements, data.aval.dtype, digits),
        Err(e) => return e.to_string(),
    };
    Layout { shape, shown: &shown, words: &words, separator }.text(indent)
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.0, self.concrete()) {
            (Inner::Failed(e), _) => write!(f, "failed: {e}"),
            (Inner::Node(n), _) => write!(f, "traced {}", n.aval),
            (_, Ok(data)) => f.write_str(&array(&data, " ", 0, f.precision())),
            (_, Err(e)) => write!(f, "failed: {e}"),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OPEN: &str = "Tensor(";
        f.write_str(OPEN)?;
        match (&*self.0, self.concrete()) {
            (Inner::Data(..) | Inner::Cell(_), Ok(data)) => {
                write!(f, "{}, dtype={}", array(&data, ", ", OPEN.len(), f.precision()), data.aval.dtype)?;
                if !data.is_host() {
                    write!(f, ", device={}", data.device())?;
                }
            }
            _ => write!(f, "{self}")?,
        }
        f.write_str(if self.requires_grad() { ", requires_grad=true)" } else { ")" })
    }
}
