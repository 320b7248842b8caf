//! Encodes text by the scores of pieces, as SentencePiece's BPE models do. Repeatedly merges the adjacent
//! pair whose concatenation is the piece with the highest score. Of pairs with equal scores, merges the
//! leftmost one.
//!
//! The `tokenizers` library ranks pairs instead of pieces, which differs if a piece can be merged from
//! several pairs.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// The character that represents a space.
pub(super) const SPACE: char = '\u{2581}';

/// The pieces of a vocabulary, with their scores.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// Pieces, with their ids and scores.
    pub(super) known: HashMap<String, (i64, f32)>,
    /// Texts that are always one token and are matched first; longest first.
    pub(super) user_defined: Vec<(String, i64)>,
    /// The token of each byte, for text that is not in any piece.
    pub(super) bytes: Option<Box<[i64; 256]>>,
    /// The token of text that has neither pieces nor byte tokens.
    pub(super) unknown: i64,
    /// If true, a space is put before every text.
    pub(super) prefix: bool,
}

/// A piece of the text, `text[from..to]`, with the indices of its neighbours. It is empty once it has been
/// merged into its left neighbour.
#[derive(Clone, Copy)]
struct Symbol {
    from: usize,
    to: usize,
    before: Option<usize>,
    after: Option<usize>,
    /// If true, this is one token that is never merged.
    is_user_defined: bool,
}

/// Two adjacent symbols that can be merged.
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// Number of bytes of both symbols when the pair was found; the pair is outdated if this has changed.
    bytes: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Pair) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Pair) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Pair) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

impl Pieces {
    /// Encodes a text. `first` tells whether it is at the start of the input, where a space may be put before
    /// it.
    pub(super) fn encode(&self, text: &str, first: bool) -> Vec<i64> {
        if text.is_empty() {
            return Vec::new();
        }
        let prefix = if first && self.prefix { SPACE.to_string() } else { String::new() };
        let text = prefix + &text.replace(' ', &SPACE.to_string());
        let mut symbols = self.symbols(&text);
        let mut pairs = BinaryHeap::new();
        for left in 0..symbols.len().saturating_sub(1) {
            pairs.extend(self.pair(&text, &symbols, left, left + 1));
        }
        while let Some(Pair { left, right, bytes, .. }) = pairs.pop() {
            let (a, b) = (symbols[left], symbols[right]);
            if a.from == a.to || b.from == b.to || b.to - a.from != bytes || a.after != Some(right) {
                continue;
            }
            symbols[left] = Symbol { to: b.to, after: b.after, ..a };
            symbols[right] = Symbol { to: b.from, ..b };
            if let Some(next) = b.after {
                symbols[next].before = Some(left);
                pairs.extend(self.pair(&text, &symbols, left, next));
            }
            if let Some(previous) = a.before {
                pairs.extend(self.pair(&text, &symbols, previous, left));
            }
        }
        let mut tokens = Vec::new();
        let mut was_unknown = false;
        for s in symbols.iter().filter(|s| s.from < s.to) {
            let piece = &text[s.from..s.to];
            let own = self.user_defined.iter().find(|(text, _)| s.is_user_defined && text == piece);
            let known = own.map(|(_, id)| *id).or_else(|| self.known.get(piece).map(|(id, _)| *id));
            match (known, &self.bytes) {
                (Some(id), _) => tokens.push(id),
                (None, Some(bytes)) => tokens.extend(piece.bytes().map(|b| bytes[usize::from(b)])),
                // Consecutive characters without tokens become one unknown token.
                (None, None) if !was_unknown => tokens.push(self.unknown),
                _ => {}
            }
            was_unknown = known.is_none();
        }
        tokens
    }

    /// Splits a text into characters and texts that are always one token.
    fn symbols(&self, text: &str) -> Vec<Symbol> {
        let (mut symbols, mut from): (Vec<Symbol>, usize) = (Vec::new(), 0);
        while let Some(c) = text[from..].chars().next() {
            let user_defined =
                self.user_defined.iter().find(|(own, _)| text[from..].starts_with(own.as_str()));
            let to = from + user_defined.map_or(c.len_utf8(), |(own, _)| own.len());
            let (before, after) = (symbols.len().checked_sub(1), Some(symbols.len() + 1));
            symbols.push(Symbol { from, to, before, after, is_user_defined: user_defined.is_some() });
            from = to;
        }
        if let Some(last) = symbols.last_mut() {
            last.after = None;
        }
        symbols
    }

    fn pair(&self, text: &str, symbols: &[Symbol], left: usize, right: usize) -> Option<Pair> {
        let (a, b) = (symbols.get(left)?, symbols.get(right)?);
        if a.is_user_defined || b.is_user_defined {
            return None;
        }
        let (_, score) = self.known.get(&text[a.from..b.to])?;
        Some(Pair { score: *score, left, right, bytes: b.to - a.from })
    }
}

/// Returns all pairs of pieces that merge to a piece, highest score first, as in `tokenizer.json` files.
pub(super) fn pairs_by_score(pieces: &HashMap<String, (i64, f32)>) -> Vec<(String, String)> {
    let mut all: Vec<(f32, i64, i64, &str, &str)> = Vec::new();
    for (piece, (_, score)) in pieces {
        for (at, _) in piece.char_indices().skip(1) {
            let (a, b) = piece.split_at(at);
            if let (Some((left, _)), Some((right, _))) = (pieces.get(a), pieces.get(b)) {
                all.push((*score, *left, *right, a, b));
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    all.into_iter().map(|(_, _, _, a, b)| (a.to_string(), b.to_string())).collect()
}
