//! Tables that relations are read from: columns of integers or of symbols, one row per fact.

use crate::syntax::ast::Name;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Integers from 0 on.
    Numbers(Vec<u32>),
    /// Symbols.
    Words(Vec<Arc<str>>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Numbers(all) => all.len(),
            Column::Words(all) => all.len(),
        }
    }
}

/// The facts of a relation, column by column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, all of one length.
    pub columns: Vec<Column>,
}

impl Table {
    /// Makes a table from its cells, row by row. A column in which every cell is an integer holds integers; a
    /// column in which no cell is one holds symbols; any other is an error.
    pub fn from_cells<'a>(
        cells: impl Iterator<Item = &'a str> + Clone,
        width: usize,
    ) -> Result<Table, String> {
        let mut seen: HashMap<&'a str, Arc<str>> = HashMap::new();
        let mut columns = Vec::with_capacity(width);
        for c in 0..width {
            let own = || cells.clone().skip(c).step_by(width);
            let number = |x: &str| x.parse::<u32>().ok().filter(|x| *x < u32::MAX);
            let is_number = |x: &str| x.parse::<f64>().is_ok_and(f64::is_finite);
            if let Some(numbers) = own().map(number).collect::<Option<Vec<u32>>>() {
                columns.push(Column::Numbers(numbers));
                continue;
            }
            // As symbols they would have no value: `index(w)` would be their rank.
            if let Some(x) = own().find(|x| number(x).is_none()).filter(|_| own().all(is_number)) {
                let why = "arguments of relations are symbols or integers from 0 to 4294967294";
                let help = "numbers that belong to facts are tensors: read them from a file with one row for each position";
                return Err(format!("column {} has the number {x}: {why}; {help}", c + 1));
            }
            if let Some(other) = own().find(|x| number(x).is_some()) {
                let word = own().find(|x| number(x).is_none()).unwrap_or_default();
                let why = "an argument position has symbols or integers, not both";
                return Err(format!(
                    "column {} has the symbol `{word}` and the integer {other}: {why}",
                    c + 1
                ));
            }
            let words = own().map(|x| seen.entry(x).or_insert_with(|| x.into()).clone());
            columns.push(Column::Words(words.collect()));
        }
        Ok(Table { columns })
    }

    /// Makes a table of integers, row by row.
    pub fn from_numbers(numbers: &[usize], width: usize) -> Result<Table, String> {
        let number = |x: &usize| u32::try_from(*x).ok().filter(|x| *x < u32::MAX);
        let column = |c: usize| {
            let own = numbers.iter().skip(c).step_by(width.max(1));
            own.map(|x| number(x).ok_or_else(|| format!("{x} is too large for an argument of a relation")))
                .collect::<Result<Vec<u32>, String>>()
        };
        let columns = (0..width).map(|c| column(c).map(Column::Numbers)).collect::<Result<_, _>>()?;
        Ok(Table { columns })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// One more than the largest integer in it.
    pub(crate) fn domain(&self) -> usize {
        let most = |c: &Column| match c {
            Column::Numbers(all) => all.iter().max().map_or(0, |x| *x as usize + 1),
            Column::Words(_) => 0,
        };
        self.columns.iter().map(most).max().unwrap_or(0)
    }
}

/// Tables by the name of the relation that each defines.
pub type Tables = Arc<BTreeMap<Name, Table>>;
