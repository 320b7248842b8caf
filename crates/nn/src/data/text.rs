//! Text as tokens: one per character.

use gradus_ir::{Error, Result};

/// The characters of a text, numbered in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Characters(Vec<char>);

impl Characters {
    /// Those of a text, each once.
    pub fn of(text: &str) -> Characters {
        let mut all: Vec<char> = text.chars().collect();
        all.sort_unstable();
        all.dedup();
        Characters(all)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of each character.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let number = |c: char| {
            let unknown = |_| Error::value(format!("{c:?}"), "is not among the characters that are known");
            self.0.binary_search(&c).map(|i| i as i64).map_err(unknown)
        };
        text.chars().map(number).collect()
    }

    /// The text of numbers; those that are none are left out.
    pub fn decode(&self, tokens: &[i64]) -> String {
        tokens.iter().filter_map(|t| self.0.get(usize::try_from(*t).ok()?)).collect()
    }
}
