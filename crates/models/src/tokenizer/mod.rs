//! Text to tokens and back: the tokenisers of `tokenizer.json` files, and of GGUF metadata in the same form.
//!
//! Text of users never becomes special tokens, whatever it contains. Text comes back piece by piece, each of whole characters.

use gradus_ir::{Error, Result};
use gradus_nn::file::gguf::Metadata;
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use tokenizers::Tokenizer as Inner;

/// What GGUF calls special in its list of types: control tokens. Others of the user's are matched in text, and not hidden.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// How Llama 3 cuts text before merging; Qwen differs in taking digits one by one.
const LLAMA3: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/// A tokeniser.
#[derive(Clone)]
pub struct Tokenizer {
    /// Takes special tokens in text for text.
    plain: Inner,
    /// Knows them.
    trusting: Inner,
    /// Special tokens as they are written.
    special: Vec<String>,
    /// Tokens that are matched in text before all others, with whether they are special.
    added: HashMap<i64, (String, bool)>,
    /// Tokens are written as visible characters, one for each byte.
    byte_level: bool,
}

fn refused(e: impl ToString) -> Error {
    Error::value("the tokeniser", format!("failed: {}", e.to_string()))
}

impl Tokenizer {
    /// The tokeniser of a `tokenizer.json`.
    pub fn from_json(bytes: &[u8]) -> Result<Tokenizer> {
        let mut trusting = Inner::from_bytes(bytes)
            .map_err(|e| Error::value("the tokeniser", format!("cannot be read: {e}")))?;
        // Lengths are the business of whoever runs the model.
        trusting.with_padding(None);
        trusting.with_truncation(None).map_err(refused)?;
        let mut plain = trusting.clone();
        plain.set_encode_special_tokens(true);
        let added = trusting.get_added_tokens_decoder();
        let special = added.values().filter(|t| t.special && !t.content.is_empty());
        let mut special: Vec<String> = special.map(|t| t.content.clone()).collect();
        special.sort_by_key(|s| std::cmp::Reverse(s.len()));
        let added = added.into_iter().map(|(id, t)| (i64::from(id), (t.content, t.special))).collect();
        let decoder = trusting.get_decoder().map(serde_json::to_string);
        let byte_level = decoder.is_some_and(|d| d.is_ok_and(|json| json.contains("\"ByteLevel\"")));
        Ok(Tokenizer { plain, trusting, special, added, byte_level })
    }

    /// The tokens of a user's text, with those that the tokeniser puts before or after every text.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        encode(&self.plain, text, true)
    }

    /// The tokens of a user's text, and nothing else.
    pub fn encode_text(&self, text: &str) -> Result<Vec<i64>> {
        encode(&self.plain, text, false)
    }

    /// The tokens of text that may name special tokens: only for text that no user wrote.
    pub fn encode_trusted(&self, text: &str) -> Result<Vec<i64>> {
        encode(&self.trusting, text, false)
    }

    /// Special tokens as they are written, long ones first.
    pub fn special(&self) -> &[String] {
        &self.special
    }

    /// The number of a token by its text.
    pub fn id(&self, token: &str) -> Option<i64> {
        self.plain.token_to_id(token).map(i64::from)
    }

    /// How a token is written.
    pub fn token(&self, id: i64) -> Option<String> {
        self.plain.id_to_token(u32::try_from(id).ok()?)
    }

    /// The bytes that a token stands for in text; `None` for special tokens and numbers without a token.
    pub fn bytes(&self, id: i64) -> Option<Vec<u8>> {
        if let Some((text, special)) = self.added.get(&id) {
            return (!special).then(|| text.clone().into_bytes());
        }
        let text = self.token(id)?;
        if self.byte_level {
            return text.chars().map(byte_of).collect();
        }
        // A byte that is no character, or text with marks for spaces.
        let byte = text.strip_prefix("<0x").and_then(|t| t.strip_suffix('>'));
        match byte.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => Some(vec![byte]),
            None => Some(text.replace('\u{2581}', " ").into_bytes()),
        }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.plain.get_vocab_size(true)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of tokens, without special ones.
    pub fn decode(&self, tokens: &[i64]) -> Result<String> {
        let ids: Vec<u32> = tokens.iter().filter_map(|t| u32::try_from(*t).ok()).collect();
        self.plain.decode(&ids, true).map_err(refused)
    }

    /// Starts a text that comes token by token.
    pub fn stream(&self) -> Stream<'_> {
        Stream { tokenizer: self, tokens: Vec::new(), from: 0, complete: 0, given: 0 }
    }
}

/// The byte that a character stands for in byte-level tokens: visible bytes stand for themselves, the others for the characters
/// from number 256 on, in order.
fn byte_of(c: char) -> Option<u8> {
    let visible = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u32::from(c) {
        n @ 0..=255 => Some(n as u8).filter(|b| visible(*b)),
        n => (0..=255u8).filter(|b| !visible(*b)).nth(n as usize - 256),
    }
}

fn encode(inner: &Inner, text: &str, special: bool) -> Result<Vec<i64>> {
    let encoding = inner.encode_fast(text, special).map_err(refused)?;
    Ok(encoding.get_ids().iter().map(|id| i64::from(*id)).collect())
}

/// A text that comes token by token.
pub struct Stream<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<i64>,
    /// Tokens from here on are decoded together: what a token is may depend on the one before.
    from: usize,
    /// Tokens up to here had been given out completely when `from` was last moved.
    complete: usize,
    /// Bytes of the text of these tokens that have been given out.
    given: usize,
}

