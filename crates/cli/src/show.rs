//! Formats values as text and as JSON.

use crate::Done;
use gradus::files::json;
use gradus::lang::ast::{Index, Name, Place};
use gradus::lang::{Facts, Program, Symbols};
use gradus::{DType, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Formats a tensor as text: its name with indices, dtype and shape, then the values.
pub(crate) fn tensor(program: &Program, name: &Name, t: &Tensor) -> String {
    let indices = program.definition(name).map(|d| {
        // Only the last time step of a state is shown.
        let last = t.rank() < d.places.len();
        let index = |p: &Place| match &p.index {
            Index::Time(..) | Index::Step(_) if last => "*-1".to_string(),
            // The name is defined element by element, but the complete axis is shown.
            Index::At(_) | Index::Symbol(..) => ":".to_string(),
            index => index.to_string(),
        };
        let each: Vec<String> = d.places.iter().map(index).collect();
        match (each.is_empty(), d.relation) {
            (true, _) => String::new(),
            (_, true) => format!("({})", each.join(", ")),
            _ => format!("[{}]", each.join(", ")),
        }
    });
    let shape: Vec<String> = t.shape().iter().map(usize::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!(" {}", shape.join("×")) };
    // Enough digits to distinguish a number from its neighbours.
    let most = if matches!(t.dtype(), DType::F64 | DType::C128) { 17 } else { 8 };
    format!("{name}{}: {}{shape}\n{t:.most$}\n", indices.unwrap_or_default(), t.dtype())
}

/// Largest number of facts that are listed; the others are counted.
const MAX_LISTED: usize = 1000;

/// The results of a run: tensors, and relations as lists of facts.
pub(crate) struct Values<'a> {
    pub(crate) program: &'a Program,
    pub(crate) symbols: &'a Symbols,
    /// The names to show, in order.
    pub(crate) names: &'a [Name],
    pub(crate) values: &'a BTreeMap<Name, Tensor>,
    pub(crate) facts: &'a BTreeMap<Name, Facts>,
}

/// Rows of symbols, or of numbers at positions without symbols, each with its value.
struct Rows {
    heading: Vec<String>,
    rows: Vec<(Vec<Cell>, Option<String>)>,
}

/// An argument of a fact: a symbol or a number.
pub(crate) enum Cell {
    Symbol(Arc<str>),
    Number(usize),
}

impl Cell {
    /// Makes the argument at `position` of a fact of `name`: the symbol with index `at` in the domain of this
    /// position, or the number `at` if the domain has no symbols.
    pub(crate) fn new(symbols: &Symbols, name: &str, position: usize, at: usize) -> Cell {
        match symbols.of(name, position).and_then(|all| all.get(at)) {
            Some(symbol) => Cell::Symbol(symbol.clone()),
            None => Cell::Number(at),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Cell::Symbol(symbol) => symbol.to_string(),
            Cell::Number(at) => at.to_string(),
        }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Cell::Symbol(symbol) => (&**symbol).into(),
            Cell::Number(at) => (*at).into(),
        }
    }
}

