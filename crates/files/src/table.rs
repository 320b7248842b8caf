//! Tables as text: rows of numbers, or facts of a relation as integers.

use crate::atomic::{self, failed};
use crate::csv::{Rows, is_word};
use crate::{MAX_ELEMENTS, digits, ending, json};
use gradus_ir::{DType, Error, Result};
use gradus_tensor::Tensor;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

fn separator(path: &Path) -> char {
    if ending(path) == "csv" { ',' } else { ' ' }
}

/// Returns true if a first line is a heading: no field is a number.
fn is_heading(first: &[Cow<'_, str>]) -> bool {
    first.iter().all(|f| is_word(f))
}

/// Reads a table of numbers; a first line of words is a heading. If `rank` is 1, one row or one column is
/// read as a list.
pub(crate) fn read(path: &Path, rank: Option<usize>, exact_integers: bool) -> Result<Tensor> {
    let Rows { cells: numbers, width, .. } = Rows::read(path, separator(path), is_heading, "number")?;
    let height = numbers.len() / width.max(1);
    let shape = match rank {
        Some(0) if numbers.len() == 1 => vec![],
        Some(1) if height <= 1 || width <= 1 => vec![numbers.len()],
        None | Some(2) => vec![height, width],
        Some(rank) => {
            let wanted = if rank == 1 { "1 axis is".to_string() } else { format!("{rank} axes are") };
            let why = format!("is a table of {height} rows and {width} columns, but {wanted} expected");
            return Err(failed(path, why));
        }
    };
    Ok(digits::tensor(&numbers, shape, exact_integers))
}

/// Writes one row per line; a scalar is one row, a list one column. Booleans are written as the indices of
/// true elements.
pub(crate) fn write(path: &Path, tensor: &Tensor, separator: char) -> Result<()> {
    let shape = tensor.check()?.shape().to_vec();
    let mut text = String::new();
    if tensor.dtype() == DType::Bool {
        for (at, _) in crate::numbers(path, tensor)?.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let mut strides = 1;
            let mut indices: Vec<String> = Vec::new();
            for n in shape.iter().rev() {
                indices.push((at / strides % n).to_string());
                strides *= n;
            }
            indices.reverse();
            let _ = writeln!(text, "{}", indices.join(&separator.to_string()));
        }
        return atomic::write(path, &[text.as_bytes()]);
    }
    let width = match shape[..] {
        [] | [_] => 1,
        [_, width] => width,
        _ => return Err(failed(path, format!("cannot hold {} axes; .npy can", shape.len()))),
    };
    let items = json::real_items(path, tensor)?;
    let items: Vec<&str> = items.iter().map(|x| x.trim_matches('"')).collect();
    for row in items.chunks(width.max(1)) {
        let _ = writeln!(text, "{}", row.join(&separator.to_string()));
    }
    atomic::write(path, &[text.as_bytes()])
}

/// The facts of a relation: rows of integers.
#[derive(Clone, Debug)]
pub struct Facts {
    path: std::path::PathBuf,
    numbers: Vec<usize>,
    columns: usize,
}

impl Facts {
    /// Reads the facts in a file; a first line of words is a heading.
    pub fn read(path: &Path) -> Result<Facts> {
        let rows = Rows::read(path, separator(path), is_heading, "non-negative integer")?;
        Ok(Facts { path: path.to_path_buf(), numbers: rows.cells, columns: rows.width })
    }

    /// Returns the size of the domain: one more than the largest number.
    pub fn domain(&self) -> usize {
        self.numbers.iter().max().map_or(0, |n| n.saturating_add(1))
    }

    /// Converts the relation to booleans. Axes of unknown size have the size `domain`, or more if a fact
    /// needs it.
    pub fn tensor(&self, extents: &[Option<usize>], domain: usize) -> Result<Tensor> {
        let columns = if self.columns == 0 { extents.len() } else { self.columns };
        if !extents.is_empty() && extents.len() != columns {
            let why = format!("has {columns} columns, but the relation has {} axes", extents.len());
            return Err(failed(&self.path, why));
        }
        let needed = domain.max(self.domain());
        let shape: Vec<usize> =
            (0..columns).map(|i| extents.get(i).copied().flatten().unwrap_or(needed)).collect();
        let count = shape.iter().try_fold(1usize, |n, e| n.checked_mul(*e)).filter(|n| *n <= MAX_ELEMENTS);
        let Some(count) = count else {
            let why = format!("needs a relation of {shape:?}, more than {MAX_ELEMENTS} elements in total");
            return Err(failed(&self.path, why));
        };
        let mut holds = vec![false; count];
        for fact in self.numbers.chunks(columns.max(1)) {
            let mut at = 0;
            for (i, n) in fact.iter().zip(&shape) {
                if i >= n {
                    return Err(failed(&self.path, format!("contains {i}, but the axis has size {n}")));
                }
                at = at * n + i;
            }
            let fact =
                holds.get_mut(at).ok_or_else(|| Error::value("a fact", "is outside of its relation"))?;
            *fact = true;
        }
        Ok(Tensor::from_slice(&holds, shape))
    }
}
