//! Values as people and as programs read them.

use crate::{Done, Terminal};
use gradus::files::json;
use gradus::lang::Program;
use gradus::lang::ast::{Index, Name, Place};
use gradus::{DType, Tensor};

/// A name with its indices, dtype and shape, then the values.
pub(crate) fn tensor(program: &Program, name: &Name, t: &Tensor) -> String {
    let indices = program.definition(name).map(|d| {
        // Of a state its last moment is shown.
        let last = t.rank() < d.places.len();
        let index = |p: &Place| match &p.index {
            Index::Time(..) | Index::Moment(_) if last => "*-1".to_string(),
            // Written place by place, shown whole.
            Index::At(_) => ":".to_string(),
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
    // As many digits as tell a number from its neighbours.
    let most = if matches!(t.dtype(), DType::F64 | DType::C128) { 17 } else { 8 };
    format!("{name}{}: {}{shape}\n{t:.most$}\n", indices.unwrap_or_default(), t.dtype())
}

/// All values, one after the other.
pub(crate) fn text(program: &Program, values: &[(Name, Tensor)], terminal: &mut Terminal<'_>) -> Done {
    for (i, (name, t)) in values.iter().enumerate() {
        write!(terminal.out, "{}{}", if i == 0 { "" } else { "\n" }, tensor(program, name, t))?;
    }
    Ok(())
}

/// One object: name to shape, dtype and data.
pub(crate) fn object(values: &[(Name, Tensor)]) -> Done<String> {
    let mut out = String::from("{");
    for (i, (name, t)) in values.iter().enumerate() {
        let name = serde_json::Value::from(&**name);
        out.push_str(&format!("{}{name}: {}", if i == 0 { "" } else { ", " }, json::to_text(t)?));
    }
    out.push('}');
    Ok(out)
}

/// Rows under a heading, in columns; numbers to the right.
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
