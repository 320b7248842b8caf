//! Converts text to tokens and back, with the tokenisers of `tokenizer.json` files and of GGUF metadata.
//!
//! `metadata.rs` converts metadata to a `tokenizer.json`; `merges.rs` encodes with scored pieces; the
//! `tokenizers` library does the rest, and `library.rs` sets it up. Text of users never becomes special
//! tokens. [`Stream`] decodes token by token, and returns only complete characters.

mod library;
mod merges;
mod metadata;

pub use metadata::json_of_gguf;
pub(crate) use metadata::pre_tokenizer_name;

use gradus_ir::{Error, Result};
use gradus_nn::file::gguf::Metadata;
use library::Inner;
use merges::Pieces;
use std::collections::HashMap;
use std::sync::Arc;

/// A tokeniser. See the [module](self).
#[derive(Clone)]
pub struct Tokenizer {
    /// Encodes the names of special tokens as plain text.
    plain: Inner,
    /// Encodes the names of special tokens as special tokens.
    trusting: Inner,
    /// Texts of the special tokens, longest first.
    special: Vec<String>,
    /// Tokens that are matched in text before all others: their text, and whether they are special.
    added: HashMap<i64, (String, bool)>,
    /// If true, tokens are written with one visible character for each byte.
    byte_level: bool,
    /// If true, the library splits texts by a unigram model.
    unigram: bool,
    /// Encodes by the scores of pieces, in place of the library.
    scored: Option<Arc<Scored>>,
}

/// Pieces with scores, and the tokens put before and after every text.
struct Scored {
    pieces: Pieces,
    first: Option<i64>,
    last: Option<i64>,
}

fn tokenizer_error(e: impl ToString) -> Error {
    Error::value("the tokeniser", format!("failed: {}", e.to_string()))
}

impl Tokenizer {
    /// Reads a tokeniser from a `tokenizer.json`.
    pub fn from_json(bytes: &[u8]) -> Result<Tokenizer> {
        Tokenizer::new(library::tokenizer(bytes)?)
    }

    fn new(mut trusting: Inner) -> Result<Tokenizer> {
        // The caller decides about lengths.
        trusting.with_padding(None);
        trusting.with_truncation(None).map_err(tokenizer_error)?;
        let mut plain = trusting.clone();
        plain.set_encode_special_tokens(true);
        let added = trusting.get_added_tokens_decoder();
        let special = added.values().filter(|t| t.special && !t.content.is_empty());
        let mut special: Vec<String> = special.map(|t| t.content.clone()).collect();
        special.sort_by_key(|s| std::cmp::Reverse(s.len()));
        let added = added.into_iter().map(|(id, t)| (i64::from(id), (t.content, t.special))).collect();
        let decoder = trusting.get_decoder().map(serde_json::to_string);
        let byte_level = decoder.is_some_and(|d| d.is_ok_and(|json| json.contains("\"ByteLevel\"")));
        let unigram = trusting.get_model().is_unigram();
        Ok(Tokenizer { plain, trusting, special, added, byte_level, unigram, scored: None })
    }

    /// Makes the tokeniser of a GGUF file's metadata.
    pub fn from_metadata(m: &Metadata) -> Result<Tokenizer> {
        let mut tokenizer = Tokenizer::new(metadata::inner(m)?)?;
        tokenizer.scored = metadata::scored(m)?.map(Arc::new);
        Ok(tokenizer)
    }

