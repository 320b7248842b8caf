//! The part of a kernel of attention that does not depend on how rows are shared among threads: its buffers and sizes,
//! scores and their gradients, and the range of keys that a query sees.

use super::super::Call;
use super::Attention;
use crate::build::Build;
use crate::dialect::Unit;
use crate::int::Int;
use crate::program::Word;

/// A kernel under construction, with the sizes that all passes use.
pub(super) struct Frame<'a> {
    pub(super) b: Build<'a>,
    pub(super) a: &'a Attention,
    pub(super) buffers: Vec<usize>,
    pub(super) queries: Int,
    pub(super) keys: Int,
    scale: String,
    softcap: Option<String>,
}

impl<'a> Frame<'a> {
    /// Starts a kernel that reads the first buffers and writes the last `outs`.
    pub(super) fn new(call: &'a Call<'_>, a: &'a Attention, buffers: Vec<usize>, outs: usize) -> Frame<'a> {
        let mut b = Build::new(call.program, call.dialect, call.text);
        let first = buffers.len() - outs;
        for (i, buffer) in buffers.iter().enumerate() {
            let unit = match (b.dtype(*buffer).size(), a.unit()) {
                (4, unit) => unit,
                // Threads write parts of words.
                (_, Unit::Word) if i >= first => Unit::Atomic,
                _ => Unit::Word,
            };
            b.bind(*buffer, unit, i >= first);
        }
        let number = |b: &mut Build<'_>, x: f64| {
            let bits = b.parameter(Word::Value((x as f32).to_bits()));
            b.constant(format!("bitcast<f32>({bits})"))
        };
        let scale = number(&mut b, a.scale);
        let softcap = a.softcap.map(|c| number(&mut b, c));
        let (queries, keys) = (b.size(a.queries as i64), b.size(a.keys as i64));
        Frame { b, a, buffers, queries, keys, scale, softcap }
    }

    /// Returns the position of the first element of a row.
    pub(super) fn at(&mut self, operand: usize, row: &Int, width: usize) -> Int {
        let start = self.b.start(self.buffers[operand], 0);
        self.b.int(start.plus(&row.times(&Int::Literal(width as u32))))
    }

    /// Returns the score for the dot product of a query and a key. Also returns the derivative of the soft cap, if there is
    /// one: the gradient of the score is multiplied by it.
    pub(super) fn score(&mut self, product: &str) -> (String, Option<String>) {
        let scaled = self.b.value(format!("{product} * {}", self.scale));
        let Some(c) = self.softcap.clone() else { return (scaled, None) };
        let bent = self.b.value(format!("f_tanh({scaled} / {c})"));
        let slope = self.b.value(format!("1.0f - {bent} * {bent}"));
        (self.b.value(format!("{bent} * {c}")), Some(slope))
    }

    /// Returns the range of keys that a query sees: the first, and the one after the last.
    pub(super) fn seen(&mut self, query: &Int) -> (String, String) {
        let next = query.plus(&Int::Literal(1));
        let end = match self.a.causal {
            true => format!("min({}, {})", next.text(), self.keys.text()),
            false => self.keys.text(),
        };
        let first = match self.a.window {
            Some(w) => {
                let w = self.b.size(w as i64);
                format!("max({}, {}) - {}", next.text(), w.text(), w.text())
            }
            None => "0u".into(),
        };
        (self.b.value(first), self.b.value(end))
    }

    /// Returns the range of queries that see a key: the first, and the one after the last.
    pub(super) fn seeing(&mut self, key: &Int) -> (String, String) {
        let first = if self.a.causal { key.text() } else { "0u".into() };
        let end = match self.a.window {
            Some(w) => {
                let w = self.b.size(w as i64);
                format!("min({}, {})", key.plus(&w).text(), self.queries.text())
            }
            None => self.queries.text(),
        };
        (self.b.value(first), self.b.value(end))
    }

    /// Returns the weight of a key for a query, and the gradient of their dot product. Takes the query's statistics and `dp`,
    /// the gradient of the weight.
    pub(super) fn score_gradient(
        &mut self,
        product: &str,
        statistics: &[String],
        dp: &str,
    ) -> (String, String) {
        let (score, slope) = self.score(product);
        let weight = self.b.value(format!("f_exp({score} - {})", statistics[0]));
        let slope = slope.map_or(String::new(), |s| format!(" * {s}"));
        let gradient = format!("{weight} * ({dp} - {}){slope} * {}", statistics[1], self.scale);
        (weight, self.b.value(gradient))
    }
}
