//! Tables of numbers as text, with commas between.

use crate::{atomic, bytes};
use gradus_ir::{Error, Result};
use gradus_tensor::Tensor;
use std::path::Path;

/// A table: the names of its columns, if they have any, and its numbers.
#[derive(Clone, Debug)]
pub struct Table {
    /// Names of the columns; none if there is no line of them.
    pub names: Vec<String>,
    /// `[rows, columns]`, `f64`.
    pub values: Tensor,
}

impl Table {
    /// A column by name: `[rows]`.
    pub fn column(&self, name: &str) -> Result<Tensor> {
        let Some(i) = self.names.iter().position(|n| n == name) else {
            return Err(Error::value(format!("column `{name}`"), format!("is none of {:?}", self.names)));
        };
        Ok(self.values.narrow(1, i, 1).squeeze(1))
    }
}

/// Reads a table of numbers. The first line is names if any of its fields is no number.
pub fn read(path: impl AsRef<Path>) -> Result<Table> {
    let path = path.as_ref();
    let text = String::from_utf8(bytes(path)?).map_err(|_| atomic::failed(path, "is not UTF-8 text"))?;
    parse(&text).map_err(|why| atomic::failed(path, why))
}

fn parse(text: &str) -> std::result::Result<Table, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    let Some((_, first)) = lines.peek() else { return Err("is empty".to_string()) };
    let first = fields(first)?;
    let columns = first.len();
    let named = first.iter().any(|f| number(f).is_none());
    let names = if named { first } else { Vec::new() };
    let mut values = Vec::new();
    for (i, line) in lines.skip(named as usize) {
        let fields = fields(line).map_err(|why| format!("line {}: {why}", i + 1))?;
        if fields.len() != columns {
            return Err(format!("line {} has {} fields, and the first has {columns}", i + 1, fields.len()));
        }
        for (j, field) in fields.iter().enumerate() {
            let wrong = || format!("line {}, field {}: `{field}` is no number", i + 1, j + 1);
            values.push(number(field).ok_or_else(wrong)?);
        }
    }
    Ok(Table { names, values: Tensor::from_slice(&values, [values.len() / columns.max(1), columns]) })
}

fn number(field: &str) -> Option<f64> {
    field.parse().ok()
}

/// The fields of a line, without spaces around; quotes may hold commas, and two of them stand for one.
fn fields(line: &str) -> std::result::Result<Vec<String>, String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field).trim().to_string()),
            c => field.push(c),
        }
    }
    if quoted {
        return Err("a quote is not closed".to_string());
    }
    all.push(field.trim().to_string());
    Ok(all)
}