/// Replacement characters at the end of a text that the bytes of a character may still replace: it has four at most.
const MOST_INCOMPLETE: usize = 3;

/// Tokens that are decoded together at most, so that bytes which never become characters cost no more than others.
const MOST_TOGETHER: usize = 64;

impl Stream<'_> {
    /// Takes a token and gives the text that is complete with it: whole characters, perhaps none.
    pub fn push(&mut self, token: i64) -> Result<String> {
        self.tokens.push(token);
        self.text(self.tokens.len() - self.from > MOST_TOGETHER)
    }

    /// The text that was still waiting for the rest of a character.
    pub fn finish(&mut self) -> Result<String> {
        self.text(true)
    }

    fn text(&mut self, all: bool) -> Result<String> {
        let now = self.tokenizer.decode(&self.tokens[self.from..])?;
        let end = now.chars().rev().take(MOST_INCOMPLETE).take_while(|c| *c == char::REPLACEMENT_CHARACTER);
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

/// The `tokenizer.json` of a GGUF file's metadata.
pub fn json_of_gguf(m: &Metadata) -> Result<Json> {
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let missing = |name: &str| Error::value(format!("`{}`", key(name)), "is missing from the metadata");
    let model = m.text(&key("model")).ok_or_else(|| missing("model"))?;
    if model != "gpt2" {
        let why = "is not supported: `gpt2`, byte-level merges, is";
        return Err(Error::value(format!("a tokeniser of the kind `{model}`"), why));
    }
    let list = |name: &str| m.get(&key(name)).and_then(|v| v.items());
    let tokens: Option<Vec<&str>> = list("tokens").and_then(|all| all.iter().map(|v| v.text()).collect());
    let tokens = tokens.ok_or_else(|| missing("tokens"))?;
    let merges = list("merges").ok_or_else(|| missing("merges"))?;
    let merges: Option<Vec<Json>> = merges
        .iter()
        .map(|v| v.text().and_then(|pair| pair.split_once(' ')).map(|(a, b)| json!([a, b])))
        .collect();
    let merges =
        merges.ok_or_else(|| Error::value("`tokenizer.ggml.merges`", "has an entry that is not a pair"))?;
    let types: Vec<i64> = list("token_type").unwrap_or_default().iter().filter_map(|v| v.integer()).collect();
    let kind = |id: usize| types.get(id).copied().unwrap_or(1);
    let added = |(id, text): (usize, &&str)| {
        let special = kind(id) == CONTROL;
        let added = special || kind(id) == USER_DEFINED;
        added.then(|| {
            json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": special })
        })
    };
    let vocabulary: Map<String, Json> =
        tokens.iter().enumerate().map(|(i, t)| (t.to_string(), json!(i))).collect();
    if vocabulary.len() != tokens.len() {
        return Err(Error::value("`tokenizer.ggml.tokens`", "has a token twice"));
    }
    let pre = m.text(&key("pre")).unwrap_or("gpt-2");
    let (cut, ignore_merges) = cutting(pre)?;
    let first = m.integer(&key("bos_token_id")).filter(|_| m.flag(&key("add_bos_token")) == Some(true));
    let first = first.and_then(|id| Some((id, *tokens.get(usize::try_from(id).ok()?)?)));
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": tokens.iter().enumerate().filter_map(added).collect::<Vec<_>>(),
        "normalizer": null,
        "pre_tokenizer": cut,
        "post_processor": first.map(|(id, text)| begins_with(id, text)),
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": ignore_merges, "vocab": vocabulary, "merges": merges,
        },
    }))
}

/// How text is cut before merging, by the name that GGUF has for it, and whether a whole piece may be a token without merges.
fn cutting(name: &str) -> Result<(Json, bool)> {
    let bytes = |regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex });
    let digits = json!({ "type": "Digits", "individual_digits": true });
    let split = |regex: &str| json!({ "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": false });
    let sequence = |parts: Vec<Json>| json!({ "type": "Sequence", "pretokenizers": parts });
    match name {
        "gpt-2" | "default" => Ok((bytes(true), false)),
        "smollm" | "starcoder" => Ok((sequence(vec![digits, bytes(true)]), false)),
        "llama-bpe" | "llama3" => Ok((sequence(vec![split(LLAMA3), bytes(false)]), true)),
        "qwen2" => Ok((sequence(vec![split(&LLAMA3.replace("{1,3}", "")), bytes(false)]), false)),
        other => {
            let why = "is not supported: gpt-2, smollm, starcoder, llama-bpe and qwen2 are";
            Err(Error::value(format!("cutting text as `{other}` does"), why))
        }
    }
}

/// The name that GGUF has for a way of cutting text, if it has one.
pub(crate) fn cutting_name(json: &Json) -> Option<&'static str> {
    let known = ["gpt-2", "smollm", "llama-bpe", "qwen2"];
    known.into_iter().find(|name| cutting(name).is_ok_and(|(own, _)| own == *json))
}

/// Puts a token before every text.
fn begins_with(id: i64, text: &str) -> Json {
    let first = json!({ "SpecialToken": { "id": text, "type_id": 0 } });
    let sequence = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
    json!({
        "type": "TemplateProcessing",
        "single": [first, sequence("A")],
        "pair": [first, sequence("A"), sequence("B")],
        "special_tokens": { text: { "id": text, "ids": [id], "tokens": [text] } },
    })
}
