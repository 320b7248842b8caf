//! Reads tables of relations: facts as rows of integers or symbols.
//! Takes a path and whether the first line is a header; returns columns, which the program interprets.

use gradus::files::{self, atomic};
use gradus::lang::Table;
use std::borrow::Cow;
use std::path::Path;

/// Reads the table of a relation. If `header` is `None`, the table holds integers, and a first line of words is skipped.
pub(crate) fn read(path: &Path, header: Option<bool>) -> gradus::Result<Table> {
    let failed = |why: String| atomic::failed(path, why);
    let text = files::text(path)?;
    let comma = files::ending(path) == "csv";
    let lines = text.lines().map(str::trim).zip(1..);
    let rows = lines.filter(|(l, _)| !l.is_empty() && !l.starts_with('#'));
    let (mut cells, mut width): (Vec<Cow<'_, str>>, Option<usize>) = (Vec::new(), None);
    for (at, (row, line)) in rows.enumerate() {
        let row = fields(row, comma).map_err(|why| failed(format!("line {line}: {why}")))?;
        let expected = *width.get_or_insert(row.len());
        if row.len() != expected {
            return Err(failed(format!(
                "line {line} has {} columns, but earlier lines have {expected}",
                row.len()
            )));
        }
        let is_header = at == 0 && header.unwrap_or_else(|| row.iter().all(|f| f.parse::<f64>().is_err()));
        if is_header {
            continue;
        }
        let number = |f: &Cow<'_, str>| f.parse::<u32>().is_ok_and(|x| x < u32::MAX);
        if let (None, Some(c)) = (header, row.iter().position(|f| !number(f))) {
            let why = format!("line {line}, column {}: `{}` is not a non-negative integer", c + 1, row[c]);
            return Err(failed(format!("{why}; symbols are read by table(\"…\", header=…)")));
        }
        cells.extend(row);
    }
    Table::from_cells(cells.iter().map(|c| &**c), width.unwrap_or(0)).map_err(failed)
}

/// Splits a line into fields at commas or white space. Quoted fields may contain commas; `""` in them is a quote.
fn fields(line: &str, comma: bool) -> Result<Vec<Cow<'_, str>>, String> {
    if !comma {
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
            ',' if !quoted => all.push(Cow::from(std::mem::take(&mut field).trim().to_string())),
            c => field.push(c),
        }
    }
    if quoted {
        return Err("a quote is not closed".to_string());
    }
    all.push(field.trim().to_string().into());
    Ok(all)
}
