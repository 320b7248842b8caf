//! Tables as text: rows of numbers, or facts of a relation as whole numbers.

use crate::atomic::{self, failed};
use crate::{csv, text};
use gradus_ir::{DType, Error, Result};
use gradus_tensor::Tensor;
use std::fmt::Write;
use std::path::Path;

/// How many truth values the facts of a file may stand for.
const MOST_ELEMENTS: usize = 1 << 28;

/// A table of numbers. One row or one column can be a list.
pub(crate) fn read(path: &Path, rank: Option<usize>) -> Result<Tensor> {
    let values = csv::read(path)?.values;
    let (height, width) = (values.dim(0), values.dim(1));
    match rank {
        Some(0) if height * width == 1 => Ok(values.squeeze([0, 1])),
        Some(1) if height <= 1 || width <= 1 => Ok(values.reshape([-1])),
        None | Some(2) => Ok(values),
        Some(rank) => {
            let why = format!("is a table of {height} rows and {width} columns, and {rank} axes are wanted");
            Err(failed(path, why))
        }
    }
}

/// Writes one row per line; a scalar is one row, a list one column. Truth values are written as the places that hold.
pub(crate) fn write(path: &Path, tensor: &Tensor, separator: char) -> Result<()> {
    let shape = tensor.check()?.shape().to_vec();
    let numbers = crate::numbers(path, tensor)?;
    let mut text = String::new();
    if tensor.dtype() == DType::Bool {
        for (at, _) in numbers.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let mut strides = 1;
            let mut places: Vec<String> = Vec::new();
            for n in shape.iter().rev() {
                places.push((at / strides % n).to_string());
                strides *= n;
            }
            places.reverse();
            let _ = writeln!(text, "{}", places.join(&separator.to_string()));
        }
        return atomic::write(path, &[text.as_bytes()]);
    }
    let width = match shape[..] {
        [] | [_] => 1,
        [_, width] => width,
        _ => return Err(failed(path, format!("cannot hold {} axes; .npy can", shape.len()))),
    };
    for row in numbers.chunks(width.max(1)) {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "{}", row.join(&separator.to_string()));
    }
    atomic::write(path, &[text.as_bytes()])
}

/// The facts of a relation: rows of whole numbers.
#[derive(Clone, Debug)]
pub struct Facts {
    path: std::path::PathBuf,
    rows: Vec<Vec<usize>>,
}

impl Facts {
    /// The facts in a file; a first line of words is a heading.
    pub fn read(path: &Path) -> Result<Facts> {
        let text = text(path)?;
        let mut facts: Vec<Vec<usize>> = Vec::new();
        for (i, line) in csv::lines(&text) {
            let line_fault = |why: String| failed(path, format!("line {}{why}", i + 1));
            let row =
                csv::fields(line, csv::separator(path)).map_err(|why| line_fault(format!(": {why}")))?;
            let read: Vec<Option<usize>> = row.iter().map(|x| x.parse().ok()).collect();
            if facts.is_empty() && read.iter().all(Option::is_none) {
                continue;
            }
            if let Some(at) = read.iter().position(Option::is_none) {
                return Err(line_fault(format!(
                    ", field {}: `{}` is no whole number from 0 on",
                    at + 1,
                    row[at]
                )));
            }
            let fact: Vec<usize> = read.into_iter().flatten().collect();
            if let Some(first) = facts.first()
                && first.len() != fact.len()
            {
                return Err(line_fault(format!(
                    " has {} fields, and the first has {}",
                    fact.len(),
                    first.len()
                )));
            }
            facts.push(fact);
        }
        Ok(Facts { path: path.to_path_buf(), rows: facts })
    }

    /// How many things the facts speak of: one more than the largest number.
    pub fn domain(&self) -> usize {
        self.rows.iter().flatten().max().map_or(0, |n| n.saturating_add(1))
    }

    /// The relation as truth values. Axes whose size is not known have that of `domain`, or as many as are needed.
    pub fn tensor(&self, extents: &[Option<usize>], domain: usize) -> Result<Tensor> {
        let columns = self.rows.first().map_or(extents.len(), Vec::len);
        if !extents.is_empty() && extents.len() != columns {
            let why = format!("has {columns} columns, and the relation has {} places", extents.len());
            return Err(failed(&self.path, why));
        }
        let needed = domain.max(self.domain());
        let shape: Vec<usize> =
            (0..columns).map(|i| extents.get(i).copied().flatten().unwrap_or(needed)).collect();
        let count = shape.iter().try_fold(1usize, |n, e| n.checked_mul(*e)).filter(|n| *n <= MOST_ELEMENTS);
        let Some(count) = count else {
            let why = format!("speaks of {shape:?} places, more than {MOST_ELEMENTS} in all");
            return Err(failed(&self.path, why));
        };
        let mut truth = vec![false; count];
        for fact in &self.rows {
            let mut at = 0;
            for (i, n) in fact.iter().zip(&shape) {
                if i >= n {
                    return Err(failed(&self.path, format!("speaks of {i}, but the axis has size {n}")));
                }
                at = at * n + i;
            }
            let place =
                truth.get_mut(at).ok_or_else(|| Error::value("a fact", "is outside of its relation"))?;
            *place = true;
        }
        Ok(Tensor::from_slice(&truth, shape))
    }
}
