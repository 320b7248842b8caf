//! Tables as text: rows of numbers, or facts of a relation as whole numbers.

use crate::atomic::{self, failed};
use crate::csv::{Rows, is_word};
use crate::{digits, ending, json};
use gradus_ir::{DType, Error, Result};
use gradus_tensor::Tensor;
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// How many truth values the facts of a file may stand for.
const MOST_ELEMENTS: usize = 1 << 28;

fn separator(path: &Path) -> char {
    if ending(path) == "csv" { ',' } else { ' ' }
}

/// A heading is a first line of nothing but words.
fn words(first: &[Cow<'_, str>]) -> bool {
    first.iter().all(|f| is_word(f))
}

/// A table of numbers; a first line of words is a heading. One row or one column can be a list.
pub(crate) fn read(path: &Path, rank: Option<usize>, whole: bool) -> Result<Tensor> {
    let Rows { cells: numbers, width, .. } = Rows::read(path, separator(path), words, "number")?;
    let height = numbers.len() / width.max(1);
    let shape = match rank {
        Some(0) if numbers.len() == 1 => vec![],
        Some(1) if height <= 1 || width <= 1 => vec![numbers.len()],
        None | Some(2) => vec![height, width],
        Some(rank) => {
            let wanted = if rank == 1 { "1 axis is".to_string() } else { format!("{rank} axes are") };
            let why = format!("is a table of {height} rows and {width} columns, and {wanted} wanted");
            return Err(failed(path, why));
        }
    };
    Ok(digits::tensor(&numbers, shape, whole))
}

/// Writes one row per line; a scalar is one row, a list one column. Truth values are written as the places that hold.
pub(crate) fn write(path: &Path, tensor: &Tensor, separator: char) -> Result<()> {
    let shape = tensor.check()?.shape().to_vec();
    let mut text = String::new();
    if tensor.dtype() == DType::Bool {
        for (at, _) in crate::numbers(path, tensor)?.iter().enumerate().filter(|(_, x)| **x != 0.0) {
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
    let items = json::real_items(path, tensor)?;
    let items: Vec<&str> = items.iter().map(|x| x.trim_matches('"')).collect();
    for row in items.chunks(width.max(1)) {
        let _ = writeln!(text, "{}", row.join(&separator.to_string()));
    }
    atomic::write(path, &[text.as_bytes()])
}

/// The facts of a relation: rows of whole numbers.
#[derive(Clone, Debug)]
pub struct Facts {
    path: std::path::PathBuf,
    numbers: Vec<usize>,
    columns: usize,
}

impl Facts {
    /// The facts in a file; a first line of words is a heading.
    pub fn read(path: &Path) -> Result<Facts> {
        let rows = Rows::read(path, separator(path), words, "whole number from 0 on")?;
        Ok(Facts { path: path.to_path_buf(), numbers: rows.cells, columns: rows.width })
    }

    /// How many things the facts speak of: one more than the largest number.
    pub fn domain(&self) -> usize {
        self.numbers.iter().max().map_or(0, |n| n.saturating_add(1))
    }

    /// The relation as truth values. Axes whose size is not known have that of `domain`, or as many as are needed.
    pub fn tensor(&self, extents: &[Option<usize>], domain: usize) -> Result<Tensor> {
        let columns = if self.columns == 0 { extents.len() } else { self.columns };
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
        for fact in self.numbers.chunks(columns.max(1)) {
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