impl Values<'_> {
    /// Formats all values as text, one after the other.
    pub(crate) fn text(&self) -> Done<String> {
        let mut all = Vec::new();
        for name in self.names {
            if let Some(rows) = self.rows(name)? {
                let n = rows.rows.len();
                let shown = &rows.rows[..n.min(MAX_LISTED)];
                let row = |(cells, value): &(Vec<Cell>, Option<String>)| {
                    let value = value.as_ref().map(|x| x.trim_matches('"').to_string());
                    cells.iter().map(Cell::text).chain(value).collect::<Vec<_>>()
                };
                let heading: Vec<&str> = rows.heading.iter().map(String::as_str).collect();
                let listed = table(&heading, &shown.iter().map(row).collect::<Vec<_>>());
                let count = if n == 1 { "1 row".to_string() } else { format!("{n} rows") };
                let more =
                    if n > MAX_LISTED { format!("… and {} more\n", n - MAX_LISTED) } else { String::new() };
                all.push(format!("{name}: {count}\n{listed}{more}"));
            } else if let Some(t) = self.values.get(name) {
                all.push(tensor(self.program, name, t));
            }
        }
        Ok(all.join("\n"))
    }

    /// Formats all values as one JSON object: name to shape, dtype and data, or to a list of rows.
    pub(crate) fn json(&self) -> Done<String> {
        let mut all = Vec::new();
        for name in self.names {
            let key = serde_json::Value::from(&**name);
            if let Some(rows) = self.rows(name)? {
                let row = |(cells, value): &(Vec<Cell>, Option<String>)| {
                    let mut object = serde_json::Map::new();
                    for (cell, index) in cells.iter().zip(&rows.heading) {
                        object.insert(index.clone(), cell.json());
                    }
                    if let Some(x) = value {
                        let x = serde_json::from_str(x).unwrap_or(serde_json::Value::Null);
                        object.insert("value".into(), x);
                    }
                    serde_json::Value::Object(object)
                };
                let list = serde_json::Value::Array(rows.rows.iter().map(row).collect());
                all.push(format!("{key}: {list}"));
            } else if let Some(t) = self.values.get(name) {
                all.push(format!("{key}: {}", json::to_text(t)?));
            }
        }
        Ok(format!("{{{}}}", all.join(", ")))
    }

    /// Returns the rows of a name that is a list of facts or has symbols at some position; `None` for other
    /// names.
    fn rows(&self, name: &Name) -> Done<Option<Rows>> {
        let Some(d) = self.program.definition(name) else { return Ok(None) };
        let cell = |position: usize, at: usize| Cell::new(self.symbols, name, position, at);
        let mut heading = heading(&d.places);
        if let Some(facts) = self.facts.get(name) {
            let row = |t: &[u32]| {
                let cells = t.iter().enumerate().map(|(p, x)| cell(p, *x as usize));
                (cells.collect(), None)
            };
            let rows = facts.tuples.chunks_exact(facts.width.max(1)).map(row).collect();
            return Ok((facts.width > 0).then_some(Rows { heading, rows }));
        }
        let Some(t) = self.values.get(name).filter(|t| t.rank() == d.rank) else { return Ok(None) };
        if !(0..d.rank).any(|p| self.symbols.of(name, p).is_some()) {
            return Ok(None);
        }
        let (shape, holds) = (t.shape().to_vec(), t.dtype() == DType::Bool);
        let mut rows = Vec::new();
        for (at, x) in json::items(t)?.into_iter().enumerate().filter(|(_, x)| !holds || x == "true") {
            let mut left = at;
            let mut cells: Vec<Cell> = Vec::with_capacity(shape.len());
            for (p, n) in shape.iter().enumerate().rev() {
                cells.push(cell(p, left % n));
                left /= n;
            }
            cells.reverse();
            rows.push((cells, (!holds).then_some(x)));
        }
        heading.extend((!holds).then(|| "value".to_string()));
        Ok(Some(Rows { heading, rows }))
    }
}

/// Returns a name for each column: its index, or its position if the index has no name or another column has
/// that name.
fn heading(places: &[Place]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (i, place) in places.iter().enumerate() {
        let own = match &place.index {
            Index::Named(name, _) => name.to_string(),
            _ => (i + 1).to_string(),
        };
        out.push(if out.contains(&own) { (i + 1).to_string() } else { own });
    }
    out
}

/// Formats rows under a heading, in aligned columns; columns of numbers are right-aligned.
pub(crate) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |c: usize| {
        let cells = rows.iter().filter_map(|r| r.get(c)).map(|x| x.chars().count());
        cells.chain([heading[c].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let number =
        |c: usize| rows.iter().all(|r| r.get(c).is_none_or(|x| x.parse::<f64>().is_ok() || x == "-"));
    let right: Vec<bool> = (0..heading.len()).map(number).collect();
    let line = |cells: Vec<&str>| {
        let each = cells.iter().enumerate().map(|(c, x)| match right[c] {
            true => format!("{x:>w$}", w = widths[c]),
            false => format!("{x:<w$}", w = widths[c]),
        });
        format!("{}\n", each.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut out = line(heading.to_vec());
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}