    /// Encodes a user's text, with the tokens that the tokeniser puts before and after every text.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        match &self.scored {
            Some(s) => {
                let all = s.first.into_iter().chain(s.pieces.encode(text, true));
                Ok(all.chain(s.last).collect())
            }
            None => self.encode_plain(text, true),
        }
    }

    /// Encodes a user's text, without tokens before and after it.
    pub fn encode_text(&self, text: &str) -> Result<Vec<i64>> {
        match &self.scored {
            Some(s) => Ok(s.pieces.encode(text, true)),
            None => self.encode_plain(text, false),
        }
    }

    /// Encodes a user's text that is inside another text: no space is put before it.
    pub(crate) fn encode_inside(&self, text: &str) -> Result<Vec<i64>> {
        match &self.scored {
            Some(s) => Ok(s.pieces.encode(text, false)),
            None => self.encode_plain(text, false),
        }
    }

    /// Encodes a user's text by the library. Unigram models would encode the name of a special token as that
    /// token, because it is one of their pieces, so texts with such a name are refused.
    fn encode_plain(&self, text: &str, ends: bool) -> Result<Vec<i64>> {
        if let Some(name) = self.special.iter().find(|s| self.unigram && text.contains(s.as_str())) {
            let why =
                "cannot be encoded: this tokeniser cannot encode the name of a special token as plain text";
            return Err(Error::value(format!("a text with `{name}`"), why));
        }
        encode(&self.plain, text, ends)
    }

    /// Encodes text in which names of special tokens become special tokens. Not for text from users.
    pub fn encode_trusted(&self, text: &str) -> Result<Vec<i64>> {
        match &self.scored {
            Some(s) => Ok(self.encode_special(&s.pieces, text, true)),
            None => encode(&self.trusting, text, false),
        }
    }

    /// As [`encode_trusted`](Tokenizer::encode_trusted), for text that is inside another text.
    pub(crate) fn encode_trusted_inside(&self, text: &str) -> Result<Vec<i64>> {
        match &self.scored {
            Some(s) => Ok(self.encode_special(&s.pieces, text, false)),
            None => encode(&self.trusting, text, false),
        }
    }

    /// Encodes special tokens by name, and the text between them with scored pieces.
    fn encode_special(&self, pieces: &Pieces, text: &str, mut first: bool) -> Vec<i64> {
        let (mut tokens, mut from, mut at) = (Vec::new(), 0, 0);
        while let Some(c) = text[at..].chars().next() {
            let special = self.special.iter().find(|s| text[at..].starts_with(s.as_str()));
            let Some((own, id)) = special.and_then(|s| Some((s, self.id(s)?))) else {
                at += c.len_utf8();
                continue;
            };
            tokens.extend(pieces.encode(&text[from..at], first));
            tokens.push(id);
            first = true;
            at += own.len();
            from = at;
        }
        tokens.extend(pieces.encode(&text[from..], first));
        tokens
    }

    /// Texts of the special tokens, longest first.
    pub fn special(&self) -> &[String] {
        &self.special
    }

    /// Returns the id of a token, by its text.
    pub fn id(&self, token: &str) -> Option<i64> {
        self.plain.token_to_id(token).map(i64::from)
    }

    /// Returns the text of a token.
    pub fn token(&self, id: i64) -> Option<String> {
        self.plain.id_to_token(u32::try_from(id).ok()?)
    }

    /// Returns the bytes that a token represents in text; `None` for special tokens and unknown ids.
    pub fn bytes(&self, id: i64) -> Option<Vec<u8>> {
        if let Some((text, special)) = self.added.get(&id) {
            return (!special).then(|| text.clone().into_bytes());
        }
        let text = self.token(id)?;
        if self.byte_level {
            return text.chars().map(byte_of).collect();
        }
        // The token is a byte, such as `<0x0A>`, or text with U+2581 for spaces.
        let byte = text.strip_prefix("<0x").and_then(|t| t.strip_suffix('>'));
        match byte.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => Some(vec![byte]),
            None => Some(text.replace('\u{2581}', " ").into_bytes()),
        }
    }

    /// Number of tokens in the vocabulary.
    pub fn len(&self) -> usize {
        self.plain.get_vocab_size(true)
    }

    /// Returns true if the vocabulary is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes tokens to text; special tokens are skipped.
    pub fn decode(&self, tokens: &[i64]) -> Result<String> {
        let ids: Vec<u32> = tokens.iter().filter_map(|t| u32::try_from(*t).ok()).collect();
        self.plain.decode(&ids, true).map_err(tokenizer_error)
    }

    /// Starts decoding token by token.
    pub fn stream(&self) -> Stream<'_> {
        Stream { tokenizer: self, tokens: Vec::new(), from: 0, complete: 0, given: 0 }
    }
}

/// Returns the byte that a character of a byte-level token represents. Visible bytes are the characters with
/// their value; the others are the characters from U+0100 on, in order.
fn byte_of(c: char) -> Option<u8> {
    let visible = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u32::from(c) {
        n @ 0..=255 => Some(n as u8).filter(|b| visible(*b)),
        n => (0..=255u8).filter(|b| !visible(*b)).nth(n as usize - 256),
    }
}

fn encode(inner: &Inner, text: &str, special: bool) -> Result<Vec<i64>> {
    let encoding = inner.encode_fast(text, special).map_err(tokenizer_error)?;
    Ok(encoding.get_ids().iter().map(|id| i64::from(*id)).collect())
}

/// Decodes a text token by token.
pub struct Stream<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<i64>,
    /// Index of the first token that is decoded together with new ones, because the text of a token may
    /// depend on the one before it.
    from: usize,
    /// Number of tokens whose text had been returned in full when `from` was last moved.
    complete: usize,
    /// Number of bytes already returned of the text of the tokens from `from` on.
    given: usize,
}

/// Largest number of trailing replacement characters that may still become a character; one has at most four
/// bytes.
const MAX_INCOMPLETE: usize = 3;

/// Largest number of tokens decoded together. It bounds the cost of bytes that never form a character.
const MAX_TOGETHER: usize = 64;

impl Stream<'_> {
    /// Adds a token. Returns the text that is now complete: a number of full characters, possibly none.
    pub fn push(&mut self, token: i64) -> Result<String> {
        self.tokens.push(token);
        self.text(self.tokens.len() - self.from > MAX_TOGETHER)
    }

    /// Returns the text that was held back because its last character was incomplete.
    pub fn finish(&mut self) -> Result<String> {
        self.text(true)
    }

    fn text(&mut self, all: bool) -> Result<String> {
        let now = self.tokenizer.decode(&self.tokens[self.from..])?;
        let end = now.chars().rev().take(MAX_INCOMPLETE).take_while(|c| *c == char::REPLACEMENT_CHARACTER);
        let incomplete = if all { 0 } else { end.count() * char::REPLACEMENT_CHARACTER.len_utf8() };
        let until = (now.len() - incomplete).max(self.given);
        let new = now.get(self.given..until).unwrap_or_default().to_string();
        self.given = until;
        if incomplete == 0 {
            (self.from, self.complete) = (self.complete, self.tokens.len());
            self.given = self.tokenizer.decode(&self.tokens[self.from..])?.len();
        }
        Ok(new)
    }
}
