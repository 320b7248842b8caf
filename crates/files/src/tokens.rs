//! Splits texts into words and numbers them, by a vocabulary file next to the text or in order of appearance.

use crate::atomic::{self, failed};
use crate::{MAX_ELEMENTS, text};
use gradus_ir::Result;
use gradus_tensor::Tensor;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The tokens of a text and its vocabulary.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The vocabulary, in the order of its numbers.
    pub words: Vec<String>,
    /// The number of each token.
    pub ids: Vec<usize>,
}

/// Returns the path of a text's vocabulary: `notes.txt` has `notes.vocab.json`.
pub fn vocabulary_of(path: &Path) -> PathBuf {
    path.with_extension("vocab.json")
}

impl Tokens {
    /// Reads the tokens of a file. Without a vocabulary file, words are numbered in order of appearance.
    pub fn read(path: &Path) -> Result<Tokens> {
        let text = text(path)?;
        let vocabulary = vocabulary_of(path);
        let has_vocabulary = vocabulary.exists();
        let mut words: Vec<String> = if has_vocabulary {
            let none = |e: serde_json::Error| failed(&vocabulary, format!("is not a list of words: {e}"));
            let all: serde_json::Value = serde_json::from_str(&crate::text(&vocabulary)?).map_err(none)?;
            // A list, or an object with a version: {"version": 1, "items": […]}.
            let items = all.get("items").cloned().unwrap_or(all);
            serde_json::from_value(items).map_err(none)?
        } else {
            Vec::new()
        };
        let mut numbers: HashMap<String, usize> =
            words.iter().cloned().enumerate().map(|(i, w)| (w, i)).collect();
        let mut ids = Vec::new();
        for word in text.split_whitespace() {
            let id = match numbers.get(word) {
                Some(id) => *id,
                None if has_vocabulary => {
                    return Err(failed(
                        path,
                        format!("has the word `{word}`, which its vocabulary does not have"),
                    ));
                }
                None => {
                    words.push(word.to_string());
                    numbers.insert(word.to_string(), words.len() - 1);
                    words.len() - 1
                }
            };
            ids.push(id);
        }
        Ok(Tokens { words, ids })
    }

    /// Writes the vocabulary next to a text of this name.
    pub fn write_vocabulary(&self, text: &Path) -> Result<()> {
        let list = serde_json::Value::from(self.words.clone()).to_string();
        atomic::write(&vocabulary_of(text), &[list.as_bytes(), b"\n"])
    }
}

/// Reads the tokens as one-hot rows, `[position, word]`, or as their numbers if one axis is requested.
pub(crate) fn read(path: &Path, rank: Option<usize>) -> Result<Tensor> {
    let tokens = Tokens::read(path)?;
    match rank {
        Some(1) => {
            let ids: Vec<i64> = tokens.ids.iter().map(|id| *id as i64).collect();
            Ok(Tensor::from_slice(&ids, [ids.len()]))
        }
        None | Some(2) => {
            let (n, width) = (tokens.ids.len(), tokens.words.len());
            let Some(count) = n.checked_mul(width).filter(|c| *c <= MAX_ELEMENTS) else {
                let why = format!(
                    "has {n} tokens of {width} words, more than {MAX_ELEMENTS} elements in one-hot form"
                );
                return Err(failed(path, why));
            };
            let mut rows = vec![0.0f32; count];
            for (row, id) in tokens.ids.iter().enumerate() {
                if let Some(x) = rows.get_mut(row * width + id) {
                    *x = 1.0;
                }
            }
            Ok(Tensor::from_slice(&rows, [n, width]))
        }
        Some(rank) => Err(failed(path, format!("is a text: it has one or two axes, not {rank}"))),
    }
}
