//! Tokenization by characters.

use gradus_ir::{Error, Result};

/// The distinct characters of a text, numbered in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Characters(Vec<char>);

impl Characters {
    /// Collects the characters of a text.
    pub fn of(text: &str) -> Characters {
        let mut all: Vec<char> = text.chars().collect();
        all.sort_unstable();
        all.dedup();
        Characters(all)
    }

    /// Returns the number of characters.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of each character.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let number = |c: char| {
            let unknown = |_| Error::value(format!("{c:?}"), "is not a known character");
            self.0.binary_search(&c).map(|i| i as i64).map_err(unknown)
        };
        text.chars().map(number).collect()
    }

    /// Returns the text of numbers; unknown numbers are skipped.
    pub fn decode(&self, tokens: &[i64]) -> String {
        tokens.iter().filter_map(|t| self.0.get(usize::try_from(*t).ok()?)).collect()
    }
}
