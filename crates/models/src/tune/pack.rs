//! Packs texts into rows of tokens for training. Attention and loss do not cross the boundaries of texts in a
//! row.
//!
//! Takes examples; returns rows of equal length, and tensors of several rows. A text of `n` tokens takes
//! `n - 1` positions, each with a token and the next token as its target.

use super::Tuning;
use super::example::Example;
use crate::config::Config;
use gradus_ir::{Error, Result};
use gradus_tensor::{Device, Tensor};

/// Row lengths are rounded up to a multiple of this, so that few plans are compiled.
const GRAIN: usize = 8;

/// Number of last rows that are searched for free positions, so that packing takes linear time.
const MAX_OPEN: usize = 64;

/// A row of positions, with one entry per position in each list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The tokens.
    pub ids: Vec<i64>,
    /// The token that follows each in its text.
    pub targets: Vec<i64>,
    /// The number of each token's text in the row, from 1; 0 marks padding.
    pub segments: Vec<i64>,
    /// The position of each token in its text.
    pub positions: Vec<i64>,
    /// 1 where the target has a loss, else 0.
    pub weights: Vec<f32>,
}

impl Row {
    /// Makes a row of one text, padded to `length`.
    pub fn single(example: &Example, length: usize) -> Row {
        let mut row = Row::default();
        row.push(example);
        row.pad(length);
        row
    }

    /// Number of targets that have a loss.
    pub fn total(&self) -> f64 {
        self.weights.iter().map(|w| f64::from(*w)).sum()
    }

    fn push(&mut self, example: &Example) {
        let n = example.tokens.len() - 1;
        let segment = self.segments.last().map_or(1, |last| last + 1);
        self.ids.extend(&example.tokens[..n]);
        self.targets.extend(&example.tokens[1..]);
        self.segments.extend(std::iter::repeat_n(segment, n));
        self.positions.extend(0..n as i64);
        self.weights.extend((0..n).map(|i| f32::from(u8::from(i + 1 >= example.given))));
    }

    fn pad(&mut self, length: usize) {
        for list in [&mut self.ids, &mut self.targets, &mut self.segments, &mut self.positions] {
            list.resize(length, 0);
        }
        self.weights.resize(length, 0.0);
    }
}

/// Puts examples into rows of `length` positions: each into the first recent row with enough free positions,
/// or into a new row. Without `several`, each example gets its own row.
pub fn pack(examples: &[Example], length: usize, several: bool) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for (i, example) in examples.iter().enumerate() {
        let tokens = example.tokens.len();
        let n = tokens.saturating_sub(1);
        let why = match n {
            0 => Some(format!("has {tokens} tokens; it needs one of context and at least one to learn")),
            _ if n > length => {
                Some(format!("takes {n} positions of a row of {length}; shorten it or use longer rows"))
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(Error::value(format!("example {}", i + 1), why));
        }
        let from = if several { rows.len().saturating_sub(MAX_OPEN) } else { rows.len() };
        match rows[from..].iter_mut().find(|row| row.ids.len() + n <= length) {
            Some(row) => row.push(example),
            None => {
                let mut row = Row::default();
                row.push(example);
                rows.push(row);
            }
        }
    }
    rows.iter_mut().for_each(|row| row.pad(length));
    Ok(rows)
}

/// Makes the tensors `ids`, `targets`, `segments`, `positions` and `weights` of rows, each `[rows, length]`. Weights
/// are multiplied by `scale`.
pub(crate) fn tensors(rows: &[&Row], scale: f64, device: Device) -> Vec<Tensor> {
    let shape = [rows.len(), rows.first().map_or(0, |row| row.ids.len())];
    let list = |of: fn(&Row) -> &Vec<i64>| {
        let all: Vec<i64> = rows.iter().flat_map(|row| of(row)).copied().collect();
        Tensor::from_slice(&all, shape).to(device)
    };
    let weights = rows.iter().flat_map(|row| &row.weights).map(|w| (f64::from(*w) * scale) as f32);
    let weights = Tensor::from_slice(&weights.collect::<Vec<f32>>(), shape).to(device);
    vec![list(|r| &r.ids), list(|r| &r.targets), list(|r| &r.segments), list(|r| &r.positions), weights]
}

/// Makes a tensor `[rows, length]` with a number for each position; missing numbers are 0.
pub(crate) fn numbers(rows: &[Vec<f64>], length: usize, device: Device) -> Tensor {
    let row = |all: &Vec<f64>| (0..length).map(|i| all.get(i).map_or(0.0, |x| *x as f32)).collect::<Vec<_>>();
    let all: Vec<f32> = rows.iter().flat_map(row).collect();
    Tensor::from_slice(&all, [rows.len(), length]).to(device)
}

/// The shape of a row.
pub(crate) struct Shape {
    pub(crate) length: usize,
}

impl Shape {
    /// Chooses the row length for examples: that of the options, or that of the longest text, rounded up.
    /// Fails if an example does not fit the model.
    pub(crate) fn of_examples(examples: &[Example], tuning: &Tuning, config: &Config) -> Result<Shape> {
        if examples.is_empty() {
            return Err(Error::value("no examples", "were given; training needs at least one"));
        }
        let longest = examples.iter().map(|e| e.tokens.len()).max().unwrap_or(0).saturating_sub(1);
        for (i, example) in examples.iter().enumerate() {
            example.check(i, config.vocabulary)?;
        }
        Shape::of_longest(longest, tuning, config)
    }

    /// Chooses the row length for texts of up to `longest` positions.
    pub(crate) fn of_longest(longest: usize, tuning: &Tuning, config: &Config) -> Result<Shape> {
        let context = config.context;
        let length = match tuning.length {
            Some(length) => length,
            None if longest > context => {
                let why =
                    format!("is longer than the model's context of {context} positions; shorten the texts");
                return Err(Error::value(format!("a text of {longest} positions"), why));
            }
            None => longest.next_multiple_of(GRAIN).min(context),
        };
        if length == 0 || length > context {
            let why = format!("must be from 1 to {context}, the context of the model");
            return Err(Error::value(format!("rows of {length} tokens"), why));
        }
        Ok(Shape { length })
    }
}
