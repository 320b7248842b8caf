//! Tables as text: rows of fields, separated by commas or spaces.

use crate::{atomic, text};
use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;
use std::borrow::Cow;
use std::path::Path;
use std::str::FromStr;

/// A table: the names of its columns, if they have any, and its numbers.
#[derive(Clone, Debug)]
pub struct Table {
    /// Names of the columns; empty without a heading.
    pub names: Vec<String>,
    /// `[rows, columns]`, `f64`.
    pub values: Tensor,
}

impl Table {
    /// Returns a column by name: `[rows]`.
    pub fn column(&self, name: &str) -> Result<Tensor> {
        let Some(i) = self.names.iter().position(|n| n == name) else {
            return Err(Error::value(
                format!("column `{name}`"),
                format!("does not exist; the columns are {:?}", self.names),
            ));
        };
        Ok(self.values.narrow(1, i, 1).squeeze(1))
    }
}

/// Reads a table of numbers. The first line is a heading if any of its fields is not a number.
pub fn read(path: impl AsRef<Path>) -> Result<Table> {
    let path = path.as_ref();
    let rows = Rows::<f64>::read(path, ',', |first| first.iter().any(|f| is_word(f)), "number")?;
    if rows.width == 0 {
        return Err(atomic::failed(path, "is empty"));
    }
    let shape = [rows.cells.len() / rows.width, rows.width];
    Ok(Table { names: rows.names, values: Tensor::from_slice(&rows.cells, shape) })
}

/// The contents of a table, row by row.
pub(crate) struct Rows<T> {
    /// The fields of the heading.
    pub(crate) names: Vec<String>,
    /// All fields below it.
    pub(crate) cells: Vec<T>,
    /// Number of fields in a row.
    pub(crate) width: usize,
}

impl<T: FromStr> Rows<T> {
    /// Reads the rows of a file. Fields are separated by commas if `separator` is a comma, otherwise by white
    /// space. Skips comments and empty lines. Only the first row may be a heading; `kind` names the type of
    /// all other fields.
    pub(crate) fn read(
        path: &Path,
        separator: char,
        heading: impl Fn(&[Cow<'_, str>]) -> bool,
        kind: &str,
    ) -> Result<Rows<T>> {
        let text = text(path)?;
        let mut out = Rows { names: Vec::new(), cells: Vec::new(), width: 0 };
        let lines = text.lines().map(str::trim).zip(1..);
        let rows = lines.filter(|(l, _)| !l.is_empty() && !l.starts_with('#'));
        for (at, (row, line)) in rows.enumerate() {
            let failed = |why: String| atomic::failed(path, format!("line {line}{why}"));
            let row = fields(row, separator).map_err(|why| failed(format!(": {why}")))?;
            if at == 0 {
                out.width = row.len();
                if heading(&row) {
                    out.names = row.into_iter().map(Cow::into_owned).collect();
                    continue;
                }
            }
            if row.len() != out.width {
                return Err(failed(format!(
                    " has {} columns, but earlier lines have {}",
                    row.len(),
                    out.width
                )));
            }
            for (field, column) in row.iter().zip(1..) {
                let wrong = |_| failed(format!(", column {column}: `{field}` is not a {kind}"));
                out.cells.push(field.parse().map_err(wrong)?);
            }
        }
        Ok(out)
    }
}

/// Returns true if a field is not a number.
pub(crate) fn is_word(field: &str) -> bool {
    field.parse::<f64>().is_err()
}

/// Splits a line into fields, without surrounding spaces. Quoted fields may contain commas, and a doubled
/// quote in them is one quote.
fn fields(line: &str, separator: char) -> std::result::Result<Vec<Cow<'_, str>>, String> {
    if separator != ',' {
        return Ok(line.split_whitespace().map(Cow::from).collect());
    }
    if !line.contains('"') {
        return Ok(line.split(',').map(|f| f.trim().into()).collect());
    }
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field).trim().to_string().into()),
            c => field.push(c),
        }
    }
    if quoted {
        return Err("a quote is not closed".to_string());
    }
    all.push(field.trim().to_string().into());
    Ok(all)
}
